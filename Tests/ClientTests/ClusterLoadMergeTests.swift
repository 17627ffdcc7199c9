import API
import Foundation
import Model
import TestSupport
import Testing

@testable import Client
@testable import LoadModel

/// What is made of shards' seconds as they come, and of shards that are gone.
@Suite struct ClusterLoadMergeTests {
    /// 30 arrivals a second for ten seconds, two of which are warm-up, by three workers.
    private static func scenario() -> LoadScenario {
        var scenario = LoadScenario()
        scenario.model = .open(.constant)
        scenario.stages = [LoadStage(seconds: 10, from: 30, to: 30)]
        scenario.warmUpSeconds = 2
        return scenario
    }

    private static func update(
        _ states: [(state: LoadShardState, next: Int)], _ seconds: [(shard: Int, second: Int)],
        isOver: Bool = false
    ) throws -> LoadTestUpdate {
        let shards = states.enumerated().map { number, shard in
            LoadTestStatus.Shard(
                worker: "w\(number)", name: "host-\(number)", number: number, state: shard.state,
                nextSecond: shard.next, cores: 2, failure: nil)
        }
        let test = LoadTestStatus(
            id: "t", name: "t", queue: nil, state: isOver ? .ended : .running, workers: 3,
            atLeast: 3, created: 0, joinUntil: 0, started: 0, ended: nil, failure: nil,
            shards: shards, now: 0)
        let intervals = try seconds.sorted { $0.second < $1.second }.map { shard, second in
            var interval = LoadInterval(second: second)
            interval.isMeasured = second >= 2
            interval.counts.pacing.planned = 10
            interval.counts.requests.sent = 10
            interval.counts.levels.inFlight = 4
            return LoadTestUpdate.Interval(
                shard: shard, second: second,
                data: String(decoding: try JSONEncoder().encode(interval), as: UTF8.self))
        }
        return LoadTestUpdate(test: test, intervals: intervals, hasMore: false)
    }

    private static func all(_ shards: Range<Int>, _ seconds: Range<Int>) -> [(Int, Int)] {
        shards.flatMap { shard in seconds.map { (shard, $0) } }
    }

    @Test func shardsCountWhatTheWholeCounts() throws {
        var merge = ClusterLoadMerge(Self.scenario())
        let states = [(LoadShardState.running, 6), (.running, 6), (.running, 6)]
        let sums = try merge.take(try Self.update(states, Self.all(0..<3, 0..<6)))
        let measured = sums.filter(\.isMeasured).reduce(0) { $0 + $1.counts.requests.sent }
        #expect(measured == 120)
        #expect(merge.reports.reduce(0) { $0 + $1.counts.requests.sent } == measured)
        // At the end of the last second, not all seconds' together.
        #expect(merge.reports.map(\.counts.levels.inFlight) == [4, 4, 4])
    }

