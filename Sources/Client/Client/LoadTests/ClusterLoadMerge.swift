package import API
import FoundationEssentials
package import LoadModel
package import Model

/// Merges the results of a test's shards as a cluster reports them.
///
/// A value: used by one owner at a time. A second is closed when all running shards have reported
/// it. Lost and failed shards count with their reports; the rest of their plan counts as planned
/// and never sent. At most `maxOpen` seconds wait for a running shard that reports none: its later
/// report of a closed second is delivered separately.
package struct ClusterLoadMerge: Sendable {
    /// A silent worker is declared lost long before.
    static let maxOpen = 60

    /// The scenario with all changes of its load.
    private var scenario: LoadScenario?
    /// Number of received changes of the load.
    package private(set) var changes = 0
    private var shards: [Shard] = []
    /// Seconds that not all shards have reported.
    private var open: [Int: LoadInterval] = [:]

    private struct Shard {
        var report: LoadShardReport
        /// The first second not received.
        var next = 0
        /// True if no more than `whole` seconds will come.
        var hasEnded = false
        var whole = 0
        /// Planned arrivals of a missing shard, from the first that was not reported.
        var missing: MissingArrivals?

        var mayBring: Bool { !hasEnded || next < whole }
    }

    /// Creates a merge.
    ///
    /// - Parameter scenario: the workers' scenario; nil does not count what lost shards did not
    ///   send.
    package init(_ scenario: LoadScenario? = nil) { self.scenario = scenario }

    /// The next seconds to request: the first missing second of each shard.
    package var after: [Int] { shards.map(\.next) }

    /// The state of each shard so far.
    package var reports: [LoadShardReport] { shards.map(\.report) }

    /// Adds a response and returns the seconds that it completes, in order.
    ///
    /// Throws `cluster.protocol` for unreadable seconds.
    package mutating func take(_ answer: LoadTestUpdate) throws(Failure) -> [LoadInterval] {
        for change in answer.changes ?? [] { take(change) }
        let numbered = answer.test.shards.filter { $0.number != nil }
        while shards.count < numbered.count {
            let index = shards.count
            shards.append(
                Shard(
                    report: LoadShardReport(index: index, worker: "", state: .running)))
        }
        for status in numbered { update(status) }
        var early: [LoadInterval] = []
        for text in answer.intervals {
            guard shards.indices.contains(text.shard), text.second >= shards[text.shard].next
            else { continue }
            let interval = try Self.interval(text)
            shards[text.shard].next = text.second + 1
            if interval.isMeasured {
                shards[text.shard].report.counts.add(interval.counts)
                shards[text.shard].report.counts.levels = interval.counts.levels
            }
            open[text.second, default: LoadInterval(second: text.second)].add(interval)
            open[text.second]?.isMeasured = interval.isMeasured
            if open.count > Self.maxOpen { early += close(open.keys.min().map { [$0] } ?? []) }
        }
        // Ended shards report nothing more.
        let awaited = shards.filter(\.mayBring).map(\.next).min() ?? .max
        return early + close(open.keys.filter { $0 < awaited })
    }

    /// Changes the plan of missing shards too: what they would send is planned and missed.
    private mutating func take(_ change: LoadTestChange) {
        changes = change.revision
        guard var scenario else { return }
        scenario.stages = scenario.stages.changed(
            by: LoadChange(seconds: change.seconds, level: change.level))
        self.scenario = scenario
        for index in shards.indices { shards[index].missing?.change(to: scenario.stages) }
    }

    /// Closes all open seconds at the end.
    package mutating func takeRest() -> [LoadInterval] { close(Array(open.keys)) }

    private mutating func close(_ seconds: [Int]) -> [LoadInterval] {
        seconds.sorted().compactMap { second in
            guard var sum = open.removeValue(forKey: second) else { return nil }
            let missing = shards.indices.reduce(0) { $0 + missingArrivals(of: $1, in: second) }
            sum.counts.pacing.planned += missing
            sum.counts.pacing.missedSends += missing
            return sum
        }
    }

    /// Counts a missing shard's arrivals due within a second; seconds come in order.
    private mutating func missingArrivals(of shard: Int, in second: Int) -> Int64 {
        guard shards[shard].report.missingFromSecond != nil, !shards[shard].mayBring,
            second >= shards[shard].next, let scenario
        else { return 0 }
        if shards[shard].missing == nil {
            shards[shard].missing = MissingArrivals(
                scenario, LoadShard(index: shard, count: shards.count),
                fromSecond: shards[shard].next)
        }
        return shards[shard].missing?.count(until: Double(second + 1)) ?? 0
    }

    private mutating func update(_ status: LoadTestStatus.Shard) {
        guard let number = status.number, shards.indices.contains(number) else { return }
        shards[number].report.worker = status.name
        shards[number].whole = status.nextSecond
        shards[number].hasEnded = LoadShardState.machine.terminal.contains(status.state)
        shards[number].report.message = status.failure.map { "\($0.code.rawValue): \($0.message)" }
        shards[number].report.state = Self.state(status.state)
        let isMissing = [.lost, .failed].contains(shards[number].report.state)
        shards[number].report.missingFromSecond = isMissing ? status.nextSecond : nil
    }

    /// Maps a shard's state to that of a report.
    package static func state(_ state: LoadShardState) -> LoadShardReport.State {
        switch state {
        case .finished: .finished
        case .lost: .lost
        case .failed: .failed
        case .joined, .ready, .running, .dismissed: .running
        }
    }

    private static func interval(_ text: LoadTestUpdate.Interval) throws(Failure) -> LoadInterval {
        do {
            let interval = try JSONDecoder().decode(LoadInterval.self, from: Data(text.data.utf8))
            guard interval.second == text.second else {
                throw Failure(.clusterProtocol, "it is second \(interval.second)")
            }
            return interval
        } catch {
            throw Failure(
                .clusterProtocol,
                "Second \(text.second) of shard \(text.shard) cannot be read: \(error)")
        }
    }
}

