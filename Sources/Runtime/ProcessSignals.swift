import EventLoop

/// SIGINT and SIGTERM of this process.
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
}
