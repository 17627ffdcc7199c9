import API
import CoordinatorClient
import FoundationEssentials
import Model
import TestSupport
import Testing

@testable import Worker

@Suite("Titles in turn", .timeLimit(.minutes(2)))
struct ResolveTurnTests {
    private static let type = [("Content-Type", "application/vnd.apple.mpegurl")]

    /// More than is too slow, and without end.
    private static var drip: FaultOrigin.Response {
        var drip = FaultOrigin.Response(headers: type + [("Connection", "close")])
        let comment = Array("#\(String(repeating: "x", count: 2_046))\n".utf8)
        drip.steps = [.send(Array("#EXTM3U\n".utf8)), .drip(comment, everySeconds: 0.5)]
        return drip
    }

    private static func titles(_ numbers: Range<Int>, _ cluster: Cluster) throws
        -> [AssetSubmission]
    {
        let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\ns.ts\n#EXT-X-ENDLIST\n"
        return try numbers.map { number in
            cluster.origin.route("/\(number)/i.m3u8", .init(headers: type, text: playlist))
            cluster.origin.serve("/\(number)/s.ts", sampleBytes(100))
            return try cluster.title("/\(number)/i.m3u8")
        }
    }

    @Test func aManifestThatDripsHoldsUpNoOther() async throws {
        try await Cluster.with { cluster in
            let titles = try Self.titles(0..<12, cluster)
            cluster.origin.route("/0/i.m3u8", Self.drip)
            let catalog = try await cluster.submit(titles)
            try await waitUntil(deadlineSeconds: 60, "all titles but one") {
                try await cluster.client.status(of: catalog).totals.completed == 11
            }
        }
    }

    @Test func manifestsOfOneHostThatDripHoldUpNoOther() async throws {
        try await Cluster.with { cluster in
            var titles = try Self.titles(0..<12, cluster)
            for number in 0..<8 {
                cluster.origin.route("/\(number)/i.m3u8", Self.drip)
                titles[number].url = "http://localhost:\(cluster.origin.port)/\(number)/i.m3u8"
            }
            // These have all places before others come.
            let drips = try await cluster.submit(Array(titles[..<8]), catalog: "drips")
            try await waitUntil(deadlineSeconds: 60, "all drips to be under way") {
                cluster.origin.requests.count >= 8
            }
            let others = try await cluster.submit(Array(titles[8...]), catalog: "others")
            try await waitUntil(deadlineSeconds: 60, "the titles of the other host") {
                try await cluster.client.status(of: others).totals.completed == 4
            }
            // What gave its place back has not failed.
            #expect(try await cluster.client.status(of: drips).totals.failed == 0)
        }
    }
}
