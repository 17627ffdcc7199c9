import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Two coordinators and five workers, started by hand, share the work of one prefetch.
    @Suite(.timeLimit(.minutes(5))) struct SharedWorkTests {
        private static let files = 1_200

        @Test func everyWorkerWorksAndPartingInGoodOrderCostsNothing() async throws {
            let origin = try await FileOrigin(files: Self.files, requestsPerSecond: 100)
            let edge = try TemporaryDirectory("edge")
            // Its one file keeps the prefetch from its end until all has been seen, however slow the machine.
            let (late, gate) = (try FaultOrigin(), Gate())
            defer { gate.open() }
            late.route("/late", FaultOrigin.Response(text: "late").held(at: gate))
            let settings = try edge.write(
                #"{"default": {"timeouts": {"firstByteSeconds": 3600}}}"#, to: "origins.json")
            let list = try edge.write(
                try String(contentsOfFile: origin.list, encoding: .utf8) + late.url("/late") + "\n",
                to: "list.txt")
            let cluster = try await ProcessCluster(
                coordinators: 2, workers: 5, connections: 4, leaseSeconds: 60,
                workerOptions: ["--origin-settings", settings])
            let report = edge.path("report.json")
            // It knows one coordinator only, and that one goes away for a while.
            let prefetch = try cluster.start(
                ["prefetch", list, "--to", edge.path("site"), "--report", report],
                coordinators: cluster.coordinators[0].url)

            try await cluster.waitForSegments(200)
            try await waitUntil(deadlineSeconds: 60, "every worker's work") {
                try cluster.workers.allSatisfy { try Self.bytesWritten(by: $0) > 20_000 }
            }

            // What it holds it finishes or gives back.
            let leaver = cluster.workers[2]
            leaver.signal(SIGTERM)
            #expect(try await leaver.wait(deadlineSeconds: 60) == .exited(0))
            #expect(try await cluster.jobsHeld(by: leaver) == 0)

            try await cluster.restartCoordinator(0, by: SIGTERM) {
                try await waitUntil(deadlineSeconds: 60, "the prefetch's complaint") {
                    prefetch.errors.contains("coordinator unreachable, retrying")
                }
            }
            try await waitUntil(deadlineSeconds: 60, "the end of the complaint") {
                prefetch.errors.contains("the coordinator answers again")
            }
            gate.open()
            #expect(try await prefetch.wait(deadlineSeconds: 60) == .exited(0))

            let status = try await cluster.status()
            #expect(status.catalogs.first?.totals.completed == Self.files + 1)
            #expect(status.catalogs.first?.totals.retries == 0)
            #expect(status.queues.map(\.waiting) == [0])
            try await cluster.stop()
            try await origin.expectCopied(to: edge.path("site"))
            #expect(origin.requests.count == Self.files)
            #expect(origin.repeatedRequests == 0)
            #expect(FileManager.default.fileExists(atPath: report))
        }

        /// Bytes that a process has handed to write(2) and its kin, sockets not counted.
        private static func bytesWritten(by process: ChildProcess) throws -> Int {
            let text = try String(contentsOfFile: "/proc/\(process.pid)/io", encoding: .utf8)
            let line = text.split(separator: "\n").first { $0.hasPrefix("wchar: ") }
            return try #require(line.flatMap { Int($0.dropFirst(7)) })
        }
    }
}
