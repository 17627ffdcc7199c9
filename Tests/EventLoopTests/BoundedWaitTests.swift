import EventLoop
import Synchronization
import TestSupport
import Testing

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

    @Test func theResultInTimeIsReturned() async throws {
        struct Wrong: Error {}
        #expect(await result(within: .seconds(600)) { 7 } == 7)
        await #expect(throws: Wrong.self) {
            try await result(within: .seconds(600)) { throw Wrong() }
        }
        let clock = ManualClock()
        async let late = result(within: .seconds(600), clock: clock) {
            await Self.untilCancelled()
            return 7
        }
        clock.endSleep()
        #expect(await late == nil)
    }

    @Test func anyNumberOfWaitsIncludesNone() async {
        await waitForFirst(of: [])
        let long = (0..<20).map { _ in { @Sendable in await Self.untilCancelled() } }
        await waitForFirst(of: [{}] + long)
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
