import Statistics

/// The wire form of an interval: histograms in HdrHistogram's V2 encoding, and the exact values
/// that their bins lose.
extension LoadInterval: Codable {
    private enum CodingKeys: String, CodingKey {
        case second
        case isMeasured = "measured"
        case lengthSeconds
        case loadSeconds
        case counts
        case errors
        case histograms
        case exact
        case machines
    }

    /// Maximum length of a failure code and of a machine's name, in bytes.
    private static let nameBytes = 255
    /// Maximum length of a machine's identity, which may contain a control group's path.
    private static let machineBytes = 4_096

    /// Returns true if a text could be a failure code. Reports separate codes by commas and line
    /// ends.
    private static func isCode(_ text: String) -> Bool {
        text.utf8.count <= nameBytes
            && text.utf8.allSatisfy {
                ("a"..."z").contains(UnicodeScalar($0)) || ("A"..."Z").contains(UnicodeScalar($0))
                    || ("0"..."9").contains(UnicodeScalar($0)) || "._-".utf8.contains($0)
            }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(second, forKey: .second)
        try container.encode(isMeasured, forKey: .isMeasured)
        if lengthSeconds != 1 { try container.encode(lengthSeconds, forKey: .lengthSeconds) }
        if loadSeconds != 1 { try container.encode(loadSeconds, forKey: .loadSeconds) }
        try container.encode(counts, forKey: .counts)
        if !errors.isEmpty { try container.encode(errors, forKey: .errors) }
        if !machines.isEmpty { try container.encode(machines, forKey: .machines) }
        var texts: [String: String] = [:]
        var exact: [String: Histogram.Exact] = [:]
        for metric in LoadMetric.allCases {
            guard let histogram = self[metric] else { continue }
            texts[metric.name] = histogram.text
            exact[metric.name] = histogram.exact
        }
        try container.encode(texts, forKey: .histograms)
        try container.encode(exact, forKey: .exact)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(second: try container.decode(Int.self, forKey: .second))
        isMeasured = try container.decode(Bool.self, forKey: .isMeasured)
        lengthSeconds = try container.decodeIfPresent(Double.self, forKey: .lengthSeconds) ?? 1
        loadSeconds = try container.decodeIfPresent(Double.self, forKey: .loadSeconds) ?? 1
        counts = try container.decode(LoadCounts.self, forKey: .counts)
        errors = try container.decodeIfPresent([String: Int64].self, forKey: .errors) ?? [:]
        machines =
            try container.decodeIfPresent([String: LoadMachine].self, forKey: .machines) ?? [:]
        let texts = try container.decode([String: String].self, forKey: .histograms)
        let exact =
            try container.decodeIfPresent([String: Histogram.Exact].self, forKey: .exact) ?? [:]
        guard second >= 0, (0...1).contains(lengthSeconds), (0...1).contains(loadSeconds),
            counts.isOfOneSecond, errors.count <= Self.maxErrors,
            errors.allSatisfy({
                Self.isCode($0.key) && LoadCounts.ofOneSecond.contains($0.value)
            }),
            machines.count <= 1,
            machines.allSatisfy({
                $0.key.utf8.count <= Self.machineBytes && $0.value.name.utf8.count <= Self.nameBytes
                    && $0.value.isOfOneSecond
            })
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .second, in: container, debugDescription: "not an interval of a load test")
        }
        for (name, text) in texts {
            guard let metric = LoadMetric.named(name) else { continue }
            do throws(HistogramError) {
                var histogram = try Histogram(text: text)
                guard LoadCounts.ofOneSecond.contains(histogram.total) else {
                    throw HistogramError(detail: "its counts exceed a second")
                }
                if let exact = exact[name] { try histogram.take(exact) }
                self[metric] = histogram
            } catch {
                throw DecodingError.dataCorruptedError(
                    forKey: .histograms, in: container, debugDescription: "\(name): \(error.detail)"
                )
            }
        }
    }
}

extension LoadMachine {
    private static let maxCPUs = 10_000

    /// True if a shard can have used it within a second.
    fileprivate var isOfOneSecond: Bool {
        cpus.count <= Self.maxCPUs && cpus.allSatisfy((0..<Self.maxCPUs).contains)
            && (-1...1e9).contains(cpuSeconds) && (quotaCores ?? 1) > 0 && (quotaCores ?? 1) <= 1e9
    }
}
