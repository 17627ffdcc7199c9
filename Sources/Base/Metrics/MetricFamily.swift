/// The description of a metric: a name with all its series.
///
/// Names follow Prometheus's practice: `dray_`, what is measured, and the unit last. A counter is
/// named here without `_total`, which the text adds.
package struct MetricFamily: Sendable, Hashable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram, info
    }

    package let name: String
    package let kind: Kind
    /// One sentence.
    package let help: String
    /// Names of labels, in the order of the values of samples.
    package let labels: [String]
    /// Maximum number of series, `other` included; 1 without labels.
    package let maxSeries: Int

    /// The value of every label of the series for what is beyond `maxSeries`.
    package static let other = "other"

    private static let units = ["seconds", "bytes", "ratio", "bytes_per_second"]

    package init(
        _ name: String, _ kind: Kind, _ help: String, labels: [String] = [], maxSeries: Int = 1
    ) {
        precondition(Self.isName(name) && labels.allSatisfy(Self.isName), "not a name: \(name)")
        precondition(!name.hasSuffix("_total"), "the text adds _total: \(name)")
        precondition(maxSeries == 1 || maxSeries > 1 && !labels.isEmpty, "bounds of \(name)")
        self.name = name
        self.kind = kind
        self.help = help
        self.labels = labels
        self.maxSeries = maxSeries
    }

    /// The unit at the end of the name; nil for a number without one.
    package var unit: String? { Self.units.first { name.hasSuffix("_\($0)") } }

    /// The name of the samples; of a histogram the one before `_bucket`, `_sum` and `_count`.
    package var sampleName: String {
        switch kind {
        case .counter: "\(name)_total"
        case .info: "\(name)_info"
        case .gauge, .histogram: name
        }
    }

    private static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, first > 0x39 else { return false }
        return text.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "_")
        }
    }
}

/// The value of one series when it is scraped.
package struct MetricSample: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        case integer(Int64)
        case number(Double)
        case histogram(HistogramSnapshot)
    }

    /// Values of the family's labels, in their order.
    package var labels: [String]
    package var value: Value

    package init(_ labels: [String] = [], _ value: Double) {
        self.labels = labels
        self.value = .number(value)
    }

    package init(_ labels: [String] = [], _ value: Int64) {
        self.labels = labels
        self.value = .integer(value)
    }

    package init(_ labels: [String], _ value: Value) {
        self.labels = labels
        self.value = value
    }
}
