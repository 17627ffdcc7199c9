import Foundation
import TestSupport
import Testing

/// `dray inspect`.
@Suite(.timeLimit(.minutes(Sanitizer.isOn ? 20 : 2))) struct InspectTests {
    let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory("inspect")
    }

    static let mpd = """
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT8S"><Period>
        <AdaptationSet contentType="video"><SegmentTemplate media="$RepresentationID$/$Number$.m4s"
        initialization="$RepresentationID$/i.mp4" duration="4"/>
        <Representation id="low" bandwidth="800000" width="640" height="360" codecs="avc1.64"/>
        </AdaptationSet><AdaptationSet contentType="audio" lang="de"><Representation id="de"
        bandwidth="64000"><BaseURL>de.mp4</BaseURL><SegmentList duration="8">
        <Initialization range="0-99"/><SegmentURL mediaRange="100-1099"/></SegmentList>
        </Representation></AdaptationSet></Period></MPD>
        """

    func inspect(
        _ arguments: [String]
    ) async throws -> (ending: ChildProcess.Ending, output: String, errors: String) {
        let process = try DrayProcess.start(["inspect"] + arguments)
        return (try await process.wait(), process.output, process.errors)
    }

    func json(_ arguments: [String]) async throws -> [String: Any] {
        let answer = try await inspect(arguments + ["--json"])
        return try #require(
            JSONSerialization.jsonObject(with: Data(answer.output.utf8)) as? [String: Any],
            "\(answer.errors)")
    }

    /// Each segment in one line; `-` for null, which must be there.
    func lines(_ report: [String: Any]) throws -> [String] {
        let segments = try #require(report["segments"] as? [[String: Any]])
        return segments.map { segment in
            #expect(segment.count == 6)
            return ["role", "url", "offset", "length", "durationSeconds", "rendition"].map { key in
                segment[key].map { $0 is NSNull ? "-" : "\($0)" } ?? "missing"
            }.joined(separator: " ")
        }
    }

    /// What players read past is listed with a warning; a strict reading rejects it.
    @Test func whatBreaksARuleIsNamed() async throws {
        let file = try directory.write(
            "#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:,\na.ts\n#EXTINF:,\nb.ts\n#EXT-X-ENDLIST\n",
            to: "m.m3u8")
        let base = [file, "--base", "http://127.0.0.1:1/t/m.m3u8?token=secret"]
        let report = try await json(base)
        #expect(report["error"] is NSNull)
        #expect(report["warningCount"] as? Int == 2)
        let warning = try #require((report["warnings"] as? [[String: Any]])?.first)
        #expect(warning["rule"] as? String == "hls.duration")
        #expect(warning["line"] as? Int == 3)
        #expect(warning["count"] as? Int == 2)
        let text = try await inspect(base)
        #expect(
            text.output.contains(
                "\nwarning: http://127.0.0.1:1/t/m.m3u8?… line 3 and 1 more: EXTINF has no duration; "
                    + "the target duration is used (hls.duration; RFC 8216, 4.3.2.1)\n"),
            "\(text.output)")
        let strict = try await inspect(base + ["--strict"])
        #expect(strict.ending == .exited(1))
        #expect(strict.errors.contains("manifest.malformed") && strict.errors.contains("line 3"))
    }

    @Test func aManifestOnDiskIsListedWithoutARequest() async throws {
        let file = try directory.write(Self.mpd, to: "m.mpd")
        let base = ["--base", "http://127.0.0.1:1/t/m.mpd", "--segments"]
        let report = try await json([file] + base)
        #expect(report["kind"] as? String == "dash")
        #expect(report["live"] as? Bool == false)
        #expect(report["error"] is NSNull)
        #expect(
            try lines(report) == [
                "init http://127.0.0.1:1/t/low/i.mp4 - - - low",
                "media http://127.0.0.1:1/t/low/1.m4s - - 4 low",
                "media http://127.0.0.1:1/t/low/2.m4s - - 4 low",
                "init http://127.0.0.1:1/t/de.mp4 0 100 - de",
                "media http://127.0.0.1:1/t/de.mp4 100 1000 8 de",
            ])
        let renditions = try #require(report["renditions"] as? [[String: Any]])
        #expect(renditions.map { $0["estimatedBytes"] as? Int } == [800_000, 1_100])
        #expect(renditions.map { $0["language"] as? String } == [nil, "de"])
        let shown = try await inspect([file] + base)
        #expect(shown.ending == .exited(0) && shown.errors.isEmpty)
        #expect(shown.output.hasPrefix("DASH, 5 segments, about "))
        for word in ["640×360", "800 kbit/s", "avc1.64", "de.mp4", "100-1099"] {
            #expect(shown.output.contains(word), "\(word)")
        }
    }

    /// Each role by its public name; a live title is reported, with the reason why it is rejected.
    @Test func whatIsListedHasOneOfSevenRoles() async throws {
        let main = """
            #EXTM3U
            #EXT-X-SESSION-DATA:DATA-ID="a",URI="data.json"
            #EXT-X-SESSION-KEY:METHOD=AES-128,URI="session.key"
            #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="de",LANGUAGE="de",URI="de.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=8000,SUBTITLES="s"
            v.m3u8
            """
        let base = ["--segments", "--base", "http://h/t/main.m3u8"]
        let listed = try await json([try directory.write(main, to: "main.m3u8")] + base)
        #expect(
            try lines(listed) == [
                "key http://h/t/session.key - - - -", "index http://h/t/data.json - - - -",
                "playlist http://h/t/de.m3u8 - - - de.m3u8",
                "playlist http://h/t/v.m3u8 - - - v.m3u8",
            ])
        let live = try directory.write("#EXTM3U\n#EXTINF:2,\n7.ts\n", to: "live.m3u8")
        for (option, error) in [([], "manifest.live"), (["--live", "snapshot"], nil)] {
            let report = try await json([live] + base + option)
            #expect(report["live"] as? Bool == true && report["error"] as? String == error)
            #expect(try lines(report) == ["media http://h/t/7.ts - - 2 -"])
        }
        let wrong = try directory.write(
            "#EXTM3U\n#EXTINF:2,\nfile:///etc/passwd\n", to: "wrong.m3u8")
        let report = try await json([wrong] + base)
        #expect(report["live"] as? Bool == false && report["kind"] as? String == "hls")
        #expect(report["error"] as? String == "manifest.uriRefused")
        #expect(try lines(report).isEmpty)
    }

    @Test func playlistsOfAURLAreReadAsWell() async throws {
        let origin = try FaultOrigin()
        origin.route(
            "/t/main.m3u8",
            FaultOrigin.Response(
                text: """
                    #EXTM3U
                    #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",URI="de.m3u8"
                    #EXT-X-STREAM-INF:BANDWIDTH=8000,AUDIO="a",RESOLUTION=640x360
                    v.m3u8
                    """))
        for (name, lines) in [
            ("v", "#EXT-X-MAP:URI=\"i.mp4\"\n#EXTINF:4,\n1.m4s\n#EXTINF:2.5,\n2.m4s"),
            ("de", "#EXTINF:6,\n#EXT-X-BYTERANGE:10@5\nde.aac"),
        ] {
            origin.route(
                "/t/\(name).m3u8",
                FaultOrigin.Response(text: "#EXTM3U\n\(lines)\n#EXT-X-ENDLIST\n"))
        }
        let folder = origin.url("/t/")
        let report = try await json([origin.url("/t/main.m3u8"), "--segments"])
        #expect(report["kind"] as? String == "hls")
        #expect(
            try lines(report) == [
                "init \(folder)i.mp4 - - - v.m3u8", "media \(folder)1.m4s - - 4 v.m3u8",
                "media \(folder)2.m4s - - 2.5 v.m3u8", "media \(folder)de.aac 5 10 6 de.m3u8",
                "playlist \(folder)de.m3u8 - - - de.m3u8", "playlist \(folder)v.m3u8 - - - v.m3u8",
            ])
        #expect(origin.requests.count == 3)
        let renditions = try #require(report["renditions"] as? [[String: Any]])
        #expect(renditions.map { $0["estimatedBytes"] as? Int } == [10, 6_500])
    }

    /// The index of a file has the offsets and lengths of its segments.
    @Test func theIndexOfAFileIsRead() async throws {
        func number(_ value: Int, _ count: Int = 4) -> [UInt8] {
            (0..<count).reversed().map { UInt8(value >> (8 * $0) & 0xFF) }
        }
        var index = number(68) + Array("sidx".utf8) + number(0) + number(1) + number(1_000)
        index += number(0) + number(0) + number(0, 2) + number(3, 2)
        for bytes in [5_000, 3_000, 400] { index += number(bytes) + number(2_000) + number(0) }
        let origin = try FaultOrigin()
        let head = [UInt8](repeating: 0, count: 100)
        origin.serve("/t/v.mp4", head + index + [UInt8](repeating: 1, count: 8_400))
        origin.route(
            "/t/m.mpd",
            FaultOrigin.Response(
                text: """
                    <MPD mediaPresentationDuration="PT6S"><Period><AdaptationSet mimeType="video/mp4">
                    <Representation id="v" bandwidth="8000"><BaseURL>v.mp4</BaseURL>
                    <SegmentBase indexRange="100-167"><Initialization range="0-99"/></SegmentBase>
                    </Representation><Representation id="w" bandwidth="8000"><BaseURL>w.mp4</BaseURL>
                    <SegmentBase indexRange="100-167"/></Representation></AdaptationSet></Period></MPD>
                    """))
        let url = origin.url("/t/m.mpd")
        let report = try await json([url, "--segments"])
        #expect(report["error"] is NSNull)
        let file = origin.url("/t/v.mp4")
        #expect(
            try lines(report).prefix(5) == [
                "init \(file) 0 100 - v", "index \(file) 100 68 - v", "media \(file) 168 5000 2 v",
                "media \(file) 5168 3000 2 v", "media \(file) 8168 400 2 v",
            ])
        let renditions = try #require(report["renditions"] as? [[String: Any]])
        #expect(renditions.map { $0["estimatedBytes"] as? Int } == [8_568, 6_000])
        #expect(origin.requests(for: "/t/v.mp4").map { $0.headers["range"] } == ["bytes=100-167"])
        // A missing one is reported, and its file is listed whole.
        #expect(try lines(report).last == "media \(origin.url("/t/w.mp4")) - - 6 w")
        let shown = try await inspect([url])
        #expect(shown.ending == .exited(0) && shown.errors.contains("origin.http.404"))
    }

    @Test func whatCannotBeTakenHasItsCode() async throws {
        let base = ["--base", "http://h/t/m", "--segments"]
        let live = try directory.write("#EXTM3U\n#EXTINF:4,\n1.ts\n", to: "live")
        let refused = try await json([live] + base)
        #expect(refused["live"] as? Bool == true)
        #expect(refused["error"] as? String == "manifest.live")
        #expect(try lines(refused) == ["media http://h/t/1.ts - - 4 -"])
        let shown = try await inspect([live] + base)
        #expect(shown.ending == .exited(1) && shown.errors.contains("EXT-X-ENDLIST"))
        #expect(shown.output.hasPrefix("HLS, live, 1 segment"))
        let taken = try await json([live, "--live", "snapshot"] + base)
        #expect(taken["live"] as? Bool == true && taken["error"] is NSNull)
        #expect(try lines(taken) == ["media http://h/t/1.ts - - 4 -"])

        let entities = try directory.write(
            "<!DOCTYPE MPD [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><MPD>&a;</MPD>", to: "entities"
        )
        let answer = try await inspect([entities] + base)
        #expect(answer.ending == .exited(1) && answer.output.isEmpty)
        #expect(answer.errors.contains("document type declaration"))
        // As much as a manifest may have is read of a file without an end, and no more.
        let endless = try await json(["/dev/zero"] + base)
        #expect(endless["error"] as? String == "manifest.notManifest")
        // Its encoding does not hide why it is rejected.
        let media =
            "<MPD mediaPresentationDuration='PT1S'><Period><AdaptationSet mimeType='video/mp4'>"
            + "<Representation id='v'><SegmentList duration='1'><SegmentURL media='file:///etc/passwd'/>"
            + "</SegmentList></Representation></AdaptationSet></Period></MPD>"
        let utf16 = directory.path("utf16")
        try #require(media.data(using: .utf16)).write(to: URL(filePath: utf16))
        let ofMPD = try await json([utf16, "--base", "http://h/t/m.mpd"])
        #expect(ofMPD["error"] as? String == "manifest.uriRefused")
    }

    @Test func aPlainFileIsNamedAsOne() async throws {
        let origin = try FaultOrigin()
        let mp4: [UInt8] = [0, 0, 0, 24] + Array("ftypisom".utf8) + Array(repeating: 0, count: 100)
        origin.serve("/film.mp4", mp4)
        origin.serve("/film", mp4 + [UInt8](repeating: 1, count: 30 << 20))
        origin.route("/list.mpd", .init(text: "http://h/a.mp4\nhttp://h/b.mp4\n"))
        for (path, what) in [
            ("/film.mp4", "an MP4 file"), ("/film", "an MP4 file"),
            ("/list.mpd", "a list of assets (a URL a line)"),
        ] {
            let url = origin.url(path)
            let answer = try await inspect([url])
            #expect(answer.ending == .exited(1) && answer.output.isEmpty)
            #expect(
                answer.errors.hasPrefix(
                    "dray: \(url): this is \(what), neither an HLS playlist nor a DASH manifest (MPD) "
                        + "(manifest.notManifest)\n"), "\(answer.errors)")
            #expect(answer.errors.contains("`dray fetch URL`"))
            #expect(try await json([url])["error"] as? String == "manifest.notManifest")
        }
        let file = try directory.write(mp4, to: "film.m3u8")
        let answer = try await inspect([file, "--base", "http://h/film.m3u8"])
        #expect(answer.ending == .exited(1))
        #expect(answer.errors.hasPrefix("dray: \(file): this is an MP4 file, "), "\(answer.errors)")
    }

    @Test func totalsNameWhatTheyLeaveOut() async throws {
        func left(_ arguments: [String]) async throws -> [String: Any] {
            try #require(try await json(arguments)["leftOut"] as? [String: Any])
        }
        let main = try directory.write(Self.choices, to: "main.m3u8")
        let base = [main, "--base", "http://h/main.m3u8"]
        let chosen = try await left(base + ["--max-height", "720", "--audio", "de", "--no-keys"])
        #expect(chosen["tracks"] as? Int == 3 && chosen["unreadPlaylists"] as? Int == 2)
        #expect(chosen["keys"] as? Int == 1 && chosen["later"] as? Bool == false)
        let text = try await inspect(base + ["--audio", "de"])
        #expect(
            text.output.contains(
                "\nNot in these totals: 1 track that was not chosen; 4 playlists that were not read; "
                    + "the size of 1 key; the manifest itself\n"), "\(text.output)")
        let live = try directory.write(
            "#EXTM3U\n#EXT-X-BITRATE:8\n#EXTINF:4,\n1.ts\n#EXT-X-GAP\n#EXTINF:4,\n2.ts\n",
            to: "live.m3u8")
        let shown = try await inspect([live, "--base", "http://h/live.m3u8", "--live", "snapshot"])
        #expect(
            shown.output.contains(
                "\nNot in these totals: 1 gap (EXT-X-GAP); the manifest itself; what the live title "
                    + "adds later\n"), "\(shown.output)")
        let dash = try directory.write(Self.mpd, to: "m.mpd")
        let quiet = try await left([dash, "--base", "http://h/m.mpd", "--audio", "none"])
        #expect(quiet["tracks"] as? Int == 1 && quiet["manifests"] as? Int == 1)
        #expect(quiet["unknownSizes"] as? [String: Int] == ["init": 1])
    }

    @Test(arguments: [
        (["/dev/null"], "--base is missing"), (["-"], "--base is missing"),
        (["missing"], "missing: No such file"), (["m", "--base", "file:///"], "--base: the URL"),
        (["m", "--base", "http://h/", "--live", "edge"], "--live is 'edge'"),
        (["missing", "--base", "http://h/"], "missing: "),
        (["ftp://h/m"], "dray: the URL must start with http"),
        (["http://h/m", "--base", "http://h/m"], "--base is for a FILE"),
        (["m", "--base", "http://h/", "--audio", "x!!"], "--audio is 'x!!'"),
    ])
    func badUsageIsReported(arguments: [String], message: String) async throws {
        let answer = try await inspect(arguments)
        #expect(answer.ending == .exited(2))
        #expect(answer.errors.contains(message), "\(answer.errors)")
        #expect(answer.output.isEmpty)
    }

    private static let choices = """
        #EXTM3U
        #EXT-X-SESSION-KEY:METHOD=AES-128,URI="k"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="de",LANGUAGE="de",URI="de.m3u8"
        #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="en",LANGUAGE="en-US",URI="en.m3u8"
        #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="de",LANGUAGE="de",URI="text.m3u8"
        #EXT-X-STREAM-INF:BANDWIDTH=8000000,AUDIO="a",SUBTITLES="s",RESOLUTION=1920x1080
        high.m3u8
        #EXT-X-STREAM-INF:BANDWIDTH=1000000,AVERAGE-BANDWIDTH=800000,AUDIO="a",RESOLUTION=640x360
        low.m3u8
        """

    @Test(arguments: [
        (["--tracks", "all"], ["key k", "de", "en", "text", "high", "low"]),
        (["--max-height", "720"], ["key k", "de", "en", "low"]),
        (["--max-bitrate", "1M", "--no-keys"], ["de", "en", "low"]),
        (["--prefer-bitrate", "7M", "--audio", "en"], ["key k", "en", "text", "high"]),
        (["--audio", "de", "--subtitles", "none"], ["key k", "de", "high", "low"]),
        (["--audio", "*", "--subtitles", "*"], ["key k", "de", "en", "text", "high", "low"]),
        (["--codecs", "av1", "--subtitles", "fr"], ["key k", "de", "en", "high", "low"]),
    ])
    func aChoiceShowsItsTotals(options: [String], listed: [String]) async throws {
        let file = try directory.write(Self.choices, to: "main.m3u8")
        let report = try await json([file, "--base", "http://h/main.m3u8", "--segments"] + options)
        #expect(report["error"] is NSNull)
        #expect(
            try lines(report)
                == listed.map { name in
                    name.hasPrefix("key")
                        ? "key http://h/k - - - -"
                        : "playlist http://h/\(name).m3u8 - - - \(name).m3u8"
                })
        let renditions = try #require(report["renditions"] as? [[String: Any]])
        #expect(
            renditions.map { $0["id"] as? String }
                == listed.filter { $0 != "key k" }.map { "\($0).m3u8" })
    }

    @Test func aFileNamedTwiceIsListedOnceWithAllAttributes() async throws {
        let file = try directory.write(
            """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=VIDEO,GROUP-ID="v",NAME="main",URI="a.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=2000000,VIDEO="v",RESOLUTION=640x360
            a.m3u8
            """, to: "main.m3u8")
        let report = try await json([file, "--base", "http://h/main.m3u8", "--segments"])
        #expect(try lines(report) == ["playlist http://h/a.m3u8 - - - a.m3u8"])
        let renditions = try #require(report["renditions"] as? [[String: Any]])
        #expect(renditions.count == 1 && renditions[0]["bandwidth"] as? Int == 2_000_000)
        #expect(renditions.first?["height"] as? Int == 360)
    }

    @Test func theEstimateIsOfWhatIsChosen() async throws {
        let origin = try FaultOrigin()
        origin.route("/t/main.m3u8", FaultOrigin.Response(text: Self.choices))
        for name in ["high", "low", "de", "en", "text"] {
            origin.route(
                "/t/\(name).m3u8",
                FaultOrigin.Response(
                    text: """
                        #EXTM3U
                        #EXT-X-KEY:METHOD=AES-128,URI="\(name).key"
                        #EXTINF:8,
                        \(name).ts
                        #EXT-X-ENDLIST
                        """))
        }
        let url = origin.url("/t/main.m3u8")
        let all = try await json([url])
        #expect(all["estimatedBytes"] as? Int == 8_800_000)
        #expect(all["segments"] == nil)
        let low = try await json([url, "--max-height", "360", "--audio", "de"])
        #expect(low["estimatedBytes"] as? Int == 800_000)
        // Unselected tracks are not requested.
        #expect(origin.requests.count == 6 + 3)
        let set = try directory.write(Self.mpd, to: "m.mpd")
        let sound = try await json([set, "--base", "http://h/m.mpd", "--segments", "--audio", "fr"])
        #expect(sound["error"] as? String == "manifest.noTrack")
        let quiet = try await json([
            set, "--base", "http://h/m.mpd", "--segments", "--audio", "none",
        ])
        #expect(quiet["estimatedBytes"] as? Int == 800_000)
        #expect(try lines(quiet).count == 3)
    }
}
