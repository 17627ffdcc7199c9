package import LoadModel

/// What sends a worker's part of a load test.
package protocol LoadShareRunner: Sendable {
    // No typed throws: what comes back through a protocol with those, from an async function, is not what
    // was returned (Swift 6.3, optimized).

    /// Reads a scenario and finds out what its targets come to; sends no load. Cancelling the task ends it.
    ///
    /// Throws what is wrong with the scenario or its targets, also where this worker may not connect to them.
    func prepare(_ scenario: String) async throws -> any PreparedLoadShare
}

/// A part of a load test that could begin.
package protocol PreparedLoadShare: Sendable {
    /// Cores that its loops have.
    var cores: Int { get }

    /// Sends `share` of the load from a moment on, which is on CLOCK_MONOTONIC, and ends by the scenario or
    /// at `stop`. Each second is handed over once, when it is whole; any thread.
    func run(
        _ share: LoadShare, startNanoseconds: UInt64,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadShareEnd

    /// Ends it at once; before `run` too. From any thread.
    func stop()
}
