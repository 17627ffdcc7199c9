import Model
import Testing
import Titles
import WebURL

/// An MPD and its expected segments, one per line, or a failure's code and a part of its message.
struct MPDCase: CustomTestStringConvertible, Sendable {
    static let folder = "http://h/d/"

    let name: String
    let text: String
    private(set) var expected: [String]
    var url = folder + "m.mpd"
    var live = LiveManifests.refused

    var testDescription: String { name }

    /// Creates a presentation of 10 seconds.
    init(
        _ name: String, _ body: String, _ expected: String..., attributes: String? = nil,
        live: LiveManifests = .refused
    ) {
        self.name = name
        let attributes = attributes ?? "mediaPresentationDuration=\"PT10S\""
        text = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" \(attributes)>\n\(body)\n</MPD>"
        self.expected = expected
        self.live = live
    }

    /// Creates the same with the expected segments as an array.
    init(_ name: String, _ body: String, _ expected: [String], _ attributes: String?) {
        self.init(name, body, attributes: attributes)
        self.expected = expected
    }

    /// Creates a case of a whole MPD.
    init(_ name: String, document: String, _ expected: String...) {
        self.name = name
        text = document
        self.expected = expected
    }

    /// Returns one representation, `v` with 1000 bits per second, in one set of one period.
    static func one(_ inner: String) -> String {
        set(representation(inner))
    }

    static func representation(_ inner: String, id: String = "v") -> String {
        "<Representation id=\"\(id)\" bandwidth=\"1000\">\n\(inner)</Representation>"
    }

    static func set(_ inner: String, _ attributes: String = "mimeType=\"video/mp4\"") -> String {
        sets((inner, attributes))
    }

    /// Returns one period.
    static func sets(_ sets: (inner: String, attributes: String)...) -> String {
        let lines = sets.map { "<AdaptationSet \($0.attributes)>\($0.inner)</AdaptationSet>" }
        return "<Period>\(lines.joined())</Period>"
    }

    static func template(_ attributes: String, _ inner: String = "") -> String {
        "<SegmentTemplate \(attributes)>\(inner)</SegmentTemplate>"
    }

    static func timeline(_ attributes: String, _ entries: String...) -> String {
        let lines = entries.map { "<S \($0)/>" }.joined()
        return one(template(attributes, "<SegmentTimeline>\(lines)</SegmentTimeline>"))
    }

    func manifest(_ policy: ManifestPolicy = .lenient) throws(Failure) -> DASHManifest {
        try DASHManifest.parse(
            [UInt8](text.utf8), url: try PlaylistCase.url(url), live: live, policy: policy)
    }

    /// Returns the manifest's segments in the form of `expected`: role, URL, byte range, seconds.
    static func lines(_ manifest: DASHManifest) throws(Failure) -> [String] {
        var lines: [String] = []
        try manifest.forEachSegment { segment in lines.append(line(segment)) }
        return lines
    }

    static func line(_ segment: ManifestSegment) -> String {
        var url = segment.reference.url.text
        if url.hasPrefix(folder) { url.removeFirst(folder.count) }
        var line = "\(segment.role) \(url)"
        if let range = segment.range {
            line += " \(range.offset)+\(range.length.map { "\($0)" } ?? "")"
        }
        guard let seconds = segment.durationSeconds else { return line }
        return line + (seconds.rounded() == seconds ? " \(Int(seconds))s" : " \(seconds)s")
    }

    func outcome(_ policy: ManifestPolicy = .lenient) -> [String] {
        do throws(Failure) {
            return try Self.lines(try manifest(policy))
        } catch {
            return ["\(error.code)", error.message]
        }
    }
}
