import API
import Client
import CoordinatorClient
import Foundation
import LoadModel
import Model
import TestSupport
import Testing

@testable import Worker

/// Workers that take part in load tests, with a coordinator and PostgreSQL; what sends their load is a
/// script.
@Suite struct LoadTestTests {
    @Test func allBeginAtOneMomentAndStopTogether() async throws {
        try await Cluster.with(workers: 0, coordinators: 2) { cluster in
            let shards = (0..<3).map { _ in ScriptedShard() }
            for (index, shard) in shards.enumerated() {
                try cluster.startWorker(port: cluster.ports[index % 2], loadShards: shard)
            }
            let test = LoadTestSubmission.script(workers: 3)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the start of all") {
                shards.allSatisfy { $0.start != nil }
            }
            let starts = shards.compactMap { $0.start }
            #expect(starts.map(\.shard.index).sorted() == [0, 1, 2])
            #expect(starts.allSatisfy { $0.shard.count == 3 })
            let moments = starts.map(\.nanoseconds)
            let spread = try #require(moments.max()) - (try #require(moments.min()))
            #expect(Double(spread) / 1e9 < 0.05)
            #expect(shards.allSatisfy { $0.scenario == "a scenario" })

            _ = try await cluster.client.stopLoadTest(test.id)
            let update = try await cluster.follow(test.id)
            #expect(update.test.state == .ended)
            #expect(update.test.shards.map(\.state) == [.finished, .finished, .finished])
            #expect(shards.allSatisfy { $0.isStopped })
        }
    }

    @Test func aWorkerThatIsStoppedLeavesTheTestToTheOthers() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let shards = [ScriptedShard(), ScriptedShard()]
            let workers = try shards.map { try cluster.startWorker(loadShards: $0) }
            let test = LoadTestSubmission.script(workers: 2)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the start of all") {
                shards.allSatisfy { $0.start != nil }
            }
            let leaver = try #require(shards[0].start).shard.index
            for second in 0..<3 { shards[0].emit(Self.interval(second)) }
            try await workers[0].drain()
            #expect(shards[0].isStopped && !shards[1].isStopped)
            for second in 0..<5 { shards[1].emit(Self.interval(second)) }
            shards[1].finish()
            var merge = ClusterLoadMerge()
            let seconds = try await cluster.follow(test.id, into: &merge).seconds
            let report = merge.reports[leaver]
            #expect(report.state == .failed && report.missingFromSecond == 3)
            #expect(report.message == "worker.cancelled: Its worker was stopped.")
            #expect(report.worker == "w0" && report.counts.requests.sent == 3)
            #expect(merge.reports[1 - leaver].state == .finished)
            #expect(seconds.map(\.counts.requests.sent) == [2, 2, 2, 1, 1])
        }
    }

    @Test func itFinishesItsJobsFirstAndTakesNoneMeanwhile() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let gate = Gate()
            defer { gate.open() }
            cluster.origin.route("/slow", FaultOrigin.Response(text: "slow").held(at: gate))
            cluster.origin.route("/next", FaultOrigin.Response(text: "next"))
            let shard = ScriptedShard()
            try cluster.startWorker(loadShards: shard)
            try await cluster.submit([try cluster.file("/slow")])
            try await waitUntil(deadlineSeconds: 60, "the transfer") {
                cluster.origin.requests.contains { $0.path == "/slow" }
            }
            let test = LoadTestSubmission.script(workers: 1)
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "the join") {
                try await !cluster.client.loadTest(test.id).shards.isEmpty
            }
            #expect(try await cluster.client.loadTest(test.id).shards.map(\.state) == [.joined])
            gate.open()
            try await waitUntil(deadlineSeconds: 60, "the start") { shard.start != nil }
            try await cluster.submit([try cluster.file("/next")], catalog: "next")
            shard.emit(Self.interval(0))
            try await waitUntil(deadlineSeconds: 60, "a report") {
                try await cluster.client.loadTest(test.id).shards.first?.nextSecond == 1
            }
            #expect(!cluster.origin.requests.contains { $0.path == "/next" })
            shard.finish()
            try await waitUntil(deadlineSeconds: 60, "the next job") {
                cluster.origin.requests.contains { $0.path == "/next" }
            }
        }
    }

    @Test func aScenarioThatCannotBePreparedIsTheTestsFailure() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let shard = ScriptedShard(failure: Failure("manifest.html", "a web page"))
            try cluster.startWorker(loadShards: shard)
            let test = LoadTestSubmission.script(workers: 1)
            _ = try await cluster.client.create(test)
            let update = try await cluster.follow(test.id)
            #expect(update.test.failure == Failure("manifest.html", "w0: a web page"))
            #expect(update.test.started == nil && shard.start == nil)
        }
    }

    @Test func eachWorkerGetsTheDataOfItsShard() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let shards = [ScriptedShard(), ScriptedShard()]
            for shard in shards { try cluster.startWorker(loadShards: shard) }
            var test = LoadTestSubmission.script(workers: 2)
            test.parts = 7
            test.urls = ["http://h/a", "http://h/b"]
            _ = try await cluster.client.create(test)
            try await waitUntil(deadlineSeconds: 60, "both workers' readiness") {
                try await cluster.client.loadTest(test.id).shards.map(\.state) == [.ready, .ready]
            }
            // It waits for the data, the last part of which is long.
            let long = String(repeating: "x", count: WireLimits.loadPartBytes)
            let texts = (0..<6).map { "part \($0)" } + [long]
            for (number, text) in texts.enumerated() {
                #expect(shards.allSatisfy { $0.start == nil })
                try await cluster.client.add(
                    LoadTestData(parts: [.init(number: number, data: text)]), to: test.id)
            }
            try await waitUntil(deadlineSeconds: 60, "the start of both") {
                shards.allSatisfy { $0.start != nil }
            }
            for shard in shards {
                let number = try #require(shard.start?.shard.index)
                #expect(shard.urls == "http://h/a\nhttp://h/b\n")
                #expect(
                    shard.parts == texts.indices.filter { $0 % 2 == number }.map { texts[$0] })
                shard.finish()
            }
            let update = try await cluster.follow(test.id)
            #expect(update.test.failure == nil)
        }
    }

    /// Shard 0 gets a part that is not its own, shard 1 misses its last one.
    @Test func aWorkerWithOtherPartsThanItsOwnSendsNoLoad() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let shards = [ScriptedShard(), ScriptedShard()]
            for shard in shards { try cluster.startWorker(loadShards: shard) }
            var test = LoadTestSubmission.script(workers: 2)
            test.parts = 4
            _ = try await cluster.client.create(test)
            // As many as it waits for.
            try await cluster.execute(
                "INSERT INTO load_part SELECT id, n, 'row' FROM load_test, "
                    + "unnest(ARRAY[0, 1, 2, 4]) AS n")
            let update = try await cluster.follow(test.id)
            #expect(update.test.shards.map(\.state) == [.failed, .failed])
            for shard in update.test.shards {
                #expect(shard.failure?.code == .clusterProtocol)
                #expect(shard.failure?.message.contains("other parts") == true)
            }
            #expect(shards.allSatisfy { $0.start == nil })
        }
    }

    @Test func aWorkerWithoutAllURLsEndsTheTestBeforeAnyLoad() async throws {
        try await Cluster.with(workers: 0) { cluster in
            var test = LoadTestSubmission.script(workers: 1)
            test.urls = ["http://h/a", "http://h/b"]
            _ = try await cluster.client.create(test)
            try await cluster.execute("DELETE FROM load_url_block WHERE number = 1")
            let shard = ScriptedShard()
            try cluster.startWorker(loadShards: shard)
            let update = try await cluster.follow(test.id)
            #expect(update.test.failure?.code == .clusterProtocol && update.test.started == nil)
            #expect(shard.scenario == nil && shard.start == nil)
        }
    }

    /// What a shard measured is stored for a day, and served: the secrets of its URLs are not.
    @Test func whatIsStoredOfAShardHasNoSecrets() async throws {
        try await Cluster.with(workers: 0) { cluster in
            cluster.origin.serve("/a", [1])
            try cluster.startWorker()
            var scenario = LoadScenario()
            let url = cluster.origin.url("/a?token=S3CRET")
            scenario.targets = [LoadTarget(name: "a?token=S3CRET", source: .url(url, .file))]
            scenario.stages = [LoadStage(seconds: 0.5, from: 1, to: 1)]
            let test = LoadTestSubmission(
                id: .random(), name: "secrets",
                scenario: try LoadScenarioWriter.write(scenario), workers: 1, atLeast: 1,
                waitSeconds: 60, durationSeconds: 0.5)
            _ = try await cluster.client.create(test)
            let update = try await cluster.follow(test.id)
            #expect(update.test.failure == nil)
            let stored = try #require(
                try await cluster.client.loadBreakdown(of: test.id, shard: 0).data)
            #expect(stored.contains("a?…") && !stored.contains("S3CRET"), "\(stored)")
        }
    }

    private static func interval(_ second: Int) -> LoadInterval {
        var interval = LoadInterval(second: second)
        interval.counts.requests.sent = 1
        return interval
    }
}
