internal import CLinux
package import EventLoop
internal import Glibc
internal import Synchronization

/// Changes in a directory as events (inotify(7)).
///
/// Safe from any thread.
package final class DirectoryChanges: Sendable {
    private let source: ReadableSource
    private let pending: Pending

    private final class Pending: Sendable {
        let signal = Mutex(ShutdownSignal())
    }

    /// Watches the names and contents of the files in `path`, without those in its directories.
    ///
    /// Throws if the system lacks a descriptor or an inotify instance, of which a user has few.
    package init(in path: String) throws(EventLoopError) {
        let loop = try ProcessEvents.loop()
        let descriptor = inotify_init1(Int32(dray_inotify_flags))
        guard descriptor >= 0 else { throw EventLoopError(call: "inotify_init1", code: errno) }
        guard inotify_add_watch(descriptor, path, dray_inotify_changes) >= 0 else {
            let code = errno
            close(descriptor)
            throw EventLoopError(call: "inotify_add_watch", code: code)
        }
        let pending = Pending()
        self.pending = pending
        source = ReadableSource(descriptor, on: loop) { descriptor in
            // Only that there were changes matters; what remains comes with the next call.
            withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 8) { buffer in
                _ = read(descriptor, buffer.baseAddress, buffer.count)
            }
            let signal = pending.signal.withLock { signal in
                defer { signal = ShutdownSignal() }
                return signal
            }
            signal.trigger()
            return true
        }
    }

    /// Returns the signal of the first change from now on.
    package func next() -> ShutdownSignal { pending.signal.withLock { $0 } }
}
