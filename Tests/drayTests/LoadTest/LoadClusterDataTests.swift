import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Viewers' data and replays on two workers; the access log of a real nginx shows what was sent.
    @Suite(.timeLimit(.minutes(5))) struct LoadClusterDataTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory("load-data") }

        private func json(_ text: String) throws -> [String: Any] {
            let value = try JSONSerialization.jsonObject(with: Data(text.utf8))
            return try #require(value as? [String: Any])
        }

        private func counts(_ result: [String: Any]) throws -> [String: Any] {
            try #require(result["counts"] as? [String: Any])
        }

        /// Writes a log of requests, each at a second of an hour.
        private func log(_ requests: [(second: Int, target: String)]) throws -> String {
            let lines = requests.map { second, target in
                let minutes = String(second / 60 + 100).dropFirst()
                let seconds = String(second % 60 + 100).dropFirst()
                return "1.2.3.4 - - [10/Oct/2026:12:\(minutes):\(seconds) +0000] \"GET \(target) "
                    + "HTTP/1.1\" 200 100 \"-\" \"-\"\n"
            }
            return try directory.write(Array(lines.joined().utf8), to: "access.log")
        }

        /// Expects that nothing of a test's data is stored, shown or logged.
        private func expectNoTrace(
            of secret: String, _ cluster: ProcessCluster, _ load: ChildProcess
        ) async throws {
            for rows in [
                "load_part", "load_url_block", "load_test WHERE scenario <> ''",
            ] {
                let count = try await cluster.postgres.execute("SELECT count(*) FROM \(rows)")
                #expect(count.hasPrefix("0"), "\(rows)")
            }
            for process in cluster.workers + cluster.coordinators.map(\.process) + [load] {
                #expect(!process.output.contains(secret) && !process.errors.contains(secret))
            }
        }

        @Test func eachRequestOfALogIsSentOnceWithItsSpacing() async throws {
            try directory.write([UInt8](repeating: 7, count: 100), to: "www/vod/a.ts")
            let origin = try await NginxServer(root: directory.path("www"))
            // Forty a second for two seconds, a pause of eight, and eighty in one.
            let requests = (0..<160).map { number in
                (
                    second: number < 80 ? number / 40 : 10,
                    target: "/vod/a.ts?n=\(number)&token=s3cret"
                )
            }
            let path = try log(requests)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            let load = try cluster.start([
                "loadtest", origin.url, "--replay", path, "--speed-up", "4", "--cluster",
                "--workers", "2", "--json", "--quiet",
            ])
            try #require(
                try await load.wait(deadlineSeconds: 60) == .exited(0), "\(load.errors)")
            let result = try json(load.output)
            let counts = try counts(result)
            #expect(counts["sent"] as? Int == 160 && counts["planned"] as? Int == 160)
            #expect(counts["failed"] as? Int == 0)
            let seconds = try #require(result["seconds"] as? [[String: Any]])
            let sent = seconds.map { ($0["counts"] as? [String: Any])?["sent"] as? Int ?? 0 }
            // Two seconds of the log at four times the speed, and its tenth second.
            #expect(sent.starts(with: [80, 0, 80]) && sent.reduce(0, +) == 160, "\(sent)")
            let shards = try #require(result["shards"] as? [[String: Any]])
            #expect(shards.map { $0["state"] as? String } == ["finished", "finished"])
            try await waitUntil(deadlineSeconds: 60, "nginx's log") {
                origin.requests().count >= 162
            }
            var times: [String: Int] = [:]
            for request in origin.requests() { times[request.target, default: 0] += 1 }
            // Each worker requests the first one before the test.
            #expect(times.removeValue(forKey: requests[0].target) == 3)
            #expect(times.count == 159 && times.values.allSatisfy { $0 == 1 })
            #expect(Set(times.keys) == Set(requests.dropFirst().map(\.target)))
            try await expectNoTrace(of: "s3cret", cluster, load)
            try await cluster.stop()
        }

        /// Its requests are not sent, and count as planned and missed.
        @Test func theRequestsOfALostWorkerAreMissing() async throws {
            try directory.write([UInt8](repeating: 7, count: 100), to: "www/a.ts")
            let origin = try await NginxServer(root: directory.path("www"))
            let requests = (0..<600).map { (second: $0 / 20, target: "/a.ts?n=\($0)") }
            let path = try log(requests)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            let load = try cluster.start([
                "loadtest", origin.url, "--replay", path, "--cluster", "--workers", "2", "--json",
                "--quiet",
            ])
            try await waitUntil(deadlineSeconds: 60, "some seconds") {
                origin.requests().count > 62
            }
            cluster.workers[1].signal(SIGKILL)
            _ = try await cluster.workers[1].wait()
            #expect(try await load.wait(deadlineSeconds: 120) == .exited(3), "\(load.errors)")
            let result = try json(load.output)
            let shards = try #require(result["shards"] as? [[String: Any]])
            #expect(Set(shards.compactMap { $0["state"] as? String }) == ["finished", "lost"])
            let counts = try counts(result)
            let planned = try #require(counts["planned"] as? Int)
            // A second's first request may count at the end of the one before, too.
            #expect((600...602).contains(planned), "\(planned)")
            // Of thirty seconds, ten a second.
            let missed = try #require(counts["missedSends"] as? Int)
            #expect((150...300).contains(missed), "\(missed)")
            // The other worker's half is whole: every second request.
            let halves = (0..<2).map { half in
                Set(requests.indices.filter { $0 % 2 == half }.map { requests[$0].target })
            }
            try await waitUntil(deadlineSeconds: 60, "nginx's log") {
                let targets = Set(origin.requests().map(\.target))
                return halves.contains { $0.isSubset(of: targets) }
            }
            let targets = origin.requests().map(\.target)
            #expect(halves.count { $0.isSubset(of: targets) } == 1)
            // None was sent twice; each worker requests the first one before the test.
            #expect(Set(targets).count == targets.count - 2)
            try await expectNoTrace(of: "n=599", cluster, load)
            try await cluster.stop()
        }

        @Test func eachRowIsUsedByViewersOfOneWorkerInTurn() async throws {
            let list =
                "#EXTM3U\n#EXT-X-TARGETDURATION:1\n"
                + (0..<3).map { "#EXTINF:1,\n\($0).ts\n" }.joined() + "#EXT-X-ENDLIST\n"
            try directory.write(Array(list.utf8), to: "www/list.m3u8")
            for number in 0..<3 { try directory.write([1, 2, 3], to: "www/\(number).ts") }
            let origin = try await NginxServer(root: directory.path("www"))
            let rows = (0..<8).map { "token=s3cret\($0),session=s3cret\($0)\n" }
            try directory.write(Array(("query,Cookie\n" + rows.joined()).utf8), to: "viewers.csv")
            // Sixteen viewers, and time for their requests.
            let scenario = try directory.write(
                Array(
                    """
                    {"targets": ["\(origin.url)/list.m3u8"],
                     "arrivals": {"stages": [
                      {"seconds": 2, "from": 8, "rate": 8}, {"seconds": 0, "rate": 0},
                      {"seconds": 3, "rate": 0}]},
                     "viewers": {"startupSeconds": 0.5, "data": "viewers.csv"}}
                    """.utf8), to: "scenario.json")
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 2, connections: 4, leaseSeconds: 60)
            let load = try cluster.start([
                "loadtest", scenario, "--cluster", "--workers", "2", "--json", "--quiet",
            ])
            try #require(
                try await load.wait(deadlineSeconds: 60) == .exited(0), "\(load.errors)")
            let counts = try counts(try json(load.output))
            #expect(counts["viewersStarted"] as? Int == 16 && counts["failed"] as? Int == 0)
            try await waitUntil(deadlineSeconds: 60, "nginx's log") {
                origin.requests().count { $0.target.contains("token=") } >= 64
            }
            // Two viewers for each row, whose requests all have it. Those before the test have none.
            var times: [String: Int] = [:]
            for request in origin.requests() where request.target.contains("?") {
                times[request.target, default: 0] += 1
            }
            let expected = ["list.m3u8", "0.ts", "1.ts", "2.ts"].flatMap { file in
                (0..<8).map { "/\(file)?token=s3cret\($0)" }
            }
            #expect(Set(times.keys) == Set(expected))
            #expect(times.values.allSatisfy { $0 == 2 }, "\(times)")
            try await expectNoTrace(of: "s3cret", cluster, load)

            // What is wrong with it is named before anything is sent.
            try directory.write(Array("query\na=1,s3cret\n".utf8), to: "viewers.csv")
            let wrong = try cluster.start(["loadtest", scenario, "--cluster", "--workers", "2"])
            #expect(try await wrong.wait(deadlineSeconds: 60) == .exited(2))
            #expect(
                wrong.errors.contains("viewers.csv") && wrong.errors.contains("line 2"),
                "\(wrong.errors)")
            #expect(!wrong.errors.contains("s3cret"))
            try await cluster.stop()
        }
    }
}
