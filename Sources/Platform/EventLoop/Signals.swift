internal import CLinux
internal import Glibc
internal import Synchronization

/// Signals delivered as events of a loop (signalfd) and not to a handler between two instructions.
package enum Signals {
    /// What asks a process to stop: SIGINT, SIGTERM, and SIGHUP, which a closed terminal sends,
    /// unless it was ignored when the process started, as nohup(1) has it.
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
    /// unless whoever spawns it resets the mask.
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

    /// `numbers` must be blocked in every thread (`Signals.block`); `handler` runs on `loop`.
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
            // A fresh descriptor in an open epoll set: only memory shortage could refuse it.
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
