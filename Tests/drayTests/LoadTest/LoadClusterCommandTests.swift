import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// `dray loadtest --cluster` as people run it, on workers of which it takes some.
    @Suite(.timeLimit(.minutes(5))) struct LoadClusterCommandTests {
        private func json(_ text: String) throws -> [String: Any] {
            let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
            return try #require(value as? [String: Any])
        }

        private func workers(_ result: [String: Any]) throws -> Set<String> {
            let shards = try #require(result["shards"] as? [[String: Any]])
            #expect(shards.allSatisfy { $0["state"] as? String == "finished" })
            return Set(shards.compactMap { $0["worker"] as? String })
        }

        /// They finish running jobs, return the rest, and continue when the load is over.
        @Test func workersThatFetchTakePart() async throws {
            let origin = try FaultOrigin()
            origin.serve("/a", [UInt8](repeating: 7, count: 500))
            let gate = Gate()
            let files = (0..<60).map { "/files/\($0)" }
            for path in files { origin.route(path, .init(200, text: path).held(at: gate)) }
            let folder = try TemporaryDirectory("fetching")
            let list = try folder.write(
                files.map { origin.url($0) + "\n" }.joined(), to: "list.txt")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            let prefetch = try cluster.start(["prefetch", list, "--to", folder.path("edge")])
            try await waitUntil(deadlineSeconds: 60, "work for both workers") {
                origin.activeRequests.now == 8
            }
            let load = try cluster.start([
                "loadtest", origin.url("/a"), "--users", "4", "--requests", "300", "--cluster",
                "--workers", "2", "--json",
            ])
            var id: LoadTestID?
            try await waitUntil(deadlineSeconds: 60, "the workers' joining") {
                id = try await cluster.status().loadTests?.first?.id
                guard let id else { return false }
                return try await client.loadTest(id).shards.map(\.state) == [.joined, .joined]
            }
            gate.open()
            #expect(try await load.wait(deadlineSeconds: 60) == .exited(0), "\(load.errors)")
            #expect(try workers(try json(load.output)).count == 2)
            #expect(
                try await prefetch.wait(deadlineSeconds: 60) == .exited(0), "\(prefetch.errors)")
            // Nothing was started for nothing, and nothing was fetched during the load.
            #expect(files.allSatisfy { origin.count($0) == 1 })
            let paths = origin.requests.map(\.path)
            let asked = paths.indices.filter { paths[$0] == "/a" }
            try #require(asked.count == 302)
            #expect(paths[asked[2]...asked[150]].allSatisfy { $0 == "/a" })
            try await cluster.stop()
        }

        @Test func ofSeveralQueuesTheNamedOnesWorkersSendIt() async throws {
            let origin = try FaultOrigin()
            origin.serve("/a", [UInt8](repeating: 7, count: 500))
            let folder = try TemporaryDirectory("queues")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 4, leaseSeconds: 60)
            let client = try CoordinatorClient(endpoints: cluster.urls, token: .test)
            defer { client.shutdown() }
            var queues: [String] = []
            for site in ["north", "south"] {
                let handle = try await client.openCatalog(
                    CatalogSubmission(name: site, storageURL: "file://\(folder.path(site))"))
                queues.append(handle.queue)
            }
            var pids: [[String]] = [[], []]
            for index in [0, 1, 0] {
                let worker = try cluster.startWorker([
                    "--queue", queues[index], "--allow-addresses", "127.0.0.0/8",
                ])
                pids[index].append("-\(worker.pid)")
            }
            try await cluster.waitForWorkers(3)
            for (index, queue) in queues.enumerated() {
                let before = origin.count("/a")
                let load = try cluster.start([
                    "loadtest", origin.url("/a"), "--users", "6", "--requests", "90", "--cluster",
                    "--queue", queue, "--workers", "\(pids[index].count)", "--json",
                ])
                #expect(try await load.wait() == .exited(0), "\(load.errors)")
                let names = try workers(try json(load.output))
                #expect(names.count == pids[index].count)
                #expect(names.allSatisfy { name in pids[index].contains { name.hasSuffix($0) } })
                // Each worker asks once more whether it is there.
                #expect(origin.count("/a") == before + 90 + pids[index].count)
            }
            // More than the queue has are not lent by another.
            let load = try cluster.start([
                "loadtest", origin.url("/a"), "--requests", "90", "--cluster", "--queue", queues[1],
                "--workers", "2", "--wait", "1s",
            ])
            #expect(try await load.wait() == .exited(3))
            #expect(load.errors.contains("1 of the 2 workers"), "\(load.errors)")
            // Nothing but what the one that was there asked before.
            #expect((183...184).contains(origin.count("/a")))
            try await cluster.stop()
        }

        @Test func aLadderOfWorkersCalibratesAPlan() async throws {
            let origin = try FaultOrigin()
            origin.serve("/a", [UInt8](repeating: 7, count: 2_000))
            let folder = try TemporaryDirectory("ladder")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 3, connections: 4, leaseSeconds: 60)
            let load = try cluster.start([
                "loadtest", origin.url("/a"), "--users", "2", "--scale", "1,2",
                "--duration", "2s", "--cluster", "--json", "--quiet",
            ])
            #expect(try await load.wait() == .exited(0), "\(load.errors)")
            let result = try json(load.output)
            // Of the last step, of which two of the three workers were part.
            #expect(try workers(result).count == 2)
            let ladder = try #require(result["ladder"] as? [String: Any])
            let steps = try #require(ladder["steps"] as? [[String: Any]])
            #expect(steps.map { $0["level"] as? Double } == [1, 2])
            let runs = try #require(result["calibration"] as? [[String: Any]])
            #expect(runs.map { $0["workers"] as? Double } == [1, 2])
            let speeds = try runs.map { try #require($0["segmentsPerSecond"] as? Double) }
            try #require(speeds.count == 2 && speeds.allSatisfy { $0 > 0 })

            let file = try folder.write(load.output, to: "ladder.json")
            let plan = try DrayProcess.start([
                "plan", "--json", "--draws", "0", "--months", "0", "--calibrate", file,
            ])
            #expect(try await plan.wait() == .exited(0), "\(plan.errors)")
            let inputs = try #require(try json(plan.output)["inputs"] as? [[String: Any]])
            func measured(_ path: String) throws -> [String: Any] {
                let input = try #require(inputs.first { $0["path"] as? String == path })
                #expect(input["isAssumed"] as? Bool == false, "\(path)")
                #expect((input["source"] as? String)?.hasPrefix("--calibrate \(file)") == true)
                return input
            }
            let speed = try measured("worker.segmentsPerSecond")["value"] as? [String: Double]
            #expect((speeds[0] * 0.5...speeds[0] * 2).contains(try #require(speed?["likely"])))
            try await cluster.stop()
        }
    }
}
