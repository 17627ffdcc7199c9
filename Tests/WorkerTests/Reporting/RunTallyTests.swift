import API
import Model
import Testing

@testable import Worker

@Suite struct RunTallyTests {
    private let start = ContinuousClock.now

    @Test func whatWasReportedIsReportedAgainWhenItGrows() {
        let tally = RunTally(connections: 4)
        let (one, other) = (RunID(1), RunID(2))
        tally.began([one], now: start)
        #expect(tally.unreported(now: start).isEmpty)
        // A failed attempt, and then a successful one.
        tally.used(one, seconds: 3, now: start)
        tally.used(one, seconds: 2, now: start)
        tally.ended(one, seconds: 2, now: start)
        tally.began([one, other], now: start + .seconds(4))
        let first = tally.unreported(now: start + .seconds(5))
        var expected = RunWork(run: one, connections: 4)
        expected.add(seconds: 2)
        (expected.connectionSeconds, expected.ageSeconds) = (5, 5)
        #expect(first == [expected])
        tally.reported(first)
        #expect(tally.unreported(now: start + .seconds(5)).isEmpty)
        tally.used(other, seconds: 1, now: start + .seconds(6))
        let second = tally.unreported(now: start + .seconds(6))
        #expect(second.map(\.run) == [other] && second.map(\.ageSeconds) == [2])
    }

    /// Between its use of a connection and its result a heartbeat may be sent.
    @Test func aResultAfterTheReportIsReported() {
        let tally = RunTally(connections: 1)
        tally.used(RunID(1), seconds: 1)
        tally.reported(tally.unreported())
        tally.ended(RunID(1), seconds: 1)
        #expect(tally.unreported().map(\.fetches) == [1])
    }

    @Test func onlySoManyRunsAreRemembered() {
        let tally = RunTally(connections: 1)
        tally.began([RunID(1)], now: start)
        tally.used(RunID(1), seconds: 1, now: start)
        for number in 2...2_000 { tally.began([RunID(Int64(number))], now: start) }
        #expect(tally.count == 1_000)
        // It has unreported work.
        #expect(tally.unreported().map(\.run) == [RunID(1)])
    }
}
