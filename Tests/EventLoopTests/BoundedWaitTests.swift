import EventLoop
import Synchronization
import Testing

/// A clock whose sleeps end when a test says so.
private final class ManualClock: Clock {
    let now = ContinuousClock.now
    let minimumResolution = Duration.zero
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    init() { (ends, end) = AsyncStream.makeStream() }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        for await _ in ends { return }
        throw CancellationError()
    }

    func endSleep() { end.yield() }
}

@Suite(.timeLimit(.minutes(1))) struct BoundedWaitTests {
    private static func untilCancelled() async {
        let (never, continuation) = AsyncStream<Void>.makeStream()
        for await _ in never {}
        continuation.finish()
    }

    @Test func aWaitThatEndsInTime() async {
        #expect(await waitAtMost(.seconds(600)) {})
        #expect(await waitAtMost(.seconds(600), clock: ManualClock()) { await Task.yield() })
    }

    @Test func afterItsTimeAWaitIsCancelled() async {
        let clock = ManualClock()
        let wasCancelled = Atomic<Bool>(false)
        async let isInTime = waitAtMost(.seconds(600), clock: clock) {
            await Self.untilCancelled()
            wasCancelled.store(Task.isCancelled, ordering: .sequentiallyConsistent)
        }
        clock.endSleep()
        #expect(await !isInTime)
        let isCancelled = wasCancelled.load(ordering: .sequentiallyConsistent)
        #expect(isCancelled)
    }

    @Test func aCancelledTaskWaitsNoLonger() async {
        let task = Task {
            await waitAtMost(.seconds(600)) { await Self.untilCancelled() }
        }
        task.cancel()
        _ = await task.value
    }

    @Test func theFirstOfSeveralEndsTheOthers() async {
        let ended = Atomic<Int>(0)
        await waitForFirst(
            of: { await Self.untilCancelled() },
            { ended.add(1, ordering: .sequentiallyConsistent) },
            {
                await Self.untilCancelled()
                ended.add(1, ordering: .sequentiallyConsistent)
            })
        let count = ended.load(ordering: .sequentiallyConsistent)
        #expect(count == 2)
    }
}
