import API
import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// A database that answers everything but requests for work.
    @Suite(.timeLimit(.minutes(2))) struct NoWorkTests {
        @Test func followersOfACatalogAreNotifiedAndDoNotWaitForever() async throws {
            let origin = try await FileOrigin(files: 3)
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 1, connections: 4, leaseSeconds: 10)
            let edge = try TemporaryDirectory("edge")
            let (broken, mended) = (
                "ALTER FUNCTION claim_jobs RENAME TO claim_none",
                "ALTER FUNCTION claim_none RENAME TO claim_jobs"
            )
            _ = try await cluster.postgres.execute(broken)
            let words = ["prefetch", origin.list, "--to", edge.path, "--quiet", "--name"]
            let first = try cluster.start(words + ["first"])
            try await waitUntil(deadlineSeconds: 60, "the notice") {
                first.errors.contains("no worker can lease jobs: PostgreSQL rejected a statement")
            }
            let shown = try await cluster.status()
            #expect(shown.workers.map(\.issue?.code) == ["worker.internal"])
            #expect(shown.catalogs[0].issue?.code == "worker.internal")
            // Repaired in time, it continues as before.
            _ = try await cluster.postgres.execute(mended)
            #expect(try await first.wait() == .exited(0), "\(first.errors)")
            try await origin.expectCopied(to: edge.path)

            _ = try await cluster.postgres.execute(broken)
            let second = try cluster.start(words + ["second"])
            try await waitUntil(deadlineSeconds: 60, "the notice") { !second.errors.isEmpty }
            _ = try await cluster.postgres.execute(
                "UPDATE worker SET issue_since = now() - interval '61 seconds'")
            #expect(try await second.wait() == .exited(3))
            #expect(
                second.errors.contains("no worker could lease jobs for 1 min 0"), "\(second.errors)"
            )
            #expect(second.errors.contains("check the logs of the coordinators"))
            // The catalog waits for better days.
            _ = try await cluster.postgres.execute(mended)
            try await waitUntil(deadlineSeconds: 60, "the end") {
                try await cluster.status().catalogs[0].state == .completed
            }
            // The worker reports it with its next heartbeat, which may come after the last result.
            try await waitUntil(deadlineSeconds: 60, "the end of the issue") {
                try await cluster.status().workers.map(\.issue?.code) == [nil]
            }
            try await cluster.stop()
        }
    }
}
