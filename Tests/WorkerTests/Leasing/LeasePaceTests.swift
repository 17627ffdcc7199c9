import Synchronization
import Testing

@testable import Worker

@Suite struct LeasePaceTests {
    private let start = ContinuousClock.now

    private func level(_ jobs: Int, refill: Int) -> LeasePace.Level {
        var level = LeasePace.Level(connections: 0, reserve: 0)
        (level.jobs, level.refill) = (jobs, refill)
        return level
    }

    @Test func aJobForEachConnectionIsHeld() {
        let pace = LeasePace(now: start)
        #expect(pace.level(connections: 32, most: 1_000, now: start) == level(32, refill: 31))
        #expect(pace.level(connections: 32, most: 20, now: start) == level(20, refill: 19))
    }

    @Test func aFastOriginGetsLargerBatches() {
        let pace = LeasePace(now: start)
        pace.ended(200, now: start + .milliseconds(100))
        let now = start + .milliseconds(100)
        #expect(pace.level(connections: 8, most: 1_000, now: now) == level(608, refill: 308))
        #expect(pace.level(connections: 8, most: 500, now: now) == level(500, refill: 254))
        // It slows down to nothing.
        for step in 2...12 { pace.ended(0, now: start + .milliseconds(100 * step)) }
        let end = start + .milliseconds(1_200)
        #expect(pace.level(connections: 8, most: 1_000, now: end) == level(8, refill: 7))
    }

    /// Four connections end their jobs of three seconds within a moment, round after round.
    @Test func jobsThatEndTogetherAreNoHighRate() {
        let pace = LeasePace(now: start)
        for round in 1...5 {
            for place in 0..<4 {
                let now = start + .milliseconds(3_000 * round + 40 * place)
                pace.ended(1, now: now)
                #expect(pace.level(connections: 4, most: 1_000, now: now) == level(4, refill: 3))
            }
        }
    }

    /// Nothing ends that could lower the rate.
    @Test func theRateOfEarlierJobsDoesNotLast() {
        let pace = LeasePace(now: start)
        pace.ended(200, now: start + .milliseconds(100))
        #expect(pace.reserve(now: start + .milliseconds(350)) == 600)
        #expect(pace.reserve(now: start + .milliseconds(1_100)) == 0)
        pace.ended(3, now: start + .milliseconds(120))
        #expect(pace.reserve(now: start + .milliseconds(1_100)) == 1)
    }

    @Test(arguments: [(4, 0, 5), (4, 0, 20), (4, 2, 8), (32, 9, 20)])
    func everyJobIsRequestedBeforeAConnectionIsFree(connections: Int, reserve: Int, ended: Int) {
        let level = LeasePace.Level(connections: connections, reserve: reserve)
        var inHand = level.jobs
        for _ in 0..<ended {
            inHand -= 1
            inHand += level.wanted(inHand: inHand)
            #expect(inHand >= connections && inHand <= level.jobs)
        }
    }

    @Test func returnedJobsAreLeftToOthersForAWhile() {
        let pace = LeasePace(now: start)
        #expect(pace.bound(now: start) == nil)
        pace.bound(to: 3, until: start + .seconds(2))
        #expect(pace.bound(now: start + .seconds(1)) == 3)
        #expect(pace.bound(now: start + .seconds(2)) == nil)
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
