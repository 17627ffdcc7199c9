/// Finds the highest load at which every threshold holds.
///
/// The load doubles from the first on until a threshold breaks, or halves until all hold. Then
/// geometric bisection narrows the gap to at most `precision`. The owner runs each load that `next`
/// returns and records the outcome.
package struct LoadSearch: Sendable {
    /// Maximum gap between the highest load that holds and the lowest that breaks, relative.
    package static let precision = 0.05
    /// Maximum number of loads.
    package static let maxSteps = 24

    private let most: Double
    private let isWhole: Bool
    private var level: Double?
    private var count = 0
    /// The highest load at which all thresholds held, and the lowest at which one broke; nil at
    /// first.
    package private(set) var highest: Double?
    package private(set) var lowestBroken: Double?

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - first: the first load, above 0.
    ///   - most: the maximum load.
    ///   - isWhole: true if loads are whole numbers, such as users.
    package init(first: Double, most: Double, isWhole: Bool) {
        precondition(first > 0 && most >= first)
        self.most = most
        self.isWhole = isWhole
        level = isWhole ? max(first.rounded(), 1) : first
    }

    /// The load to run next; nil when the search has ended.
    package var next: Double? { level }

    /// Records the outcome of the load that `next` returned.
    package mutating func record(holds: Bool) {
        guard let tried = level else { return }
        count += 1
        if holds {
            highest = max(highest ?? tried, tried)
        } else {
            lowestBroken = min(lowestBroken ?? tried, tried)
        }
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

    private func rounded(_ value: Double) -> Double { isWhole ? value.rounded() : value }
}
