import API
import Client
import CoordinatorClient
import EventLoop
import Foundation
import LoadModel
import Model
import Synchronization
import TestSupport
import Testing
import Transfer

@testable import Worker

/// Changes of the load while workers send it.
@Suite struct LoadChangeTests {
    @Test func eachWorkerMakesEachChangeOnceAndInOrder() async throws {
        try await Cluster.with(workers: 0, coordinators: 2) { cluster in
            let shards = [ScriptedShard(), ScriptedShard()]
            for (shard, port) in zip(shards, cluster.ports) {
                try cluster.startWorker(port: port, loadShards: shard)
            }
            var test = LoadTestSubmission.script(workers: 2)
            test.range = LoadRange(unit: .users, most: 50, seconds: 60)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the start of both") {
                shards.allSatisfy { $0.start != nil }
            }
            var made: [LoadTestChange] = []
            for level in [20.0, 0, 7] {
                made.append(try await cluster.client.changeLoad(of: test.id, to: level))
                try await waitUntil(deadlineSeconds: 60, "the change of both") {
                    shards.allSatisfy { $0.changes.count >= made.count }
                }
            }
            let expected = made.map { LoadChange(seconds: $0.seconds, level: $0.level) }
            #expect(shards.allSatisfy { $0.changes == expected })
            // Later reports bring none of them again.
            for shard in shards {
                shard.emit(LoadInterval(second: 0))
                shard.finish()
            }
            var merge = ClusterLoadMerge()
            let update = try await cluster.follow(test.id, into: &merge).update
            #expect(merge.changes == 3 && update.test.change == made.last)
            #expect(shards.allSatisfy { $0.changes == expected })
            await #expect {
                try await cluster.client.changeLoad(of: test.id, to: 5)
            } throws: {
                let failure = $0 as? Failure
                return failure?.code == .inputLoadFixed
                    && failure?.message.contains("it has ended") == true
            }
        }
    }

    /// Each worker learns of it before its start, as one does that fetches its data for long.
    @Test func shardsOfAChangedLoadAddUpToTheWhole() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1])
        var scenario = LoadScenario()
        scenario.targets = [LoadTarget(name: "a", source: .url(origin.url("/a"), .file))]
        scenario.model = .open(.constant)
        scenario.stages = [LoadStage(seconds: 0.6, from: 10, to: 10)]
        let text = try LoadScenarioWriter.write(scenario)
        let policy = AddressPolicy(allowed: [try AddressBlock("127.0.0.0/8")])
        var planned: [Int64] = []
        for index in 0..<3 {
            let shard = try await EngineLoadShards(addressPolicy: policy).prepare(text, urls: nil)
            shard.change(LoadChange(seconds: 0, level: 500))
            shard.change(LoadChange(seconds: 0.2, level: 100))
            let count = Mutex<Int64>(0)
            _ = try await shard.run(
                LoadShard(index: index, count: 3), startNanoseconds: MonotonicClock.nowNanoseconds
            ) { interval in
                count.withLock { $0 += interval.counts.pacing.planned }
            }
            planned.append(count.withLock { $0 })
        }
        // 100 in 0.2 s, and 40 in 0.4 s.
        #expect(planned.reduce(0, +) == 140)
        #expect((planned.max() ?? 0) - (planned.min() ?? 0) <= 1)
        // Each asks once before the load.
        #expect(origin.count("/a") == 143)
    }
}
