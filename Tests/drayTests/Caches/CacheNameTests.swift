import Foundation
import TestSupport
import Testing

extension EndToEnd {
    /// The name under which POPs are asked over TLS.
    @Suite(
        .enabled(if: CacheServers.installed.contains(.nginx), CacheServers.needs),
        .timeLimit(.minutes(2)))
    struct CacheNameTests {
        /// The connection goes to each POP's address; Host, the handshake and the certificate are the edge's.
        @Test func hostAndHandshakeHaveTheNameOfTheEdge() async throws {
            let home = try await EmbeddedHome(.current, state: .ofAnEarlierRun)
            let directory = try TemporaryDirectory("authority")
            let authority = try await TestAuthority(in: directory)
            let servers = try await CacheServers(
                .nginx, certificate: authority.server(names: "DNS:edge.example"))
            try servers.serve("f/a.bin", sampleBytes(2_000))
            let list = home.path("list.txt")
            try Data("\(servers.origin)/f/a.bin\n".utf8).write(to: URL(filePath: list))
            let settings = home.path("settings.json")
            let trusted = [servers.edge: ["caFile": authority.certificate]]
            try JSONSerialization.data(withJSONObject: trusted)
                .write(to: URL(filePath: settings))
            chmod(settings, 0o600)
            try await home.run([
                "prefetch", list, "--to", servers.site(), "--origin-settings", settings,
            ])
            for pop in [2, 3] {
                // The log has a request after its answer was sent.
                try await waitUntil(deadlineSeconds: 60, "the log of POP \(pop)") {
                    !servers.popRequests(pop, for: "/f/a.bin").isEmpty
                }
                let requests = servers.popRequests(pop, for: "/f/a.bin")
                #expect(requests.map(\.host) == [servers.host])
                #expect(requests.map(\.name) == ["edge.example"])
            }
            try await servers.stop()
        }
    }
}
