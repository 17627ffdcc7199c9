/// The requests of an access log, to be sent again in their order and with their spacing.
///
/// Its records are read in blocks, so memory does not grow with the log. From any thread.
package final class LoadReplay: Sendable {
    /// A request.
    package struct Record: Sendable, Hashable {
        /// Since the first request of the log.
        package var seconds: Double
        /// Index in `urls`.
        package var url: UInt32

        package init(seconds: Double, url: UInt32) {
            self.seconds = seconds
            self.url = url
        }
    }

    /// Reads up to a number of records from an index; fewer at the end, or after a failure.
    package typealias Reading = @Sendable (_ index: Int, _ count: Int) -> [Record]

    /// The log's name.
    package let name: String
    /// Different URLs, in the order of their first request; one at least.
    package let urls: [String]
    /// Number of requests; 0 only for a shard without any.
    package let count: Int
    /// Seconds from the first request to the last.
    package let logSeconds: Double
    /// The log's time over the replay's, above 0.
    package let speedUp: Double
    /// Number of shards among which a log was divided, if these are the requests of one shard.
    package let shards: Int
    private let reading: Reading

    package init(
        name: String, urls: [String], count: Int, logSeconds: Double, speedUp: Double,
        shards: Int = 1, reading: @escaping Reading
    ) {
        precondition(!urls.isEmpty && count >= 0 && logSeconds >= 0 && speedUp > 0 && shards > 0)
        self.name = name
        self.urls = urls
        self.count = count
        self.logSeconds = logSeconds
        self.speedUp = speedUp
        self.shards = shards
        self.reading = reading
    }

    func read(from index: Int, _ count: Int) -> [Record] { reading(index, count) }

    /// URL of the server's root, up to the third slash.
    package var serverURL: String {
        var slashes = 0
        let start = urls[0].utf8.prefix { byte in
            if byte == UInt8(ascii: "/") { slashes += 1 }
            return slashes < 3
        }
        return String(Substring(start)) + "/"
    }

    /// Length of the replay: the last request is due before its end.
    package var seconds: Double { max(1, (logSeconds / speedUp).rounded(.down) + 1) }
}

extension LoadReplay: Equatable {
    /// A replay equals itself alone.
    package static func == (left: LoadReplay, right: LoadReplay) -> Bool { left === right }
}

/// An arrival of the open model.
package struct LoadArrival: Sendable, Hashable {
    /// Due time on the test's clock.
    package var seconds: Double
    /// Index of the object to request; nil to choose one.
    package var object: Int?

    package init(seconds: Double, object: Int?) {
        self.seconds = seconds
        self.object = object
    }
}

/// The arrivals of one shard: planned ones, or those of a replay. A value: used by one owner at a
/// time.
package enum LoadArrivals: Sendable {
    case schedule(ArrivalSchedule)
    case replay(ReplaySchedule)

    package init(_ scenario: LoadScenario, _ process: LoadModel.ArrivalProcess, _ shard: LoadShard)
    {
        if let replay = scenario.replay {
            self = .replay(ReplaySchedule(replay, shard))
        } else {
            self = .schedule(
                ArrivalSchedule(
                    stages: scenario.stages, process: process, shard: shard, seed: scenario.seed))
        }
    }

    /// Continues with another plan, which is the same up to now. A replay keeps the log's times.
    package mutating func change(to stages: [LoadStage]) {
        guard case .schedule(var schedule) = self else { return }
        schedule.change(to: stages)
        self = .schedule(schedule)
    }

    /// Returns the next arrival, never earlier than the last; nil at the end.
    package mutating func next() -> LoadArrival? {
        switch self {
        case .schedule(var schedule):
            let seconds = schedule.next()
            self = .schedule(schedule)
            return seconds.map { LoadArrival(seconds: $0, object: nil) }
        case .replay(var schedule):
            let arrival = schedule.next()
            self = .replay(schedule)
            return arrival
        }
    }
}

/// The requests of a replay that one of n shards sends.
package struct ReplaySchedule: Sendable {
    private static let blockRecords = 4_096

    private let replay: LoadReplay
    private var block: [LoadReplay.Record] = []
    private var blockStart = 0
    private var index: Int
    private let step: Int

    /// Creates the schedule of every n-th request.
    ///
    /// - Parameter shard: of the whole test, even if the replay is that of a worker's shard.
    package init(_ replay: LoadReplay, _ shard: LoadShard) {
        self.replay = replay
        index = shard.index / replay.shards
        step = shard.count / replay.shards
    }

    package mutating func next() -> LoadArrival? {
        guard index < replay.count else { return nil }
        if index >= blockStart + block.count {
            blockStart = index
            block = replay.read(from: index, Self.blockRecords)
        }
        guard index - blockStart < block.count else { return nil }
        let record = block[index - blockStart]
        index += step
        return LoadArrival(seconds: record.seconds / replay.speedUp, object: Int(record.url))
    }
}

extension LoadScenario {
    /// The replay that the load consists of; nil for other loads.
    package var replay: LoadReplay? {
        if case .replay(let replay)? = targets.first?.source { replay } else { nil }
    }

    /// Makes a replay the whole load.
    package mutating func setReplay(_ replay: LoadReplay) {
        targets = [LoadTarget(name: replay.name, source: .replay(replay))]
        user = .requests
        model = .open(.constant)
        let rate = min(Double(replay.count) / replay.seconds, LoadLimits.rate.upperBound)
        stages = [LoadStage(seconds: replay.seconds, from: rate, to: rate)]
    }
}
