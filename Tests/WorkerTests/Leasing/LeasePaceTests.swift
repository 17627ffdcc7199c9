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
            for index in 0..<4 {
                let now = start + .milliseconds(3_000 * round + 40 * index)
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
        #expect(pace.reserve(now: start + .milliseconds(410)) == 0)
        // More than a second without an end: those that come now take longer.
        pace.ended(1, now: start + .milliseconds(1_101))
        #expect(pace.reserve(now: start + .milliseconds(1_101)) == 0)
    }

    /// A job of the reserve would wait for a whole round, while another worker may be idle.
    @Test(arguments: [(8, 2_050, 20), (16, 2_000, 10), (64, 3_000, 5), (8, 1_300, 20)])
    func jobsThatEndInRoundsLeaveNoReserve(
        connections: Int, roundMilliseconds: Int, apartMilliseconds: Int
    ) {
        let pace = LeasePace(now: start)
        let full = level(connections, refill: connections - 1)
        for round in 1...6 {
            for index in 0..<connections {
                let now =
                    start + .milliseconds(roundMilliseconds * round + apartMilliseconds * index)
                pace.ended(1, now: now)
                #expect(pace.level(connections: connections, most: 1_000, now: now) == full)
            }
        }
    }

    /// Short rounds end soon; without a reserve, each would begin with a request.
    @Test func shortRoundsKeepAReserve() {
        let pace = LeasePace(now: start)
        _ = pace.level(connections: 8, most: 1_000, now: start)
        for round in 1...6 {
            for index in 0..<8 {
                pace.ended(1, now: start + .milliseconds(500 * round + index))
            }
        }
        let end = start + .milliseconds(3_007)
        #expect((4...5).contains(pace.reserve(now: end)))
        #expect(pace.reserve(now: end + .milliseconds(301)) == 0)
    }

    @Test func jobsThatEndOneByOneKeepAReserve() {
        let pace = LeasePace(now: start)
        _ = pace.level(connections: 8, most: 1_000, now: start)
        for index in 1...48 {
            let now = start + .milliseconds(250 * index)
            pace.ended(1, now: now)
            if index > 8 { #expect(pace.reserve(now: now) == 1) }
        }
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
        pace.bound(to: 3, for: .seconds(2), now: start)
        #expect(pace.bound(now: start + .seconds(1)) == 3)
        #expect(pace.bound(now: start + .seconds(2)) == nil)
    }

    /// An origin that sends 1,000 files a second stalls for a moment. Until the bound ends, each
    /// end would be followed by a request for one job.
    @Test func theBoundEndsWhenMoreJobsHaveEndedThanThereAreConnections() {
        let pace = LeasePace(now: start)
        _ = pace.level(connections: 64, most: 1_000, now: start)
        // Those that ended before do not count.
        pace.ended(60, now: start + .milliseconds(10))
        let stalled = start + .milliseconds(360)
        pace.bound(to: 363, for: .seconds(2), now: stalled)
        for index in 1...64 {
            let now = stalled + .milliseconds(index)
            pace.ended(1, now: now)
            #expect(pace.bound(now: now) == 363)
        }
        pace.ended(1, now: stalled + .milliseconds(65))
        #expect(pace.bound(now: stalled + .milliseconds(65)) == nil)
        #expect(pace.reserve(now: stalled + .milliseconds(65)) >= 250)
    }

    /// Eight connections with files of two seconds: no round has more ends than connections.
    @Test func theBoundHoldsWhileJobsEndInRounds() {
        let pace = LeasePace(now: start)
        _ = pace.level(connections: 8, most: 1_000, now: start)
        pace.bound(to: 8, for: .seconds(5), now: start + .milliseconds(300))
        for round in 1...2 {
            for index in 0..<8 {
                let now = start + .milliseconds(2_050 * round + 20 * index)
                pace.ended(1, now: now)
                #expect(pace.bound(now: now) == 8)
            }
        }
    }

    @Test func aSecondWithoutAnEndIsAPause() {
        let pace = LeasePace(now: start)
        #expect(!pace.isPaused(now: start + .milliseconds(1_000)))
        #expect(pace.isPaused(now: start + .milliseconds(1_001)))
        pace.ended(1, now: start + .milliseconds(1_500))
        #expect(!pace.isPaused(now: start + .milliseconds(1_850)))
    }

    @Test func aWaitEndsAtItsDeadlineAndAtAJobsEnd() async {
        let pace = LeasePace()
        await pace.wait(after: pace.mark, atMost: .zero)
        async let long: Void = pace.wait(after: pace.mark, atMost: .seconds(600))
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

    /// Between a decision to wait and the wait itself jobs may end.
    @Test(arguments: [1, 3]) func whatEndedAfterTheDecisionEndsTheWait(count: Int) async {
        let pace = LeasePace()
        let mark = pace.mark
        pace.ended(count)
        await pace.wait(forEnded: count, after: mark, atMost: .seconds(600))
        let later = pace.mark
        pace.wake()
        await pace.wait(forEnded: count, after: later, atMost: .seconds(600))
    }

    @Test func aWaitForSeveralEndsWithTheLastOfThem() async {
        let pace = LeasePace()
        let isOver = Atomic<Bool>(false)
        async let wait: Void = {
            await pace.wait(forEnded: 1_000_000, after: pace.mark, atMost: .seconds(600))
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
        async let first: Void = pace.wait(after: pace.mark, atMost: .seconds(600))
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
        await pace.wait(after: pace.mark, atMost: .milliseconds(100))
        #expect(clock.now - began >= .milliseconds(100))
    }
}
