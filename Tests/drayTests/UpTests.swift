import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray up`: the embedded cluster, kept running for whoever has its address.
    @Suite(.timeLimit(.minutes(2))) struct UpTests {
        @Test func theClusterServesAndGoesOnAfterARestart() async throws {
            let origin = try await FileOrigin(files: 300, requestsPerSecond: 60)
            let home = try await EmbeddedHome(.current)
            let (first, address) = try await up(home)
            let environment = ["DRAY_COORDINATOR": address]
            let prefetch = try DrayProcess.start(
                ["prefetch", origin.list, "--to", home.edge], environment: environment)
            try await origin.waitForRequests(60)
            let status = try DrayProcess.start(["status"], environment: environment)
            #expect(try await status.wait() == .exited(0))
            #expect(status.output.contains("running"), "\(status.output)")

            // What was submitted goes on when the cluster is there again.
            first.signal(SIGTERM)
            #expect(try await first.wait(deadlineSeconds: 30) == .exited(0), "\(first.errors)")
            let port = try #require(address.split(separator: ":").last)
            let (second, _) = try await up(home, port: String(port))
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            // As a terminal that is closed does it.
            second.signal(SIGHUP)
            #expect(try await second.wait(deadlineSeconds: 30) == .exited(0), "\(second.errors)")
            try await home.expectQuiet()
            try await origin.expectCopied(to: home.edge)
            #expect(origin.repeatedRequests == 0)
        }

        /// Starts the cluster and answers its address.
        private func up(
            _ home: EmbeddedHome, port: String = "0"
        ) async throws -> (ChildProcess, String) {
            let process = try home.start([
                "up", "--state", home.path("state"), "--listen", "127.0.0.1:\(port)",
                "--workers", "2", "--connections", "4",
            ])
            try await waitUntil(deadlineSeconds: 60, "the start of the cluster") {
                guard process.ending == nil else { throw POSIXFailure(process.errors) }
                return process.output.hasSuffix("\n")
            }
            let line = process.output.dropLast()
            let words = "export DRAY_COORDINATOR="
            try #require(line.hasPrefix(words))
            return (process, String(line.dropFirst(words.count)))
        }
    }
}
