import API
import CoordinatorClient
import Model
import TestSupport
import Testing
import WebURL

/// Assets of nginx that are refreshed when its responses are no longer fresh.
@Suite struct OriginFreshnessTests {
    private static let configuration = """
        location /hour/ { add_header Cache-Control "public, max-age=3600"; }
        location /edge/ { add_header Cache-Control "max-age=60, s-maxage=7200"; }
        location /expires/ { expires 10h; }
        location /never/ { add_header Cache-Control no-store; }
        location /aged/ { add_header Cache-Control max-age=3600; add_header Age 1800; }
        location /t/ { add_header Cache-Control max-age=5400; }
        location /t/low/ { add_header Cache-Control max-age=1800; }
        """

    private static let files = ["hour", "edge", "expires", "never", "aged", "plain"]

    /// Seconds until each asset is due, to the tenth of an hour.
    private func due(_ cluster: Cluster) async throws -> [String: String] {
        let rows = try await cluster.execute(
            """
            SELECT name || ' ' || round(extract(epoch FROM refresh_at - now()) / 3600, 1)
            FROM asset ORDER BY id
            """)
        let pairs = rows.split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) })
    }

    private func asset(
        _ path: String, _ kind: AssetKind, _ nginx: NginxServer
    ) throws -> AssetSubmission {
        let url = "\(nginx.url)/\(path)"
        var asset = AssetSubmission(
            name: String(path.split(separator: "/")[0]), url: url, kind: kind,
            key: try SiteKey(try WebURL(url)).text)
        asset.refreshByOrigin = true
        return asset
    }

    @Test func assetsAreDueByWhatTheirOriginStates() async throws {
        let root = try TemporaryDirectory("fresh")
        for name in Self.files { _ = try root.write("first", to: "\(name)/a.bin") }
        _ = try root.write(
            "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow/index.m3u8\n", to: "t/main.m3u8")
        _ = try root.write(
            "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\ns.ts\n#EXT-X-ENDLIST\n",
            to: "t/low/index.m3u8")
        _ = try root.write(sampleBytes(4_000, seed: 1), to: "t/low/s.ts")
        let nginx = try await NginxServer(root: root.path, configuration: Self.configuration)
        let expected = [
            "hour": "1.0", "edge": "2.0", "expires": "10.0", "never": "0.1", "aged": "0.5",
            "plain": "24.0", "t": "0.5",
        ]
        try await Cluster.with { cluster in
            let assets = try Self.files.map { try asset("\($0)/a.bin", .file, nginx) }
            let catalog = try await cluster.submit(
                assets + [try asset("t/main.m3u8", .hls, nginx)])
            let stored = try await cluster.end(of: catalog)
            #expect(stored.values.allSatisfy { $0.state == .completed })
            #expect(try await due(cluster) == expected)

            // One has changed, when all are due. nginx's tags have the second of a file.
            _ = try root.write("second one", to: "hour/a.bin")
            try await cluster.execute("UPDATE asset SET refresh_at = now()")
            try await waitUntil(deadlineSeconds: 60, "the refreshes") {
                try await cluster.execute("SELECT count(*) FROM asset WHERE refreshed IS NULL")
                    .hasPrefix("0")
            }
            let refreshed = try await cluster.end(of: catalog)
            #expect(refreshed["hour"]?.refreshed == .changed)
            #expect(refreshed.values.count { $0.refreshed == .unchanged } == 6)
            // A response without a body states it as well.
            #expect(nginx.requests().contains { $0.status == 304 && $0.target == "/edge/a.bin" })
            #expect(try await due(cluster) == expected)
        }
    }
}
