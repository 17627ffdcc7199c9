import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// What a coordinator logs while PostgreSQL is away.
    @Suite(.timeLimit(.minutes(2))) struct OutageLogTests {
        @Test func anOutageOfTheDatabaseIsTwoLines() async throws {
            let postgres = try await PostgresServer()
            let coordinator = try DrayProcess.start(
                [
                    "coordinator", "--database", postgres.url, "--listen", "127.0.0.1:0",
                    "--log-format", "json", "--log-level", "debug",
                ])
            try await waitUntil(deadlineSeconds: 30, "the start") {
                guard coordinator.ending == nil else { throw POSIXFailure(coordinator.errors) }
                return coordinator.output.hasSuffix("\n")
            }
            try await postgres.stop()
            // The listener tries once a second, and so does the rest.
            try await waitUntil(deadlineSeconds: 30, "an outage of some seconds") {
                lines(coordinator).count { $0["message"] == "listening for work failed" } >= 4
            }
            try await postgres.start()
            try await waitUntil(deadlineSeconds: 30, "the end of the outage") {
                lines(coordinator).contains { $0["message"] == "the database answers again" }
            }
            coordinator.signal(SIGTERM)
            try await coordinator.wait()

            let shown = lines(coordinator).filter { $0["level"] != "debug" }
            let outage = shown.filter { $0["message"] == "the database does not answer" }
            let recovered = shown.filter { $0["message"] == "the database answers again" }
            #expect(outage.count == 1 && recovered.count == 1, "\(coordinator.errors)")
            #expect(outage.first?["code"] == "cluster.databaseUnreachable")
            #expect(recovered.first?["failures"].flatMap { Int($0) }.map { $0 >= 3 } == true)
            #expect(shown.allSatisfy { $0["time"] != nil && $0["component"] != nil })
            // One statement may have been under way when the server stopped.
            let others = shown.count { $0["message"] == "background work failed" }
            #expect(others <= 2, "\(coordinator.errors)")
        }

        private func lines(_ process: ChildProcess) -> [[String: String]] {
            process.errors.split(separator: "\n").compactMap {
                try? JSONDecoder().decode([String: String].self, from: Data($0.utf8))
            }
        }
    }
}
