import Foundation
import TestSupport
import Testing

/// Manifests that are made to do harm: each ends in a code, and takes little memory.
@Suite(.timeLimit(.minutes(Sanitizer.isOn ? 20 : 6))) struct HostileManifestTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory("hostile")
    }

    /// Inspects a file that would be `http://h/t/m.NAME`; answers the code, or `taken` with the
    /// number of segments.
    private func outcome(
        _ file: String, _ name: String, strictly: Bool = false
    ) async throws -> String {
        let process = try DrayProcess.start(
            ["inspect", file, "--base", "http://h/t/m.\(name)", "--segments", "--json"]
                + (strictly ? ["--strict"] : []))
        // What is seen until it has ended is no more than it has had.
        var most = 0
        try await waitUntil(deadlineSeconds: Sanitizer.isOn ? 600 : 240) {
            most = max(most, Self.peakMegabytes(of: process))
            return process.ending != nil
        }
        #expect(most < 96 || Sanitizer.isOn, "\(most) MiB")
        let report = try #require(
            JSONSerialization.jsonObject(with: Data(process.output.utf8)) as? [String: Any],
            "\(process.errors)")
        let code = report["error"] as? String
        #expect(process.ending == .exited(code == nil ? 0 : 1))
        return code ?? "taken \((report["segments"] as? [Any])?.count ?? -1)"
    }

    /// The most memory that a process has had resident, in MiB; 0 for one that has ended.
    private static func peakMegabytes(of process: ChildProcess) -> Int {
        let status = try? String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
        let line = status?.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0) / 1_024
    }

    @Test(arguments: [
        // Of itself:
        ("#EXT-X-STREAM-INF:BANDWIDTH=1\nm.m3u8", "manifest.malformed"),
        ("#EXT-X-STREAM-INF:BANDWIDTH=1\n../t/./m.m3u8#a", "manifest.malformed"),
        ("#EXTINF:4,\nm.m3u8", "manifest.malformed"),
        // Of files beyond the root:
        ("#EXTINF:4,\n../../../../../etc/passwd", "manifest.uriRefused"),
        ("#EXTINF:4,\n%2e%2e/%2e%2e/%2e%2e/etc/passwd", "storage.pathRefused"),
        ("#EXTINF:4,\n..%2f..%2f..%2fetc/passwd", "storage.pathRefused"),
        ("#EXT-X-STREAM-INF:BANDWIDTH=1\n%2E%2E/%2E%2E/a.m3u8", "storage.pathRefused"),
        // Of other schemes:
        ("#EXTINF:4,\nfile:///etc/passwd", "manifest.uriRefused"),
        ("#EXT-X-STREAM-INF:BANDWIDTH=1\nfile:///etc/passwd", "manifest.uriRefused"),
        ("#EXT-X-MAP:URI=\"data:text/plain,a\"\n#EXTINF:4,\na.ts", "manifest.uriRefused"),
        ("#EXTINF:4,\nconcat:http://h/a|file:///etc/passwd", "manifest.uriRefused"),
        // Of what cannot be:
        ("#EXTINF:4,\na\0.ts", "manifest.malformed"),
        ("#EXTINF:4,\n#EXT-X-BYTERANGE:-5@3\na.ts", "taken 1"),
        ("#EXTINF:\(String(repeating: "9", count: 400)),\na.ts", "taken 1"),
        ("#EXTINF:4,\n#EXT-X-BYTERANGE:5\nfile:///etc/passwd", "manifest.uriRefused"),
    ])
    func playlistsEndInACode(lines: String, ending: String) async throws {
        let kind = lines.contains("STREAM-INF") ? "" : "\n#EXT-X-ENDLIST"
        let file = try directory.write("#EXTM3U\n\(lines)\(kind)\n", to: "m.m3u8")
        #expect(try await outcome(file, "m3u8") == ending)
    }

    private static func mpd(_ inner: String, head: String = "") -> String {
        """
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT8S">\(head)<Period>
        <AdaptationSet><Representation id="../../../a" bandwidth="1">\(inner)</Representation>
        </AdaptationSet></Period></MPD>
        """
    }

    private static func timeline(_ entries: String) -> String {
        "<SegmentTemplate media=\"$Time$\" timescale=\"1000000000\"><SegmentTimeline>\(entries)"
            + "</SegmentTimeline></SegmentTemplate>"
    }

    private static let template = "<SegmentTemplate media=\"$Number$\" duration=\"4\"/>"

    @Test(arguments: [
        (mpd("<BaseURL>m.mpd</BaseURL>"), "manifest.empty"),
        (mpd("<SegmentList duration=\"1\"><SegmentURL/></SegmentList>"), "manifest.empty"),
        (
            mpd("</Representation><BaseURL>file:///etc/passwd</BaseURL><Representation>"),
            "manifest.uriRefused"
        ),
        // 10⁹ segments:
        (
            mpd("<SegmentTemplate media=\"$Number$\" duration=\"1\" timescale=\"1000000000\"/>"),
            "manifest.tooMany"
        ),
        (mpd(timeline("<S t=\"0\" d=\"1\" r=\"999999999\"/>")), "manifest.tooMany"),
        (mpd(timeline("<S t=\"0\" d=\"1\" r=\"-1\"/>")), "manifest.tooMany"),
        (mpd(timeline("<S t=\"9\" d=\"1\" r=\"-1\"/><S t=\"5\" d=\"1\"/>")), "manifest.malformed"),
        (mpd(timeline("<S t=\"0\" d=\"-1\" r=\"-9\"/>")), "manifest.malformed"),
        (mpd("<SegmentTemplate/>"), "manifest.malformed"),
        (
            mpd("<SegmentTemplate media=\"$Number%0999999999d$\" duration=\"4\"/>"),
            "manifest.malformed"
        ),
        (
            mpd("<SegmentTemplate media=\"../$RepresentationID$/$Number$\" duration=\"4\"/>"),
            "manifest.uriRefused"
        ),
        (
            mpd(template, head: "<BaseURL>\(String(repeating: "../", count: 50))</BaseURL>"),
            "manifest.uriRefused"
        ),
        (mpd(template, head: "<BaseURL>%2e%2e/</BaseURL>"), "storage.pathRefused"),
        (mpd(template, head: "<BaseURL>file:///etc/</BaseURL>"), "manifest.uriRefused"),
        (mpd(template, head: "<BaseURL>data:,a</BaseURL>"), "manifest.uriRefused"),
        (
            mpd(template, head: String(repeating: "<BaseURL>a/</BaseURL>", count: 50)),
            "manifest.tooMany"
        ),
        (
            mpd(
                template,
                head: String(repeating: "<BaseURL>a/", count: 50)
                    + String(repeating: "</BaseURL>", count: 50)),
            "manifest.malformed"
        ),
        (
            "<!DOCTYPE MPD [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>"
                + mpd("<BaseURL>&a;</BaseURL>"),
            "manifest.malformed"
        ),
        (mpd("<BaseURL>&a;</BaseURL>"), "manifest.malformed"),
        (
            mpd(
                template,
                head:
                    "<i:include xmlns:i=\"http://www.w3.org/2001/XInclude\" href=\"/etc/passwd\"/>"
            ), "manifest.unsupported"
        ),
        (mpd("<SegmentTemplate media=\"a\0$Number$\" duration=\"4\"/>"), "manifest.malformed"),
    ])
    func documentsEndInACode(text: String, ending: String) async throws {
        let file = try directory.write(text, to: "m.mpd")
        #expect(try await outcome(file, "mpd") == ending)
    }

    /// A few hundred bytes that reach just the limit, or a little more: what is rejected is rejected
    /// before it is listed, and an accepted one uses little memory.
    @Test(arguments: [
        // 2,000,000 objects, of one representation or of ten, with long URLs or short ones:
        ("$Number$", 99_999, 1, "manifest.tooMany"),
        ("\(String(repeating: "x", count: 1_000))$Number$", 99_999, 1, "manifest.tooMany"),
        ("$RepresentationID$/$Number$", 9_999, 10, "manifest.tooMany"),
        // 1,000,000 with long URLs; what they have of their own first, or last:
        ("\(String(repeating: "x", count: 1_000))$Number$", 49_999, 1, "manifest.tooMany"),
        ("$Number$\(String(repeating: "x", count: 1_000))", 49_999, 1, "manifest.tooMany"),
        ("$Number%064d$/$Number%064d$", 49_999, 1, "manifest.tooMany"),
        // Those of a day in ten renditions:
        ("$RepresentationID$/\(String(repeating: "x", count: 100))$Number$", 1_000, 10, "taken"),
    ])
    func templatesAreCountedBeforeTheyAreListed(
        media: String, timescale: Int, representations: Int, ending: String
    ) async throws {
        let all = (0..<representations).map { "<Representation id=\"r\($0)\" bandwidth=\"1\"/>" }
            .joined()
        let file = try directory.write(
            """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT20S"><Period>
            <AdaptationSet><SegmentTemplate media="\(media)" duration="1" timescale="\(timescale)"/>
            \(all)
            </AdaptationSet></Period></MPD>
            """, to: "m.mpd")
        let wanted = ending == "taken" ? "taken \(20 * timescale * representations)" : ending
        #expect(try await outcome(file, "mpd") == wanted)
    }

    /// Variables make much of little.
    @Test func urlsOfAPlaylistAreBounded() async throws {
        let value = String(repeating: "x", count: 4_000)
        let variable = "#EXT-X-DEFINE:NAME=\"a\",VALUE=\"\(value)\"\n"
        let lines = (0..<200_000).map { "\($0){$a}\n" }.joined()
        let file = try directory.write(
            "#EXTM3U\n\(variable)\(lines)#EXT-X-ENDLIST\n", to: "m.m3u8")
        #expect(try await outcome(file, "m3u8") == "manifest.tooMany")
    }

    /// None of it is written to the disk, nor read beyond what a manifest may have.
    @Test(arguments: [
        ("m3u8", "#EXTM3U\n", "manifest.tooLarge"), ("mpd", "<MPD a=\"", "manifest.tooLarge"),
    ])
    func aLineOfAGigabyteIsNotRead(name: String, head: String, ending: String) async throws {
        let file = try directory.write(head, to: "m.\(name)")
        #expect(truncate(file, 1 << 30) == 0)
        #expect(try await outcome(file, name) == ending)
    }

    @Test(arguments: [
        ("m3u8", "#EXTM3U\n", "a", "manifest.malformed"),
        ("m3u8", "#EXTM3U\n", "#EXT-X-STREAM-INF:BANDWIDTH=1\nv\n", "manifest.tooMany"),
        ("mpd", "<MPD>", "<Period/>", "manifest.tooMany"),
        ("mpd", "<MPD>", "<a>", "manifest.malformed"),
        ("mpd", "<MPD><!--", "a", "manifest.malformed"),
        ("mpd", "<MPD ", "a", "manifest.malformed"),
    ])
    func asMuchAsAManifestMayHaveIsBounded(
        name: String, head: String, part: String, ending: String
    ) async throws {
        let most = (name == "mpd" ? 22 << 20 : 16 << 20) - 1_000
        let count = most / part.utf8.count
        let file = try directory.write(
            head + String(repeating: part, count: count), to: "m.\(name)")
        #expect(try await outcome(file, name) == ending)
    }

    /// Of many segments with names that share nothing the last is the failure. The longest that are taken are what
    /// `loadtest/hostile-manifests` reads.
    @Test(arguments: [
        ("m.m3u8", "#EXT-X-ENDLIST\n", "manifest.malformed"),
        ("%2e%2e/etc/passwd", "#EXT-X-ENDLIST\n", "storage.pathRefused"),
        ("file:///etc/passwd", "#EXT-X-ENDLIST\n", "manifest.uriRefused"),
        ("\(name(7))/x", "#EXT-X-ENDLIST\n", "storage.pathConflict"),
        ("last.ts", "", "manifest.live"),
    ])
    func aPlaylistsFlawMayComeLast(
        last: String, end: String, ending: String
    ) async throws {
        var text = "#EXTM3U\n"
        text.reserveCapacity(17 << 20)
        for number in 0..<20_000 { text += "#EXTINF:1\n\(Self.name(number))\n" }
        let file = try directory.write(text + "#EXTINF:1\n\(last)\n\(end)", to: "m.m3u8")
        #expect(try await outcome(file, "m3u8") == ending)
    }

    /// The same of an MPD's list, timeline and templates.
    @Test(arguments: [
        ("list", "<BaseURL>m.mpd</BaseURL>", "taken 20000"),
        ("list", "<BaseURL>\(name(7))/x</BaseURL>", "storage.pathConflict"),
        ("list", "<BaseURL>file:///etc/passwd</BaseURL>", "manifest.uriRefused"),
        ("timeline", "<BaseURL>m.mpd</BaseURL>", "taken 30000"),
        ("template", "<BaseURL>m.mpd</BaseURL>", "taken 30000"),
    ])
    func aDocumentsFlawMayComeLast(
        form: String, last: String, ending: String
    ) async throws {
        let first =
            switch form {
            case "list":
                "<SegmentList duration=\"1\">"
                    + (0..<20_000).map { "<SegmentURL media=\"\(Self.name($0))\"/>" }.joined()
                    + "</SegmentList>"
            case "timeline":
                Self.timeline(String(repeating: "<S d=\"1\"/>", count: 30_000))
            default:
                "<SegmentTemplate media=\"$Number$\" duration=\"1\" endNumber=\"30000\"/>"
            }
        let text = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT999990S"><Period>
            <AdaptationSet><Representation id="a" bandwidth="1">\(first)</Representation>
            <Representation id="z" bandwidth="1">\(last)</Representation></AdaptationSet></Period></MPD>
            """
        let file = try directory.write(text, to: "m.mpd")
        #expect(try await outcome(file, "mpd") == ending)
        guard last.contains("m.mpd") else { return }
        #expect(try await outcome(file, "mpd", strictly: true) == "manifest.malformed")
    }

    /// 16 characters that two numbers share by chance only.
    private static func name(_ number: Int) -> String {
        let mixed = UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15
        let digits = String(mixed ^ mixed >> 29, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
