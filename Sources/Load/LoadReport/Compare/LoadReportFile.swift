import Foundation
package import Model
import Rendering
import Statistics
import Text

/// A report of a load test, read from the JSON that `LoadJSON` writes, as far as a comparison needs
/// it.
package struct LoadReportFile: Sendable {
    /// Maximum size of a report in bytes.
    package static let maxBytes = 128 << 20
    /// Minimum number of measured seconds, so that their variation is known.
    static let minBlocks = 8
    /// Maximum number of blocks; longer tests have blocks of several seconds.
    static let maxBlocks = 120

    let name: String
    let started: String
    let measuredSeconds: Double
    let requests: Int64
    let hasViewers: Bool
    let blocks: [BlockBootstrap.Block]
    /// The test plan, field by field.
    let asked: [String: JSONValue]

    /// The sums of a block, by index.
    enum Sum: Int, CaseIterable {
        case loadSeconds, succeeded, failed, succeededInTime, bitsInTime, stalledSeconds
        case watchedSeconds, lateSegments, segments
    }

    /// Reads a report.
    ///
    /// - Parameter label: names the file in messages.
    ///
    /// Throws `input.malformed` for other JSON, and `input.field` for impossible or too few values.
    package init(_ bytes: [UInt8], label: String) throws(Failure) {
        let document: Document
        do {
            document = try JSONDecoder().decode(Document.self, from: Data(bytes))
        } catch {
            throw Failure(
                .inputMalformed,
                "\(label): not a report of a load test, as dray loadtest --json writes it"
                    + Self.detail(error))
        }
        guard document.schema == LoadJSON.schema else {
            throw Failure(
                .inputField, at: .field("schema"), "given \"\(printable(document.schema))\"",
                allowed: "\"\(LoadJSON.schema)\", in \(label)")
        }
        name = LoadFormat.name(document.name)
        started = printable(document.started)
        measuredSeconds = document.measuredSeconds
        hasViewers = document.asked["user"] == .text("viewers")
        asked = document.asked
        let rows = document.seconds.filter(\.measured)
        guard rows.count <= LoadReportFile.maxRows, rows.allSatisfy(\.isPlausible),
            measuredSeconds.isFinite
        else {
            throw Failure(
                .inputField, at: .field("seconds"), "has impossible counts",
                allowed: "the seconds of a report, in \(label)",
                hint: "Use the report that `dray loadtest` wrote, unchanged.")
        }
        requests = rows.reduce(0) { $0 + $1.counts.succeeded + $1.counts.failed }
        blocks = try Self.blocks(rows, label)
        guard blocks.count >= Self.minBlocks else {
            throw Failure(
                .inputField, at: .field("seconds"),
                "\(label) has \(HumanFormat.count(blocks.count, "second")) of measured load",
                allowed: "\(Self.minBlocks) or more, which show how far results vary",
                hint: "Run the test for longer.")
        }
    }

    /// Mean arrivals per second that its plan asks for; nil for users.
    var askedRate: Double? {
        guard asked["model"] == .text("open"), case .list(let stages) = asked["stages"] else {
            return nil
        }
        var (arrivals, seconds) = (0.0, 0.0)
        for stage in stages {
            guard case .object(let fields) = stage, case .number(let length) = fields["seconds"],
                case .number(let from) = fields["from"], case .number(let to) = fields["to"]
            else { continue }
            arrivals += length * (from + to) / 2
            seconds += length
        }
        return seconds > 0 ? arrivals / seconds : 0
    }

    private static let maxRows = 10_000

    private static func detail(_ error: any Error) -> String {
        guard case DecodingError.keyNotFound(let key, _) = error else { return "" }
        return "; field \(printable(key.stringValue)) is missing"
    }

    /// Merges rows into blocks of equal numbers of seconds. What ends after the load belongs to the
    /// last one.
    private static func blocks(
        _ rows: [Row], _ label: String
    ) throws(Failure) -> [BlockBootstrap.Block] {
        let loaded = rows.count { $0.loadSeconds >= minLoadSeconds }
        let perBlock = max((loaded + maxBlocks - 1) / maxBlocks, 1)
        var blocks: [BlockBootstrap.Block] = []
        var inBlock = perBlock
        for row in rows {
            let isLoaded = row.loadSeconds >= minLoadSeconds
            if blocks.isEmpty || isLoaded && inBlock == perBlock {
                blocks.append(.init(histogram: Histogram(), sums: Sum.allCases.map { _ in 0 }))
                inBlock = 0
            }
            if isLoaded { inBlock += 1 }
            let last = blocks.count - 1
            for (index, value) in row.sums.enumerated() { blocks[last].sums[index] += value }
            guard let text = row.totalHistogram else { continue }
            do throws(HistogramError) {
                let histogram = try Histogram(text: text)
                guard (0...Row.maxCount).contains(histogram.total) else {
                    throw HistogramError(detail: "its counts are too large")
                }
                blocks[last].histogram.add(histogram)
            } catch {
                throw Failure(
                    .inputField, at: .field("seconds"),
                    "totalHistogram of second \(row.second): "
                        + error.detail, allowed: "a V2 histogram, in \(label)")
            }
        }
        return blocks
    }

    /// A second with less load than this is the end of a test.
    private static let minLoadSeconds = 0.5

    private struct Document: Decodable {
        var schema: String
        var name: String
        var started: String
        var measuredSeconds: Double
        var asked: [String: JSONValue]
        var seconds: [Row]
    }

    private struct Row: Decodable {
        static let maxCount: Int64 = 1 << 40

        var second: Int
        var loadSeconds: Double
        var measured: Bool
        var counts: Counts
        var totalHistogram: String?

        struct Counts: Decodable {
            var succeeded: Int64
            var failed: Int64
            var succeededAfterEnd: Int64
            var bytes: Int64
            var bytesAfterEnd: Int64
            var segments: Int64
            var lateSegments: Int64
            var playedSeconds: Double
            var stalledSeconds: Double
        }

        var isPlausible: Bool {
            let whole = [
                counts.succeeded, counts.failed, counts.succeededAfterEnd, counts.segments,
                counts.lateSegments,
            ]
            let fractions = [loadSeconds, counts.playedSeconds, counts.stalledSeconds]
            return second >= 0 && whole.allSatisfy((0...Self.maxCount).contains)
                && (0...1 << 60).contains(counts.bytes)
                && (0...counts.bytes).contains(counts.bytesAfterEnd)
                && fractions.allSatisfy { (-1...1e15).contains($0) }
        }

        /// In the order of `Sum`.
        var sums: [Double] {
            Sum.allCases.map { sum in
                switch sum {
                case .loadSeconds: loadSeconds
                case .succeeded: Double(counts.succeeded)
                case .failed: Double(counts.failed)
                case .succeededInTime: Double(counts.succeeded - counts.succeededAfterEnd)
                case .bitsInTime: Double(counts.bytes - counts.bytesAfterEnd) * 8
                case .stalledSeconds: counts.stalledSeconds
                case .watchedSeconds: counts.stalledSeconds + counts.playedSeconds
                case .lateSegments: Double(counts.lateSegments)
                case .segments: Double(counts.segments)
                }
            }
        }
    }
}

/// Any JSON value, to compare two.
enum JSONValue: Decodable, Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }
}
