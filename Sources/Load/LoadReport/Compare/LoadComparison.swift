import FoundationEssentials
import Statistics

/// Compares the reports of two tests, figure by figure, with intervals of confidence.
///
/// The intervals come from a bootstrap over the seconds of each test: `BlockBootstrap`. The same
/// two reports give the same result.
package struct LoadComparison: Sendable {
    /// Number of draws from each test.
    private static let draws = 1_000
    private static let quantiles: [(name: String, quantile: Double)] = [
        ("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999),
    ]
    /// Minimum number of values above a quantile in each test.
    private static let minValuesAbove = 10.0

    /// The allowed deterioration of each figure of the second test.
    package struct Limits: Sendable {
        /// Share, 0 to 1, within which two intervals lie.
        package var confidence = 0.95
        /// Relative, of times and rates.
        package var tolerance = 0.05
        /// Difference of shares of requests, segments or time.
        package var shareTolerance = 0.001

        package init() {}
    }

    package enum Verdict: String, Sendable, Encodable {
        case better, same, worse
        /// The interval reaches beyond the tolerance: a longer test is needed.
        case unclear
        /// The plans ask for different rates, which the figure follows.
        case asked
        /// The figure has no value in one of the tests, or 0 in the first.
        case none
    }

    package struct Figure: Sendable {
        enum Kind: Sendable { case time, rate, bits, share }

        package let name: String
        let kind: Kind
        /// Microseconds, per second, or a share; nil without a value.
        package let first: Double?
        package let second: Double?
        /// Relative change, or the difference of shares.
        package let change: Double?
        package let interval: ClosedRange<Double>?
        package let verdict: Verdict
    }

    let first: LoadReportFile
    let second: LoadReportFile
    let limits: Limits
    package let figures: [Figure]
    /// Reasons for which the tests are hardly comparable, a sentence each.
    package let notes: [String]

    package init(_ first: LoadReportFile, _ second: LoadReportFile, _ limits: Limits) {
        self.first = first
        self.second = second
        self.limits = limits
        let quantiles = Self.quantiles.map(\.quantile)
        var (one, other) = (
            BlockBootstrap(first.blocks, quantiles: quantiles, seed: 1),
            BlockBootstrap(second.blocks, quantiles: quantiles, seed: 2)
        )
        let measured = Pair(one.whole, other.whole)
        let drawn = zip(one.draws(Self.draws), other.draws(Self.draws)).map(Pair.init)
        var figures: [Figure] = []
        let isAsked = Self.asksForOtherRates(first, second)
        for definition in Self.definitions(
            hasViewers: first.hasViewers && second.hasViewers, requests: [first, second])
        {
            figures.append(
                Self.figure(
                    definition, measured, drawn, limits,
                    isAsked: isAsked && definition.followsRate))
        }
        self.figures = figures
        notes = Self.notes(first, second)
    }

    /// True if a figure of the second test is worse by more than the tolerance.
    package var isWorse: Bool { figures.contains { $0.verdict == .worse } }

    // MARK: Figures

    private typealias Draw = BlockBootstrap.Draw

    private struct Pair {
        let first: Draw
        let second: Draw

        init(_ first: Draw, _ second: Draw) { (self.first, self.second) = (first, second) }
    }

    private struct Definition {
        var name: String
        var kind: Figure.Kind
        /// True if more is better.
        var isGain = false
        /// True if it follows the load that a plan asks for, if that is a rate.
        var followsRate = false
        var value: (Draw) -> Double?
    }

    private static func ratio(
        _ part: LoadReportFile.Sum, _ whole: LoadReportFile.Sum
    ) -> (Draw) -> Double? {
        { draw in
            let whole = draw.sums[whole.rawValue]
            return whole > 0 ? draw.sums[part.rawValue] / whole : nil
        }
    }

    private static func errorRate(_ draw: Draw) -> Double? {
        let failed = draw.sums[LoadReportFile.Sum.failed.rawValue]
        let ended = failed + draw.sums[LoadReportFile.Sum.succeeded.rawValue]
        return ended > 0 ? failed / ended : nil
    }

    private static func definitions(
        hasViewers: Bool, requests tests: [LoadReportFile]
    ) -> [Definition] {
        let fewest = tests.map { Double($0.requests) }.min() ?? 0
        var all = quantiles.enumerated().filter { _, entry in
            (1 - entry.quantile) * fewest >= minValuesAbove
        }.map { index, entry in
            Definition(name: "\(entry.name)(total)", kind: .time) {
                $0.mean > 0 ? $0.quantiles[index] : nil
            }
        }
        all.append(Definition(name: "mean(total)", kind: .time) { $0.mean > 0 ? $0.mean : nil })
        all.append(Definition(name: "error_rate", kind: .share, value: errorRate))
        all.append(
            Definition(
                name: "rate", kind: .rate, isGain: true, followsRate: true,
                value: ratio(.succeededInTime, .loadSeconds)))
        all.append(
            Definition(
                name: "throughput", kind: .bits, isGain: true, followsRate: true,
                value: ratio(.bitsInTime, .loadSeconds)))
        guard hasViewers else { return all }
        all.append(
            Definition(
                name: "rebuffer_ratio", kind: .share,
                value: ratio(.stalledSeconds, .watchedSeconds)))
        all.append(
            Definition(name: "late_segments", kind: .share, value: ratio(.lateSegments, .segments)))
        return all
    }

    private static func figure(
        _ definition: Definition, _ measured: Pair, _ drawn: [Pair], _ limits: Limits,
        isAsked: Bool
    ) -> Figure {
        func change(_ pair: Pair) -> Double? {
            guard let first = definition.value(pair.first),
                let second = definition.value(pair.second)
            else { return nil }
            if definition.kind == .share { return second - first }
            return first > 0 ? second / first - 1 : nil
        }
        let measuredChange = change(measured)
        let interval =
            measuredChange == nil
            ? nil : percentileInterval(drawn.compactMap(change), confidence: limits.confidence)
        return Figure(
            name: definition.name, kind: definition.kind,
            first: definition.value(measured.first), second: definition.value(measured.second),
            change: measuredChange, interval: interval,
            verdict: isAsked && interval != nil
                ? .asked
                : verdict(
                    interval, isGain: definition.isGain,
                    tolerance: definition.kind == .share
                        ? limits.shareTolerance : limits.tolerance))
    }

    /// True if the rates of the plans differ: those of the tests say nothing of the target then.
    private static func asksForOtherRates(
        _ first: LoadReportFile, _ second: LoadReportFile
    ) -> Bool {
        let rates = (first.askedRate, second.askedRate)
        guard let one = rates.0, let other = rates.1 else {
            return rates.0 != nil || rates.1 != nil
        }
        return abs(one - other) > 1e-9 * max(one, other)
    }

    private static func verdict(
        _ interval: ClosedRange<Double>?, isGain: Bool, tolerance: Double
    ) -> Verdict {
        guard let interval else { return .none }
        let loss = isGain ? -interval.upperBound...(-interval.lowerBound) : interval
        if loss.lowerBound > tolerance { return .worse }
        if loss.upperBound < -tolerance { return .better }
        return loss.upperBound <= tolerance && loss.lowerBound >= -tolerance ? .same : .unclear
    }

    // MARK: Notes

    private static func notes(_ first: LoadReportFile, _ second: LoadReportFile) -> [String] {
        // The seed changes which requests are sent, not how many.
        let names = Set(first.asked.keys).union(second.asked.keys).subtracting(["seed"])
        let different = names.filter { first.asked[$0] != second.asked[$0] }.sorted()
        guard !different.isEmpty else { return [] }
        let fields = different.prefix(6).joined(separator: ", ")
        return [
            "The test plans differ (\(LoadFormat.name(fields))): a change may be of the plan, not "
                + "of what was tested."
        ]
    }
}
