import FoundationEssentials
import Model

/// One line of a histogram log: the values of an interval.
package struct HistogramInterval: Sendable, Equatable {
    /// Without commas or white space; nil for the main series.
    package var tag: String?
    /// Seconds since the log's start time.
    package var startSeconds: Double
    package var lengthSeconds: Double
    package var histogram: Histogram

    package init(
        tag: String? = nil, startSeconds: Double, lengthSeconds: Double, histogram: Histogram
    ) {
        self.tag = tag
        self.startSeconds = startSeconds
        self.lengthSeconds = lengthSeconds
        self.histogram = histogram
    }
}

/// HdrHistogram's log format, version 1.3: text with one interval per line. Values are
/// microseconds; `Interval_Max` is in milliseconds, as in HdrHistogram's tools.
package enum HdrHistogramLog {
    private static let microsecondsPerUnit = 1_000.0
    /// Maximum length of a line: a histogram of all bins, in base64.
    private static let maxLineBytes = 4 << 20

    /// Returns the lines before the first interval. `start` is in seconds since 1970.
    package static func header(startSeconds start: Double, comment: String) -> String {
        """
        #[\(comment)]
        #[Histogram log format version 1.3]
        #[StartTime: \(decimals(start)) (seconds since epoch)]
        "StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"

        """
    }

    package static func line(_ interval: HistogramInterval) -> String {
        let tag = interval.tag.map { "Tag=\($0)," } ?? ""
        let most = Double(interval.histogram.maximum ?? 0) / microsecondsPerUnit
        return "\(tag)\(decimals(interval.startSeconds)),\(decimals(interval.lengthSeconds)),"
            + "\(decimals(most)),\(interval.histogram.text)\n"
    }

    /// Calls `body` with the intervals of one or more concatenated logs; the error names the line.
    package static func read(
        _ text: String, _ body: (HistogramInterval) -> Void
    ) throws(HistogramError) {
        var rest = text[...]
        var number = 0
        while !rest.isEmpty {
            let line = rest.prefix { !$0.isNewline }
            rest = rest[line.endIndex...].dropFirst()
            number += 1
            guard !line.isEmpty, !line.hasPrefix("#"), !line.hasPrefix("\"") else { continue }
            do throws(HistogramError) {
                body(try interval(line))
            } catch {
                throw HistogramError(detail: "line \(number): \(error.detail)")
            }
        }
    }

    private static func interval(_ line: Substring) throws(HistogramError) -> HistogramInterval {
        guard line.utf8.count <= maxLineBytes else {
            throw HistogramError(detail: "it is too long")
        }
        var fields = line.split(separator: ",", omittingEmptySubsequences: false)
        var tag: String?
        if let first = fields.first, first.hasPrefix("Tag=") {
            tag = String(first.dropFirst(4))
            fields.removeFirst()
        }
        guard fields.count == 4, let start = Double(fields[0]), let length = Double(fields[1]),
            abs(start) <= maxSeconds, (0...maxSeconds).contains(length)
        else { throw HistogramError(detail: "it is not a start, length, maximum and histogram") }
        return HistogramInterval(
            tag: tag, startSeconds: start, lengthSeconds: length,
            histogram: try Histogram(text: String(fields[3])))
    }

    /// Some 30,000 years: sums and thousandths of it are exact.
    private static let maxSeconds = 1e12

    /// Formats three decimals, with a point in every locale.
    private static func decimals(_ value: Double) -> String {
        let thousandths = Int64(saturating: (value * 1_000).rounded())
        let fraction = String(abs(thousandths) % 1_000)
        return (thousandths < 0 ? "-" : "") + "\(abs(thousandths) / 1_000)."
            + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
}
