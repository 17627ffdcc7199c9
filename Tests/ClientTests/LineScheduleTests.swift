import Testing

@testable import Client

/// When a line of progress is due without a terminal.
@Suite struct LineScheduleTests {
    /// Shows progress once a second, not quite on time; returns the milliseconds of the lines.
    private static func lines(from first: Int, isBegun: Bool) -> [Int] {
        let start = ContinuousClock.now
        var schedule = LineSchedule()
        if isBegun { schedule.begin(at: start) }
        return (first...21).map { 1_000 * $0 + [40, -3, 2][$0 % 3] }
            .filter { schedule.isDue(at: start + .milliseconds($0)) }
    }

    @Test func aLineIsDueEveryFiveSecondsFromTheStart() {
        #expect(Self.lines(from: 1, isBegun: true) == [5_002, 9_997, 15_040, 20_002])
    }

    @Test func withoutAStartItIsDueFiveSecondsAfterTheFirstProgress() {
        #expect(Self.lines(from: 1, isBegun: false) == [6_040, 11_002, 15_997, 21_040])
    }

    /// A later step of a test does not delay the next line.
    @Test func aLaterStartChangesNothing() {
        let start = ContinuousClock.now
        var schedule = LineSchedule()
        schedule.begin(at: start)
        schedule.begin(at: start + .seconds(3))
        let isDue = schedule.isDue(at: start + .seconds(5))
        #expect(isDue)
    }
}
