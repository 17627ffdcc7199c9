/// A clock whose sleeps end when a test says so, each once.
package final class ManualClock: Clock {
    package let now = ContinuousClock.now
    package let minimumResolution = Duration.zero
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    package init() { (ends, end) = AsyncStream.makeStream() }

    package func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        for await _ in ends { return }
        throw CancellationError()
    }

    package func endSleep() { end.yield() }
}
