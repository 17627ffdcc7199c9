import Client
import Foundation
import Glibc
import Model
import Rendering
import Text
import Titles
import WebURL

/// Prints the result of `dray inspect`. Segments are written one by one: there may be a million.
struct InspectReport {
    private let inspection: Inspection
    private let listsSegments: Bool
    private let sums: [ManifestListing.Sum]
    private let renditions: [Rendition]
    private let segments: ManifestSegments
    private let warnings: ManifestWarnings

    init(_ inspection: Inspection, listsSegments: Bool) {
        self.inspection = inspection
        self.listsSegments = listsSegments
        sums = inspection.listing?.sums ?? []
        renditions = inspection.listing?.renditions ?? []
        segments = inspection.listing?.segments ?? ManifestSegments()
        warnings = inspection.listing?.warnings ?? ManifestWarnings()
    }

    /// The sum of all estimates; nil without any.
    private var estimatedBytes: Int64? {
        let known = sums.compactMap(\.estimatedBytes)
        return known.isEmpty ? nil : Int64(min(known.reduce(0) { $0 + Double($1) }, 9e18))
    }

    // MARK: JSON

    /// Writes JSON; keys without a value are null rather than missing.
    func writeJSON() throws {
        var head = [
            ("kind", try json(inspection.kind?.rawValue)), ("live", try json(inspection.isLive)),
            ("error", try json(inspection.failure?.code.rawValue)),
        ]
        if let message = inspection.failure?.message { head.append(("message", try json(message))) }
        head.append(("estimatedBytes", try json(estimatedBytes)))
        head.append(("leftOut", try json(LeftOut(inspection))))
        Console.write("{\n" + head.map { "  \"\($0)\": \($1),\n" }.joined())
        let rows = try renditions.indices.map { index in
            try json(ListedRendition(renditions[index], sums[index]))
        }
        Console.write("  \"renditions\": [\(Self.lines(rows))]")
        let list = try warnings.first.map { try json($0) }
        Console.write(
            ",\n  \"warningCount\": \(warnings.count),\n  \"warnings\": [\(Self.lines(list))]")
        if listsSegments { try writeSegments() }
        Console.write("\n}\n")
    }

    private func writeSegments() throws {
        let names = try renditions.map { try json($0.id) }
        var text = ",\n  \"segments\": ["
        var separator = "\n"
        for segment in segments {
            // A URL contains neither quotes nor backslashes: see WebURL.
            let url = redacted(url: segment.reference.url.text)
            text += "\(separator)    {\"url\":\"\(url)\""
            text += ",\"offset\":\(Self.number(segment.range?.offset))"
            text += ",\"length\":\(Self.number(segment.range?.length))"
            text += ",\"durationSeconds\":\(Self.number(segment.durationSeconds))"
            text += ",\"role\":\"\(Self.role(of: segment))\""
            text += ",\"rendition\":\(segment.rendition.map { names[$0] } ?? "null")}"
            separator = ",\n"
            if text.utf8.count > 64 << 10 {
                Console.write(text)
                text = ""
            }
        }
        Console.write(text + (segments.isEmpty ? "]" : "\n  ]"))
    }

    /// Objects that describe others have the role index: session data and segment indexes.
    private static func role(of segment: ManifestSegment) -> String {
        name(of: segment.role)
    }

    static func name(of role: SegmentRole) -> String {
        (role == .data ? .index : role).rawValue
    }

    private static func lines(_ rows: [String]) -> String {
        rows.isEmpty ? "" : "\n" + rows.map { "    \($0)" }.joined(separator: ",\n") + "\n  "
    }

    private static func number(_ value: Int64?) -> String { value.map { "\($0)" } ?? "null" }

    /// Formats whole seconds without a decimal point.
    private static func number(_ seconds: Double?) -> String {
        guard let seconds else { return "null" }
        return seconds < 1e15 && seconds == seconds.rounded() ? "\(Int64(seconds))" : "\(seconds)"
    }

