internal import FileSystem
import Model
import Synchronization

/// The file of one object in `.dray/partial`, which records its progress. Safe from any thread.
///
/// Two locks: that of the state is held for moments; `writing` gives the writes of the file their
/// order, and is held during one, so that no earlier record replaces a later one.
struct ProgressRecord: ~Copyable, Sendable {
    private struct State {
        /// Name, once there is a file.
        var name: String?
        /// Number of bytes that it records.
        var bytes: Int64 = 0
        /// True if it must not be written any more.
        var isFinal = false
    }

    private let directory: FileDescriptor
    private let state = Mutex(State())
    /// Held while the file is written, by threads that may block.
    private let writing = Mutex(())

    init(in directory: FileDescriptor) { self.directory = directory }

    /// Writes the file with `write`, unless the object has ended or has a later record; the last
    /// one in any case. Blocks no other calls.
    func write(
        _ name: String, bytes: Int64, isLast: Bool, _ write: () throws(Failure) -> Void
    ) throws(Failure) {
        let result = writing.withLock { _ -> Result<Void, Failure> in
            let isWanted = state.withLock { state in
                guard !state.isFinal, isLast || bytes > state.bytes else { return false }
                state.bytes = bytes
                state.isFinal = isLast
                return true
            }
            guard isWanted else { return .success(()) }
            let result = Result { () throws(Failure) in try write() }
            let isGone = state.withLock { state in
                state.name = name
                return state.isFinal && !isLast
            }
            // The object has ended meanwhile.
            if isGone { remove() }
            return result
        }
        try result.get()
    }

    /// Removes the file: the object is complete, or gone.
    func remove() {
        let name = state.withLock { state in
            state.isFinal = true
            return state.name.take()
        }
        guard let name else { return }
        try? directory.unlink(name)
    }
}
