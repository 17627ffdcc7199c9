import Testing

@testable import Transfer

/// When a scheduler acts by itself.
@Suite struct ReviewScheduleTests {
    private static func origin(_ name: String) -> OriginState {
        OriginState(name: name, firstLoop: 0, loops: 1, ceiling: 8, now: 0)
    }

    @Test func onlyAnEarlierTickIsRequested() {
        var schedule = ReviewSchedule()
        let requested = [5.0, 5, 6, 4].map { schedule.advanceTick(to: $0) }
        #expect(requested == [true, false, false, true])
        // After a tick the next one is unknown.
        _ = schedule.beginTick(now: 4)
        let again = schedule.advanceTick(to: 9)
        #expect(again)
    }

    @Test func anOriginIsReviewedOnceAtItsEarliestTime() {
        var schedule = ReviewSchedule()
        let (one, other) = (Self.origin("http://a.test"), Self.origin("http://b.test"))
        schedule.add(one, at: 3)
        schedule.add(one, at: 1)
        schedule.add(one, at: 2)
        schedule.add(other, at: 4)
        #expect(schedule.nextReviewAt == 1)
        let due = [0.5, 1, 4].map { schedule.beginTick(now: $0).map(\.name) }
        #expect(due == [[], ["http://a.test"], ["http://b.test"]])
        #expect(one.reviewAt == nil)
        #expect(schedule.nextReviewAt == nil)
    }

    @Test func aSampleIsTakenAtMostEachTenthOfASecond() {
        var schedule = ReviewSchedule()
        schedule.beginSampling(now: 10)
        #expect(schedule.nextSampleAt == 10 + ReviewSchedule.sampleSeconds)
        let samples = [10.05, 10.25, 10.3].map { schedule.takeSample(now: $0) }
        #expect(samples[0] == nil && samples[1] == 0.25 && samples[2] == nil)
    }
}
