internal import Foundation
internal import LoadModel
internal import Model
internal import Rendering
package import Statistics
import Text

/// Merges histogram logs tag by tag, without loss.
package struct HistogramReport: Sendable {
    /// Maximum number of tags.
    package static let maxTags = 1_000

    private struct Series {
        var tag: String?
        var intervals = 0
        var histogram = Histogram()

        /// The unit of its values: that of a metric of `dray loadtest` with the tag's name, else
        /// microseconds.
        var unit: LoadMetric.Unit { tag.flatMap(LoadMetric.named)?.unit ?? .microseconds }
    }

    private static let quantiles = [0.5, 0.9, 0.99, 0.999, 0.9999]

    private var indexes: [String?: Int] = [:]
    private var series: [Series] = []

    /// Values without a tag come first, as in a log; then the tags in order of appearance.
    private var all: [Series] { series.filter { $0.tag == nil } + series.filter { $0.tag != nil } }

    package init() {}

    /// Adds one or more concatenated logs; the error names the line. Throws for text without an
    /// interval; some of it may have been added then.
    package mutating func add(_ text: String) throws(HistogramError) {
        var isEmpty = true
        var hasTooMany = false
        var isTooLarge = false
        try HdrHistogramLog.read(text) { interval in
            isEmpty = false
            let index = indexes[interval.tag] ?? series.count
            if index == series.count {
                guard series.count < Self.maxTags else {
                    hasTooMany = true
                    return
                }
                indexes[interval.tag] = index
                series.append(Series(tag: interval.tag))
            }
            let sum = series[index].histogram.total
                .addingReportingOverflow(interval.histogram.total)
            guard !sum.overflow else {
                isTooLarge = true
                return
            }
            series[index].intervals += 1
            series[index].histogram.add(interval.histogram)
        }
        if hasTooMany { throw HistogramError(detail: "more than \(Self.maxTags) tags") }
        if isTooLarge { throw HistogramError(detail: "its counts are more than 64 bits hold") }
        if isEmpty { throw HistogramError(detail: "it has no interval") }
    }

    /// A table with one line per tag.
    package var text: String {
        let headings = [
            "Tag", "Intervals", "Values", "Mean", "Min", "p50", "p90", "p99", "p99.9", "p99.99",
            "Max",
        ]
        let rows = all.map { series in
            func value(_ value: Double?) -> String { LoadFormat.value(value, of: series.unit) }
            return [
                series.tag.map { printable($0) } ?? "-", LoadFormat.count(Int64(series.intervals)),
                LoadFormat.count(series.histogram.total),
                value(series.histogram.mean), value(series.histogram.minimum.map { Double($0) }),
            ]
                + Self.quantiles.map { value(series.histogram.quantile($0).map { Double($0) }) }
                + [value(series.histogram.maximum.map { Double($0) })]
        }
        return TextLayout.table(
            headings: headings,
            alignments: [.left] + Array(repeating: .right, count: headings.count - 1), rows: rows)
    }

    /// A series in JSON. Times have fields with `Microseconds` in their names, other figures those
    /// without, in `unit`.
    private struct Entry: Encodable {
        var tag: String?
        var unit: String
        var intervals: Int
        var values: Int64
        var mean: Double?
        var minimum: Int64?
        var maximum: Int64?
        var percentiles: [String: Int64]?
        var meanMicroseconds: Double?
        var minimumMicroseconds: Int64?
        var maximumMicroseconds: Int64?
        /// By percentile.
        var percentilesMicroseconds: [String: Int64]?
    }

    /// Returns JSON; values that an empty histogram lacks are omitted.
    package func json() throws -> String {
        let entries = all.map { series in
            let histogram = series.histogram
            var percentiles: [String: Int64] = [:]
            for quantile in Self.quantiles {
                let name = HumanFormat.fixed(quantile * 100, places: 2)
                percentiles[Self.trimmed(name)] = histogram.quantile(quantile)
            }
            var entry = Entry(
                tag: series.tag, unit: series.unit.name, intervals: series.intervals,
                values: histogram.total)
            let mean = histogram.isEmpty ? nil : histogram.mean
            guard series.unit == .microseconds else {
                (entry.mean, entry.percentiles) = (mean, percentiles)
                (entry.minimum, entry.maximum) = (histogram.minimum, histogram.maximum)
                return entry
            }
            (entry.meanMicroseconds, entry.percentilesMicroseconds) = (mean, percentiles)
            entry.minimumMicroseconds = histogram.minimum
            entry.maximumMicroseconds = histogram.maximum
            return entry
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(["tags": entries]), as: UTF8.self) + "\n"
    }

    /// Removes trailing zeros: `99.90` becomes `99.9`.
    private static func trimmed(_ number: String) -> String {
        guard number.contains(".") else { return number }
        var number = number
        while number.hasSuffix("0") { number.removeLast() }
        if number.hasSuffix(".") { number.removeLast() }
        return number
    }
}

extension Histogram {
    fileprivate func quantile(_ quantile: Double) -> Int64? {
        isEmpty ? nil : value(quantile: quantile)
    }
}
