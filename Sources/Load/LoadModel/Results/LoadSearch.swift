/// Finds the highest load with which every threshold holds.
///
/// The load is doubled from the first on until a threshold breaks, or halved until all hold; then the gap is
/// halved in proportion until it is at most `precision` wide. A value that does nothing itself: its owner
/// runs each load that `next` names and says what came of it.
package struct LoadSearch: Sendable {
    /// Of the highest load that holds, how far the lowest that breaks may be from it.
    package static let precision = 0.05
    /// Most loads that are tried.
    package static let mostSteps = 24

    private let most: Double
    private let isWhole: Bool
    private var level: Double?
    private var count = 0
    /// The highest load with which all held, and the lowest with which something broke; nil for none yet.
    package private(set) var highest: Double?
    package private(set) var lowestBroken: Double?

    /// - Parameters:
    ///   - first: the load to begin with, over 0.
    ///   - most: the load that is not exceeded.
    ///   - isWhole: loads are whole numbers, users for one.
    package init(first: Double, most: Double, isWhole: Bool) {
        precondition(first > 0 && most >= first)
        self.most = most
        self.isWhole = isWhole
        level = isWhole ? max(first.rounded(), 1) : first
    }

    /// The load to run next; nil when it is found.
    package var next: Double? { level }

    /// Takes what came of the load that `next` named.
    package mutating func record(holds: Bool) {
        guard let tried = level else { return }
        count += 1
        if holds {
            highest = max(highest ?? tried, tried)
        } else {
            lowestBroken = min(lowestBroken ?? tried, tried)
        }
        level = count < Self.mostSteps ? following() : nil
    }

    private func following() -> Double? {
        switch (highest, lowestBroken) {
        case (let highest?, nil):
            return highest < most ? min(rounded(highest * 2), most) : nil
        case (nil, let broken?):
            let half = rounded(broken / 2)
            return half < broken && half > 0 ? half : nil
        case (let highest?, let broken?):
            // One that broke below one that held: where the limit lies is decided by chance there.
            guard broken > highest * (1 + Self.precision) else { return nil }
            let middle = rounded((highest * broken).squareRoot())
            return middle > highest && middle < broken ? middle : nil
        case (nil, nil): return nil
        }
    }

    private func rounded(_ value: Double) -> Double { isWhole ? value.rounded() : value }
}
