import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Reasons why a catalog waits, as its followers read them.
    @Suite(.timeLimit(.minutes(3))) struct WaitTests {
        private static func run(
            _ cluster: ProcessCluster, _ words: String...
        ) async throws -> String {
            let process = try cluster.start(words)
            #expect(try await process.wait() == .exited(0), "\(words): \(process.errors)")
            return process.output
        }

        private static func wait(
            for text: String, _ process: ChildProcess
        ) async throws {
            try await waitUntil(deadlineSeconds: 40, text) {
                process.errors.contains(text) || process.ending != nil
            }
            #expect(process.errors.contains(text), "\(process.errors)")
        }

        private struct Report: Decodable {
            struct Deadline: Decodable {
                var missedBySeconds: Double?
                var time: Double
            }
            struct Total: Decodable {
                var reason: String
                var seconds: Double
            }
            var deadline: Deadline?
            var waited: [Total]
            var waits: [CatalogWait]

            init(_ path: String) throws {
                try self.init(try #require(FileManager.default.contents(atPath: path)))
            }

            init(_ data: Data) throws { self = try JSONDecoder().decode(Report.self, from: data) }
        }

        @Test func aPausedQueueAClosedScheduleAndAMissedDeadlineAreNamed() async throws {
            let origin = try await FileOrigin(files: 4)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let (site, report) = (edge.path("site"), edge.path("report.json"))
            _ = try await Self.run(
                cluster, "prefetch", "\(origin.server.url)/\(origin.paths[0])", "--to", site,
                "--quiet")
            let queue = try #require(try await cluster.status().queues.first?.name)
            _ = try await Self.run(cluster, "queue", "pause", queue)
            let prefetch = try cluster.start([
                "prefetch", origin.list, "--to", site, "--name", "movies", "--deadline", "2d",
                "--report", report,
            ])
            try await Self.wait(for: "waits: queue \(queue) is paused", prefetch)
            #expect(prefetch.errors.contains("time left unknown"), "\(prefetch.errors)")
            let shown = try await Self.run(cluster, "catalog", "status", "movies")
            #expect(shown.contains("waits: queue \(queue) is paused"), "\(shown)")
            // Three days from now, which is after the deadline.
            let day = Date(timeIntervalSinceNow: 3 * 86_400).formatted(
                .iso8601.year().month().day())
            _ = try await Self.run(
                cluster, "site", "set", queue, "--schedule", "\(day) unlimited, else off")
            _ = try await Self.run(cluster, "queue", "resume", queue)
            let all = try await Self.run(cluster, "status")
            #expect(all.contains("waits: the schedule opens at \(day) 00:00 UTC (in 2 d"), "\(all)")
            try await Self.wait(for: "cannot be met: nothing can start until", prefetch)
            try await Self.wait(for: "waits: the schedule opens at", prefetch)
            _ = try await cluster.postgres.execute(
                "UPDATE catalog SET deadline = started_at - interval '2 s' WHERE name = 'movies'")
            try await Self.wait(for: " UTC passed ", prefetch)
            _ = try await Self.run(cluster, "site", "set", queue, "--schedule", "unlimited")
            #expect(try await prefetch.wait() == .exited(5), "\(prefetch.errors)")
            #expect(prefetch.output.contains(" UTC was missed by "), "\(prefetch.output)")
            #expect(prefetch.output.contains("\nwaited "), "\(prefetch.output)")
            try await origin.expectCopied(to: site)
            let written = try Report(report)
            #expect((written.deadline?.missedBySeconds ?? 0) >= 1 && written.waits.isEmpty)
            #expect(Set(written.waited.map(\.reason)).isSuperset(of: ["schedule"]))
            try await cluster.stop()
        }

        @Test(arguments: ["", "--json", "--quiet"])
        func aRefreshThatMissesTheDeadlineIsReported(option: String) async throws {
            let origin = try await FileOrigin(files: 3)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let report = edge.path("report.json")
            _ = try await Self.run(
                cluster, "prefetch", origin.list, "--to", edge.path("site"), "--name", "movies",
                "--deadline", "2d", "--quiet")
            let queue = try #require(try await cluster.status().queues.first?.name)
            _ = try await Self.run(cluster, "queue", "pause", queue)
            let options = option.isEmpty ? [] : [option]
            let refresh = try cluster.start(["refresh", "movies", "--report", report] + options)
            try await waitUntil(deadlineSeconds: 30, "the refresh") {
                try await cluster.status().catalogs.first?.state == .running
            }
            _ = try await cluster.postgres.execute(
                "UPDATE catalog SET deadline = now() - interval '1 s' WHERE name = 'movies'")
            // Long enough to count.
            let begin = ContinuousClock.now
            try await waitUntil(deadlineSeconds: 30, "3 s of waiting") {
                ContinuousClock.now - begin > .seconds(3)
            }
            _ = try await Self.run(cluster, "queue", "resume", queue)
            #expect(try await refresh.wait() == .exited(5), "\(refresh.errors)")
            let missed = " UTC was missed by "
            #expect(refresh.output.contains(missed) == options.isEmpty, "\(refresh.output)")
            #expect(refresh.errors.contains(missed) != options.isEmpty, "\(refresh.errors)")
            var written = [try Report(report)]
            if option == "--json" { written.append(try Report(Data(refresh.output.utf8))) }
            for report in written {
                #expect((report.deadline?.missedBySeconds ?? 0) >= 1 && report.waits.isEmpty)
                #expect(report.waited.map(\.reason).contains("queuePaused"))
            }
            try await cluster.stop()
        }

        @Test func aRetryAndACooldownAreNamed() async throws {
            let origin = try FaultOrigin()
            origin.route(
                "/a.bin",
                inTurn: [
                    FaultOrigin.Response(503, headers: [("Retry-After", "8")], text: "busy"),
                    FaultOrigin.Response(200, text: "content"),
                ])
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.url("/a.bin"), "--to", edge.path, "--name", "movies",
            ])
            try await Self.wait(for: "after origin.http.503", prefetch)
            #expect(prefetch.errors.contains("the next retry is in 0:0"), "\(prefetch.errors)")
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            #expect(prefetch.output.contains("\nwaited "), "\(prefetch.output)")
            try await cluster.stop()
        }

        @Test func theLeaseOfAKilledWorkerIsNamed() async throws {
            let gate = Gate()
            defer { gate.open() }
            let origin = try FaultOrigin()
            let body = [UInt8](repeating: 7, count: 40_000)
            origin.route("/a.bin") { $0.serve(body).held(at: gate) }
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 20)
            let edge = try TemporaryDirectory("edge")
            let prefetch = try cluster.start([
                "prefetch", origin.url("/a.bin"), "--to", edge.path, "--name", "movies",
            ])
            // It waits for its first byte, and counts.
            try await waitUntil(deadlineSeconds: 30, "the transfer") {
                try await cluster.status().workers.map(\.activeTransfers) == [1]
            }
            #expect(try await cluster.status().catalogs[0].waits == nil)
            let shown = try await Self.run(cluster, "catalog", "status", "movies")
            #expect(shown.contains("active: 1 asset\n"), "\(shown)")
            cluster.workers[0].signal(SIGKILL)
            _ = try await cluster.workers[0].wait()
            try await Self.wait(for: "does not answer; its lease ends in 0:", prefetch)
            try cluster.startWorker(["--connections", "4", "--allow-addresses", "127.0.0.0/8"])
            gate.open()
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            #expect(prefetch.output.contains("leases of lost workers"), "\(prefetch.output)")
            try await cluster.stop()
        }

        @Test func aLimitIsNamed() async throws {
            let origin = try await FileOrigin(files: 9)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            _ = try await Self.run(
                cluster, "origins", "set", origin.server.url, "--requests", "0.1")
            let prefetch = try cluster.start([
                "prefetch", origin.list, "--to", edge.path, "--name", "movies",
            ])
            try await Self.wait(
                for: "the limits of \(origin.server.url) are used up", prefetch)
            _ = try await Self.run(cluster, "origins", "clear", origin.server.url)
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            try await cluster.stop()
        }
    }
}
