package import Statistics

/// Arrivals of jobs: at a rate that may change by the hour, evenly or in bursts according to the
/// variation.
///
/// Times between arrivals are drawn for a rate of 1 and scaled by the current rate. Exponential
/// ones then give an exact Poisson process (inversion; Çinlar 1975).
package struct ArrivalProcess: Sendable {
    private let ratesPerSecond: [Double]
    private let pieceSeconds: Double
    private let gaps: TimeDistribution
    /// Mean arrivals per day; infinite for a constant rate.
    private let arrivalsPerDay: Double
    private var random: SeededRandom
    private var piece = 0
    private var pieceEnd: Double
    /// Time of the last returned arrival, in seconds from midnight of the first day.
    private(set) var now = 0.0

    /// Returns nil if nothing ever arrives. `ratesPerSecond` are the rates of equal parts of a
    /// repeating day; one is a constant rate.
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

    /// Returns the time of the next arrival; infinite if there is none.
    package mutating func next() -> Double {
        guard now.isFinite else { return now }
        var left = gaps.draw(&random)
        // Skip whole days if almost nothing arrives in one.
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
