import Model
import Text

extension LoadThreshold {
    private static let names: [(name: String, figure: LoadFigure)] = [
        ("error_rate", .errorRate), ("rate", .requestRate), ("throughput", .throughput),
        ("rebuffer_ratio", .rebufferRatio), ("late_segments", .lateSegmentRatio),
        ("failed_viewers", .failedViewerRatio), ("late_sends", .lateSendRatio),
        ("missed_sends", .missedSendRatio),
    ]
    private static let statistics = ["p99", "mean", "max"]

    /// Parses `p99(first_byte) < 200ms`, `error_rate <= 0.1%`, `throughput > 1Gbit/s`,
    /// `p99(total){kind=media} < 1s`.
    ///
    /// Times need a unit; ratios are a percentage or a fraction below 1.
    package static func parse(_ text: String) throws(LoadInputError) -> LoadThreshold {
        do throws(LoadInputError) { return try threshold(text) } catch {
            // What is missing is shown by what there is.
            throw error.given.isEmpty
                ? LoadInputError(given: text, allowed: error.allowed) : error
        }
    }

    private static func threshold(_ text: String) throws(LoadInputError) -> LoadThreshold {
        let (left, group, start) = try splitGroup(text)
        guard let sign = text[start...].firstIndex(where: { "<>".contains($0) }) else {
            throw LoadInputError(
                given: text, allowed: "a comparison by <, <=, > or >=: p99(first_byte) < 200ms")
        }
        var rest = text[text.index(after: sign)...]
        let isOrEqual = rest.first == "="
        if isOrEqual { rest.removeFirst() }
        let comparison: Comparison =
            text[sign] == "<" ? (isOrEqual ? .atMost : .less) : (isOrEqual ? .atLeast : .more)
        let figure = try figure(trimmed(left ?? text[..<sign]))
        if group != nil {
            guard figure.isOfGroups, trimmed(text[start..<sign]).isEmpty else {
                throw LoadInputError(
                    given: trimmed(text[..<sign]),
                    allowed: "for a group: total and first_byte, error_rate and rate")
            }
        }
        let threshold = LoadThreshold(
            text: text, figure: figure, of: group, comparison: comparison,
            value: try value(trimmed(rest), of: figure))
        try threshold.checkThatItCanFail(given: trimmed(rest))
        return threshold
    }

    /// Rejects a bound that always or never holds, and a share of 1 without a sign, which could be
    /// 1 % or 100 %: all figures are at least 0, and shares at most 1.
    private func checkThatItCanFail(given: String) throws(LoadInputError) {
        let scale = Self.scale(of: figure)
        let whole = scale.units.first.flatMap { $0.name == "%" ? $0.factor * 100 : nil }
        if whole == value, !given.hasSuffix("%") {
            throw LoadInputError(
                given: given, allowed: "1% or 100%, with the sign: \(given) could mean either")
        }
        let fate: String
        switch comparison {
        case .less where value == 0, .more where value == whole: fate = "never"
        case .atLeast where value == 0, .atMost where value == whole: fate = "always"
        default: return
        }
        throw LoadInputError(
            given: "\(comparison.rawValue) \(given)",
            allowed: "a bound that can hold and fail (this one \(fate) holds): "
                + (whole == nil ? scale.example : "<= 1%, > 0%"))
    }

    private static func withSign(_ given: String) -> String {
        "\(given)% for a percentage, or a fraction below 1: 0.01"
    }

    /// Splits `p99(total){kind=media} < 1s` into the text before the braces, the group, and the index
    /// after them. Without braces, the first two are nil.
    private static func splitGroup(
        _ text: String
    ) throws(LoadInputError) -> (Substring?, LoadGroupKey?, String.Index) {
        guard let open = text.firstIndex(where: { "{<>".contains($0) }), text[open] == "{" else {
            return (nil, nil, text.startIndex)
        }
        guard let close = text.lastIndex(of: "}") else {
            throw LoadInputError(given: text, allowed: "a group in braces: {kind=media}")
        }
        let group = try group(text[text.index(after: open)..<close])
        return (text[..<open], group, text.index(after: close))
    }

    private static func group(_ text: Substring) throws(LoadInputError) -> LoadGroupKey {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let all = LoadDimension.allCases.map(\.rawValue)
        let word = trimmed(parts.first ?? "")
        guard parts.count == 2, let dimension = LoadDimension(rawValue: word) else {
            throw LoadInputError(
                given: "{\(text)}",
                allowed: "{\(all.joined(separator: "=…}, {"))=…}" + nearest(word, all))
        }
        var name = parts[1].drop { $0 == " " }
        while name.last == " " { name.removeLast() }
        if name.count >= 2, name.hasPrefix("\""), name.hasSuffix("\"") {
            name = name.dropFirst().dropLast()
        }
        try check(name, of: dimension)
        return LoadGroupKey(dimension, String(name))
    }

