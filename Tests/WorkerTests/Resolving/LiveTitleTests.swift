import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

@Suite("Live titles", .timeLimit(.minutes(2)))
struct LiveTitleTests {
    /// A local clock that is years ahead requests no missing segment.
    @Test("a snapshot is taken at the origin's time")
    func originClock() async throws {
        try await Cluster.with { cluster in
            // It has run for 100 seconds; the segments of the last half minute are available.
            cluster.origin.route(
                "/t/m.mpd",
                .init(
                    headers: [("Date", "Wed, 01 Jan 2020 00:01:28 GMT"), ("Age", "12")],
                    text: """
                        <MPD type="dynamic" availabilityStartTime="2020-01-01T00:00:00Z"
                        timeShiftBufferDepth="PT30S"><Period start="PT0S"><AdaptationSet>
                        <SegmentTemplate duration="10" media="$Number$.m4s" initialization="i.mp4"/>
                        <Representation id="v"/></AdaptationSet></Period></MPD>
                        """))
            let names = ["i.mp4", "8.m4s", "9.m4s", "10.m4s"]
            for name in names { cluster.origin.route("/t/\(name)", .init(text: name)) }
            var asset = try cluster.file("/t/m.mpd")
            asset.kind = .dash
            var catalog = CatalogSubmission(
                name: "live", storageURL: "file://\(cluster.edge.path)")
            catalog.titles = TitleOptions()
            catalog.titles?.takesSnapshots = true
            let handle = try await cluster.client.openCatalog(catalog)
            try await cluster.client.submit(
                AssetBatch(generation: handle.generation, assets: [asset]), to: handle.id)
            try await cluster.client.start(
                handle.id, CatalogStartRequest(generation: handle.generation))
            let ended = try await cluster.end(of: handle.id)
            #expect(ended["/t/m.mpd"]?.state == .completed)
            #expect(try Set(cluster.storedPaths()) == Set((names + ["m.mpd"]).map { "/t/\($0)" }))
            let stored = String(decoding: cluster.stored("/t/m.mpd") ?? [], as: UTF8.self)
            #expect(stored.contains("type=\"static\" mediaPresentationDuration=\"PT30S\""))
        }
    }
}
