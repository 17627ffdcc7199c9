import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

/// Titles that complete without the renditions whose files their origins lack.
@Suite(.timeLimit(.minutes(2))) struct OptionalRenditionTests {
    typealias R = RefreshFixture

    /// Two variants, and audio in two languages.
    private static func serve(_ objects: R.Objects) {
        objects.set(
            "/t/main.m3u8",
            Array(
                """
                #EXTM3U
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",URI="en/index.m3u8"
                #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",URI="de/index.m3u8"
                #EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO="a"
                low/index.m3u8
                #EXT-X-STREAM-INF:BANDWIDTH=2000,AUDIO="a"
                high/index.m3u8

                """.utf8))
        for (seed, folder) in ["en", "de", "low", "high"].enumerated() {
            let lines = (1...3).map { "#EXTINF:4,\ns\($0).ts\n" }.joined()
            objects.set(
                "/t/\(folder)/index.m3u8",
                Array("#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(lines)#EXT-X-ENDLIST\n".utf8))
            for number in 1...3 {
                objects.set(
                    "/t/\(folder)/s\(number).ts",
                    sampleBytes(3_000, seed: UInt64(seed * 10 + number)))
            }
        }
    }

    private static func submit(
        _ cluster: Cluster, _ mayLack: [RenditionKind]
    ) async throws -> CatalogID {
        var submission = CatalogSubmission(name: "test", storageURL: "file://\(cluster.edge.path)")
        var options = TitleOptions()
        options.mayLack = mayLack
        submission.titles = options
        let handle = try await cluster.client.openCatalog(submission)
        try await cluster.client.submit(
            AssetBatch(
                generation: handle.generation, assets: [try cluster.title("/t/main.m3u8")]),
            to: handle.id)
        try await cluster.client.start(
            handle.id, CatalogStartRequest(generation: handle.generation))
        return handle.id
    }

    private static func manifest(_ cluster: Cluster) -> String {
        String(decoding: cluster.stored("/t/main.m3u8") ?? [], as: UTF8.self)
    }

    private static func recovery(
        _ cluster: Cluster, _ code: FailureCode
    ) async throws -> DailyReport.Recovery? {
        var query = DailyReportQuery()
        query.grouping = .code
        return try await cluster.client.report(query).groups.first { $0.name == code.rawValue }?
            .recovery
    }

    @Test func aTitleCompletesWithoutARenditionAndARefreshBringsItBack() async throws {
        try await Cluster.with { cluster in
            let objects = R.Objects(cluster.origin)
            Self.serve(objects)
            objects.set("/t/de/s2.ts", [], status: 404)
            let catalog = try await Self.submit(cluster, [.audio])
            let title = try #require(try await cluster.end(of: catalog)["/t/main.m3u8"])
            #expect(title.state == .completed, "\(String(describing: title.failure))")
            #expect(title.leftOut?.map(\.name) == ["de"])
            #expect(title.leftOut?.map(\.key) == ["\(cluster.root)/t/de/s2.ts"])
            #expect(title.leftOut?.map(\.code) == [.originHTTP404])
            #expect(!Self.manifest(cluster).contains("de/index.m3u8"))
            #expect(Self.manifest(cluster).contains("en/index.m3u8"))
            // Stored files are verified: no body is sent twice.
            for folder in ["en", "low", "high"] {
                for number in 1...3 {
                    let path = "/t/\(folder)/s\(number).ts"
                    #expect(cluster.stored(path) == objects[path]?.body)
                    let bodies = cluster.origin.requests.filter {
                        $0.path == path && $0.headers["if-none-match"] == nil
                    }
                    #expect(bodies.count == 1, "\(path)")
                }
            }
            let saved = try await Self.recovery(cluster, .originHTTP404)
            #expect(saved?.withoutRendition == 1 && saved?.lost == 0)

            // Its origin still lacks it.
            var ended = try await R.refresh(cluster, catalog)
            #expect(ended.values.map(\.refreshed) == [.unchanged])
            #expect(ended.values.first?.leftOut?.map(\.name) == ["de"])
            let short = try await cluster.client.refreshSummary(of: catalog)
            #expect(short.unchanged == 1 && short.withoutRenditions == 1)
            #expect(short.lacking?.map { $0.leftOut?.map(\.label) } == [["audio \"de\""]])

            objects.set("/t/de/s2.ts", sampleBytes(3_000, seed: 12))
            ended = try await R.refresh(cluster, catalog)
            let whole = try #require(ended.values.first)
            #expect(whole.refreshed == .changed && whole.leftOut == nil && whole.failure == nil)
            #expect(Self.manifest(cluster).contains("de/index.m3u8"))
            let complete = try await cluster.client.refreshSummary(of: catalog)
            #expect(complete.changed == 1 && complete.withoutRenditions == nil)
            #expect(complete.lacking == nil)
            for number in 1...3 {
                let path = "/t/de/s\(number).ts"
                #expect(cluster.stored(path) == objects[path]?.body)
            }
        }
    }

    @Test func aPlaylistThatIsGoneIsLeftOut() async throws {
        try await Cluster.with { cluster in
            let objects = R.Objects(cluster.origin)
            Self.serve(objects)
            objects.set("/t/high/index.m3u8", [], status: 410)
            let catalog = try await Self.submit(cluster, [.video])
            let title = try #require(try await cluster.end(of: catalog).values.first)
            #expect(title.state == .completed, "\(String(describing: title.failure))")
            #expect(title.leftOut?.map(\.kind) == [.video])
            #expect(!Self.manifest(cluster).contains("high/index.m3u8"))
            let saved = try await Self.recovery(cluster, .originHTTP410)
            #expect(saved?.assets == 1 && saved?.withoutRendition == 1)
            // Nothing was fetched before the title was known not to have it.
            #expect(cluster.origin.count("/t/main.m3u8") == 1)
        }
    }

    @Test func aTitleWithoutAnyRenditionFailsWithTheCode() async throws {
        try await Cluster.with { cluster in
            let objects = R.Objects(cluster.origin)
            Self.serve(objects)
            for folder in ["low", "high"] {
                objects.set("/t/\(folder)/s3.ts", [], status: 404)
            }
            let catalog = try await Self.submit(cluster, [.video, .audio])
            let title = try #require(try await cluster.end(of: catalog).values.first)
            #expect(title.state == .failed && title.failure?.code == .originHTTP404)
            let lost = try await Self.recovery(cluster, .originHTTP404)
            #expect(lost?.lost == 1 && lost?.withoutRendition == 0)

            // The origin has it by now.
            Self.serve(objects)
            let again = try await Self.submit(cluster, [.video, .audio])
            let whole = try #require(try await cluster.end(of: again).values.first)
            #expect(whole.state == .completed && whole.leftOut == nil)
            #expect(Self.manifest(cluster).contains("high/index.m3u8"))
        }
    }
}
