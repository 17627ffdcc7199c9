import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

/// What saves assets from failures of their origins, as the report has it in the end.
@Suite(.timeLimit(.minutes(2))) struct RecoveryTests {
    /// Serves a title whose manifest lists URLs that have expired, the first time.
    private func serveSigned(_ origin: FaultOrigin, _ body: [UInt8]) {
        let manifests = ["Expires=1&Signature=old", "Expires=4102444800&Signature=new"].map {
            FaultOrigin.Response(
                headers: [("Content-Type", "application/vnd.apple.mpegurl")],
                text: "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXTINF:4,\n0.ts?\($0)\n"
                    + "#EXTINF:4,\n1.ts?\($0)\n#EXT-X-ENDLIST\n")
        }
        origin.route("/t/main.m3u8", inTurn: manifests)
        for path in ["/t/0.ts", "/t/1.ts"] {
            origin.route(path) { request in
                request.target.contains("Signature=new")
                    ? .init(headers: [("Content-Type", "video/mp2t")], body: body) : .init(403)
            }
        }
    }

    @Test func theReportNamesWhatSavedEachAsset() async throws {
        let mirror = try FaultOrigin()
        try await Cluster.with { cluster in
            let body = sampleBytes(2_000)
            // Nothing is known of either origin yet: the list's order holds.
            cluster.origin.route("/mirrored", .init(404))
            mirror.serve("/mirrored", body)
            var mirrored = try cluster.file("/mirrored")
            mirrored.mirrors = [mirror.url("/mirrored")]
            let first = try await cluster.run([mirrored], catalog: "mirrored")
            #expect(first["/mirrored"]?.state == .completed)

            cluster.origin.route("/retried", inTurn: [.init(503), .init(body: body)])
            cluster.origin.serve("/bare", body)
            cluster.origin.route("/p.jpg", .init(410))
            var bare = try cluster.file("/bare")
            bare.sidecars = [
                SidecarSubmission(
                    url: cluster.origin.url("/p.jpg"), key: "\(cluster.root)/p.jpg", role: .image,
                    required: false)
            ]
            cluster.origin.route("/lost", .init(404))
            serveSigned(cluster.origin, body)
            let assets = try await cluster.run([
                try cluster.file("/retried"), bare, try cluster.file("/lost"),
                try cluster.title("/t/main.m3u8"),
            ])
            for name in ["/retried", "/bare", "/t/main.m3u8"] {
                #expect(assets[name]?.state == .completed, "\(name)")
            }
            #expect(assets["/lost"]?.failure?.code == .originHTTP404)
            #expect(cluster.origin.count("/t/main.m3u8") == 2)
            for path in ["/mirrored", "/retried", "/bare", "/t/0.ts", "/t/1.ts"] {
                #expect(cluster.stored(path) == body, "\(path)")
            }

            var query = DailyReportQuery()
            query.grouping = .code
            let groups = try await cluster.client.report(query).groups
            func recovery(_ code: FailureCode) -> DailyReport.Recovery? {
                groups.first { $0.name == code.rawValue }?.recovery
            }
            typealias Recovery = DailyReport.Recovery
            #expect(
                recovery(.originHTTP404)
                    == Recovery(attempts: 2, assets: 2, completed: 1, byMirror: 1, lost: 1))
            #expect(
                recovery(.originHTTP503)
                    == Recovery(attempts: 1, assets: 1, completed: 1, byRetry: 1))
            #expect(
                recovery(.originHTTP410)
                    == Recovery(attempts: 1, assets: 1, completed: 1, withoutOptional: 1))
            let fresh = recovery(.originHTTP403)
            #expect(fresh?.assets == 1 && fresh?.completed == 1 && fresh?.byFreshURL == 1)
        }
    }
}
