package import Statistics

/// When the arrivals of one share of an open test are due, and how many users of it a closed one has.
///
/// The rate, or the number of users, goes evenly from each stage's first value to its last. Constant: arrival
/// k of the whole, from 0, is due when the integral of the rate is k, so that the first is due as soon as
/// there is a rate, 30 s at 100/s have 3,000, and none is due at the end; share i of n takes k = i, i+n, ….
/// Poisson: a process of its own of an n-th of the rate for every share, their sum being one of the rate
/// (superposition); the same seed gives the same times. O(1) for each arrival, without allocation; arrival
/// times keep nanoseconds over days. A value: used by one owner at a time.
package struct ArrivalSchedule: Sendable {
    /// By how much sums of counts may be too high by rounding, at least and in proportion.
    private static let tolerance = (least: 1e-9, ratio: 1e-13)

    /// A stage with its place on the clock and in the count of arrivals.
    private struct Piece: Sendable {
        var start: Double
        var seconds: Double
        var from: Double
        var to: Double
        /// The integral of the rate from the start of all, and within this stage.
        var before: Double
        var count: Double

        /// The time from the stage's start at which its integral is `count`, 0 to all of it.
        func seconds(at count: Double) -> Double {
            // from·t + (to−from)·t²/2T = count, solved in the form that does not cancel.
            let square = from * from + 2 * (to - from) / seconds * count
            let sum = from + max(square, 0).squareRoot()
            return sum > 0 ? min(2 * count / sum, seconds) : 0
        }
    }

    private let pieces: [Piece]
    private let process: LoadModel.ArrivalProcess
    private let share: LoadShare
    private var random: SeededRandom
    private var piece = 0
    /// Constant: the next arrival's number in the whole.
    private var number: Int64
    /// Poisson: the next arrival's place in the integral of the whole's rate within `piece`.
    private var position: Double

    package init(
        stages: [LoadStage], process: LoadModel.ArrivalProcess, share: LoadShare, seed: UInt64
    ) {
        var pieces: [Piece] = []
        var start = 0.0
        var before = 0.0
        for stage in stages {
            let count = (stage.from + stage.to) / 2 * stage.seconds
            pieces.append(
                Piece(
                    start: start, seconds: stage.seconds, from: stage.from, to: stage.to,
                    before: before, count: count))
            start += stage.seconds
            before += count
        }
        self.pieces = pieces
        self.process = process
        self.share = share
        random = share.random(seed: seed, for: .arrivals)
        number = Int64(share.index)
        position = 0
        if process == .poisson { position = random.exponential(mean: Double(share.count)) }
    }

    /// Seconds since the start at which this share's next arrival is due, never less than before; nil at the end.
    package mutating func next() -> Double? {
        switch process {
        case .constant: nextConstant()
        case .poisson: nextPoisson()
        }
    }

    private mutating func nextConstant() -> Double? {
        let place = Double(number)
        while piece < pieces.count {
            let current = pieces[piece]
            // What rounding leaves of a whole number of arrivals is not one more.
            let end = current.before + current.count
            if place < end - max(Self.tolerance.least, Self.tolerance.ratio * end) {
                number += Int64(share.count)
                return current.start + current.seconds(at: max(place - current.before, 0))
            }
            piece += 1
        }
        return nil
    }

    private mutating func nextPoisson() -> Double? {
        while piece < pieces.count {
            let current = pieces[piece]
            if position < current.count {
                let seconds = current.start + current.seconds(at: position)
                position += random.exponential(mean: Double(share.count))
                return seconds
            }
            position -= current.count
            piece += 1
        }
        return nil
    }

    /// Arrivals of the whole by the plan: those of the constant process, the expected ones of Poisson.
    package var plannedCount: Double { pieces.last.map { $0.before + $0.count } ?? 0 }

    /// Users of this share that are at work at a time, where the stages are of a closed test.
    ///
    /// All shares together have the whole's number, rounded; 0 before the start and from the end on.
    package func closedUsers(atSeconds seconds: Double) -> Int {
        Int(share.portion(of: Int64(wholeLevel(atSeconds: seconds).rounded())))
    }

    /// The rate, or the number of users, of all shares at a time; 0 before the start and from the end on.
    package func wholeLevel(atSeconds seconds: Double) -> Double {
        guard seconds >= 0 else { return 0 }
        for piece in pieces where seconds < piece.start + piece.seconds {
            let share = (seconds - piece.start) / piece.seconds
            return piece.from + (piece.to - piece.from) * min(max(share, 0), 1)
        }
        return 0
    }
}

extension LoadShare {
    /// What random numbers are for: each has its own, so that more of one changes nothing of the others.
    package enum Randomness: UInt64, Sendable {
        case arrivals = 1
        case targets
        case thinking
        case viewers
    }

    /// This share's numbers for one purpose, the same for the same seed.
    package func random(seed: UInt64, for purpose: Randomness) -> SeededRandom {
        // Odd multipliers keep the seeds of shares and purposes apart in the generator's own sequence.
        SeededRandom(
            seed: seed &+ UInt64(index) &* 0xD134_2543_DE82_EF95
                &+ purpose.rawValue &* 0xA24B_AED4_963E_E407)
    }
}
