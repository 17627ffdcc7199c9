import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

@Suite("Titles in turn", .timeLimit(.minutes(2)))
struct ResolveTurnTests {
    @Test func aManifestThatDripsHoldsUpNoOther() async throws {
        try await Cluster.with { cluster in
            let type = [("Content-Type", "application/vnd.apple.mpegurl")]
            let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\ns.ts\n#EXT-X-ENDLIST\n"
            let titles = try (0..<12).map { number in
                cluster.origin.route("/\(number)/i.m3u8", .init(headers: type, text: playlist))
                cluster.origin.serve("/\(number)/s.ts", Cluster.bytes(100))
                return try cluster.title("/\(number)/i.m3u8")
            }
            // More than is too slow, and without end.
            var drip = FaultOrigin.Response(headers: type + [("Connection", "close")])
            let comment = Array("#\(String(repeating: "x", count: 2_046))\n".utf8)
            drip.steps = [.send(Array("#EXTM3U\n".utf8)), .drip(comment, everySeconds: 0.5)]
            cluster.origin.route("/0/i.m3u8", drip)
            let catalog = try await cluster.submit(titles)
            try await waitUntil(deadlineSeconds: 60, "all titles but one") {
                try await cluster.client.status(of: catalog).totals.completed == 11
            }
        }
    }
}
