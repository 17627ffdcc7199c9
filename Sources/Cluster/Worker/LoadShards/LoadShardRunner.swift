package import LoadModel

/// An object that sends a worker's shards of load tests.
package protocol LoadShardRunner: Sendable {
    // No typed throws: through a protocol, an async function with them returns a wrong value (Swift
    // 6.3, optimized).

    /// Reads a scenario and checks its targets; sends no load. Cancelling the task ends it.
    ///
    /// - Parameter urls: URLs of a replay, one a line; nil for other tests.
    ///
    /// Throws if the scenario or a target is invalid, or if this worker may not connect to a
    /// target.
    func prepare(_ scenario: String, urls: String?) async throws -> any PreparedLoadShard
}

/// A shard of a load test that is ready to start.
package protocol PreparedLoadShard: Sendable {
    /// Number of cores for its event loops.
    var cores: Int { get }

    /// Adds the next of the shard's `count` parts of the test's data, by number. All are added before
    /// `run`, unless the test is stopped. Throws for a part that cannot be read.
    func add(_ part: String, of count: Int) throws

    /// Sends `shard` of the load from `startNanoseconds` on CLOCK_MONOTONIC until the scenario ends
    /// or `stop()`. Calls `onInterval` once for each complete second, on any thread.
    func run(
        _ shard: LoadShard, startNanoseconds: UInt64,
        onInterval: @escaping @Sendable (LoadInterval) -> Void
    ) async throws -> LoadShardEnd

    /// Changes the load of the whole test, of which this is a shard; also before `run`, for which it
    /// then holds. From any thread, one change after the other.
    func change(_ change: LoadChange)

    /// Stops at once; also before `run`. From any thread.
    func stop()
}
