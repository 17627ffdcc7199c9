import Synchronization
import Testing

@testable import Worker

@Suite struct LeasePaceTests {
    private let start = ContinuousClock.now

    @Test func atLeastTwoJobsAConnectionAreHeld() {
        let pace = LeasePace(now: start)
        #expect(pace.target(connections: 32, most: 1_000) == 64)
        #expect(pace.target(connections: 32, most: 40) == 40)
    }

    @Test func aFastOriginGetsLargerBatches() {
        let pace = LeasePace(now: start)
        pace.ended(200, now: start + .milliseconds(100))
        #expect(pace.target(connections: 8, most: 1_000) == 600)
        #expect(pace.target(connections: 8, most: 500) == 500)
        // It slows down to nothing.
        for step in 2...12 { pace.ended(0, now: start + .milliseconds(100 * step)) }
        #expect(pace.target(connections: 8, most: 1_000) == 16)
    }

    @Test func aWaitEndsAtItsDeadlineAndAtAJobsEnd() async {
        let pace = LeasePace()
        await pace.wait(atMost: .zero)
        async let long: Void = pace.wait(atMost: .seconds(600))
        // Until it waits, nothing is woken: the end is reported repeatedly.
        let caller = Task {
            while !Task.isCancelled {
                pace.ended(1)
                await Task.yield()
            }
        }
        await long
        caller.cancel()
    }

    @Test func aWaitForSeveralEndsWithTheLastOfThem() async {
        let pace = LeasePace()
        let isOver = Atomic<Bool>(false)
        async let wait: Void = {
            await pace.wait(forEnded: 1_000_000, atMost: .seconds(600))
            isOver.store(true, ordering: .sequentiallyConsistent)
        }()
        for _ in 0..<100 {
            pace.ended(1)
            await Task.yield()
        }
        let isEarly = isOver.load(ordering: .sequentiallyConsistent)
        #expect(!isEarly)
        while !isOver.load(ordering: .sequentiallyConsistent) {
            pace.ended(1_000_000)
            await Task.yield()
        }
        await wait
    }

    @Test func slowJobsAreAskedForWhileTheirSlotsCouldRunDry() {
        #expect(LeasePace.slowJobs(inHand: 0, connections: 32) == 64)
        // A quarter more than all connections could be busy with.
        #expect(LeasePace.slowJobs(inHand: 48, connections: 32) == 16)
        #expect(LeasePace.slowJobs(inHand: 49, connections: 32) == 0)
        #expect(LeasePace.slowJobs(inHand: 3_000, connections: 32) == 0)
        #expect(LeasePace.slowJobs(inHand: 0, connections: 1) == 2)
    }

    @Test func theTimerOfAnEarlierWaitDoesNotEndALaterOne() async {
        let pace = LeasePace()
        // Woken at once; its timer is cancelled with time left.
        async let first: Void = pace.wait(atMost: .seconds(600))
        let waker = Task {
            while !Task.isCancelled {
                pace.wake()
                await Task.yield()
            }
        }
        await first
        waker.cancel()
        await waker.value
        let clock = ContinuousClock()
        let began = clock.now
        await pace.wait(atMost: .milliseconds(100))
        #expect(clock.now - began >= .milliseconds(100))
    }
}
