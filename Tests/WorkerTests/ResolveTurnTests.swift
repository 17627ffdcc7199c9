import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

@Suite("Titles in turn", .timeLimit(.minutes(2)))
struct ResolveTurnTests {
    @Test func aManifestThatDoesNotComeHoldsUpNoOther() async throws {
        let gate = Gate()
        defer { gate.open() }
        try await Cluster.with { cluster in
            let playlist = "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\ns.ts\n#EXT-X-ENDLIST\n"
            let numbers = 0..<12
            for number in numbers {
                let answer = FaultOrigin.Response(
                    headers: [("Content-Type", "application/vnd.apple.mpegurl")], text: playlist)
                cluster.origin.route(
                    "/\(number)/i.m3u8", number == 0 ? answer.held(after: 10, at: gate) : answer)
                cluster.origin.serve("/\(number)/s.ts", Cluster.bytes(100))
            }
            let titles = try numbers.map { try cluster.title("/\($0)/i.m3u8") }
            let catalog = try await cluster.submit(titles)
            try await waitUntil(deadlineSeconds: 20, "all titles but one") {
                try await cluster.client.status(of: catalog).totals.completed == 11
            }
            gate.open()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed })
        }
    }
}
