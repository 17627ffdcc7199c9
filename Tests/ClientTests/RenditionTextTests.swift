import API
import Model
import Testing

@testable import Client

/// What commands print of titles and the renditions that they may lack.
@Suite struct RenditionTextTests {
    private static func title(
        _ kind: AssetKind = .dash, _ code: FailureCode = .originHTTP404, segments: Int = 9,
        _ message: String = "http://o/v/2.m4s: status 404"
    ) -> AssetStatus {
        AssetStatus(
            id: AssetID(1), name: "film", url: "http://o/film.mpd", kind: kind, state: .failed,
            failure: Failure(code, message), segments: segments)
    }

    private static func hint(_ asset: AssetStatus, _ titles: TitleOptions?) -> Bool {
        RunSummary.failures([asset], total: 1, reportPath: nil, titles: titles).hasSuffix(
            "A title can complete without renditions whose files cannot be fetched: add --may-lack "
                + "video,audio,subtitles,image, or some of these.\n")
    }

    @Test func aTitleThatLostAFileMayHaveDoneWithoutIt() {
        #expect(Self.hint(Self.title(), TitleOptions()))
        #expect(Self.hint(Self.title(.hls, segments: 0), TitleOptions()))
        // Its manifest, a file, and another failure.
        #expect(!Self.hint(Self.title(segments: 0), TitleOptions()))
        let own = Self.title(.hls, .originHTTP404, segments: 0, "http://o/film.mpd: status 404")
        #expect(!Self.hint(own, TitleOptions()))
        #expect(!Self.hint(Self.title(.file), TitleOptions()))
        #expect(!Self.hint(Self.title(.dash, .storageFull), TitleOptions()))
        var options = TitleOptions()
        options.mayLack = [.audio]
        #expect(!Self.hint(Self.title(), options))
        options = TitleOptions()
        options.records = true
        #expect(!Self.hint(Self.title(), options))
        // A refresh leaves out nothing.
        #expect(!Self.hint(Self.title(), nil))
        // In `dray report`.
        #expect(FailureCode.originHTTP404.remedy.contains("--may-lack"))
    }

    @Test func aRefreshNamesWhatItStillLacks() {
        var summary = RefreshSummary(unchanged: 2, changed: 0, failed: 0, failures: [])
        #expect(!RefreshSession.text(summary, of: "t").contains("without"))
        var title = Self.title()
        title.leftOut = [
            LeftOutRendition(key: "o/v/2.m4s", Failure(.originHTTP404, "gone")).reason(
                for: .video, name: "0", attributes: "1280x720 2400 kbit/s")
        ]
        summary.withoutRenditions = 1
        summary.lacking = [title]
        #expect(
            RefreshSession.text(summary, of: "t") == """
                t: 2 unchanged, 0 changed, 0 failed
                1 title without renditions, see --report or dray assets
                film: without video "0" 1280x720 2400 kbit/s: origin.http.404 (o/v/2.m4s)

                """)
    }
}
