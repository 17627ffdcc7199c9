import Model
import TestSupport
import Testing
import Titles
import WebURL

/// A playlist and its expected result: one line per reference, or a failure.
struct PlaylistCase: CustomTestStringConvertible, Sendable {
    let name: String
    let text: String
    let expected: [String]
    var url = "https://cdn.example/vod/title/index.m3u8"
    var imports: [String: String]?
    /// An accepted playlist is accepted under all policies.
    var policies: [ManifestPolicy] = [.lenient, .strict]

    var testDescription: String { name }

    /// Returns the parser's result in the form of `expected`.
    func outcome(_ policy: ManifestPolicy = .lenient) throws -> [String] {
        do throws(Failure) {
            let playlist = try HLSPlaylist.parse(
                [UInt8](text.utf8), url: try Self.url(url), imports: imports, policy: policy)
            #expect(playlist.warnings.isEmpty)
            let children = playlist.children.map { "\($0.rendition) \($0.reference.url.text)" }
            let segments = playlist.segments.map { segment in
                let range = segment.range.map { " \($0.offset)+\($0.length ?? -1)" }
                return "\(segment.role) \(segment.reference.url.text)\(range ?? "")"
            }
            return ["\(playlist.kind)"] + children + segments
        } catch {
            return ["\(error)"]
        }
    }

    static func url(_ text: String) throws(Failure) -> WebURL {
        do throws(WebURLError) {
            return try WebURL(text)
        } catch {
            throw error.failure(given: text)
        }
    }
}

@Suite struct HLSPlaylistTests {
    @Test(arguments: PlaylistCase.media + PlaylistCase.multivariant + PlaylistCase.refused)
    func playlistsAreReadByTheRFC(_ playlist: PlaylistCase) throws {
        for policy in playlist.policies {
            #expect(try playlist.outcome(policy) == playlist.expected)
        }
    }

    @Test(arguments: PlaylistCase.media + PlaylistCase.multivariant)
    func lineEndsAndByteOrderMarkMakeNoDifference(_ playlist: PlaylistCase) throws {
        let lines = playlist.text.split(separator: "\n", omittingEmptySubsequences: false)
        let other = PlaylistCase(
            name: playlist.name, text: "\u{FEFF}" + lines.joined(separator: "\r\n") + "\r\n",
            expected: playlist.expected, url: playlist.url, imports: playlist.imports)
        #expect(try other.outcome() == playlist.expected)
    }

