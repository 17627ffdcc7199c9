internal import Model
import Synchronization

/// A waiting transfer and the lane in which it waits.
struct Waiting {
    var transfer: Transfer
    var lane: OriginState
    /// Set for a transfer that started before and resumes here.
    var route: Route?
}

/// The path by which a transfer reached its next URL: redirects, waits and stops.
struct Route {
    var url: String
    var redirects: Int
    var isAtOrigin: Bool
    /// Seconds of the monotonic clock.
    var startedAt: Double
    /// Number of times that no connection was available.
    var postponements = 0
    var omissions = Omissions()
    /// Time of its stop in favor of others; the wait since then does not count as the transfer's
    /// own.
    var stoppedAt: Double?
    /// Number of consecutive stops that lost all received bytes.
    var losses = 0

    /// True if transfers that are not slow may have this one stopped. Only the first stop may lose
    /// bytes.
    var mayStop: Bool { losses == 0 }

    /// Returns the route for its next slot at `now`, without the time that it waited since its
    /// stop.
    func resumed(_ now: Double) -> Route {
        var resumed = self
        resumed.startedAt += stoppedAt.map { now - $0 } ?? 0
        resumed.stoppedAt = nil
        return resumed
    }
}

/// A connection to an origin, from the creation of its socket until it no longer counts.
struct LaneSocket {
    /// -1 once libcurl has closed it.
    var descriptor: Int32
    var loop: Int
    /// The transfer for which the connection was opened.
    var transfer: UInt64
    /// Set once this side closed the connection: until then the origin may not have noticed.
    var closingUntil: Double?

    func counts(_ now: Double) -> Bool { closingUntil.map { $0 > now } ?? true }
}

/// The state of one origin in an engine: its waiting and running transfers and its limits.
///
/// `@unchecked`: except for the members marked safe, it is accessed under its `OriginScheduler`'s
/// lock.
final class OriginState: @unchecked Sendable {
    let origin: String
    /// The first loop that has the origin's connections while these are limited.
    let firstLoop: Int

    private let received = Atomic<Int64>(0)
    private let limited = Atomic<Bool>(false)
    private let http1 = Atomic<Bool>(false)
    /// Limit of bytes per second.
    let meter = ByteMeter()

    /// Transfers that were skipped because of this origin; later ones of other origins start first.
    var line = WaitingQueue()
    /// Transfers that were stopped for being slow; they start in slow slots only.
    var slowLine = WaitingQueue()
    /// Pace of the origin's transfers.
    var pace = OriginPace()
    /// Slow transfers running at this origin, and slow ones anywhere that started from this
    /// origin's URLs.
    var slowActive = 0
    var slowHeld = 0
    /// Time for which it had slow slots, as `SlotClasses` counts it.
    var slowSeconds = 0.0
    /// Membership in the list of lanes that wait for a slow slot, and in that of lanes on trial.
    var isInSlowLanes = false
    var isInTrialLanes = false
    var isPromising = false
    /// Waiting transfers, in the lane's lines and in the engine's common queue.
    var pending = 0
    /// By loop: running transfers and their maximum.
    var active: [Int]
    var quotas: [Int]
    /// By loop: maximum of open connections; nil for no limit.
    var connectionQuotas: [Int]?
    /// By loop: true if it is in the loop's list of lanes that can start a transfer.
    var isReady: [Bool]
    /// By loop: idle connections to close in favor of another.
    var evictions: [Int]
    var concurrency: AdaptiveConcurrency
    var limits: LaneLimits?
    /// The cooldown's end, and the time at which the cooldown was reported.
    var cooling: (until: Double, toldAt: Double)?
    var sockets: [LaneSocket] = []
    /// A transfer that was allowed to start got no connection; none tries again before then.
    var crowdedUntil = 0.0
    /// Time of the next review; nil if none is needed.
    var reviewAt: Double?

    /// Received bytes at the last sample.
    var sampledBytes: Int64 = 0
    /// Recent mean duration of a transfer, in seconds.
    var transferSeconds = 0.0
    var usedAt = 0.0

    init(origin: String, firstLoop: Int, loops: Int, ceiling: Int, now: Double) {
        self.origin = origin
        self.firstLoop = firstLoop
        active = Array(repeating: 0, count: loops)
        quotas = active
        evictions = active
        isReady = Array(repeating: false, count: loops)
        concurrency = AdaptiveConcurrency(ceiling: ceiling)
        usedAt = now
        layOut(connections: ceiling)
    }

    // MARK: Safe from any thread

    /// Bytes of bodies so far.
    var receivedBytes: Int64 { received.load(ordering: .relaxed) }

    func add(receivedBytes count: Int) { received.wrappingAdd(Int64(count), ordering: .relaxed) }

    /// True if limits are set or the origin is in cooldown.
    var isLimited: Bool {
        get { limited.load(ordering: .relaxed) }
        set { limited.store(newValue, ordering: .relaxed) }
    }

    /// True if its last response came by HTTP/1 over TLS. Then waiting for a connection in progress
    /// gains nothing, because it cannot be shared.
    var speaksHTTP1: Bool {
        get { http1.load(ordering: .relaxed) }
        set { http1.store(newValue, ordering: .relaxed) }
    }

