import Foundation
import Model
import TestSupport
import Testing

extension EndToEnd {
    /// Removals that a signal stops, or that follow an interrupted `dray prefetch`.
    @Suite(.timeLimit(.minutes(3))) struct RemovalInterruptTests {
        private static let remove = ["catalog", "remove", "spring", "--yes"]

        private func queue(_ home: EmbeddedHome) async throws -> String {
            let text = try await home.run(["queue", "list", "--csv"])
            let rows = text.split(whereSeparator: \.isNewline)
            let heading = try #require(rows.first).split(separator: ",")
            let column = try #require(heading.firstIndex(of: "name"))
            return String(try #require(rows.last).split(separator: ",")[column])
        }

        /// Its messages are its own, and the same command continues it.
        @Test func aStoppedRemovalIsContinued() async throws {
            let origin = try await FileOrigin(files: 3)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(origin.list, ["--name", "spring"])
            #expect(try await prefetch.wait() == .exited(0), "\(prefetch.errors)")
            let queue = try await queue(home)
            try await home.run(["queue", "pause", queue])
            let stopped = try home.start(Self.remove + ["--state", home.stateDirectory])
            try await waitUntil(deadlineSeconds: 60, "the reason") {
                stopped.errors.contains("waits: queue \(queue) is paused")
            }
            stopped.signal(SIGINT)
            #expect(try await stopped.wait(deadlineSeconds: 60) == .exited(130))
            #expect(stopped.errors.contains("files that are being deleted now are finished"))
            #expect(stopped.errors.contains("again to delete the remaining files"))
            #expect(!stopped.errors.contains("transfers"), "\(stopped.errors)")
            #expect(!stopped.errors.contains("the cluster continues"), "\(stopped.errors)")

            // Another selection does not follow it.
            let others = try await home.run([
                "assets", "remove", "spring", "--match", "nosuch*", "--yes",
            ])
            #expect(others.contains("Nothing to remove: no asset matches"), "\(others)")
            #expect(others.contains("--state removing"), "\(others)")

            let removed = try home.start(Self.remove + ["--state", home.stateDirectory])
            try await waitUntil(deadlineSeconds: 60, "the same reason") {
                removed.errors.contains("waits: queue \(queue) is paused")
            }
            try await home.run(["queue", "resume", queue])
            #expect(try await removed.wait(deadlineSeconds: 60) == .exited(0))
            let output = removed.output
            #expect(output.contains("Removed: 3 assets; freed 3 files"), "\(output)")
            let listed = try await home.run(["catalog", "list"])
            #expect(listed.contains("  removed  "), "\(listed)")
            #expect(try await home.run(Self.remove).contains("Nothing to remove"))
        }

        /// The workers that were fetching are gone: nothing waits for their leases.
        @Test func whatWasInterruptedIsRemovedAtOnce() async throws {
            let origin = try await FileOrigin(files: 400, requestsPerSecond: 100)
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let prefetch = try home.prefetch(
                origin.list, ["--name", "spring", "--connections", "8"])
            try await origin.waitForRequests(50)
            prefetch.signal(SIGINT)
            #expect(try await prefetch.wait(deadlineSeconds: 60) == .exited(130))
            let removed = try await home.run(Self.remove)
            #expect(!removed.contains("may still be storing"), "\(removed)")
            #expect(removed.contains("Removed: 400 assets"), "\(removed)")
        }

        /// A call of a cluster ends, however long its answer takes.
        @Test func aSignalEndsACall() async throws {
            let coordinator = try FaultOrigin()
            let gate = Gate()
            defer { gate.open() }
            coordinator.route("/v1/queues", FaultOrigin.Response(text: "late").held(at: gate))
            let home = try await EmbeddedHome(.current)
            let call = try home.start(
                ["queue", "list"],
                [
                    "DRAY_COORDINATOR": coordinator.url(""),
                    "DRAY_TOKEN": AccessToken.test.text,
                ])
            try await gate.waitUntilReached(deadlineSeconds: 60)
            call.signal(SIGINT)
            #expect(try await call.wait() == .exited(130), "\(call.errors)")
        }
    }
}
