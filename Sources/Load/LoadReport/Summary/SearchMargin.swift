import LoadModel
import Rendering

/// How far the limit of a target may be from the highest rate that passed in a search.
struct SearchMargin: Encodable {
    /// The share that it may be lower, because a backlog of less does not show in a step; 1 if the
    /// steps are too short to show any.
    let below: Double
    /// The share that it may be higher, up to the lowest rate that failed for the target; nil if
    /// none did.
    let above: Double?

    /// Creates the margin of a search; nil for other tests, and for those of users and viewers.
    init?(_ ladder: LoadLadder) {
        guard ladder.kind == .search, ladder.unit == .arrivalsPerSecond,
            let highest = ladder.highest, ladder.mainLevel == highest,
            let result = ladder.mainStep?.result,
            let below = BacklogWindow(result)?.unnoticedShare(of: highest)
        else { return nil }
        self.below = below
        let broken = ladder.limitIsOfTarget ? ladder.lowestBroken : nil
        above = broken.flatMap { $0 > highest ? $0 / highest - 1 : nil }
    }

    /// Describes the margin of `highest`, a sentence.
    func text(of highest: Double) -> String {
        guard below < 1 else {
            return "At this rate the steps are too short to show a backlog: use a longer --step."
        }
        let lower = "−\(Quantity.percent(below))"
        guard let above else {
            return "Margin: \(lower), the backlog that a step of this length does not show."
        }
        let range =
            "\(Quantity.rate(highest * (1 - below))) and \(Quantity.rate(highest * (1 + above)))"
        return "Margin: \(lower), +\(Quantity.percent(above)): the limit is between \(range)."
    }
}
