/// Finds the highest load at which every threshold holds.
///
/// The load doubles from the first on until a threshold breaks, or halves until all hold. Then
/// geometric bisection narrows the gap to at most `precision`. The owner runs each load that `next`
/// returns, after `pauseSeconds`, and records the outcome.
package struct LoadSearch: Sendable {
    /// The outcome of one load.
    package enum Outcome: Sendable, Equatable {
        /// It was sent in time and all thresholds hold, with so many successful requests per second.
        case holds(perSecond: Double?)
        case breaks
        /// The generator was the bottleneck: tried once more, then as `breaks`.
        case generator
        /// Other work on the machine delayed the load: tried again after pauses, then the end.
        case machineBusy
    }

    /// The reason why it ended before the gap was narrow.
    package enum End: Sendable, Equatable {
        /// The machine stayed busy in all tries of this load.
        case machineBusy(Double)
        /// Throughput stopped rising at these users.
        case knee(LoadLadder.Knee)
    }

    /// Allowed duration of a load. Two seconds are the fewest in which a growing backlog is seen.
    package static let stepSeconds = 2.0...3_600
    /// Maximum gap between the highest load that holds and the lowest that breaks, relative.
    package static let precision = 0.05
    /// Maximum number of loads, without further tries of the same.
    package static let maxSteps = 24
    /// Seconds to wait before each further try of a load while the machine is busy.
    package static let busyPauses: [Double] = [2, 5, 10]
    /// Throughput has stopped rising if it grows by less than this share over `kneeDoublings`.
    package static let kneeGrowth = 0.1
    /// Number of doublings of the users over which throughput is compared.
    package static let kneeDoublings = 3

    private let most: Double
    private let isWhole: Bool
    private let endsAtKnee: Bool
    private var level: Double?
    private var count = 0
    private var tries = 0
    /// Loads that held one after another from the first on.
    private var rising: [LoadLadder.Knee] = []
    /// The highest load at which all thresholds held, and the lowest at which one broke; nil at
    /// first.
    package private(set) var highest: Double?
    package private(set) var lowestBroken: Double?
    /// Seconds to wait before the next load, at least 0.
    package private(set) var pauseSeconds = 0.0
    /// nil while it runs, and if it found the gap, the maximum or no load.
    package private(set) var end: End?

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - first: the first load, above 0.
    ///   - most: the maximum load.
    ///   - isWhole: true if loads are whole numbers, such as users.
    ///   - endsAtKnee: true to end when throughput no longer rises with the load.
    package init(first: Double, most: Double, isWhole: Bool, endsAtKnee: Bool = false) {
        precondition(first > 0 && most >= first)
        self.most = most
        self.isWhole = isWhole
        self.endsAtKnee = endsAtKnee
        level = isWhole ? max(first.rounded(), 1) : first
    }

    /// The load to run next; nil when the search has ended.
    package var next: Double? { level }

    /// Number of the next try of the same load, from 1.
    package var attempt: Int { tries + 1 }

    /// Records the outcome of the load that `next` returned.
    package mutating func record(_ outcome: Outcome) {
        guard let tried = level else { return }
        pauseSeconds = 0
        switch outcome {
        case .machineBusy:
            guard tries < Self.busyPauses.count else {
                end = .machineBusy(tried)
                level = nil
                return
            }
            pauseSeconds = Self.busyPauses[tries]
            tries += 1
            return
        case .generator where tries == 0:
            tries += 1
            return
        case .generator, .breaks:
            lowestBroken = min(lowestBroken ?? tried, tried)
        case .holds(let perSecond):
            highest = max(highest ?? tried, tried)
            if let knee = knee(after: tried, perSecond) {
                end = .knee(knee)
                level = nil
                return
            }
        }
        tries = 0
        count += 1
        level = count < Self.maxSteps ? following() : nil
    }

    private func following() -> Double? {
        switch (highest, lowestBroken) {
        case (let highest?, nil):
            return highest < most ? min(rounded(highest * 2), most) : nil
        case (nil, let broken?):
            let half = rounded(broken / 2)
            return half < broken && half > 0 ? half : nil
        case (let highest?, let broken?):
            // If a load broke below one that held, the limit between them is random.
            guard broken > highest * (1 + Self.precision) else { return nil }
            let middle = rounded((highest * broken).squareRoot())
            return middle > highest && middle < broken ? middle : nil
        case (nil, nil): return nil
        }
    }

    /// Returns the load from which on doublings raised throughput by less than `kneeGrowth` in all.
    private mutating func knee(after level: Double, _ perSecond: Double?) -> LoadLadder.Knee? {
        guard endsAtKnee, lowestBroken == nil, let perSecond, perSecond > 0 else { return nil }
        rising.append(LoadLadder.Knee(level: level, perSecond: perSecond))
        guard rising.count > Self.kneeDoublings, level < most else { return nil }
        let first = rising[rising.count - 1 - Self.kneeDoublings]
        let later = rising.suffix(Self.kneeDoublings)
        return later.allSatisfy { $0.perSecond < first.perSecond * (1 + Self.kneeGrowth) }
            ? first : nil
    }

    private func rounded(_ value: Double) -> Double { isWhole ? value.rounded() : value }
}
