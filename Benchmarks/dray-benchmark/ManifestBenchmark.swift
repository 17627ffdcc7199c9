import Benchmark
import Glibc
import Model
import Rendering
import Titles
import WebURL

/// `dray-benchmark manifest`: reading manifests of sizes that hardly any title has.
enum ManifestBenchmark {
    /// One kind of manifest.
    private struct Form {
        let name: String
        let bytes: [UInt8]
        let url: WebURL
        let isMPD: Bool
    }

    private static let mpdBytes = 20_000_000

    /// Reads each form so many times, one after another. Takes seconds.
    static func run(rounds: Int) throws(Failure) -> ManifestBenchmarkReport {
        // From the smallest on: memory that the allocator keeps of one is little beside the next.
        var report = ManifestBenchmarkReport(rounds: rounds, forms: [])
        report.forms.append(try measure(try playlist(), rounds))
        report.forms.append(try measure(try timeline(), rounds))
        report.forms.append(try measure(try list(), rounds))
        return report
    }

    private static func measure(
        _ form: Form, _ rounds: Int
    ) throws(Failure) -> ManifestBenchmarkReport.Figures {
        let before = ProcessUsage.residentBytes(of: getpid())
        resetPeak()
        var parses: [Double] = []
        var lists: [Double] = []
        var segments = 0
        var growth: Int64 = 0
        for round in 0..<rounds {
            let start = ContinuousClock.now
            if form.isMPD {
                let manifest = try DASHManifest.parse(form.bytes, url: form.url)
                parses.append(start.duration(to: .now).inSeconds * 1_000)
                segments = 0
                try manifest.forEachSegment { _ in segments += 1 }
            } else {
                let playlist = try HLSPlaylist.parse(form.bytes, url: form.url)
                parses.append(start.duration(to: .now).inSeconds * 1_000)
                segments = playlist.segments.count
            }
            lists.append(start.duration(to: .now).inSeconds * 1_000)
            if round == 0 { growth = ProcessUsage.peakResidentBytes(of: getpid()) - before }
        }
        let bytes = Int64(form.bytes.count)
        return ManifestBenchmarkReport.Figures(
            name: form.name, bytes: bytes, segments: segments,
            parseMilliseconds: median(parses).rounded(places: 3),
            parseAndListMilliseconds: median(lists).rounded(places: 3),
            memoryPerByte: (Double(max(0, growth) + bytes) / Double(bytes)).rounded(places: 2))
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    /// Lets the kernel begin anew with the most memory that this process has had (proc(5)).
    private static func resetPeak() {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    // MARK: Forms

    private static func playlist() throws(Failure) -> Form {
        var text = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:6\n"
        for number in 0..<10_000 { text += "#EXTINF:6.006,\nsegments/segment-\(number).ts\n" }
        return Form(
            name: "HLS media playlist", bytes: [UInt8]((text + "#EXT-X-ENDLIST\n").utf8),
            url: try url("http://origin.example/title/index.m3u8"), isMPD: false)
    }

    private static func timeline() throws(Failure) -> Form {
        var time = 0
        return try mpd(
            "MPD with a timeline",
            "<SegmentTemplate media=\"$Time$.m4s\" timescale=\"90000\">"
                + "<SegmentTimeline>", "</SegmentTimeline></SegmentTemplate>"
        ) { number in
            let duration = 180_000 + number % 7
            time += duration
            return "<S t=\"\(time - duration)\" d=\"\(duration)\"/>\n"
        }
    }

    private static func list() throws(Failure) -> Form {
        try mpd("MPD with a list", "<SegmentList duration=\"2\">", "</SegmentList>") { number in
            "<SegmentURL media=\"video/segment-\(number).m4s\"/>\n"
        }
    }

    private static func mpd(
        _ name: String, _ head: String, _ tail: String, _ line: (Int) -> String
    ) throws(Failure) -> Form {
        var bytes = [UInt8](
            """
            <?xml version="1.0"?>
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period><AdaptationSet>
            <Representation id="v" bandwidth="1000000">\(head)

            """.utf8)
        bytes.reserveCapacity(mpdBytes + 1_000)
        var number = 0
        while bytes.count < mpdBytes {
            bytes += line(number).utf8
            number += 1
        }
        bytes += "\(tail)</Representation></AdaptationSet></Period></MPD>\n".utf8
        return Form(
            name: name, bytes: bytes,
            url: try url("http://origin.example/title/manifest.mpd"), isMPD: true)
    }

    private static func url(_ text: String) throws(Failure) -> WebURL {
        do throws(WebURLError) {
            return try WebURL(text)
        } catch {
            throw error.failure(given: text)
        }
    }
}

/// The time and memory of reading manifests.
struct ManifestBenchmarkReport: BenchmarkReport {
    struct Figures: Encodable, Sendable {
        var name: String
        var bytes: Int64
        var segments: Int
        /// Medians of the rounds.
        var parseMilliseconds: Double
        var parseAndListMilliseconds: Double
        /// The most resident at once over the document, which is a part of it.
        var memoryPerByte: Double
    }

    var rounds: Int
    var forms: [Figures]

    var text: String {
        TextLayout.table(
            headings: ["Manifest", "Bytes", "Segments", "Read", "Read and listed", "Memory"],
            alignments: [.left, .right, .right, .right, .right, .right],
            rows: forms.map { form in
                [
                    form.name, HumanFormat.count(form.bytes), HumanFormat.count(form.segments),
                    milliseconds(form.parseMilliseconds),
                    milliseconds(form.parseAndListMilliseconds),
                    "\(HumanFormat.fixed(form.memoryPerByte, places: 1)) ×",
                ]
            })
    }
}
