internal import CLinux
internal import Glibc
internal import Synchronization

/// Signals delivered as events of a loop (signalfd), not to a handler between two instructions.
package enum Signals {
    /// Signals that stop a process: SIGINT, SIGTERM, and SIGHUP, which a closed terminal sends.
    /// SIGHUP is omitted if it was ignored at the start, as with nohup(1).
    package static let stopping: [Int32] = {
        var hangUp = sigaction()
        sigaction(SIGHUP, nil, &hangUp)
        let ignored = unsafeBitCast(SIG_IGN, to: Int.self)
        let isIgnored =
            unsafeBitCast(hangUp.__sigaction_handler.sa_handler, to: Int.self) == ignored
        return isIgnored ? [SIGINT, SIGTERM] : [SIGINT, SIGTERM, SIGHUP]
    }()

    /// Blocks `numbers` in the calling thread and ignores SIGPIPE.
    ///
    /// Call it first in `main`: threads started later inherit the mask. A child process does too,
    /// unless its parent resets the mask.
    package static func block(_ numbers: [Int32] = stopping) {
        var set = signalSet(numbers)
        pthread_sigmask(SIG_BLOCK, &set, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    fileprivate static func signalSet(_ numbers: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for number in numbers { sigaddset(&set, number) }
        return set
    }
}

/// Delivers blocked signals to a handler on a loop until `cancel`.
package final class SignalSource: Sendable {
    private let loop: EventLoop
    private let descriptor: Int32
    private let isCancelled = Atomic<Bool>(false)

    /// Requires `numbers` to be blocked in every thread (`Signals.block`); `handler` runs on
    /// `loop`.
    package init(
        _ numbers: [Int32] = Signals.stopping, on loop: EventLoop,
        handler: @escaping @Sendable (Int32) -> Void
    ) throws(EventLoopError) {
        self.loop = loop
        var set = Signals.signalSet(numbers)
        let descriptor = signalfd(
            -1, &set, Int32(SFD_CLOEXEC | SFD_NONBLOCK))
        guard descriptor >= 0 else { throw EventLoopError(call: "signalfd", code: errno) }
        self.descriptor = descriptor
        loop.execute {
            // A new descriptor in an open epoll set: only a lack of memory could fail.
            try? loop.register(descriptor, for: .readable) { descriptor, _ in
                while true {
                    let number = dray_signalfd_next(descriptor)
                    guard number > 0 else { return }
                    handler(number)
                }
            }
        }
    }

    /// Stops the delivery; the signals stay blocked.
    package func cancel() {
        guard !isCancelled.exchange(true, ordering: .relaxed) else { return }
        let (loop, descriptor) = (loop, descriptor)
        let isQueued = loop.execute {
            loop.deregister(descriptor)
            close(descriptor)
        }
        if !isQueued { close(descriptor) }
    }
}
