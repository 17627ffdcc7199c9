import API
import CoordinatorClient
import Foundation
import LoadModel
import Model
import Synchronization
import TestSupport
import Testing

@testable import Client

extension EndToEnd {
    /// Load tests on workers and coordinators as processes: what becomes of one when some of these die.
    @Suite(.timeLimit(.minutes(5))) struct LoadClusterTests {
        private static func scenario(
            _ origin: FaultOrigin, rate: Double, seconds: Double
        ) -> LoadScenario {
            origin.route("/object", FaultOrigin.Response(text: "an object"))
            var scenario = LoadScenario()
            scenario.name = "cluster"
            scenario.targets = [
                LoadTarget(name: "object", source: .url(origin.url("/object"), .file))
            ]
            scenario.model = .open(.constant)
            scenario.stages = [LoadStage(seconds: seconds, from: rate, to: rate)]
            return scenario
        }

        /// A test that runs, as `dray loadtest` runs it.
        private struct Run {
            let client: CoordinatorClient
            let runner: ClusterLoadRunner
            let task: Task<LoadRunEnd, any Error>
            let status: Box
            let seconds = Seconds()

            /// Those that were reported.
            final class Seconds: Sendable {
                let value = Mutex<[LoadInterval]>([])
            }

            /// Its latest report.
            final class Box: Sendable {
                let value = Mutex<LoadTestStatus?>(nil)
                var shards: [LoadTestStatus.Shard] { value.withLock { $0?.shards ?? [] } }
            }

            init(
                _ cluster: ProcessCluster, _ scenario: LoadScenario,
                _ options: ClusterLoadRunner.Options
            ) throws {
                client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
                let box = Box()
                status = box
                let runner = ClusterLoadRunner(client: client, options) { status in
                    box.value.withLock { $0 = status }
                }
                self.runner = runner
                task = Task { [seconds] in
                    try await runner.run(scenario, workers: nil, onChange: { _ in }) { interval in
                        seconds.value.withLock { $0.append(interval) }
                    }
                }
            }

            func end() async throws -> LoadRunEnd {
                defer { client.shutdown() }
                return try await task.value
            }
        }

        private static func options(workers: Int) -> ClusterLoadRunner.Options {
            var options = ClusterLoadRunner.Options()
            options.workers = workers
            return options
        }

        /// 800 requests by two workers, each of which has reported for a second.
        private static func runOfEightSeconds(
            _ cluster: ProcessCluster, _ origin: FaultOrigin
        ) async throws -> Run {
            let run = try Run(
                cluster, scenario(origin, rate: 100, seconds: 8), options(workers: 2))
            try await waitUntil(deadlineSeconds: 60, "a second of each shard") {
                run.status.shards.count { $0.nextSecond >= 1 } == 2
            }
            return run
        }

        /// Nothing of `runOfEightSeconds` is lost, and nothing counts twice.
        private static func expectWhole(_ end: LoadRunEnd, _ origin: FaultOrigin) {
            #expect(end.shards.map(\.state) == [.finished, .finished])
            #expect(end.shards.reduce(0) { $0 + $1.counts.pacing.planned } == 800)
            #expect(end.shards.reduce(0) { $0 + $1.counts.requests.succeeded } == 800)
            #expect(end.breakdown.targets["object"]?.requests == 800)
            // Once more by each worker before the load.
            #expect(origin.count("/object") == 802)
        }

        @Test func aKilledWorkerIsReportedAndTheOthersContinue() async throws {
            let origin = try FaultOrigin()
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 3, connections: 4, leaseSeconds: 60)
            let run = try Run(
                cluster, Self.scenario(origin, rate: 60, seconds: 600), Self.options(workers: 3))
            try await waitUntil(deadlineSeconds: 60, "two seconds of each shard") {
                run.status.shards.count { $0.nextSecond >= 2 } == 3
            }
            let victim = cluster.workers[1]
            let shard = try #require(
                run.status.shards.first { $0.name.hasSuffix("-\(victim.pid)") })
            victim.signal(SIGKILL)
            _ = try await victim.wait()
            try await waitUntil(deadlineSeconds: 60, "the loss") {
                run.status.shards.contains { $0.state == .lost }
            }
            // The test continues without it.
            let seen = run.status.shards.map(\.nextSecond).max() ?? 0
            try await waitUntil(deadlineSeconds: 60, "more seconds of the others") {
                run.status.shards.count { $0.nextSecond > seen && $0.state == .running } == 2
            }
            run.runner.stop(.interrupted)
            let end = try await run.end()
            #expect(end.ending == .interrupted)
            #expect(end.shards.count { $0.state == .finished } == 2)
            let lost = try #require(end.shards.first { $0.state == .lost })
            #expect(lost.index == shard.number && lost.worker == shard.name)
            #expect(lost.message?.hasPrefix("worker.lost") == true)
            // Its twenty a second count until its last report.
            let missing = try #require(lost.missingFromSecond)
            #expect(
                missing >= 2 && (1...Int64(missing) * 20 + 1).contains(lost.counts.pacing.planned))
            #expect(end.shardsWithoutBreakdown == [lost.index])
            // What it was to send counts as planned still, and as never sent.
            let whole = run.seconds.value.withLock { $0 }.filter { $0.second > missing }
            // Three processes on one machine have its cores together.
            #expect(
                whole.allSatisfy {
                    $0.machines.count == 1
                        && $0.machineCores
                            == Double(ProcessInfo.processInfo.activeProcessorCount)
                })
            #expect(!whole.isEmpty && whole.allSatisfy { $0.counts.pacing.missedSends == 20 })
            try await cluster.stop()
        }

        /// The test was not interrupted: its workers were drained.
        @Test func drainedWorkersEndNoTestOfOthers() async throws {
            let origin = try FaultOrigin()
            origin.route("/a", FaultOrigin.Response(text: "a"))
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            let load = try cluster.start([
                "loadtest", origin.url("/a"), "--rate", "40", "--duration", "10m", "--cluster",
                "--workers", "2", "--json", "--quiet",
            ])
            for worker in cluster.workers {
                let before = origin.count("/a")
                try await waitUntil(deadlineSeconds: 60, "load") {
                    origin.count("/a") > before + 40
                }
                worker.signal(SIGTERM)
                #expect(try await worker.wait(deadlineSeconds: 60) == .exited(0))
            }
            #expect(try await load.wait(deadlineSeconds: 60) == .exited(3), "\(load.errors)")
            for worker in cluster.workers {
                #expect(
                    load.errors.contains("-\(worker.pid) is failed from second"), "\(load.errors)")
            }
            let result = try #require(
                try JSONSerialization.jsonObject(with: Data(load.output.utf8)) as? [String: Any])
            #expect(result["ending"] as? String == "finished")
            try await cluster.stop()
        }

        @Test func coordinatorsMayDieInTheMidst() async throws {
            let origin = try FaultOrigin()
            let cluster = try await ProcessCluster(
                coordinators: 2, workers: 2, connections: 4, leaseSeconds: 60)
            let run = try await Self.runOfEightSeconds(cluster, origin)
            for index in 0..<2 { try await cluster.restartCoordinator(index, by: SIGKILL) }
            let end = try await run.end()
            #expect(end.ending == .finished && end.cores > 0)
            Self.expectWhole(end, origin)
            try await cluster.stop()
        }

        @Test func theDatabaseMayCrashInTheMidst() async throws {
            let origin = try FaultOrigin()
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            let run = try await Self.runOfEightSeconds(cluster, origin)
            try await cluster.postgres.kill()
            try await cluster.postgres.start()
            let end = try await run.end()
            #expect(end.ending == .finished && end.failure == nil)
            Self.expectWhole(end, origin)
            try await cluster.stop()
        }

        /// No coordinator answers for longer than the command waits: it reports the results so far.
        @Test func resultsAreReportedWhenCoordinatorsStopAnswering() async throws {
            let origin = try FaultOrigin()
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            var options = Self.options(workers: 2)
            options.patienceSeconds = 1
            let run = try Run(
                cluster, Self.scenario(origin, rate: 60, seconds: 600), options)
            try await waitUntil(deadlineSeconds: 60, "two seconds of each shard") {
                run.status.shards.count { $0.nextSecond >= 2 } == 2
            }
            try await cluster.restartCoordinator(0, by: SIGKILL) {
                let end = try await run.end()
                #expect(end.failure?.code == "cluster.coordinatorUnreachable")
                #expect(end.shards.map(\.state) == [.running, .running])
                #expect(end.shards.allSatisfy { $0.counts.pacing.planned >= 30 })
                #expect(end.shardsWithoutBreakdown == [0, 1] && end.loadSeconds >= 1)
            }
            try await cluster.stop()
        }

        /// Its earlier results are reported, and the others do not send load without a follower.
        @Test func aWorkerThatTalksNonsenseEndsTheTest() async throws {
            let origin = try FaultOrigin()
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 4, leaseSeconds: 60)
            let run = try Run(
                cluster, Self.scenario(origin, rate: 60, seconds: 600), Self.options(workers: 1))
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            var ids: [LoadTestID] = []
            try await waitUntil(deadlineSeconds: 60, "the test") {
                ids = try await client.loadTests().tests.map(\.id)
                return !ids.isEmpty
            }
            let id = try #require(ids.first)
            let worker = WorkerID.random()
            _ = try await client.join(id, LoadTestJoin(worker: worker, name: "liar"))
            var report = LoadTestReport(worker: worker, progress: .ready)
            report.cores = 1
            try await waitUntil(deadlineSeconds: 60, "the start") {
                try await client.report(report, of: id).kind == .run
            }
            let second = String(
                decoding: try JSONEncoder().encode(LoadInterval(second: 0)), as: UTF8.self)
            report.intervals = [
                .init(second: 0, data: second),
                .init(second: 1, data: second.replacing("\"sent\":0", with: "\"sent\":-1")),
            ]
            _ = try await client.report(report, of: id)
            let end = try await run.end()
            #expect(end.failure?.code == "cluster.protocol")
            #expect(run.seconds.value.withLock { $0.map(\.second) } == [0])
            // Not for lack of a follower, which takes twenty seconds.
            let test = try await client.loadTest(id)
            #expect(test.state == .stopping && test.failure == nil)
            try await cluster.stop()
        }

        @Test func aTestWithoutAFollowerIsStopped() async throws {
            let origin = try FaultOrigin()
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 60)
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            let scenario = Self.scenario(origin, rate: 20, seconds: 600)
            let test = LoadTestSubmission(
                id: .random(), name: "vanished",
                scenario: try LoadScenarioWriter.write(scenario), workers: 1, atLeast: 1,
                waitSeconds: 60, durationSeconds: 600)
            var status = try await client.create(test)
            try await waitUntil(deadlineSeconds: 60, "load") { origin.count("/object") > 0 }
            try await waitUntil(deadlineSeconds: 60, "the end") {
                status = try await client.loadTest(test.id)
                return status.state == .ended
            }
            #expect(status.failure?.code == "cluster.abandoned")
            #expect(status.shards.map(\.state) == [.finished])
            #expect(origin.count("/object") < 12_000)
            try await cluster.stop()
        }

        @Test func theCommandRunsItAndCountsAllShards() async throws {
            let origin = try FaultOrigin()
            origin.route("/a", FaultOrigin.Response(text: "a"))
            origin.route("/b", FaultOrigin.Response(text: "b"))
            let folder = try TemporaryDirectory("load")
            let list = try folder.write(
                origin.url("/a") + "\n" + origin.url("/b") + "\n", to: "list")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            let load = try cluster.start([
                "loadtest", "--list", list, "--users", "4", "--requests", "101", "--cluster",
                "--workers", "2", "--json",
            ])
            #expect(try await load.wait(deadlineSeconds: 60) == .exited(0), "\(load.errors)")
            #expect(load.errors.contains("the load comes from 2 workers"), "\(load.errors)")
            // The cap is that of the whole; before it each worker requests both.
            #expect(origin.count("/a") + origin.count("/b") == 105)
            let result = try #require(
                try JSONSerialization.jsonObject(with: Data(load.output.utf8)) as? [String: Any])
            let shards = try #require(result["shards"] as? [[String: Any]])
            #expect(shards.map { $0["state"] as? String } == ["finished", "finished"])
            #expect(result["ending"] as? String == "capped")

            // Ctrl-C stops it, and its results so far are reported.
            let long = try cluster.start([
                "loadtest", origin.url("/a"), "--rate", "20", "--duration", "10m", "--cluster",
                "--workers", "2", "--json",
            ])
            let before = origin.count("/a")
            try await waitUntil(deadlineSeconds: 60, "load") { origin.count("/a") > before + 20 }
            long.signal(SIGINT)
            #expect(try await long.wait(deadlineSeconds: 60) == .exited(130), "\(long.errors)")
            #expect(long.output.contains("\"interrupted\""))

            for (options, word) in [
                (["--workers", "2"], "--workers needs --cluster"),
                (["--cluster", "--threads", "2"], "--threads is for load from this process"),
                (["--cluster", "--workers", "1", "--at-least", "2"], "--at-least"),
                (["--cluster", "--workers", "201"], "--workers"),
            ] {
                let wrong = try cluster.start(["loadtest", origin.url("/a")] + options)
                #expect(try await wrong.wait() == .exited(2))
                #expect(wrong.errors.contains(word), "\(wrong.errors)")
            }
            try await cluster.stop()
        }

        @Test func impossibleTestsFailBeforeAnyLoad() async throws {
            let origin = try FaultOrigin()
            // Its worker may not ask that address.
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 60,
                workerOptions: ["--deny-addresses", "127.0.0.1/32"])
            let scenario = Self.scenario(origin, rate: 1, seconds: 1)
            let denied = try Run(cluster, scenario, Self.options(workers: 1))
            await #expect {
                try await denied.end()
            } throws: { error in
                let message = (error as? Failure)?.message ?? ""
                return message.contains(
                    "-\(cluster.workers[0].pid): its --deny-addresses does not admit this: ")
                    && message.contains(origin.url("/object"))
            }
            var elsewhere = Self.options(workers: 1)
            elsewhere.queue = "nowhere"
            let nowhere = try Run(cluster, scenario, elsewhere)
            await #expect {
                try await nowhere.end()
            } throws: { ($0 as? Failure)?.code == "input.notFound" }
            #expect(origin.count("/object") == 0)
            try await cluster.stop()
        }
    }
}