/// The arrivals of a missing shard.
private struct MissingArrivals: Sendable {
    private enum Plan {
        case schedule(ArrivalSchedule, next: Double?)
        /// With the number of requests that were counted.
        case replay(LoadReplay, LoadShard, counted: Int)
    }

    private var plan: Plan
    private let end: Double

    /// Returns nil for a load without planned arrivals.
    init?(_ scenario: LoadScenario, _ shard: LoadShard, fromSecond second: Int) {
        guard case .open(let process) = scenario.model else { return nil }
        end = scenario.durationSeconds
        if let replay = scenario.replay {
            plan = .replay(replay, shard, counted: 0)
        } else {
            var schedule = ArrivalSchedule(
                stages: scenario.stages, process: process, shard: shard, seed: scenario.seed)
            let next = schedule.next()
            plan = .schedule(schedule, next: next)
        }
        _ = count(until: Double(second))
    }

    /// Continues with another plan, which is the same up to what was counted.
    mutating func change(to stages: [LoadStage]) {
        guard case .schedule(var schedule, _) = plan else { return }
        schedule.change(to: stages)
        let next = schedule.next()
        plan = .schedule(schedule, next: next)
    }

    /// Counts arrivals due before `seconds` that were not counted yet.
    mutating func count(until seconds: Double) -> Int64 {
        let seconds = min(seconds, end)
        switch plan {
        case .schedule(var schedule, var next):
            var count: Int64 = 0
            while let due = next, due < seconds {
                count += 1
                next = schedule.next()
            }
            plan = .schedule(schedule, next: next)
            return count
        case .replay(let replay, let shard, let counted):
            let all = max(replay.requests(of: shard, before: seconds), counted)
            plan = .replay(replay, shard, counted: all)
            return Int64(all - counted)
        }
    }
}
