import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// The load of a test on a cluster is changed by another command; nginx's log shows what was sent.
    @Suite(.timeLimit(.minutes(5))) struct LoadClusterRateTests {
        private let directory: TemporaryDirectory
        private let origin: NginxServer

        init() async throws {
            directory = try TemporaryDirectory("load-rate")
            try directory.write([UInt8](repeating: 7, count: 100), to: "www/file")
            origin = try await NginxServer(root: directory.path("www"))
        }

        /// A cluster, and a load test on two of its workers.
        private func start(
            _ arguments: [String], coordinators: Int = 1
        ) async throws -> (cluster: ProcessCluster, load: ChildProcess) {
            let cluster = try await ProcessCluster(
                coordinators: coordinators, workers: 2, connections: 4, leaseSeconds: 60)
            let load = try cluster.start(
                [
                    "loadtest", "\(origin.url)/file", "--cluster", "--workers", "2", "--json",
                    "--quiet",
                ] + arguments)
            return (cluster, load)
        }

        private func change(
            _ cluster: ProcessCluster, _ test: String, _ level: String
        ) async throws -> (ending: ChildProcess.Ending, errors: String) {
            let command = try cluster.start(["loadtest", "rate", test, level])
            return (try await command.wait(deadlineSeconds: 60), command.errors)
        }

        private func requests(_ count: Int) async throws {
            try await waitUntil(deadlineSeconds: 60, "\(count) requests") {
                origin.requests().count >= count
            }
        }

        /// Waits until the latest change of the only test has held for a second; returns its id.
        private func waitForChange(
            _ revision: Int, _ client: CoordinatorClient
        ) async throws -> LoadTestID {
            var id: LoadTestID?
            try await waitUntil(deadlineSeconds: 60, "change \(revision)") {
                guard let test = try await client.loadTests().tests.first,
                    let change = test.change, let started = test.started
                else { return false }
                id = test.id
                return change.revision == revision && test.now - started > change.seconds + 1
            }
            return try #require(id)
        }

        private func json(_ text: String) throws -> [String: Any] {
            let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
            return try #require(value as? [String: Any])
        }

        /// Stages of a report, with the load that each had to its end.
        private func stages(
            _ result: [String: Any]
        ) throws -> [(seconds: Double, level: Double)] {
            let asked = try #require(result["asked"] as? [String: Any])
            let stages = try #require(asked["stages"] as? [[String: Any]])
            return try stages.map {
                (try #require($0["seconds"] as? Double), try #require($0["to"] as? Double))
            }
        }

        /// Value of each whole second.
        private func seconds(_ result: [String: Any], _ count: String) throws -> [Int] {
            let seconds = try #require(result["seconds"] as? [[String: Any]])
            return seconds.map { ($0["counts"] as? [String: Any])?[count] as? Int ?? 0 }
        }

        @Test func theRateOfARunningTestChangesOnAllWorkers() async throws {
            let (cluster, load) = try await start(
                ["--rate", "20", "-d", "10m"], coordinators: 2)
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            // Each worker requests it once before the load.
            try await requests(2 + 60)
            let first = try await change(cluster, "\(load.pid)", "200")
            #expect(first.ending == .exited(0), "\(first.errors)")
            // The change is the cluster's: a coordinator that dies takes nothing with it.
            try await cluster.restartCoordinator(0, by: SIGKILL)
            let id = try await waitForChange(1, client)
            try await requests(2 + 400)
            let second = try await change(cluster, "\(id)", "0")
            #expect(second.ending == .exited(0), "\(second.errors)")
            _ = try await waitForChange(2, client)
            load.signal(SIGINT)
            #expect(try await load.wait(deadlineSeconds: 60) == .exited(130), "\(load.errors)")

            let result = try json(load.output)
            let stages = try stages(result)
            #expect(stages.map(\.level) == [20, 200, 0])
            let warnings = try #require(result["warnings"] as? [String])
            #expect(warnings.contains { $0.contains("changed while it ran, to 200/s after") })
            #expect(warnings.contains { $0.contains("changed while it ran, to 0/s after") })
            // The workers' parts add up to the whole: as many as both rates have in their times.
            let (slow, fast) = (stages[0].seconds * 20, stages[1].seconds * 200)
            let times = origin.requests().map(\.ended).sorted().dropFirst(2).map(\.self)
            #expect(abs(Double(times.count) - slow - fast) <= 1, "\(times.count) \(stages)")
            let counts = try #require(result["counts"] as? [String: Any])
            #expect(counts["sent"] as? Int == times.count && counts["missedSends"] as? Int == 0)
            // The step is where the report has it.
            let last = Int(slow)
            try #require(times.indices.contains(last + 1))
            let before = Double(last) / (times[last] - times[0])
            let after = Double(times.count - last - 1) / ((times.last ?? 0) - times[last])
            #expect((16...24).contains(before) && (140...260).contains(after), "\(before) \(after)")
            // And so do the figures of each second: the first one of a second may count in the one before.
            let planned = try seconds(result, "planned")
            let step = stages[0].seconds
            let end = step + stages[1].seconds
            for (second, count) in planned.enumerated() {
                let level: Int
                switch Double(second) {
                case ..<(step - 1): level = 20
                case step..<(end - 1): level = 200
                case end...: level = 0
                default: continue
                }
                #expect(abs(count - level) <= 1, "second \(second): \(planned), \(stages)")
            }

            // Afterwards it is rejected.
            let late = try await self.change(cluster, "\(id)", "5")
            #expect(late.ending == .exited(2))
            #expect(late.errors.contains("it has ended. (input.loadFixed)"), "\(late.errors)")
            let unknown = try await self.change(cluster, "\(LoadTestID.random())", "5")
            #expect(unknown.ending == .exited(2))
            #expect(unknown.errors.contains("There is no load test"), "\(unknown.errors)")
            try await cluster.stop()
        }

        @Test func theUsersOfAClosedTestChangeAndASearchDoesNot() async throws {
            let (cluster, load) = try await start(["--users", "3", "--think", "10m", "-d", "10m"])
            try await requests(2 + 3)
            #expect(try await change(cluster, "\(load.pid)", "31").ending == .exited(0))
            try await requests(2 + 31)
            for (users, message) in [
                ("1001", "given 1001, allowed a whole number of users up to 1000"),
                ("1.5", "given 1.5, allowed a whole number"),
            ] {
                let refused = try await change(cluster, "\(load.pid)", users)
                #expect(refused.ending == .exited(2))
                #expect(refused.errors.contains(message), "\(refused.errors)")
            }
            load.signal(SIGINT)
            #expect(try await load.wait(deadlineSeconds: 60) == .exited(130), "\(load.errors)")
            #expect(try stages(try json(load.output)).map(\.level) == [3, 31])
            // One for each user, and no more.
            #expect(origin.requests().count == 2 + 31)

            let search = try cluster.start([
                "loadtest", "\(origin.url)/file", "--cluster", "--workers", "2", "--rate", "1",
                "--search", "--step", "1h", "-t", "error_rate < 1%", "--quiet",
            ])
            try await requests(2 + 31 + 2 + 1)
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            let id = try #require(try await client.loadTests().tests.first?.id)
            for test in ["\(search.pid)", "\(id)"] {
                let refused = try await change(cluster, test, "5")
                #expect(refused.ending == .exited(2))
                #expect(
                    refused.errors.contains("--search")
                        && refused.errors.contains("input.loadFixed"),
                    "\(refused.errors)")
            }
            search.signal(SIGINT)
            _ = try await search.wait(deadlineSeconds: 60)
            try await cluster.stop()
        }

        /// Nobody takes over the part of a lost worker, also of a load that changes later.
        @Test func theOthersSendTheirPartOfTheNewRate() async throws {
            let (cluster, load) = try await start(["--rate", "20", "-d", "10m"])
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            try await requests(2 + 20)
            cluster.workers[1].signal(SIGKILL)
            _ = try await cluster.workers[1].wait()
            try await waitUntil(deadlineSeconds: 60, "the loss") {
                try await client.loadTests().tests.first?.shards.contains { $0.state == .lost }
                    == true
            }
            let before = origin.requests().count
            #expect(try await change(cluster, "\(load.pid)", "100").ending == .exited(0))
            _ = try await waitForChange(1, client)
            try await requests(before + 200)
            load.signal(SIGINT)
            #expect(try await load.wait(deadlineSeconds: 60) == .exited(130), "\(load.errors)")
            let result = try json(load.output)
            let step = try #require(try stages(result).first).seconds
            let whole = Int(step.rounded(.up))
            let (planned, missed) = (
                try seconds(result, "planned"), try seconds(result, "missedSends")
            )
            // But for the last one, in which it was stopped.
            try #require(planned.count > whole + 2)
            for second in whole..<(planned.count - 2) {
                #expect(abs(planned[second] - 100) <= 1, "\(second): \(planned)")
                #expect(abs(missed[second] - 50) <= 1, "\(second): \(missed)")
            }
            let times = origin.requests().map(\.ended).sorted().suffix(150).map(\.self)
            let rate = Double(times.count - 1) / ((times.last ?? 0) - (times.first ?? 0))
            #expect((35...65).contains(rate), "\(rate)")
            try await cluster.stop()
        }
    }
}
