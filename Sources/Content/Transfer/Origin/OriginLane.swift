internal import Model
import Synchronization

/// A transfer that waits, with what it waits for.
struct Waiting {
    var transfer: Transfer
    var lane: OriginLane
    /// Set when it has begun before: where it goes on.
    var route: Route?
}

/// How a transfer came to the URL that it requests next, through redirects, waits and stops.
struct Route {
    var url: String
    var redirects: Int
    var isAtOrigin: Bool
    /// On the monotonic clock, in seconds.
    var startedAt: Double
    /// How often there was no connection to be had after all.
    var postponements = 0
    var omissions = Omissions()
    /// Since when it waits after it was stopped for others; that is no time of its own.
    var stoppedAt: Double?
    /// How often in a row it was stopped and nothing of it could be kept.
    var losses = 0

    /// Whether transfers that are not slow may have it stopped: at the cost of what it received once only.
    var mayStop: Bool { losses == 0 }

    /// With its next slot, at `now`: the time that it waited since it was stopped does not count.
    func resumed(_ now: Double) -> Route {
        var resumed = self
        resumed.startedAt += stoppedAt.map { now - $0 } ?? 0
        resumed.stoppedAt = nil
        return resumed
    }
}

/// A connection to an origin, from its socket's making until it counts no more.
struct LaneSocket {
    /// -1 once libcurl has closed it.
    var descriptor: Int32
    var loop: Int
    /// The transfer that it was made for.
    var transfer: UInt64
    /// Closed by this side: until then the origin may not have noticed.
    var closingUntil: Double?

    func counts(_ now: Double) -> Bool { closingUntil.map { $0 > now } ?? true }
}

/// Everything an engine knows of one origin: what waits, what is under way, what is allowed.
///
/// `@unchecked`: all but what is marked safe is touched under its `OriginScheduler`'s lock only.
final class OriginLane: @unchecked Sendable {
    let origin: String
    /// The loop that has its connections, or the first of them, while there is a limit to these.
    let firstLoop: Int

    private let received = Atomic<Int64>(0)
    private let limited = Atomic<Bool>(false)
    private let http1 = Atomic<Bool>(false)
    /// The limit to the bytes a second.
    let meter = ByteMeter()

    /// Transfers that were skipped because of this origin; those behind them go ahead.
    var line = WaitingQueue()
    /// Transfers that were stopped because they were slow: they start in slots for slow ones only.
    var slowLine = WaitingQueue()
    /// Whether the origin's transfers are slow.
    var pace = OriginPace()
    /// Slow transfers under way at this origin, and those that this origin's URLs have led anywhere.
    var slowActive = 0
    var slowHeld = 0
    /// For how long it had a slow slot, as `SlotClasses` counts it.
    var slowSeconds = 0.0
    /// It is in the list of lanes with something that waits for a slow slot; and in that of lanes on trial.
    var isInSlowLanes = false
    var isInTrialLanes = false
    var isPromising = false
    /// Transfers that wait, in the lines or in the engine's common queue.
    var pending = 0
    /// By loop: transfers under way, and how many there may be.
    var active: [Int]
    var quotas: [Int]
    /// By loop: connections that may be open; nil for no limit.
    var connectionQuotas: [Int]?
    /// By loop: it is in the loop's list of lanes with something to start.
    var isReady: [Bool]
    /// By loop: idle connections that have to make room for another.
    var evictions: [Int]
    var concurrency: AdaptiveConcurrency
    var limits: LaneLimits?
    /// Nothing is asked of the origin until then, and when that was heard of.
    var cooling: (until: Double, toldAt: Double)?
    var sockets: [LaneSocket] = []
    /// A transfer that was let start found no place: none tries again before then.
    var crowdedUntil = 0.0
    /// When it is to be looked at again; nil when it need not be.
    var reviewAt: Double?

    /// What the last sample saw.
    var sampledBytes: Int64 = 0
    /// How long transfers take of late, in seconds.
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

    /// Limits were set, now or once, or the origin is left alone.
    var isLimited: Bool {
        get { limited.load(ordering: .relaxed) }
        set { limited.store(newValue, ordering: .relaxed) }
    }

    /// Its last answer came by HTTP/1, over TLS: nothing is gained by waiting for a connection that
    /// is being made, in case it could be shared.
    var speaksHTTP1: Bool {
        get { http1.load(ordering: .relaxed) }
        set { http1.store(newValue, ordering: .relaxed) }
    }

    // MARK: Places

    var activeTotal: Int { active.reduce(0, +) }
    var hasWork: Bool { pending > 0 || activeTotal > 0 }

    /// Connections that count, on one loop or on all.
    func openConnections(on loop: Int? = nil, now: Double) -> Int {
        sockets.count { $0.counts(now) && (loop == nil || $0.loop == loop) }
    }

    /// Shares the places out among the loops; `connections` is what the engine has of them in all.
    ///
    /// Without a limit they lie as the engine's own connections do. A limited origin has as few
    /// loops as its connections need, because none can use another's; bytes a second are shared out
    /// on one.
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

    /// Slow slots that count as this origin's: those used at it, or those that its URLs led to elsewhere.
    var slowShare: Int { max(slowActive, slowHeld) }

    /// Nothing of it may start now, whatever slots are free.
    func isHeldBack(_ now: Double) -> Bool {
        cooling != nil || limits?.allowsNothing(now) == true
            || limits?.pacer?.nextPlace(now: now) != nil
    }

    /// Those that wait for a slow slot.
    var slowWaitingCount: Int {
        slowLine.count + (pace.isSlow ? line.count : 0)
    }

    /// How many more transfers may start than are under way, but for the slow ones, with nothing on trial.
    var promptRoom: Int { max(Int(pace.credit) - (activeTotal - slowActive), 0) }

    /// The next for a slow slot: what was stopped goes first, but what must not be stopped again takes no slot that
    /// others may want back.
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

    /// The last of those that wait for a slow slot.
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

    /// How long a connection that this side has closed still counts.
    static let closingSeconds = 0.05
    /// How long transfers wait for a share before they are given back: others may have to finish theirs first.
    static let returnSeconds = 3.0

    /// Whether transfer `id` can start on a loop; if so, its place among the requests is taken.
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
