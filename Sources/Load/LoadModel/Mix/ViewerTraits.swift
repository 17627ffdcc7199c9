package import Statistics

/// The traits of one viewer, drawn from its class.
package struct ViewerTraits: Sendable {
    /// Index of its class; -1 without classes.
    package var type = -1
    /// Bits per second; infinite without a limit.
    package var bitsPerSecond = Double.infinity
    package var roundTripSeconds = 0.0
    /// Index of its row among the viewers' data; -1 without data.
    package var row: Int32 = -1
    var maxBitsPerSecond = Int64.max
    var maxHeight = Int64.max
    var watchSeconds = Double.infinity
    var meanSeekSeconds = Double.infinity
    var abandonStartupSeconds = Double.infinity
    var abandonStallSeconds = Double.infinity
    var random = SeededRandom(seed: 0)

    package init() {}

    package init(_ type: ViewerClass, random: SeededRandom) {
        self.random = random
        bitsPerSecond = type.bitsPerSecond.map { Double($0) } ?? .infinity
        roundTripSeconds = type.roundTripSeconds
        maxBitsPerSecond = type.maxBitsPerSecond ?? .max
        maxHeight = type.maxHeight ?? .max
        if let mean = type.meanWatchSeconds { watchSeconds = self.random.exponential(mean: mean) }
        meanSeekSeconds = type.meanSeekSeconds ?? .infinity
        abandonStartupSeconds = type.abandonStartupSeconds ?? .infinity
        abandonStallSeconds = type.abandonStallSeconds ?? .infinity
    }

    /// Returns true if its device plays a rendition whose bit rate is known and within `most`.
    func plays(_ bitsPerSecond: Int64, height: Int64?, within most: Double) -> Bool {
        bitsPerSecond > 0 && Double(bitsPerSecond) <= most && bitsPerSecond <= maxBitsPerSecond
            && height ?? 0 <= maxHeight
    }

    /// Returns the played time until the next seek.
    mutating func nextSeekSeconds() -> Double {
        meanSeekSeconds < .infinity ? random.exponential(mean: meanSeekSeconds) : .infinity
    }

    /// Returns true if it leaves after waiting so long.
    func abandons(_ wait: Screen.Wait) -> Bool {
        switch wait {
        case .none: false
        case .startup(let seconds): seconds >= abandonStartupSeconds
        case .stall(let seconds): seconds >= abandonStallSeconds
        }
    }
}

/// Draws the traits of a shard's viewers: the same ones for the same seed.
package struct ViewerMix: Sendable {
    private let classes: [ViewerClass]
    private let weight: Double
    private let rows: Int
    /// Its part of the loops that take the same rows.
    private let turn: LoadShard
    private var random: SeededRandom
    private var count = 0

    /// - Parameters:
    ///   - data: rows that the viewers take in turn: those of the whole test, or of a worker's shard.
    ///   - shard: of the whole test.
    package init(_ classes: [ViewerClass], data: ViewerData, shard: LoadShard, seed: UInt64) {
        self.classes = classes
        rows = data.rows.count
        turn = LoadShard(index: shard.index / data.shards, count: shard.count / data.shards)
        weight = classes.reduce(0) { $0 + $1.weight }
        random = shard.random(seed: seed, for: .viewers)
    }

    package mutating func next() -> ViewerTraits {
        var traits = ViewerTraits()
        if let index = draw() {
            traits = ViewerTraits(classes[index], random: random.split())
            traits.type = index
        }
        if rows > 0 {
            // The shards take different rows.
            traits.row = Int32((turn.index + count * turn.count) % rows)
            count += 1
        }
        return traits
    }

    private mutating func draw() -> Int? {
        guard classes.count > 1 else { return classes.indices.first }
        var left = random.uniform() * weight
        for (index, type) in classes.enumerated() {
            left -= type.weight
            if left < 0 { return index }
        }
        return classes.count - 1
    }
}
