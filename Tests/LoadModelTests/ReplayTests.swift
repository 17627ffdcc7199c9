import LoadModel
import Testing

/// The requests of a log, divided among shards.
@Suite struct ReplayTests {
    private static func replay(_ count: Int, speedUp: Double) -> LoadReplay {
        LoadReplay(
            name: "log", urls: ["a", "b", "c"], count: count, logSeconds: Double(count - 1),
            speedUp: speedUp
        ) { index, most in
            (index..<min(count, index + most)).map {
                LoadReplay.Record(seconds: Double($0), url: UInt32($0 % 3))
            }
        }
    }

    @Test(arguments: [1, 3, 7]) func allShardsTogetherHaveEachRequestOnce(shards: Int) {
        let replay = Self.replay(10_000, speedUp: 4)
        var all: [LoadArrival] = []
        for index in 0..<shards {
            var schedule = ReplaySchedule(replay, LoadShard(index: index, count: shards))
            var own: [LoadArrival] = []
            while let arrival = schedule.next() { own.append(arrival) }
            #expect(zip(own, own.dropFirst()).allSatisfy { $0.seconds <= $1.seconds })
            #expect(schedule.next() == nil)
            all += own
        }
        all.sort { $0.seconds < $1.seconds }
        #expect(all.count == 10_000)
        #expect(
            all.enumerated().allSatisfy {
                $0.element == LoadArrival(seconds: Double($0.offset) / 4, object: $0.offset % 3)
            })
    }

    @Test func aReplayIsTheWholeLoad() throws {
        var scenario = LoadScenario()
        scenario.setReplay(Self.replay(100, speedUp: 10))
        try scenario.check()
        // The last request is due before the end.
        #expect(scenario.durationSeconds == 10 && scenario.replay?.count == 100)
        #expect(scenario.stages.map(\.from) == [10])
        #expect(scenario == scenario)
        guard case .replay(var schedule) = LoadArrivals(scenario, .constant, .whole) else {
            Issue.record("no replay")
            return
        }
        #expect(schedule.next() == LoadArrival(seconds: 0, object: 0))
        #expect(LoadScenario().replay == nil)
        // The default bound on errors holds for it too.
        #expect(scenario.judgedThresholds == [.defaultErrorRate])
        scenario.targets[0].mayFail = true
        #expect(scenario.judgedThresholds.isEmpty)
    }

    @Test func aReplayThatCannotBeReadEnds() {
        let replay = LoadReplay(
            name: "", urls: ["a"], count: 5, logSeconds: 0, speedUp: 1
        ) { _, _ in [] }
        var schedule = ReplaySchedule(replay, .whole)
        #expect(schedule.next() == nil)
    }
}