    @Test func whatALostShardWasToSendIsPlannedAndMissed() throws {
        var merge = ClusterLoadMerge(Self.scenario())
        var seconds = try merge.take(
            try Self.update(
                [(.running, 4), (.running, 4), (.running, 4)], Self.all(0..<3, 0..<4)))
        seconds += try merge.take(
            try Self.update(
                [(.finished, 12), (.lost, 4), (.finished, 12)],
                Self.all(0..<1, 4..<12) + Self.all(2..<3, 4..<12), isOver: true))
        #expect(seconds.map(\.second) == Array(0..<12))
        #expect(
            seconds.map(\.counts.pacing.missedSends) == [0, 0, 0, 0, 10, 10, 10, 10, 10, 10, 0, 0])
        #expect(seconds[..<10].allSatisfy { $0.counts.pacing.planned == 30 })
        let figure = LoadFigure.missedSendRatio
        var total = LoadInterval(second: 0)
        for second in seconds { total.add(second) }
        #expect(figure.value(in: total, measuredSeconds: 10) == 60.0 / 340)
    }

    /// Its part of the changed load is planned and missed, whether or not it was known to be lost.
    @Test(arguments: [false, true])
    func aChangeIsOneOfALostShardToo(isKnown: Bool) throws {
        var merge = ClusterLoadMerge(Self.scenario())
        var seconds = try merge.take(
            try Self.update(
                [(.running, 4), (.running, 4), (.running, 4)], Self.all(0..<3, 0..<4)))
        if isKnown {
            seconds += try merge.take(
                try Self.update(
                    [(.running, 6), (.lost, 4), (.running, 6)],
                    Self.all(0..<1, 4..<6) + Self.all(2..<3, 4..<6)))
        }
        let first = isKnown ? 6 : 4
        var update = try Self.update(
            [(.finished, 12), (.lost, 4), (.finished, 12)],
            Self.all(0..<1, first..<12) + Self.all(2..<3, first..<12), isOver: true)
        update.changes = [
            LoadTestChange(revision: 1, seconds: 6, level: 60),
            LoadTestChange(revision: 2, seconds: 8, level: 0),
        ]
        seconds += try merge.take(update)
        #expect(merge.changes == 2)
        #expect(seconds.map(\.second) == Array(0..<12))
        #expect(
            seconds.map(\.counts.pacing.missedSends) == [0, 0, 0, 0, 10, 10, 20, 20, 0, 0, 0, 0])
    }

    /// Of a replay, the log's own requests of those seconds.
    @Test func whatALostShardWasToReplayIsPlannedAndMissed() throws {
        var scenario = LoadScenario()
        // Thirty in the first second of each two.
        scenario.setReplay(
            LoadReplay(
                name: "log", urls: ["http://h/a"], count: 150, logSeconds: 9, speedUp: 1
            ) { index, most in
                (index..<min(150, index + most)).map {
                    .init(seconds: Double($0 / 30 * 2) + Double($0 % 30) / 30, url: 0)
                }
            })
        var merge = ClusterLoadMerge(scenario)
        let seconds = try merge.take(
            try Self.update(
                [(.finished, 10), (.lost, 2), (.finished, 10)],
                Self.all(0..<1, 0..<10) + Self.all(1..<2, 0..<2) + Self.all(2..<3, 0..<10),
                isOver: true))
        #expect(seconds.map(\.counts.pacing.missedSends) == [0, 0, 10, 0, 10, 0, 10, 0, 10, 0])
    }

    @Test func whatHasComeOfASecondIsNotKeptBackForEver() throws {
        var merge = ClusterLoadMerge(Self.scenario())
        let states = [(LoadShardState.running, 5), (.running, 5), (.running, 4)]
        let whole = try merge.take(
            try Self.update(states, Self.all(0..<3, 0..<4) + Self.all(0..<2, 4..<5)))
        #expect(whole.map(\.second) == [0, 1, 2, 3])
        let rest = merge.takeRest()
        #expect(rest.map(\.second) == [4] && rest.first?.counts.requests.sent == 20)
        #expect(merge.takeRest().isEmpty)
    }

    /// It is connected but reports no load: the others' results do not wait for it.
    @Test func aShardThatBringsNothingHoldsNothingUpForEver() throws {
        var merge = ClusterLoadMerge(Self.scenario())
        let states = [(LoadShardState.running, 200), (.running, 200), (.running, 3)]
        var sums = try merge.take(
            try Self.update(states, Self.all(0..<2, 0..<200) + Self.all(2..<3, 0..<3)))
        let held = ClusterLoadMerge.maxOpen
        #expect(sums.map(\.second) == Array(0..<(200 - held)))
        // Its late results are reported apart, and nothing is lost.
        sums += try merge.take(
            try Self.update(
                [(.finished, 200), (.finished, 200), (.finished, 200)], Self.all(2..<3, 3..<200),
                isOver: true))
        #expect(sums.count == 200 + 200 - held - 3)
        #expect(sums.reduce(0) { $0 + $1.counts.requests.sent } == 3 * 200 * 10)
        #expect(sums.allSatisfy { $0.counts.pacing.missedSends == 0 })
        #expect(merge.takeRest().isEmpty)
    }
}
