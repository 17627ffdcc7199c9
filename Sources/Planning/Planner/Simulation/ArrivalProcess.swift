package import Statistics

/// When jobs arrive: at a rate that may change by the hour of the day, as evenly or in such bursts as
/// the variation says.
///
/// Times between arrivals are drawn for a rate of 1 and stretched by the rate in force, which for
/// exponential ones gives an exact Poisson process (inversion; Çinlar 1975).
package struct ArrivalProcess: Sendable {
    private let ratesPerSecond: [Double]
    private let pieceSeconds: Double
    private let gaps: TimeDistribution
    /// On average; infinite for a rate that never changes.
    private let arrivalsPerDay: Double
    private var random: SeededRandom
    private var piece = 0
    private var pieceEnd: Double
    /// The time of the arrival told last, in seconds from midnight of the first day.
    private(set) var now = 0.0

    /// Nil when nothing ever arrives. `ratesPerSecond` are those of equal parts of a day, which comes
    /// again and again; one is a rate that never changes.
    package init?(ratesPerSecond: [Double], cv2: Double = 1, random: SeededRandom) {
        guard ratesPerSecond.contains(where: { $0 > 0 }) else { return nil }
        precondition(ratesPerSecond.allSatisfy { $0 >= 0 && $0.isFinite })
        self.ratesPerSecond = ratesPerSecond
        self.random = random
        pieceSeconds =
            ratesPerSecond.count > 1 ? Self.daySeconds / Double(ratesPerSecond.count) : .infinity
        pieceEnd = pieceSeconds
        arrivalsPerDay =
            ratesPerSecond.count > 1 ? ratesPerSecond.reduce(0, +) * pieceSeconds : .infinity
        gaps = TimeDistribution(meanSeconds: 1, cv2: cv2)
    }

    package static let daySeconds = 86_400.0

    /// The time of the next arrival; infinite where none comes within any time.
    package mutating func next() -> Double {
        guard now.isFinite else { return now }
        var left = gaps.draw(&random)
        // Whole days at once, where next to nothing arrives in one.
        if arrivalsPerDay > 0, left > arrivalsPerDay {
            let days = (left / arrivalsPerDay).rounded(.down)
            left -= days * arrivalsPerDay
            now += days * Self.daySeconds
            pieceEnd += days * Self.daySeconds
            guard now.isFinite else { return now }
        }
        while true {
            let rate = ratesPerSecond[piece]
            let room = rate > 0 ? rate * (pieceEnd - now) : 0
            if left < room {
                now += left / rate
                return now
            }
            left -= room
            now = pieceEnd
            pieceEnd += pieceSeconds
            piece = piece + 1 == ratesPerSecond.count ? 0 : piece + 1
        }
    }
}
