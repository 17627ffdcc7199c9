internal import Synchronization

/// A server's certificate in use, which can be read again from its files.
///
/// Safe from any thread. Running connections keep the certificate that they began with.
package final class TLSServerCertificate: Sendable {
    /// The result of reading the files again.
    package enum Reload: Sendable {
        case unchanged
        case replaced(TLSServerContext)
        /// The old certificate stays in use. `isRepeated` is true if the last reading failed in the
        /// same way.
        case failed(TLSError, isRepeated: Bool)
    }

    private struct State {
        var context: TLSServerContext
        var failure: TLSError?
    }

    package let files: TLSServerFiles
    private let state: Mutex<State>

    package init(_ files: TLSServerFiles) throws(TLSError) {
        self.files = files
        state = Mutex(State(context: try TLSServerContext(files)))
    }

    /// The context of new connections.
    package var context: TLSServerContext { state.withLock(\.context) }

    /// Reads the files, and uses them from now on if they are in order.
    package func reload() -> Reload {
        do throws(TLSError) {
            let contents = try TLSFileContents(files)
            guard contents.fingerprint != context.fingerprint else {
                state.withLock { $0.failure = nil }
                return .unchanged
            }
            let fresh = try TLSServerContext(contents)
            state.withLock { $0 = State(context: fresh) }
            return .replaced(fresh)
        } catch {
            let isRepeated = state.withLock { state in
                defer { state.failure = error }
                return state.failure == error
            }
            return .failed(error, isRepeated: isRepeated)
        }
    }
}