    // MARK: Slots

    var activeTotal: Int { active.reduce(0, +) }
    var hasWork: Bool { pending > 0 || activeTotal > 0 }

    /// Returns the connections that count, on one loop or on all.
    func openConnections(on loop: Int? = nil, now: Double) -> Int {
        sockets.count { $0.counts(now) && (loop == nil || $0.loop == loop) }
    }

    /// Distributes the slots among the loops; `connections` is the engine's total.
    ///
    /// Without a limit, the slots follow the engine's own connections. A limited origin uses as few
    /// loops as its connections need, because a loop cannot use another's connections. An origin
    /// with a limit of bytes per second uses one loop.
    func layOut(connections: Int) {
        let loops = active.count
        guard let limits, limits.current.connections != nil || limits.current.bytesPerSecond != nil
        else {
            connectionQuotas = nil
            quotas = Self.spread(concurrency.concurrency, over: loops, of: loops, from: 0)
            return
        }
        let most = limits.current.connections ?? connections
        let capacity = max(connections / loops, 1)
        let needed = min(loops, max(1, most / 4, (most + capacity - 1) / capacity))
        let used = limits.current.bytesPerSecond == nil ? needed : 1
        connectionQuotas = Self.spread(most, over: used, of: loops, from: firstLoop)
        let wanted = min(concurrency.concurrency, most)
        quotas = Self.spread(wanted, over: used, of: loops, from: firstLoop)
    }

    private static func spread(
        _ total: Int, over used: Int, of loops: Int, from first: Int
    ) -> [Int] {
        var parts = Array(repeating: 0, count: loops)
        for index in 0..<used {
            parts[(first + index) % loops] = (total + used - 1 - index) / used
        }
        return parts
    }

    // MARK: Waiting

    /// Slow slots that count for this origin: those used at it, or those used by transfers that
    /// started from its URLs.
    var slowShare: Int { max(slowActive, slowHeld) }

    /// Returns true if limits or a cooldown prevent any start now, even with free slots.
    func isHeldBack(_ now: Double) -> Bool {
        cooling != nil || limits?.allowsNothing(now) == true
            || limits?.pacer?.nextPlace(now: now) != nil
    }

    /// Transfers that wait for a slow slot.
    var slowWaitingCount: Int {
        slowLine.count + (pace.isSlow ? line.count : 0)
    }

    /// Number of further transfers that may start as prompt ones rather than on trial.
    var promptRoom: Int { max(Int(pace.credit) - (activeTotal - slowActive), 0) }

    /// Returns the next transfer for a slow slot; stopped ones come first. One that must not be
    /// stopped again gets no slot that others may need back.
    func firstSlow(guaranteed: Bool) -> Waiting? {
        if let first = slowLine.first, guaranteed || first.route?.mayStop != false { return first }
        return pace.isSlow ? line.first : nil
    }

    func popFirstSlow(guaranteed: Bool) -> Waiting? {
        if let first = slowLine.first, guaranteed || first.route?.mayStop != false {
            return slowLine.popFirst()
        }
        return pace.isSlow ? line.popFirst() : nil
    }

    /// Removes and returns the last transfer that waits for a slow slot.
    func popLastSlow() -> Waiting? {
        if pace.isSlow, let last = line.popLast() { return last }
        return slowLine.popLast()
    }

    func takeAllWaiting() -> [Waiting] {
        line.remove { _ in true } + slowLine.remove { _ in true }
    }

    // MARK: Starting

    enum Admission {
        case now
        /// Not before this time.
        case later(Double)
        /// Not before something else has ended.
        case full
    }

    /// Time for which a connection closed by this side still counts.
    static let closingSeconds = 0.05
    /// Time for which transfers wait for a quota before they are returned: other engines may first
    /// have to finish.
    static let returnSeconds = 3.0

    /// Decides whether transfer `id` can start on a loop; if so, reserves its request.
    func admit(_ id: UInt64, on loop: Int, now: Double) -> Admission {
        if let cooling, cooling.until > now { return .later(cooling.until) }
        guard limits != nil else { return active[loop] < quotas[loop] ? .now : .full }
        if limits?.allowsNothing(now) == true {
            let returnAt = limits?.returnAt ?? now + Self.returnSeconds
            limits?.returnAt = returnAt
            return .later(returnAt)
        }
        guard active[loop] < quotas[loop] else { return .full }
        if crowdedUntil > now { return .later(crowdedUntil) }
        if let most = limits?.current.connections, let here = connectionQuotas?[loop] {
            let closing = sockets.filter { $0.closingUntil.map { $0 > now } ?? false }
            let closingHere = closing.count { $0.loop == loop }
            guard activeTotal + closing.count < most, active[loop] + closingHere < here else {
                return closing.compactMap(\.closingUntil).min().map { .later($0) } ?? .full
            }
        }
        guard limits?.pacer?.reserve(id, now: now) ?? true else {
            return limits?.pacer?.nextPlace(now: now).map { .later($0) } ?? .full
        }
        return .now
    }
}
