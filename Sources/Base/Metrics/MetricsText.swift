/// Metrics as text.
///
/// Sources: OpenMetrics 1.0, "ABNF" and "Text format"; Prometheus, "Exposition formats".
package struct MetricsText {
    private let format: MetricsFormat
    package private(set) var bytes: [UInt8] = []

    package init(_ format: MetricsFormat) {
        self.format = format
        bytes.reserveCapacity(64 << 10)
    }

    /// Adds a metric. Without samples only its description is written.
    package mutating func add(_ family: MetricFamily, _ samples: [MetricSample]) {
        describe(family)
        for sample in samples {
            switch sample.value {
            case .histogram(let histogram): add(family, sample.labels, histogram)
            case .integer(let value):
                begin(family.sampleName, "", family.labels, sample.labels)
                end("\(value)")
            case .number(let value):
                begin(family.sampleName, "", family.labels, sample.labels)
                end(Self.text(value))
            }
        }
    }

    /// Ends the text; nothing may be added afterwards.
    package mutating func end() {
        if format == .openMetrics { bytes += "# EOF\n".utf8 }
    }

    private mutating func describe(_ family: MetricFamily) {
        let name = format == .openMetrics ? family.name : family.sampleName
        bytes += "# HELP \(name) ".utf8
        append(family.help, escapesQuotes: format == .openMetrics)
        bytes += "\n# TYPE \(name) ".utf8
        // Plain text knows no type for it.
        let kind =
            family.kind == .info && format == .prometheus ? MetricFamily.Kind.gauge : family.kind
        bytes += kind.rawValue.utf8
        bytes.append(UInt8(ascii: "\n"))
        if format == .openMetrics, let unit = family.unit {
            bytes += "# UNIT \(name) \(unit)\n".utf8
        }
    }

    private mutating func add(
        _ family: MetricFamily, _ labels: [String], _ histogram: HistogramSnapshot
    ) {
        var count: Int64 = 0
        for (bound, inBucket) in zip(histogram.bounds, histogram.counts) {
            count += inBucket
            begin(family.name, "_bucket", family.labels, labels, bound: "\(bound)")
            end("\(count)")
        }
        count += histogram.counts.last ?? 0
        begin(family.name, "_bucket", family.labels, labels, bound: "+Inf")
        end("\(count)")
        begin(family.name, "_sum", family.labels, labels)
        end(Self.text(histogram.sum))
        begin(family.name, "_count", family.labels, labels)
        end("\(count)")
    }

    private mutating func begin(
        _ name: String, _ suffix: String, _ names: [String], _ values: [String],
        bound: String? = nil
    ) {
        precondition(names.count == values.count, "a value a label: \(name)")
        bytes += name.utf8
        bytes += suffix.utf8
        guard !names.isEmpty || bound != nil else { return }
        bytes.append(UInt8(ascii: "{"))
        for (label, value) in zip(names, values) {
            separate()
            bytes += label.utf8
            bytes += "=\"".utf8
            append(value, escapesQuotes: true)
            bytes.append(UInt8(ascii: "\""))
        }
        if let bound {
            separate()
            bytes += "le=\"\(bound)\"".utf8
        }
        bytes.append(UInt8(ascii: "}"))
    }

    private mutating func separate() {
        if bytes.last != UInt8(ascii: "{") { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func end(_ value: String) {
        bytes.append(UInt8(ascii: " "))
        bytes += value.utf8
        bytes.append(UInt8(ascii: "\n"))
    }

    private mutating func append(_ text: String, escapesQuotes: Bool) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes += "\\\\".utf8
            case UInt8(ascii: "\n"): bytes += "\\n".utf8
            case UInt8(ascii: "\"") where escapesQuotes: bytes += "\\\"".utf8
            default: bytes.append(byte)
            }
        }
    }

    /// Returns a number as both formats read it; a whole one without a fraction.
    private static func text(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}

extension MetricRegistry {
    /// Returns all metrics as text.
    package func text(_ format: MetricsFormat) -> [UInt8] {
        var text = MetricsText(format)
        for entry in entries { text.add(entry.family, entry.collect()) }
        text.end()
        return text.bytes
    }
}
