import EventLoop
import Glibc

/// SIGINT, SIGTERM and SIGHUP of this process.
package enum ProcessSignals {
    /// Keeps the signals from ending the process; the first thing that `main` does, for threads
    /// inherit the mask.
    package static func block() { Signals.block() }

    /// Yields the number of each signal that the process receives, those before the call too.
    ///
    /// There should be one stream in a process at a time: two would share the signals out.
    package static func stream() throws -> AsyncStream<Int32> {
        let (stream, sender) = AsyncStream.makeStream(of: Int32.self)
        let loop = try EventLoop(name: "signals")
        let source = try SignalSource(on: loop) { sender.yield($0) }
        sender.onTermination = { _ in
            source.cancel()
            loop.shutdown()
        }
        return stream
    }

    /// Lets the signals end the process while `body` runs; for a wait that nothing else can end, at
    /// a time when there is nothing to be stopped in order.
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