    private static func check(
        _ name: Substring, of dimension: LoadDimension
    ) throws(LoadInputError) {
        let allowed: String
        switch dimension {
        case .target, .rendition, .pathway:
            guard name.isEmpty else { return }
            allowed = "the name of a \(dimension.rawValue)"
        case .kind:
            let kinds = LoadKind.allCases.map(\.rawValue)
            guard !kinds.contains(String(name)) else { return }
            allowed = kinds.joined(separator: ", ") + nearest(String(name), kinds)
        case .status:
            guard name != "none", Int(name).map({ !(100...999).contains($0) }) ?? true else {
                return
            }
            allowed = "an HTTP status, 100 to 999, or none for requests without an answer"
        }
        throw LoadInputError(given: String(name), allowed: allowed)
    }

    private static func trimmed(_ text: Substring) -> String {
        text.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
    }

    // MARK: Figures

    private static func figure(_ text: String) throws(LoadInputError) -> LoadFigure {
        if let named = names.first(where: { $0.name == text }) { return named.figure }
        let parts = text.split(separator: "(", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[1].hasSuffix(")") else {
            let all = names.map(\.name)
            throw LoadInputError(
                given: text,
                allowed: "\(all.joined(separator: ", ")), or p99(…), mean(…), max(…) of a metric"
                    + nearest(text, all))
        }
        let statistic = trimmed(parts[0])
        let name = trimmed(parts[1].dropLast())
        let all = LoadMetric.allCases.map(\.name)
        guard let metric = LoadMetric.named(name) else {
            throw LoadInputError(
                given: text, allowed: all.joined(separator: ", ") + nearest(name, all))
        }
        switch statistic {
        case "mean": return .mean(metric)
        case "max": return .maximum(metric)
        default:
            guard let quantile = quantile(statistic) else {
                throw LoadInputError(
                    given: text,
                    allowed: "p0 to p100, for example p99.9, mean or max"
                        + nearest(statistic, statistics))
            }
            return .quantile(metric, quantile)
        }
    }

    /// Parses `p99.9` to 0.999.
    private static func quantile(_ text: String) -> Double? {
        guard text.hasPrefix("p"), let (percent, rest) = LoadText.number(text.dropFirst()),
            rest.isEmpty, percent <= 100
        else { return nil }
        return LoadText.product(percent, 0.01)
    }

    private static func nearest(_ word: String, _ known: [String]) -> String {
        suggestion(for: word, from: known).map { " (\($0))" } ?? ""
    }

    // MARK: Values

    /// The units of a figure's value, with their factors to the figure's own unit.
    private struct Scale {
        let units: [LoadText.Unit]
        let example: String
    }

    private static func scale(of figure: LoadFigure) -> Scale {
        switch figure {
        case .quantile(let metric, _), .mean(let metric), .maximum(let metric): scale(of: metric)
        case .errorRate, .rebufferRatio, .lateSegmentRatio, .failedViewerRatio, .lateSendRatio,
            .missedSendRatio:
            ratio(of: 1)
        case .requestRate:
            Scale(
                units: [.init(name: "/s", factor: 1), .init(name: "", factor: 1)],
                example: "a number a second: 100/s")
        case .throughput:
            Scale(
                units: LoadText.rates,
                example: "bits or bytes a second with their unit: 1Gbit/s, 120MB/s, 100MiB/s")
        }
    }

    private static func scale(of metric: LoadMetric) -> Scale {
        switch metric.unit {
        case .microseconds:
            Scale(
                units: LoadText.durations.map { .init(name: $0.name, factor: $0.factor * 1e6) },
                example: "a time with its unit, us, ms, s, m or h: 200ms")
        case .count: Scale(units: [.init(name: "", factor: 1)], example: "a number")
        case .millionths: ratio(of: 1e6)
        case .kilobitsPerSecond:
            Scale(
                units: LoadText.rates.map { .init(name: $0.name, factor: $0.factor / 1e3) },
                example: "a bit rate with its unit: 2500kbit/s, 2.5Mbit/s")
        }
    }

    private static func ratio(of whole: Double) -> Scale {
        Scale(
            units: [.init(name: "%", factor: whole / 100), .init(name: "", factor: whole)],
            example: "0% to 100%, or a fraction below 1: 1%, 0.01")
    }

    private static func value(
        _ text: String, of figure: LoadFigure
    ) throws(LoadInputError) -> Double {
        let scale = scale(of: figure)
        guard let (number, rest) = LoadText.number(text[...]),
            let unit = scale.units.first(where: { $0.name == rest.drop { $0 == " " } })
        else { throw LoadInputError(given: text, allowed: scale.example) }
        // A ratio cannot exceed 1.
        if let percent = scale.units.first, percent.name == "%",
            number * unit.factor > percent.factor * 100 * (1 + 1e-9)
        {
            let isPercentage = unit.name.isEmpty && number <= 100
            throw LoadInputError(
                given: text, allowed: isPercentage ? withSign(text) : scale.example)
        }
        return LoadText.product(number, unit.factor)
    }
}
