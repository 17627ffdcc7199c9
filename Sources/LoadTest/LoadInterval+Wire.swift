/// An interval as it goes from process to process: histograms in HdrHistogram's V2 encoding, and beside them what
/// their bins do not tell.
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

    /// Most different failure codes that are read.
    private static let mostErrors = 500

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
        guard second >= 0, errors.count <= Self.mostErrors, machines.count <= 1,
            machines.values.allSatisfy({ ($0.quotaCores ?? 1) > 0 }),
            (0...1).contains(lengthSeconds), (0...1).contains(loadSeconds)
        else {
            throw DecodingError.dataCorruptedError(
                forKey: .second, in: container, debugDescription: "no interval of a load test")
        }
        for (name, text) in texts {
            guard let metric = LoadMetric.named(name) else { continue }
            do {
                var histogram = try Histogram(text: text)
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