    private func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    private struct ListedRendition: Encodable {
        let rendition: Rendition
        let sum: ManifestListing.Sum

        init(_ rendition: Rendition, _ sum: ManifestListing.Sum) {
            self.rendition = rendition
            self.sum = sum
        }

        private enum CodingKeys: String, CodingKey {
            case id, kind, trickMode, bandwidth, averageBandwidth, width, height, codecs, language
            case segments, durationSeconds, estimatedBytes
        }

        func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(rendition.id, forKey: .id)
            try values.encode(rendition.kind, forKey: .kind)
            try values.encode(rendition.isTrickMode, forKey: .trickMode)
            try values.encode(rendition.bandwidth, forKey: .bandwidth)
            try values.encode(rendition.averageBandwidth, forKey: .averageBandwidth)
            try values.encode(rendition.width, forKey: .width)
            try values.encode(rendition.height, forKey: .height)
            try values.encode(rendition.codecs, forKey: .codecs)
            try values.encode(rendition.language, forKey: .language)
            try values.encode(sum.segments, forKey: .segments)
            try values.encode(sum.durationSeconds, forKey: .durationSeconds)
            try values.encode(sum.estimatedBytes, forKey: .estimatedBytes)
        }
    }

    // MARK: Text

    /// Writes tables for people.
    func writeText() {
        let kind = inspection.kind == .dash ? "DASH" : "HLS"
        var words = [kind + (inspection.isLive ? ", live" : "")]
        let playlists = segments.count { $0.role == .playlist }
        if playlists > 0 { words.append(HumanFormat.count(playlists, "playlist")) }
        words.append(HumanFormat.count(segments.count - playlists, "segment"))
        if renditions.isEmpty, let seconds = sums.last?.durationSeconds, seconds > 0 {
            words.append(HumanFormat.duration(seconds: seconds))
        }
        if let estimatedBytes { words.append("about \(HumanFormat.bytes(estimatedBytes))") }
        Console.write(words.joined(separator: ", ") + "\n")
        if let left = LeftOut(inspection)?.text { Console.write("Not in these totals: \(left)\n") }
        if !renditions.isEmpty { Console.write("\n" + table) }
        if !warnings.isEmpty { Console.write("\n" + WarningText.lines(warnings)) }
        if listsSegments { writeSegmentLines() }
    }

    private var table: String {
        TextLayout.table(
            headings: [
                "Rendition", "Kind", "Language", "Picture", "Bit rate", "Codecs", "Segments",
                "Time", "Estimated",
            ],
            alignments: [
                .left, .left, .left, .right, .right, .left, .right, .right, .right,
            ],
            rows: zip(renditions, sums).map { track, sum in
                let kind = track.kind.rawValue + (track.isTrickMode ? ", trick mode" : "")
                let picture =
                    track.height.map { height in
                        (track.width.map { "\($0)×" } ?? "") + "\(height)"
                    } ?? "–"
                let isKnown = sum.segments > 0
                return [
                    printable(track.id), kind, track.language.map(printable) ?? "–", picture,
                    track.bandwidth.map { "\(HumanFormat.count(Rendition.kilobits($0))) kbit/s" }
                        ?? "–",
                    track.codecs.map(printable) ?? "–",
                    isKnown ? HumanFormat.count(sum.segments) : "–",
                    isKnown ? HumanFormat.duration(seconds: sum.durationSeconds) : "–",
                    sum.estimatedBytes.map(HumanFormat.bytes) ?? "–",
                ]
            }, columns: LiveLines.columns(of: STDOUT_FILENO), repeated: 1)
    }

    /// Writes one line per segment. The URL is last, so that columns do not depend on URL lengths.
    private func writeSegmentLines() {
        let names = renditions.map { printable($0.id) }
        let width = names.map(TextLayout.width).max() ?? 1
        func line(_ cells: [String]) -> String {
            TextLayout.padded(cells[0], to: 9) + "  "
                + TextLayout.padded(cells[1], to: max(width, 9)) + "  "
                + TextLayout.padded(cells[2], to: 9, right: true) + "  "
                + TextLayout.padded(cells[3], to: 21) + "  " + cells[4] + "\n"
        }
        var text = "\n" + line(["Role", "Rendition", "Seconds", "Bytes", "URL"])
        for segment in segments {
            text += line([
                Self.role(of: segment), segment.rendition.map { names[$0] } ?? "–",
                segment.durationSeconds.map { HumanFormat.fixed($0, places: 3) } ?? "–",
                segment.range.map(Self.range) ?? "all",
                printable(redacted(url: segment.reference.url.text)),
            ])
            if text.utf8.count > 64 << 10 {
                Console.write(text)
                text = ""
            }
        }
        Console.write(text)
    }

    private static func range(_ range: SegmentRange) -> String {
        "\(range.offset)-" + (range.length.map { "\(range.offset + $0 - 1)" } ?? "")
    }
}
