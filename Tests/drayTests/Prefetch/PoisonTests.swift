import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// A URL that kills the process that requests it.
    @Suite(.timeLimit(.minutes(3))) struct PoisonTests {
        private static let files = 60

        private static func list(of origin: FaultOrigin, in folder: TemporaryDirectory) throws
            -> String
        {
            var lines: [String] = []
            for number in 0..<files {
                origin.serve("/files/\(number)", Array("file \(number)".utf8))
                lines.append(origin.url("/files/\(number)"))
                if number == files / 2 { lines.append(origin.url("/files/bad")) }
            }
            let path = folder.path + "/list.txt"
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path))
            return path
        }

        private static func run(_ cluster: ProcessCluster, _ words: [String]) async throws -> String
        {
            let process = try cluster.start(words)
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            return process.output
        }

        @Test func aPoolOutlivesAURLThatKillsItsWorkers() async throws {
            let origin = try FaultOrigin()
            var deadly = FaultOrigin.Response(200)
            deadly.steps = [.killPeer, .close]
            deadly.headers = [("Content-Length", "5")]
            origin.route("/files/bad", deadly)
            let folder = try TemporaryDirectory("list")
            let edge = try TemporaryDirectory("edge")
            let list = try Self.list(of: origin, in: folder)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 4, connections: 2, leaseSeconds: 5)
            let prefetch = try cluster.start(["prefetch", list, "--to", edge.path, "--name", "one"])
            #expect(try await prefetch.wait(deadlineSeconds: 90) == .exited(1))
            #expect(
                prefetch.errors.contains("worker.poison")
                    || prefetch.output.contains("worker.poison"))

            let dead = cluster.workers.filter { $0.ending == .signalled(SIGKILL) }
            #expect(dead.count == 2)
            #expect(origin.count("/files/bad") == 2)
            let totals = try await cluster.status().catalogs[0].totals
            #expect(totals.completed == Self.files && totals.failed == 1)

            // Held, and shown with who died with it.
            let shown = try await Self.run(
                cluster, ["assets", "list", "one", "--code", "worker.poison", "--json"])
            for worker in dead { #expect(shown.contains("-\(worker.pid) at 20"), "\(shown)") }

            // Tried when asked, once; and by a worker that lives on when it is harmless.
            _ = try await Self.run(cluster, ["catalog", "retry", "one"])
            try await waitUntil(deadlineSeconds: 60, "the third death, and the end") {
                try await cluster.status().catalogs[0].state == .failed
                    && cluster.workers.count { $0.ending != nil } == 3
            }
            #expect(origin.count("/files/bad") == 3)
            origin.serve("/files/bad", Array("well".utf8))
            _ = try await Self.run(cluster, ["catalog", "retry", "one"])
            try await waitUntil(deadlineSeconds: 60, "the catalog's end") {
                try await cluster.status().catalogs[0].state == .completed
            }
            #expect(cluster.workers.count { $0.ending == nil } == 1)
            try await cluster.stop()
        }
    }
}
