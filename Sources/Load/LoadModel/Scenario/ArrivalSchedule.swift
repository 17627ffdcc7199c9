package import Statistics

/// The due times of one shard's arrivals in an open test, and the number of its users in a closed
/// one.
///
/// The rate, or the number of users, changes linearly from each stage's first value to its last.
///
/// Constant: arrival k of the whole test, from 0, is due when the integral of the rate is k. The
/// first is due as soon as there is a rate, 30 s at 100/s have 3,000, and none is due at the end.
/// Shard i of n takes k = i, i+n, ….
///
/// Poisson: every shard has a process with 1/n of the rate; their sum has the whole rate
/// (superposition). The same seed gives the same times.
///
/// An arrival takes O(1) without allocation; times keep nanoseconds over days. A value: used by one
/// owner at a time.
package struct ArrivalSchedule: Sendable {
    /// Tolerance for rounding in sums of counts, absolute and relative.
    private static let tolerance = (least: 1e-9, ratio: 1e-13)

    /// A stage with its start time and its start in the count of arrivals.
    private struct Piece: Sendable {
        var start: Double
        var seconds: Double
        var from: Double
        var to: Double
        /// Integral of the rate before this stage, and within it.
        var before: Double
        var count: Double

        /// Returns the time since the stage's start at which its integral is `count`, up to the
        /// stage's length.
        func seconds(at count: Double) -> Double {
            // from·t + (to−from)·t²/2T = count, solved in the form without cancellation.
            let square = from * from + 2 * (to - from) / seconds * count
            let sum = from + max(square, 0).squareRoot()
            return sum > 0 ? min(2 * count / sum, seconds) : 0
        }
    }

    private var pieces: [Piece]
    private let process: LoadModel.ArrivalProcess
    private let shard: LoadShard
    private var random: SeededRandom
    private var piece = 0
    /// Constant: the number of the next arrival in the whole test.
    private var number: Int64
    /// Poisson: the position of the next arrival in the integral of the whole rate within `piece`.
    private var position: Double
    /// The state before the last arrival, from which a change of the plan continues.
    private var mark: Mark

    private struct Mark {
        var number: Int64
        /// Position in the integral of the whole rate since the start.
        var integral: Double
        var random: SeededRandom
    }

    package init(
        stages: [LoadStage], process: LoadModel.ArrivalProcess, shard: LoadShard, seed: UInt64
    ) {
        pieces = Self.pieces(stages)
        self.process = process
        self.shard = shard
        random = shard.random(seed: seed, for: .arrivals)
        number = Int64(shard.index)
        position = 0
        if process == .poisson { position = random.exponential(mean: Double(shard.count)) }
        mark = Mark(number: number, integral: position, random: random)
    }

    private static func pieces(_ stages: [LoadStage]) -> [Piece] {
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
        return pieces
    }

    /// Replaces the plan by one that is the same up to some time, and takes back the last arrival:
    /// the next is that arrival by the new plan.
    package mutating func change(to stages: [LoadStage]) {
        pieces = Self.pieces(stages)
        piece = 0
        number = mark.number
        position = mark.integral
        random = mark.random
    }

    /// Returns the due time of this shard's next arrival in seconds since the start, never
    /// decreasing; nil at the end.
    package mutating func next() -> Double? {
        if piece < pieces.count {
            mark = Mark(
                number: number, integral: pieces[piece].before + position, random: random)
        }
        return switch process {
        case .constant: nextConstant()
        case .poisson: nextPoisson()
        }
    }

    private mutating func nextConstant() -> Double? {
        let arrivals = Double(number)
        while piece < pieces.count {
            let current = pieces[piece]
            // A rounding error does not add an arrival.
            let end = current.before + current.count
            if arrivals < end - max(Self.tolerance.least, Self.tolerance.ratio * end) {
                number += Int64(shard.count)
                return current.start + current.seconds(at: max(arrivals - current.before, 0))
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
                position += random.exponential(mean: Double(shard.count))
                return seconds
            }
            position -= current.count
            piece += 1
        }
        return nil
    }

    /// Returns the number of this shard's concurrent users in a closed test.
    ///
    /// All shards together have the whole number, rounded; 0 before the start and from the end on.
    package func closedUsers(atSeconds seconds: Double) -> Int {
        Int(shard.portion(of: Int64(wholeLevel(atSeconds: seconds).rounded())))
    }

    /// Returns the rate, or the number of users, of all shards; 0 before the start and from the end
    /// on.
    package func wholeLevel(atSeconds seconds: Double) -> Double {
        guard seconds >= 0 else { return 0 }
        for piece in pieces where seconds < piece.start + piece.seconds {
            let share = (seconds - piece.start) / piece.seconds
            return piece.from + (piece.to - piece.from) * min(max(share, 0), 1)
        }
        return 0
    }
}

extension LoadShard {
    /// The uses of random numbers. Each has its own sequence, so that one does not change the
    /// others.
    package enum Randomness: UInt64, Sendable {
        case arrivals = 1
        case targets
        case thinking
        case viewers
    }

    /// Returns this shard's random numbers for one use, the same for the same seed.
    package func random(seed: UInt64, for purpose: Randomness) -> SeededRandom {
        // Odd multipliers separate the seeds of shards and uses in the generator's sequence.
        SeededRandom(
            seed: seed &+ UInt64(index) &* 0xD134_2543_DE82_EF95
                &+ purpose.rawValue &* 0xA24B_AED4_963E_E407)
    }
}
