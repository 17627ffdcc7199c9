import LoadModel

/// The last half of an open test of plain requests, in which the backlog of a target shows.
struct BacklogWindow {
    /// Seconds of the half.
    private let seconds: Double
    private let planned: Double
    /// Growth of the requests in progress over the half.
    private let growth: Double
    private let isLong: Bool

    /// Growth above which a target falls behind, in requests.
    private static let minGrowth = 10.0
    /// The same as a share of the requests sent, in steps of `longStepSeconds` and in shorter ones,
    /// in which a short pause of the target weighs more.
    private static let (maxGrowthShare, maxShortGrowthShare) = (0.02, 0.08)
    /// Measured seconds from which on a step is long.
    private static let longStepSeconds = 4

    /// Creates the window of a result; nil for viewers, for users, and without seconds of full load.
    init?(_ result: LoadResult) {
        guard result.scenario.isOpen, !result.hasViewers else { return nil }
        // The end of a second with less load counts requests after the load.
        let rows = result.seconds.filter {
            $0.isMeasured && $0.loadSeconds > 0.9 * $0.lengthSeconds
        }
        guard let last = rows.last else { return nil }
        let half = rows[(rows.count - 1) / 2]
        func waiting(_ row: LoadSecond) -> Double {
            Double(row.counts.levels.inFlight + row.counts.levels.backlog)
        }
        let later = rows.drop { $0.second <= half.second }
        seconds = later.reduce(0) { $0 + $1.lengthSeconds }
        planned = later.reduce(0) { $0 + Double($1.counts.pacing.planned) }
        growth = waiting(last) - waiting(half)
        isLong = rows.count >= Self.longStepSeconds
    }

    private var maxShare: Double { isLong ? Self.maxGrowthShare : Self.maxShortGrowthShare }

    /// Returns true if the backlog grew by more than chance, and by more than were sent late.
    func isGrowing(lateSends: Int64) -> Bool {
        let growth = growth - Double(lateSends)
        return growth >= Self.minGrowth && growth > maxShare * planned
    }

    /// Returns the share of `perSecond` requests that a target may leave unanswered unnoticed, at
    /// most 1; nil without a second to compare.
    func unnoticedShare(of perSecond: Double) -> Double? {
        guard seconds > 0, perSecond > 0 else { return nil }
        return min(1, max(maxShare, Self.minGrowth / seconds / perSecond))
    }
}
