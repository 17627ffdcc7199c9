internal import CLinux
package import EventLoop
internal import Glibc
import Synchronization

/// The end of a process as an event (pidfd_open(2)); it need not be a child.
///
/// Safe from any thread; any number of tasks can wait.
package final class ProcessEnd: Sendable {
    private let ended = ShutdownSignal()
    private let source: ReadableSource?

    /// Watches process `pid`, which has not been reaped. One that does not exist has ended.
    ///
    /// Throws if the system lacks a descriptor or memory.
    package init(of pid: Int32) throws(EventLoopError) {
        let loop = try ProcessEvents.loop()
        let descriptor = dray_pidfd_open(pid)
        guard descriptor >= 0 else {
            let code = errno
            guard code == ESRCH else { throw EventLoopError(call: "pidfd_open", code: code) }
            source = nil
            ended.trigger()
            return
        }
        source = ReadableSource(descriptor, on: loop) { [ended] _ in
            ended.trigger()
            return false
        }
    }

    /// True from the end on; a child can then be reaped at once.
    package var hasHappened: Bool { ended.isDraining }

    /// Waits for the end; returns earlier if the task is cancelled.
    package func wait() async { await ended.wait() }

    /// Waits at most `duration`; returns true if the process has ended.
    @discardableResult
    package func wait(atMost duration: Duration) async -> Bool {
        await ended.wait(atMost: duration)
    }
}

/// The thread for events of other processes; it starts with the first of them and stays.
enum ProcessEvents {
    private static let started = Mutex<EventLoop?>(nil)

    static func loop() throws(EventLoopError) -> EventLoop {
        try started.withLock { started throws(EventLoopError) in
            if let started { return started }
            let loop = try EventLoop(name: "processes")
            started = loop
            return loop
        }
    }
}
