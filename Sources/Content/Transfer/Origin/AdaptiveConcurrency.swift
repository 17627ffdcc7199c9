/// Decides how many transfers from one origin are worth having at a time: more while more comes of
/// it, no more when nothing does, fewer when the origin says that it is too much: half as many when
/// every twentieth transfer fails for that, an eighth fewer when every hundredth is refused.
///
/// A value; its times are seconds of one monotonic clock. It starts by doubling with every round of
/// transfers, as TCP's slow start does (RFC 5681, 3.1), for as long as a round brings more than the one
/// before; then measures for longer; and later tries a few more now and then. What an origin failed
/// under is not tried again for half a minute, and each time for twice as long.
package struct AdaptiveConcurrency: Sendable {
    package enum Event: Sendable {
        /// What has arrived since the last sample.
        case sample(Sample)
        /// A transfer ended well, or with a failure that says nothing of load.
        case ended(Progress?)
        /// One that was begun at `startedAt` ended with a sign of too much load.
        case trouble(Trouble, startedAt: Double)
        /// There may be no more than this many, at least 1: the share of a limit, the worker's own.
        case ceiling(Int)
    }

    package struct Sample: Sendable {
        package var bytes: Int64
        package var seconds: Double
        /// All places were taken, and more transfers waited.
        package var isFull: Bool
        /// How long transfers take of late; 0 when it is not known.
        package var transferSeconds: Double

        package init(bytes: Int64, seconds: Double, isFull: Bool, transferSeconds: Double = 0) {
            self.bytes = bytes
            self.seconds = seconds
            self.isFull = isFull
            self.transferSeconds = transferSeconds
        }
    }

    /// How far the origin's transfers are when one has ended.
    package struct Progress: Sendable {
        /// Of all transfers so far.
        package var receivedBytes: Int64
        /// All places were taken, and more transfers waited.
        package var isFull: Bool
        /// How long the transfer took.
        package var seconds: Double

        package init(receivedBytes: Int64, isFull: Bool, seconds: Double) {
            self.receivedBytes = receivedBytes
            self.isFull = isFull
            self.seconds = seconds
        }
    }

    package enum Trouble: String, Sendable {
        case tooManyRequests = "429"
        case unavailable = "503"
        case timeout
        case reset
        case refused = "refused connection"
        case gatewayTimeout = "gateway's timeout"

        /// The origin says itself that it is asked for too much.
        var isRefusal: Bool { self == .tooManyRequests || self == .unavailable }
    }

    /// What was decided last, and why.
    package struct Decision: Sendable, Hashable {
        package enum Kind: String, Sendable { case raised, lowered, held }

        package var kind: Kind
        package var concurrency: Int
        /// In words, with figures.
        package var reason: String
    }

    /// How many to have at a time, 1 to the ceiling.
    package private(set) var concurrency: Int
    /// Of late, smoothed.
    package private(set) var bytesPerSecond = 0.0
    package private(set) var last: Decision
    private var ceiling: Int
    private let first: Int
    private var phase = Phase.doubling(reference: nil, doubts: 0)

    private enum Phase {
        /// Each step doubles; `reference` is what half as many brought.
        case doubling(reference: Level?, doubts: Int)
        /// A few more are tried; nil until it is known what the present ones bring.
        case trying(reference: Level?)
        case holding(until: Double)
    }

    /// As many transfers as there may be at a time, one after the other's end: what slow start judges
    /// a level by.
    private struct Round {
        var since: Double
        var receivedBefore: Int64
        var left: Int
    }

    /// The rounds of the start; nil when it is over, as soon as one brings no more than the last.
    private var opening: Opening? = .notBegun

    private enum Opening {
        case notBegun
        case round(Round)
    }

    /// What a number of transfers brought.
    private struct Level {
        var concurrency: Int
        var bytesPerSecond: Double
    }

    /// The present level's measure: what came since `since`, but for the ramp before it.
    private var measuredBytes: Int64 = 0
    private var measuredSeconds = 0.0
    private var rampSeconds = 0.0
    /// Transfers that have ended at the present level, and those of them in trouble and refused;
    /// halved every second.
    private var endedOfLate = 0.0
    private var troubledOfLate = 0.0
    private var refusedOfLate = 0.0
    private var halvedAt = 0.0

    private var loweredAt = -Double.infinity
    /// How long a level is held after a few more have brought nothing; doubles each time.
    private var patienceSeconds = Self.leastPatience
    /// What was too much, until when it is not tried again, and for how long that was.
    private var excess: (concurrency: Int, until: Double, seconds: Double)?

    private static let leastPatience = 5.0

    /// `first` transfers at a time to begin with.
    package init(ceiling: Int, first: Int = 8) {
        self.ceiling = max(ceiling, 1)
        self.first = max(first, 1)
        concurrency = min(self.first, self.ceiling)
        last = Decision(
            kind: .held, concurrency: concurrency,
            reason: "begins with \(concurrency) of at most \(self.ceiling)")
    }

    /// Takes notice of an event; the decision, when one was made.
    package mutating func handle(_ event: Event, now: Double) -> Decision? {
        switch event {
        case .ended(let progress):
            endedOfLate += 1
            return progress.flatMap { endRound($0, now: now) }
        case .trouble(let trouble, let startedAt):
            endedOfLate += 1
            troubledOfLate += 1
            if trouble.isRefusal { refusedOfLate += 1 }
            return backOff(trouble, startedAt: startedAt, now: now)
        case .ceiling(let most): return setCeiling(max(most, 1))
        case .sample(let sample): return measure(sample, now: now)
        }
    }

    // MARK: Less

    /// Of transfers that broke off, that is more than bad luck; and half as many do.
    private static let shareOfTrouble = 0.05
    /// The same of those that the origin refused.
    private static let shareOfRefusals = 0.01

    private mutating func backOff(
        _ trouble: Trouble, startedAt: Double, now: Double
    ) -> Decision? {
        let isMuch = troubledOfLate >= endedOfLate * Self.shareOfTrouble
        let isRefused = refusedOfLate >= endedOfLate * Self.shareOfRefusals
        // What was begun before the last step back says nothing of what came after it.
        guard startedAt > loweredAt, isMuch || trouble.isRefusal && isRefused else { return nil }
        let before = concurrency
        concurrency = max(1, isMuch ? before / 2 : before - max(1, before / 8))
        loweredAt = now
        let again = excess.map { now < $0.until + $0.seconds } ?? false
        let seconds = again ? min((excess?.seconds ?? 0) * 2, 480) : 30
        excess = (before, now + seconds, seconds)
        let share =
            "\(Int(troubledOfLate.rounded(.up))) of the last \(Int(endedOfLate.rounded(.up)))"
        begin(.trying(reference: nil), ramp: 1)
        return decide(
            before > 1 ? .lowered : .held,
            "\(trouble.rawValue): \(share) transfers with \(before) at a time; not so many for "
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
        return decide(.lowered, "no more than \(most) are allowed")
    }

    // MARK: More

    /// The most there may be now.
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
        if now - halvedAt >= 1 {
            endedOfLate /= 2
            troubledOfLate /= 2
            refusedOfLate /= 2
            halvedAt = now
        }
        // Where there is not enough to do, more places bring nothing, and that says nothing.
        guard sample.isFull else {
            (measuredBytes, measuredSeconds) = (0, 0)
            return nil
        }
        // The first of a level's time goes into connections and their slow start.
        guard rampSeconds <= 0 else {
            rampSeconds -= sample.seconds
            return nil
        }
        measuredBytes += sample.bytes
        measuredSeconds += sample.seconds
        guard measuredSeconds >= Self.interval(sample.transferSeconds) * 0.999 else { return nil }
        // Silence says nothing; an origin that takes its time is asked for more at once all the same.
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

    /// Shorter rounds say too little.
    private static let leastRoundSeconds = 0.02

    /// Counts a transfer of the start's present round, and raises when the round has brought more.
    private mutating func endRound(_ progress: Progress, now: Double) -> Decision? {
        guard let opening, case .doubling(let reference, _) = phase else { return nil }
        var round: Round
        switch opening {
        case .round(let begun): round = begun
        case .notBegun:
            round = Round(since: now - progress.seconds, receivedBefore: 0, left: concurrency)
        }
        round.left -= 1
        let seconds = now - round.since
        // Where there is not enough to do, nothing is learnt.
        if !progress.isFull {
            round = Round(
                since: now, receivedBefore: progress.receivedBytes, left: concurrency)
        }
        self.opening = .round(round)
        guard round.left <= 0, seconds >= Self.leastRoundSeconds else { return nil }
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

    /// How long a level is measured: several transfers' time, 0.1 to 2 seconds.
    private static func interval(_ transferSeconds: Double) -> Double {
        min(max(4 * transferSeconds, 0.1), 2)
    }

    private mutating func judge(_ level: Level, ramp: Double, now: Double) -> Decision? {
        switch phase {
        case .doubling(let reference, let doubts):
            guard let reference, !Self.isMore(level, than: reference) else {
                return raise(from: level, over: reference, doubling: true, ramp, now: now)
            }
            // One interval may be a bad one.
            if doubts == 0 {
                phase = .doubling(reference: reference, doubts: 1)
                return nil
            }
            return hold(Self.comparison(level, reference), until: now + patience())
        case .trying(let reference):
            guard let reference, !Self.isMore(level, than: reference) else {
                if reference != nil { patienceSeconds = Self.leastPatience }
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
                ? "\(excess?.concurrency ?? 0) were too many" : "there may be no more than \(most)"
            return hold(
                figures.map { "\($0); \(bound)" } ?? bound,
                until: isExcess ? excess?.until ?? now : now + Self.leastPatience)
        }
        concurrency = min(concurrency + (doubling ? concurrency : max(1, concurrency / 8)), most)
        let next = Phase.doubling(reference: level, doubts: 0)
        begin(doubling ? next : .trying(reference: level), ramp: ramp)
        let rate = Self.text(level.bytesPerSecond)
        return decide(
            .raised, figures ?? "to see what comes beyond \(rate) with \(level.concurrency)")
    }

    /// Whether it was worth it: at least a seventh of what as many more could have brought, and 5 %.
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
        (endedOfLate, troubledOfLate, refusedOfLate) = (0, 0, 0)
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

    /// "12.3 MB/s".
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
