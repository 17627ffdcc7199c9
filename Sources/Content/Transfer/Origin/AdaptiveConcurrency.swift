/// Decides how many transfers from one origin run at a time. It raises the number while throughput
/// grows and holds it when throughput stops growing. It halves the number when one in twenty
/// transfers fails from overload, and lowers it by an eighth when one in a hundred is rejected.
///
/// A value; its times are seconds of one monotonic clock. It starts by doubling with every round of
/// transfers, as TCP's slow start does (RFC 5681, 3.1), while each round brings more throughput
/// than the one before. Then it measures for longer, and later probes with a few more now and then.
/// A level that overloaded the origin is not tried again for half a minute; each repetition doubles
/// that time.
package struct AdaptiveConcurrency: Sendable {
    package enum Event: Sendable {
        /// Bytes received since the last sample.
        case sample(Sample)
        /// A transfer succeeded, or failed for a reason unrelated to load.
        case ended(Progress?)
        /// A transfer started at `startedAt` ended with a sign of overload.
        case overload(Overload, startedAt: Double)
        /// The maximum number of transfers, at least 1: the origin's quota or the worker's own
        /// limit.
        case ceiling(Int)
    }

    package struct Sample: Sendable {
        package var bytes: Int64
        package var seconds: Double
        /// True if all slots were taken and more transfers waited.
        package var isFull: Bool
        /// Recent mean duration of a transfer; 0 if unknown.
        package var transferSeconds: Double

        package init(bytes: Int64, seconds: Double, isFull: Bool, transferSeconds: Double = 0) {
            self.bytes = bytes
            self.seconds = seconds
            self.isFull = isFull
            self.transferSeconds = transferSeconds
        }
    }

    /// Progress of the origin's transfers when one of them ends.
    package struct Progress: Sendable {
        /// Bytes of all transfers so far.
        package var receivedBytes: Int64
        /// True if all slots were taken and more transfers waited.
        package var isFull: Bool
        /// Duration of the transfer.
        package var seconds: Double

        package init(receivedBytes: Int64, isFull: Bool, seconds: Double) {
            self.receivedBytes = receivedBytes
            self.isFull = isFull
            self.seconds = seconds
        }
    }

    package enum Overload: String, Sendable {
        case tooManyRequests = "429"
        case unavailable = "503"
        case timeout
        case reset
        case refused = "refused connection"
        case gatewayTimeout = "gateway's timeout"

        /// True if the origin itself reports overload.
        var isRejection: Bool { self == .tooManyRequests || self == .unavailable }
    }

    /// The last decision and its reason.
    package struct Decision: Sendable, Hashable {
        package enum Kind: String, Sendable { case raised, lowered, held }

        package var kind: Kind
        package var concurrency: Int
        /// Words with figures.
        package var reason: String
    }

    /// Number of transfers to run at a time, from 1 to the ceiling.
    package private(set) var concurrency: Int
    /// Recent throughput, smoothed.
    package private(set) var bytesPerSecond = 0.0
    package private(set) var last: Decision
    private var ceiling: Int
    private let first: Int
    private var phase = Phase.doubling(reference: nil, doubts: 0)

    private enum Phase {
        /// Each step doubles; `reference` is the throughput of half as many transfers.
        case doubling(reference: Level?, doubts: Int)
        /// Probes with a few more; `reference` is nil until the present level is measured.
        case trying(reference: Level?)
        case holding(until: Double)
    }

    /// A round of slow start: as many ended transfers as run at a time.
    private struct Round {
        var since: Double
        var receivedBefore: Int64
        var left: Int
    }

    /// The rounds of slow start; nil once a round brings no more throughput than the last.
    private var opening: Opening? = .unstarted

    private enum Opening {
        case unstarted
        case round(Round)
    }

    /// Throughput measured with a number of transfers.
    private struct Level {
        var concurrency: Int
        var bytesPerSecond: Double
    }

    /// Bytes and seconds measured at the present level, without its ramp.
    private var measuredBytes: Int64 = 0
    private var measuredSeconds = 0.0
    private var rampSeconds = 0.0
    private var recent = RecentEnds()
    private var loweredAt = -Double.infinity
    /// Time for which a level is held after a probe brought nothing; doubles each time.
    private var patienceSeconds = Self.minPatience
    /// The level that was too high, until when it is not tried again, and the length of that pause.
    private var excess: (concurrency: Int, until: Double, seconds: Double)?

    private static let minPatience = 5.0

    /// Number of transfers with which an unknown origin begins.
    static let firstConcurrency = 8

    /// Starts with `first` transfers at a time.
    package init(ceiling: Int, first: Int = firstConcurrency) {
        self.ceiling = max(ceiling, 1)
        self.first = max(first, 1)
        concurrency = min(self.first, self.ceiling)
        last = Decision(
            kind: .held, concurrency: concurrency,
            reason: "begins with \(concurrency) of at most \(self.ceiling)")
    }

    /// Handles an event and returns the decision, if one was made.
    package mutating func handle(_ event: Event, now: Double) -> Decision? {
        switch event {
        case .ended(let progress):
            recent.add()
            return progress.flatMap { endRound($0, now: now) }
        case .overload(let overload, let startedAt):
            recent.add(overload)
            return backOff(overload, startedAt: startedAt, now: now)
        case .ceiling(let most): return setCeiling(max(most, 1))
        case .sample(let sample): return measure(sample, now: now)
        }
    }

    // MARK: Lowering

    private mutating func backOff(
        _ overload: Overload, startedAt: Double, now: Double
    ) -> Decision? {
        let isMuch = recent.isOverloaded
        // Transfers started before the last reduction do not reflect the level after it.
        guard startedAt > loweredAt, isMuch || overload.isRejection && recent.isRefused else {
            return nil
        }
        let before = concurrency
        concurrency = max(1, isMuch ? before / 2 : before - max(1, before / 8))
        loweredAt = now
        let again = excess.map { now < $0.until + $0.seconds } ?? false
        let seconds = again ? min((excess?.seconds ?? 0) * 2, 480) : 30
        excess = (before, now + seconds, seconds)
        let share = recent.text
        begin(.trying(reference: nil), ramp: 1)
        return decide(
            before > 1 ? .lowered : .held,
            "\(overload.rawValue): \(share) transfers with \(before) at a time; fewer for "
                + "\(Int(seconds)) s")
    }

    private mutating func setCeiling(_ most: Int) -> Decision? {
        guard most != ceiling else { return nil }
        let wasAtCeiling = concurrency == ceiling
        ceiling = most
        guard concurrency > most else {
            if wasAtCeiling, excess == nil {
                concurrency = max(concurrency, min(first, most))
                begin(.doubling(reference: nil, doubts: 0), ramp: 0)
            } else if wasAtCeiling {
                begin(.trying(reference: nil), ramp: 0)
            }
            return nil
        }
        concurrency = most
        begin(.trying(reference: nil), ramp: 0)
        return decide(.lowered, "limited to \(most)")
    }

    // MARK: Raising

    /// Returns the present maximum.
    private func most(now: Double) -> Int {
        guard let excess, now < excess.until else { return ceiling }
        return min(ceiling, max(1, excess.concurrency - 1))
    }

    private mutating func measure(_ sample: Sample, now: Double) -> Decision? {
        guard sample.seconds > 0 else { return nil }
        let rate = Double(sample.bytes) / sample.seconds
        let weight = min(1, sample.seconds / 0.5)
        bytesPerSecond =
            bytesPerSecond == 0 ? rate : bytesPerSecond + weight * (rate - bytesPerSecond)
        recent.halve(now: now)
        // Without enough transfers to fill the slots, throughput does not reflect the level.
        guard sample.isFull else {
            (measuredBytes, measuredSeconds) = (0, 0)
            return nil
        }
        // At first a new level spends its time on new connections and their slow start.
        guard rampSeconds <= 0 else {
            rampSeconds -= sample.seconds
            return nil
        }
        measuredBytes += sample.bytes
        measuredSeconds += sample.seconds
        guard measuredSeconds >= Self.interval(sample.transferSeconds) * 0.999 else { return nil }
        // An interval without bytes proves nothing; a slow origin gets more transfers at once all
        // the same.
        if measuredBytes == 0 {
            guard case .doubling = phase, measuredSeconds >= 1 else { return nil }
            phase = .doubling(reference: nil, doubts: 0)
        }
        let level = Level(
            concurrency: concurrency, bytesPerSecond: Double(measuredBytes) / measuredSeconds)
        (measuredBytes, measuredSeconds) = (0, 0)
        // The next level's first transfers open connections, which start slowly.
        return judge(level, ramp: min(max(sample.transferSeconds, 0.1), 1), now: now)
    }

    /// Minimum duration of a round; shorter ones are too noisy.
    private static let minRoundSeconds = 0.02

    /// Counts a transfer of the present round of slow start, and raises the level when the round
    /// brought more.
    private mutating func endRound(_ progress: Progress, now: Double) -> Decision? {
        guard let opening, case .doubling(let reference, _) = phase else { return nil }
        var round: Round
        switch opening {
        case .round(let begun): round = begun
        case .unstarted:
            round = Round(since: now - progress.seconds, receivedBefore: 0, left: concurrency)
        }
        round.left -= 1
        let seconds = now - round.since
        // Without enough transfers to fill the slots, the round starts over.
        if !progress.isFull {
            round = Round(
                since: now, receivedBefore: progress.receivedBytes, left: concurrency)
        }
        self.opening = .round(round)
        guard round.left <= 0, seconds >= Self.minRoundSeconds else { return nil }
        let level = Level(
            concurrency: concurrency,
            bytesPerSecond: Double(progress.receivedBytes - round.receivedBefore) / seconds)
        if let reference, !Self.isMore(level, than: reference) {
            self.opening = nil
            return nil
        }
        let ramp = min(max(progress.seconds, 0.1), 1)
        let decision = raise(from: level, over: reference, doubling: true, ramp, now: now)
        if case .doubling = phase {
            self.opening = .round(
                Round(since: now, receivedBefore: progress.receivedBytes, left: concurrency))
        }
        return decision
    }

    /// Returns how long to measure a level: the duration of several transfers, 0.1 to 2 seconds.
    private static func interval(_ transferSeconds: Double) -> Double {
        min(max(4 * transferSeconds, 0.1), 2)
    }

    private mutating func judge(_ level: Level, ramp: Double, now: Double) -> Decision? {
        switch phase {
        case .doubling(let reference, let doubts):
            guard let reference, !Self.isMore(level, than: reference) else {
                return raise(from: level, over: reference, doubling: true, ramp, now: now)
            }
            // A single interval may be an outlier.
            if doubts == 0 {
                phase = .doubling(reference: reference, doubts: 1)
                return nil
            }
            return hold(Self.comparison(level, reference), until: now + patience())
        case .trying(let reference):
            guard let reference, !Self.isMore(level, than: reference) else {
                if reference != nil { patienceSeconds = Self.minPatience }
                return raise(from: level, over: reference, doubling: false, ramp, now: now)
            }
            concurrency = min(reference.concurrency, ceiling)
            return hold(Self.comparison(level, reference), until: now + patience())
        case .holding(let until):
            guard now >= until, concurrency < most(now: now) else { return nil }
            return raise(from: level, over: nil, doubling: false, ramp, now: now)
        }
    }

    private mutating func patience() -> Double {
        defer { patienceSeconds = min(patienceSeconds * 2, 60) }
        return patienceSeconds
    }

    private mutating func raise(
        from level: Level, over reference: Level?, doubling: Bool, _ ramp: Double, now: Double
    ) -> Decision? {
        let most = most(now: now)
        let figures = reference.map { Self.comparison(level, $0) }
        guard concurrency < most else {
            let isExcess = most < ceiling
            let bound =
                isExcess
                ? "\(excess?.concurrency ?? 0) were too many" : "limited to \(most)"
            return hold(
                figures.map { "\($0); \(bound)" } ?? bound,
                until: isExcess ? excess?.until ?? now : now + Self.minPatience)
        }
        concurrency = min(concurrency + (doubling ? concurrency : max(1, concurrency / 8)), most)
        let next = Phase.doubling(reference: level, doubts: 0)
        begin(doubling ? next : .trying(reference: level), ramp: ramp)
        let rate = Self.text(level.bytesPerSecond)
        return decide(
            .raised, figures ?? "probing beyond \(rate) with \(level.concurrency)")
    }

    /// Returns true if the added transfers paid off: by at least 15 % of the ideal gain, and at
    /// least 5 %.
    private static func isMore(_ level: Level, than reference: Level) -> Bool {
        let ideal = Double(level.concurrency) / Double(max(reference.concurrency, 1)) - 1
        let margin = max(0.05, 0.15 * ideal)
        return level.bytesPerSecond > reference.bytesPerSecond * (1 + margin)
    }

    private mutating func hold(_ reason: String, until: Double) -> Decision? {
        begin(.holding(until: until), ramp: 0)
        return decide(.held, reason)
    }

    private mutating func begin(_ next: Phase, ramp: Double) {
        phase = next
        opening = nil
        rampSeconds = ramp
        (measuredBytes, measuredSeconds) = (0, 0)
        recent.reset()
    }

    private mutating func decide(_ kind: Decision.Kind, _ reason: String) -> Decision? {
        let decision = Decision(kind: kind, concurrency: concurrency, reason: reason)
        guard decision != last else { return nil }
        last = decision
        return decision
    }

    private static func comparison(_ level: Level, _ reference: Level) -> String {
        "\(text(level.bytesPerSecond)) with \(level.concurrency) at a time, "
            + "\(text(reference.bytesPerSecond)) with \(reference.concurrency)"
    }

    /// Returns text such as "12.3 MB/s".
    static func text(_ bytesPerSecond: Double) -> String {
        let units = ["B/s", "kB/s", "MB/s", "GB/s"]
        var (value, unit) = (max(bytesPerSecond, 0), 0)
        while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
        let tenths = Int((value * 10).rounded())
        let isShort = unit > 0 && value < 99.95
        return isShort
            ? "\(tenths / 10).\(tenths % 10) \(units[unit])"
            : "\(Int(value.rounded())) \(units[unit])"
    }
}
