import Model
import TestSupport
import Testing
import Titles

/// Titles that may lack renditions are resolved without those that list a lost file.
@Suite struct TitleLossesTests {
    private static let manifest = "http://h/t/m.m3u8"

    private static func media(_ uris: String...) -> String {
        "#EXTM3U\n#EXT-X-TARGETDURATION:6\n" + uris.map { "#EXTINF:6,\n\($0)\n" }.joined()
            + "#EXT-X-ENDLIST\n"
    }

    /// Two variants with one group of audio each; the first group has two languages.
    private static let origin = [
        manifest: """
        #EXTM3U
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en",URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="b",NAME="en",LANGUAGE="en",URI="surround.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="fr",LANGUAGE="fr",URI="fr.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=1000,AUDIO="a",SUBTITLES="s"
        low.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=2000,AUDIO="b",SUBTITLES="s"
        high.m3u8

        """,
        "http://h/t/low.m3u8": media("l1.ts", "l2.ts"), "http://h/t/high.m3u8": media("h1.ts"),
        "http://h/t/en.m3u8": media("en1.aac"), "http://h/t/de.m3u8": media("de1.aac"),
        "http://h/t/surround.m3u8": media("su1.ac3"), "http://h/t/fr.m3u8": media("fr1.vtt"),
    ]

    /// What a title is resolved to.
    private struct Resolved {
        var keys: [String]
        var leftOut: [String]
        /// The manifest at the edge; nil if it is as served.
        var manifest: String?
        var requests: [String]
    }

    private static func resolve(
        _ url: String = manifest, _ origin: [String: String] = origin, lost: [String] = [],
        unavailable: [String] = [], mayLack: [RenditionKind],
        select: (inout TrackSelection) -> Void = { _ in }
    ) throws(Failure) -> Resolved {
        var options = TitleOptions()
        options.mayLack = mayLack
        select(&options.tracks)
        var resolver = try TitleResolver(
            url: url, kind: .hls, options: options,
            lost: lost.map { LeftOutRendition(key: $0, Failure(.originHTTP404, "\($0) is gone")) })
        var requests: [String] = []
        repeat {
            while !resolver.isComplete {
                for request in resolver.next() {
                    requests.append(request.url)
                    if unavailable.contains(request.url), resolver.mayLack(request) {
                        resolver.receive(
                            request, unavailable: Failure(.originHTTP410, "\(request.url) is gone"))
                        continue
                    }
                    try resolver.receive(
                        request, finalURL: request.url,
                        body: [UInt8]((origin[request.url] ?? "").utf8),
                        sha256: "")
                }
            }
        } while try resolver.leaveOut()
        let segments = try resolver.segments()
        return Resolved(
            keys: segments.map { String($0.key.dropFirst("h/t/".count)) },
            leftOut: segments.leftOut.map {
                "\($0.label) \($0.key.dropFirst(4)) \($0.code)"
            }, manifest: segments.last?.content, requests: requests)
    }

    private static func failure(
        _ url: String = manifest, _ origin: [String: String] = origin, lost: [String] = [],
        unavailable: [String] = [], mayLack: [RenditionKind]
    ) -> Failure? {
        do throws(Failure) {
            _ = try resolve(url, origin, lost: lost, unavailable: unavailable, mayLack: mayLack)
            return nil
        } catch {
            return error
        }
    }

    @Test func aTitleThatLacksNothingIsAsServed() throws {
        let title = try Self.resolve(mayLack: RenditionKind.allCases)
        #expect(title.leftOut.isEmpty && title.manifest == nil && title.keys.count == 14)
    }

    @Test func anAudioRenditionWithALostSegmentIsLeftOut() throws {
        let title = try Self.resolve(lost: ["h/t/de1.aac"], mayLack: [.audio])
        #expect(title.leftOut == ["audio \"de\" de1.aac origin.http.404"])
        #expect(!title.keys.contains { $0.hasPrefix("de") } && title.keys.count == 12)
        let manifest = try #require(title.manifest)
        #expect(!manifest.contains("de.m3u8") && manifest.contains("en.m3u8"))
        #expect(manifest.contains("AUDIO=\"a\"") && manifest.contains("high.m3u8"))
        #expect(Set(title.requests).count == title.requests.count)
    }

