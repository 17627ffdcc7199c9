import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// `dray up`: the embedded cluster, kept running for other commands.
    @Suite(.timeLimit(.minutes(2))) struct UpTests {
        @Test func theClusterServesAndContinuesAfterARestart() async throws {
            let origin = try await FileOrigin(files: 300, requestsPerSecond: 60)
            let home = try await EmbeddedHome(.current)
            let (first, environment) = try await Self.up(home)
            let address = try #require(environment["DRAY_COORDINATOR"])
            let prefetch = try DrayProcess.start(
                ["prefetch", origin.list, "--to", home.edge], environment: environment)
            try await origin.waitForRequests(60)
            let status = try DrayProcess.start(["status"], environment: environment)
            #expect(try await status.wait() == .exited(0))
            #expect(status.output.contains("running"), "\(status.output)")

            // Submitted catalogs continue when the cluster is there again.
            first.signal(SIGTERM)
            #expect(try await first.wait(deadlineSeconds: 30) == .exited(0), "\(first.errors)")
            let port = try #require(address.split(separator: ":").last)
            let (second, _) = try await Self.up(home, port: String(port))
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            // As a terminal that is closed does it.
            second.signal(SIGHUP)
            #expect(try await second.wait(deadlineSeconds: 30) == .exited(0), "\(second.errors)")
            try await home.expectQuiet()
            try await origin.expectCopied(to: home.edge)
            #expect(origin.repeatedRequests == 0)
        }

        /// It is not submitted again, and no command follows it.
        @Test(arguments: [SIGKILL, SIGTERM])
        func aStoppedClusterContinuesByItself(signal: Int32) async throws {
            let origin = try await FileOrigin(files: 200, requestsPerSecond: 60)
            let home = try await EmbeddedHome(.current)
            let (first, environment) = try await Self.up(home)
            let address = try #require(environment["DRAY_COORDINATOR"])
            let prefetch = try DrayProcess.start(
                ["prefetch", origin.list, "--to", home.edge, "--detach"], environment: environment)
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            try await origin.waitForRequests(40)
            first.signal(signal)
            _ = try await first.wait(deadlineSeconds: 30)
            let port = try #require(address.split(separator: ":").last)
            let (second, _) = try await Self.up(home, port: String(port))
            try await waitUntil(deadlineSeconds: 90, "the end of the catalog") {
                let status = try DrayProcess.start(
                    ["status", "--json"], environment: environment)
                _ = try await status.wait()
                // Its last SHA256SUMS is written after its last file.
                return status.output.contains("\"completed\" : 200")
                    && status.output.contains("\"state\" : \"completed\"")
            }
            second.signal(SIGTERM)
            #expect(try await second.wait(deadlineSeconds: 30) == .exited(0), "\(second.errors)")
            try await origin.expectCopied(to: home.edge)
        }

        /// Its headers and settings of origins have ended with it.
        @Test func anInterruptedPrefetchContinuesByRequestOnly() async throws {
            let origin = try await FileOrigin(files: 200, requestsPerSecond: 60)
            let home = try await EmbeddedHome(.current)
            let prefetch = try home.prefetch(origin.list, ["--name", "films"])
            try await origin.waitForRequests(40)
            prefetch.signal(SIGTERM)
            #expect(try await prefetch.wait(deadlineSeconds: 60) == .exited(130))
            let requests = origin.requests.count
            let (service, environment) = try await Self.up(home, state: home.stateDirectory)
            func output(_ arguments: [String]) async throws -> String {
                let command = try DrayProcess.start(arguments, environment: environment)
                #expect(try await command.wait() == .exited(0), "\(command.errors)")
                return command.output
            }
            let before = try await output(["status", "--json"])
            #expect(before.contains("\"state\" : \"interrupted\""), "\(before)")
            #expect(origin.requests.count == requests)
            _ = try await output(["assets", "resume", "films"])
            try await waitUntil(deadlineSeconds: 60, "the end of the catalog") {
                let status = try await output(["status", "--json"])
                return status.contains("\"completed\" : 200")
                    && status.contains("\"state\" : \"completed\"")
            }
            service.signal(SIGTERM)
            #expect(try await service.wait(deadlineSeconds: 30) == .exited(0), "\(service.errors)")
            try await origin.expectCopied(to: home.edge)
        }

        /// Starts the cluster and answers what it prints for those who use it, by variable. Root names the
        /// state, as its default would be the machine's.
        static func up(
            _ home: EmbeddedHome, port: String = "0", state path: String? = nil,
            environment: [String: String] = [:]
        ) async throws -> (ChildProcess, [String: String]) {
            let state =
                home.account == .current ? ["--state", path ?? home.path("state")] : []
            let process = try home.start(
                [
                    "up", "--listen", "127.0.0.1:\(port)", "--workers", "2", "--connections", "4",
                ] + state, environment)
            try await waitUntil(deadlineSeconds: 60, "the start of the cluster") {
                guard process.ending == nil else { throw POSIXFailure(process.errors) }
                return process.output.hasSuffix("\n")
            }
            var printed = ["DRAY_TOKEN": ""]
            for line in process.output.split(separator: "\n") {
                try #require(line.hasPrefix("export "))
                let parts = line.dropFirst("export ".count).split(separator: "=", maxSplits: 1)
                printed[String(parts[0])] = String(parts[1])
            }
            return (process, printed)
        }
    }
}