    /// URLs are stored as differences.
    @Test func urlsComeOutAsTheyWentIn() throws {
        var names = (1...200).map { String(repeating: "a", count: $0) }
        names += (1...200).map { String(repeating: "a", count: 201 - $0) + "/b.ts?a=b" }
        names += (1...100).map { "\($0)\(String(repeating: "x", count: 3_000))\($0)" }
        names += (1...200).map {
            "v\($0 % 3)/segment-\($0).m4s?token=\(String(repeating: "t", count: 99))"
        }
        let lines = names.map { "#EXTINF:4,\n\($0)\n" }.joined()
        let playlist = try HLSPlaylist.parse(
            [UInt8]("#EXTM3U\n\(lines)#EXT-X-ENDLIST\n".utf8), url: WebURL("http://h/v/a"))
        #expect(playlist.segments.map(\.reference.url.text) == names.map { "http://h/v/\($0)" })
        #expect(
            playlist.segments.allSatisfy {
                $0.reference.url == (try? WebURL($0.reference.url.text))
            })
        #expect(playlist.segments.map(\.reference.url.path).last == "/v/v2/segment-200.m4s")
    }

    @Test func aLargePlaylistIsReadWhole() throws {
        var text = "#EXTM3U\n#EXT-X-TARGETDURATION:6\n"
        for number in 0..<10_000 { text += "#EXTINF:6.006,\nsegments/\(number).ts\n" }
        text += "#EXT-X-ENDLIST\n"
        let playlist = try HLSPlaylist.parse(
            [UInt8](text.utf8), url: WebURL("http://h/v/index.m3u8"))
        #expect(playlist.segments.count == 10_000)
        #expect(playlist.segments.last?.reference.url.text == "http://h/v/segments/9999.ts")
        #expect(playlist.segments.last?.reference.line == 20_002)
    }

    @Test func segmentsHaveTheirDurations() throws {
        let text = """
            #EXTM3U
            #EXT-X-MAP:URI="i.mp4"
            #EXTINF:6,
            a.m4s
            #EXTINF:5.005,Title, with comma
            b.m4s
            #EXTINF:0.04
            #EXT-X-GAP
            c.m4s
            d.m4s
            #EXTINF:1.5000000000000000000001,
            e.m4s
            #EXT-X-ENDLIST
            """
        let playlist = try HLSPlaylist.parse([UInt8](text.utf8), url: WebURL("http://h/p"))
        #expect(
            playlist.segments.map(\.durationSeconds) == [nil, 6, 5.005, nil, 1.5])
    }

    @Test func attributesOfARenditionAreKept() throws {
        let text = """
            #EXTM3U
            #EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Deutsch",LANGUAGE="de",DEFAULT=YES,URI="de.m3u8"
            #EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="English",LANGUAGE="en",URI="en.m3u8"
            #EXT-X-STREAM-INF:BANDWIDTH=300,RESOLUTION=640x360,CODECS="avc1.64,mp4a.40.2",AUDIO="a"
            low.m3u8?x=1
            #EXT-X-STREAM-INF:BANDWIDTH=64,CODECS="mp4a.40.2"
            sound.m3u8
            #EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=9,RESOLUTION=640x360,URI="i.m3u8"
            """
        let playlist = try HLSPlaylist.parse([UInt8](text.utf8), url: WebURL("http://h/p"))
        var german = Rendition(id: "de.m3u8", kind: .audio, language: "de")
        german.group = "audio:a"
        german.isDefault = true
        var english = Rendition(id: "en.m3u8", kind: .subtitles, language: "en")
        english.group = "subtitles:s"
        var low = Rendition(
            id: "low.m3u8?x=1", kind: .video, bandwidth: 300, width: 640, height: 360,
            codecs: "avc1.64,mp4a.40.2")
        low.groups = ["audio:a"]
        #expect(
            playlist.children.map(\.track) == [
                german, english, low,
                Rendition(id: "sound.m3u8", kind: .audio, bandwidth: 64, codecs: "mp4a.40.2"),
                Rendition(
                    id: "i.m3u8", kind: .video, bandwidth: 9, width: 640, height: 360,
                    isTrickMode: true),
            ])
    }

    @Test func sizesAreBounded() throws {
        func code(_ bytes: [UInt8]) -> FailureCode? {
            do throws(Failure) {
                _ = try HLSPlaylist.parse(bytes, url: try PlaylistCase.url("http://h/a"))
                return nil
            } catch {
                return error.code
            }
        }
        let head = [UInt8]("#EXTM3U\n#EXTINF:1,\n".utf8)
        #expect(
            code(head + [UInt8](repeating: 0x0A, count: HLSPlaylist.maximumBytes))
                == "manifest.tooLarge")
        #expect(
            code(head + [UInt8](repeating: 0x61, count: HLSPlaylist.lineBytes + 1))
                == "manifest.malformed")
        #expect(code(head + [UInt8](repeating: 0x61, count: 10_000)) == "manifest.malformed")
        let many = String(repeating: "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"a\"\n", count: 10_001)
        #expect(code([UInt8]("#EXTM3U\n\(many)".utf8)) == "manifest.tooMany")
        let attributes = (0..<300).map { "A\($0)=1" }.joined(separator: ",")
        #expect(code([UInt8]("#EXTM3U\n#EXT-X-MEDIA:\(attributes)".utf8)) == "manifest.malformed")
    }

    @Test func variablesCannotGrowWithoutBound() throws {
        let value = String(repeating: "v", count: 4_000)
        func parse(_ uri: String) throws -> HLSPlaylist {
            let text =
                "#EXTM3U\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"{$a}\"\n"
                + "#EXT-X-DEFINE:NAME=\"b\",VALUE=\"\(value)\"\n#EXTINF:1,\n\(uri)\n#EXT-X-ENDLIST"
            return try HLSPlaylist.parse([UInt8](text.utf8), url: WebURL("http://h/p"))
        }
        // Values are not substituted again, and the result is bounded like any URL.
        let once = try parse("{$a}").segments.first?.reference.url.text
        #expect(once == "http://h/%7B$a%7D")
        #expect { try parse(String(repeating: "{$b}", count: 1_000)) } throws: {
            ($0 as? Failure)?.code == "manifest.malformed"
        }
    }

    @Test func aFailureNamesURLAndLineButNoSecret() throws {
        #expect {
            try HLSPlaylist.parse(
                [UInt8]("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n".utf8),
                url: WebURL("http://h/a.m3u8?signature=secret"))
        } throws: {
            $0 as? Failure
                == Failure(
                    "manifest.uriRefused",
                    "http://h/a.m3u8?… line 3: the URI must start with http:// or https://, "
                        + "given file:///etc/passwd")
        }
    }

    @Test func brokenPlaylistsEndInAFailure() throws {
        // Every playlist above, truncated at every byte and with changed bytes: an outcome, never a
        // crash.
        let replacements: [UInt8] = [0, 0x0A, 0x22, 0x23, 0x2C, 0x3A, 0x3D, 0x7B, 0x25, 0xFF]
        let url = try WebURL("http://h/a.m3u8?q=1")
        for playlist in PlaylistCase.media + PlaylistCase.multivariant {
            let bytes = [UInt8](playlist.text.utf8)
            for index in bytes.indices {
                _ = try? HLSPlaylist.parse(Array(bytes[..<index]), url: url)
                var changed = bytes
                changed[index] = replacements[index % replacements.count]
                _ = try? HLSPlaylist.parse(changed, url: url)
            }
        }
    }
}
