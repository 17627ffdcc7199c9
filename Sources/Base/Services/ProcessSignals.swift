import EventLoop
import Glibc
import Synchronization

/// SIGINT, SIGTERM and SIGHUP of this process.
package enum ProcessSignals {
    /// Prevents the signals from ending the process. Must be the first call in `main`, because
    /// threads inherit the mask.
    package static func block() { Signals.block() }

    /// Yields the number of each signal that the process receives, including those before the call.
    ///
    /// A process must have one stream at a time: two would each get some of the signals. Equal ones
    /// that arrive together are one: see `SignalRepeats`.
    ///
    /// - Parameter hangUp: called for SIGHUP, which then is not yielded; nil to yield it as well.
    package static func stream(
        hangUp: (@Sendable () -> Void)? = nil
    ) throws -> AsyncStream<Int32> {
        let (stream, sender) = AsyncStream.makeStream(of: Int32.self)
        let loop = try EventLoop(name: "signals")
        let repeats = Mutex(SignalRepeats())
        let source = try SignalSource(on: loop) { number in
            if number == SIGHUP, let hangUp { return hangUp() }
            let now = MonotonicClock.nowSeconds
            if repeats.withLock({ $0.isNew(number, nowSeconds: now) }) { sender.yield(number) }
        }
        sender.onTermination = { _ in
            source.cancel()
            loop.shutdown()
        }
        return stream
    }

    /// Lets the signals end the process while `body` runs; for a wait that nothing else can end,
    /// before there is anything to stop in order.
    package static func withDefaultAction<Value, Problem: Error>(
        _ body: () throws(Problem) -> Value
    ) throws(Problem) -> Value {
        var set = sigset_t()
        sigemptyset(&set)
        for number in Signals.stopping { sigaddset(&set, number) }
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        defer { pthread_sigmask(SIG_BLOCK, &set, nil) }
        return try body()
    }
}

/// Tells a signal from the repetition of one.
///
/// `timeout` and some process managers send a signal to the process and to its group, so that it
/// arrives twice within milliseconds. A second one stops at once, which was not requested.
struct SignalRepeats: Sendable {
    /// Seconds within which an equal signal is the same one.
    static let seconds = 1.0
    /// The same for SIGINT, which a person repeats.
    static let interruptSeconds = 0.5

    private var lastSeconds: [Int32: Double] = [:]

    /// Returns false for a signal that came within that time after the last new one of its number.
    mutating func isNew(_ number: Int32, nowSeconds: Double) -> Bool {
        let seconds = number == SIGINT ? Self.interruptSeconds : Self.seconds
        if let last = lastSeconds[number], nowSeconds - last < seconds { return false }
        lastSeconds[number] = nowSeconds
        return true
    }
}
