import FoundationEssentials
import Rendering
import Text

extension LoadComparison {
    /// A table with a line for each figure.
    package var text: String {
        var text = "A: \(Self.line(first))\nB: \(Self.line(second))\n"
        for note in notes { text += "Note: \(note)\n" }
        let confidence = LoadFormat.percent(limits.confidence)
        text += "\n"
        text += TextLayout.table(
            headings: ["", "A", "B", "change", "\(confidence) interval", ""],
            alignments: [.left, .right, .right, .right, .right, .left],
            rows: figures.map { figure in
                [
                    figure.name, Self.value(figure.first, figure.kind),
                    Self.value(figure.second, figure.kind), Self.change(figure.change, figure.kind),
                    figure.interval.map {
                        "\(Self.change($0.lowerBound, figure.kind)) to "
                            + Self.change($0.upperBound, figure.kind)
                    } ?? LoadFormat.none,
                    Self.word(figure.verdict),
                ]
            })
        return text + "\n" + conclusion + "\n"
    }

    private var conclusion: String {
        let worse = figures.filter { $0.verdict == .worse }.map(\.name)
        let unclear = figures.filter { $0.verdict == .unclear }.map(\.name)
        let tolerance =
            "\(LoadFormat.percent(limits.tolerance)), or "
            + "\(LoadFormat.percent(limits.shareTolerance)) of requests or time"
        var sentences: [String] = []
        if worse.isEmpty {
            sentences.append("B is not shown to be worse by more than \(tolerance).")
        } else {
            sentences.append("B is worse by more than \(tolerance): \(list(worse)).")
        }
        if !unclear.isEmpty {
            sentences.append("Unclear, because results vary too much: \(list(unclear)).")
        }
        let asked = figures.filter { $0.verdict == .asked }.map(\.name)
        if !asked.isEmpty {
            sentences.append(
                "Not judged, because the plans ask for different rates: \(list(asked)).")
        }
        return sentences.joined(separator: " ")
    }

    private func list(_ names: [String]) -> String { names.joined(separator: ", ") }

    private static func line(_ file: LoadReportFile) -> String {
        let name = file.name.isEmpty ? "load test" : file.name
        return "\(name), \(file.started), \(HumanFormat.count(file.requests, "request")) in "
            + LoadFormat.seconds(file.measuredSeconds)
    }

    private static func word(_ verdict: Verdict) -> String {
        switch verdict {
        case .better, .worse, .same, .unclear: verdict.rawValue
        case .asked: "asked load"
        case .none: "no data"
        }
    }

    private static func value(_ value: Double?, _ kind: Figure.Kind) -> String {
        switch kind {
        case .time: value.map { LoadFormat.time(microseconds: $0) } ?? LoadFormat.none
        case .rate: LoadFormat.rate(value)
        case .bits: LoadFormat.bandwidth(value)
        case .share: LoadFormat.percent(value)
        }
    }

    /// Formats a change: `+1.2 %`; of shares in points: `+0.02 pp`.
    private static func change(_ value: Double?, _ kind: Figure.Kind) -> String {
        guard let value, value.isFinite else { return LoadFormat.none }
        let percent = value * 100
        let number = HumanFormat.fixed(
            abs(percent), places: abs(percent) < 9.95 ? 2 : abs(percent) < 99.5 ? 1 : 0)
        let sign = Double(number) == 0 ? "" : percent < 0 ? "-" : "+"
        return "\(sign)\(number) \(kind == .share ? "pp" : "%")"
    }

    // MARK: JSON

    private struct Document: Encodable {
        struct Test: Encodable {
            let name: String
            let started: String
            let measuredSeconds: Double
            let requests: Int64
            let blocks: Int

            init(_ file: LoadReportFile) {
                name = file.name
                started = file.started
                measuredSeconds = file.measuredSeconds
                requests = file.requests
                blocks = file.blocks.count
            }
        }

        struct Entry: Encodable {
            let figure: String
            let unit: String
            let a: Double?
            let b: Double?
            let change: Double?
            let low: Double?
            let high: Double?
            let verdict: Verdict

            init(_ figure: Figure) {
                self.figure = figure.name
                unit =
                    switch figure.kind {
                    case .time: "microseconds"
                    case .rate: "requestsPerSecond"
                    case .bits: "bitsPerSecond"
                    case .share: "share"
                    }
                (a, b, change) = (figure.first, figure.second, figure.change)
                (low, high) = (figure.interval?.lowerBound, figure.interval?.upperBound)
                verdict = figure.verdict
            }
        }

        let schema = "dray.loadtest.comparison/1"
        let a: Test
        let b: Test
        let confidence: Double
        let tolerance: Double
        let shareTolerance: Double
        let isWorse: Bool
        let figures: [Entry]
        let notes: [String]
    }

    /// Returns the comparison as JSON. Changes are relative, those of shares are differences.
    package func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let document = Document(
            a: .init(first), b: .init(second), confidence: limits.confidence,
            tolerance: limits.tolerance, shareTolerance: limits.shareTolerance, isWorse: isWorse,
            figures: figures.map(Document.Entry.init), notes: notes)
        return String(decoding: try encoder.encode(document), as: UTF8.self) + "\n"
    }
}