    @Test func aVariantLeavesWithAllAudioOfItsGroup() throws {
        let title = try Self.resolve(lost: ["h/t/su1.ac3"], mayLack: [.audio, .video])
        #expect(
            title.leftOut.map { $0.split(separator: " ")[0] } == ["audio", "video"],
            "\(title.leftOut)")
        #expect(!title.keys.contains("h1.ts") && title.keys.contains("l1.ts"))
        let manifest = try #require(title.manifest)
        #expect(!manifest.contains("AUDIO=\"b\"") && !manifest.contains("high.m3u8"))
        // Which is video, and the title needs all of that.
        #expect(Self.failure(lost: ["h/t/su1.ac3"], mayLack: [.audio])?.code == .originHTTP404)
    }

    @Test func aVariantPlaysWithoutSubtitles() throws {
        let title = try Self.resolve(lost: ["h/t/fr1.vtt"], mayLack: [.subtitles])
        #expect(title.leftOut == ["subtitles \"fr\" fr1.vtt origin.http.404"])
        let manifest = try #require(title.manifest)
        #expect(!manifest.contains("SUBTITLES") && manifest.contains("high.m3u8"))
    }

    @Test func aPlaylistThatCannotBeFetchedIsLeftOut() throws {
        let title = try Self.resolve(unavailable: ["http://h/t/fr.m3u8"], mayLack: [.subtitles])
        #expect(title.leftOut == ["subtitles \"fr\" fr.m3u8 origin.http.410"])
        #expect(!title.keys.contains { $0.hasPrefix("fr") })
        // Also after it could be fetched again.
        let again = try Self.resolve(lost: ["h/t/fr.m3u8"], mayLack: [.subtitles])
        #expect(again.keys == title.keys)
    }

    @Test func whatTheTitleNeedsEndsIt() {
        for (lost, mayLack) in [
            (["h/t/de1.aac"], [RenditionKind.video, .subtitles]), (["h/t/m.m3u8"], [.video]),
            // No variant is left.
            (["h/t/l1.ts", "h/t/h1.ts"], [.video]),
            (["h/t/en1.aac", "h/t/de1.aac", "h/t/h1.ts"], [.video, .audio]),
        ] {
            let failure = Self.failure(lost: lost, mayLack: mayLack)
            #expect(failure?.code == .originHTTP404, "\(lost)")
            #expect(failure?.message.contains("is gone") == true, "\(lost)")
        }
    }

    /// Its playlists were not read before.
    @Test func anotherVariantReplacesTheNearest() throws {
        let nearest: (inout TrackSelection) -> Void = { $0.preferredBitsPerSecond = 2_000 }
        #expect(try Self.resolve(mayLack: [.video], select: nearest).keys.contains("h1.ts"))
        let title = try Self.resolve(lost: ["h/t/h1.ts"], mayLack: [.video], select: nearest)
        #expect(title.keys.contains("l1.ts") && !title.keys.contains("h1.ts"))
        #expect(title.keys.contains("en1.aac") && !title.keys.contains("su1.ac3"))
        #expect(title.manifest?.contains("low.m3u8") == true)
    }

    @Test func aFileThatNothingListsChangesNothing() throws {
        let title = try Self.resolve(lost: ["h/t/x.ts"], mayLack: [.video])
        #expect(title.leftOut.isEmpty && title.manifest == nil)
    }

    // MARK: DASH

    private static let mpd = "http://h/t/m.mpd"
    private static let periods: String = {
        func representation(_ id: String, _ type: String, _ attributes: String = "") -> String {
            "<AdaptationSet mimeType='\(type)' \(attributes)>"
                + "<Representation id='\(id)' bandwidth='2400000'>"
                + "<SegmentTemplate media='\(id)/$Number$' initialization='\(id)/i' "
                + "duration='5'/></Representation></AdaptationSet>"
        }
        return "<?xml version=\"1.0\"?>\n<MPD mediaPresentationDuration=\"PT10S\"><Period>"
            + representation("v1", "video/mp4")
            + representation("v2", "video/mp4", "width='1280' height='720'")
            + representation("a1", "audio/mp4", "lang='en'")
            + representation("t1", "application/ttml+xml", "lang='fr'")
            + "</Period></MPD>"
    }()

    @Test func aRepresentationWithALostSegmentIsLeftOut() throws {
        let title = try Self.resolve(
            Self.mpd, [Self.mpd: Self.periods], lost: ["h/t/v2/1", "h/t/t1/i"],
            mayLack: [.video, .subtitles])
        #expect(
            title.leftOut == [
                "video \"v2\" 1280x720 2400 kbit/s v2/1 origin.http.404",
                "subtitles \"t1\" fr 2400 kbit/s t1/i origin.http.404",
            ])
        #expect(title.keys == ["v1/i", "v1/1", "v1/2", "a1/i", "a1/1", "a1/2", "m.mpd"])
        #expect(title.manifest?.contains("v2") == false)
    }

    @Test func aPeriodKeepsVideoAndAudio() {
        for (lost, kind) in [("v", RenditionKind.video), ("a", .audio)] {
            let failure = Self.failure(
                Self.mpd, [Self.mpd: Self.periods], lost: ["h/t/\(lost)1/1", "h/t/\(lost)2/1"],
                mayLack: [kind])
            #expect(failure?.code == .originHTTP404, "\(kind)")
        }
    }

    /// An id alone tells an engineer nothing.
    @Test func theTrackThatNeedsALostFileIsNamed() {
        let sound = Self.failure(
            Self.mpd, [Self.mpd: Self.periods], lost: ["h/t/a1/1"], mayLack: [.video])
        #expect(
            sound?.message == "h/t/a1/1 is gone; needed by audio \"a1\" en 2400 kbit/s",
            "\(sound?.message ?? "")")
        let last = Self.failure(lost: ["h/t/l1.ts", "h/t/h1.ts"], mayLack: [.video])
        #expect(last?.message == "h/t/l1.ts is gone; needed by video \"1 kbit/s\"")
    }
}
