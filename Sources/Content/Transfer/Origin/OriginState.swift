internal import Model
import Synchronization

/// The state of one origin in an engine: its waiting and running transfers and its limits.
///
/// `@unchecked`: except for the members marked safe, it is accessed under its `OriginScheduler`'s
/// lock.
final class OriginState: @unchecked Sendable {
    /// Scheme, host and port.
    let name: String
    private let received = Atomic<Int64>(0)
    private let limited = Atomic<Bool>(false)
    private let http1 = Atomic<Bool>(false)
    /// Limit of bytes per second.
    let meter = ByteMeter()

    var lines = WaitingLines()
    var slots: LoopSlots
    var connections = OriginConnections()
    var speed: OriginSpeed
    /// Pace of the origin's transfers.
    var pace = OriginPace()
    var slow = SlowUse()
    var limits: TimedLimits?
    /// The cooldown's end, and the time at which the cooldown was reported.
    var cooldown: (until: Double, reportedAt: Double)?
    /// Time of the next review; nil if none is needed.
    var reviewAt: Double?
    var usedAt = 0.0

    init(name: String, firstLoop: Int, loops: Int, ceiling: Int, now: Double) {
        self.name = name
        slots = LoopSlots(loops: loops, firstLoop: firstLoop)
        speed = OriginSpeed(ceiling: ceiling)
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

    var hasWork: Bool { lines.pending > 0 || slots.activeTotal > 0 }

    /// Distributes the slots among the loops; `connections` is the engine's total.
    func layOut(connections: Int) {
        slots.layOut(
            concurrency: speed.concurrency.concurrency, connections: connections, limits?.current)
    }

    // MARK: Waiting

    /// Returns true if limits or a cooldown prevent any start now, even with free slots.
    func isHeldBack(_ now: Double) -> Bool {
        cooldown != nil || limits?.allowsNothing(now) == true
            || limits?.pacer?.nextSlot(now: now) != nil
    }

    /// Returns true if a further transfer waits for limits or a cooldown, whatever slots are free.
    func isLimited(_ now: Double) -> Bool {
        isHeldBack(now)
            || limits?.current.connections.map { slots.activeTotal >= $0 } ?? false
    }

    /// Transfers that wait for a slow slot.
    var slowWaitingCount: Int { lines.slowCount(isSlow: pace.isSlow) }

    /// Number of further transfers that may start as prompt ones rather than on trial.
    var promptRoom: Int { max(Int(pace.credit) - (slots.activeTotal - slow.active), 0) }

    /// Returns the next transfer for a slow slot; see `WaitingLines.firstSlow`.
    func firstSlow(guaranteed: Bool) -> Waiting? {
        lines.firstSlow(isSlow: pace.isSlow, guaranteed: guaranteed)
    }

    func popFirstSlow(guaranteed: Bool) -> Waiting? {
        lines.popFirstSlow(isSlow: pace.isSlow, guaranteed: guaranteed)
    }

    /// Removes and returns the last transfer that waits for a slow slot.
    func popLastSlow() -> Waiting? { lines.popLastSlow(isSlow: pace.isSlow) }

    // MARK: Starting

    enum Admission {
        case now
        /// Not before this time.
        case later(Double)
        /// Not before something else has ended.
        case full
    }

    /// Time for which transfers wait for a quota before they are returned: other engines may first
    /// have to finish.
    static let returnSeconds = 3.0

    /// Decides whether transfer `id` can start on a loop; if so, reserves its request.
    func admit(_ id: UInt64, on loop: Int, now: Double) -> Admission {
        if let cooldown, cooldown.until > now { return .later(cooldown.until) }
        guard limits != nil else { return slots.hasFree(on: loop) ? .now : .full }
        if limits?.allowsNothing(now) == true {
            let returnAt = limits?.returnAt ?? now + Self.returnSeconds
            limits?.returnAt = returnAt
            return .later(returnAt)
        }
        guard slots.hasFree(on: loop) else { return .full }
        if connections.crowdedUntil > now { return .later(connections.crowdedUntil) }
        if let most = limits?.current.connections, let here = slots.connectionQuotas?[loop] {
            let closing = connections.closing(now: now)
            let closingHere = closing.count { $0.loop == loop }
            guard slots.activeTotal + closing.count < most, slots.active[loop] + closingHere < here
            else {
                return closing.compactMap(\.closingUntil).min().map { .later($0) } ?? .full
            }
        }
        guard limits?.pacer?.reserve(id, now: now) ?? true else {
            return limits?.pacer?.nextSlot(now: now).map { .later($0) } ?? .full
        }
        return .now
    }
}

/// The use of slow and trial slots by one origin; see `SlotClasses`.
struct SlowUse {
    /// Slow transfers running at this origin.
    var active = 0
    /// Slow transfers at any origin that started from this origin's URLs.
    var held = 0
    /// Time for which it had slow slots.
    var seconds = 0.0
    /// Membership in the list of origins that wait for a slow slot, and in that of origins on trial.
    var isWaiting = false
    var isOnTrial = false
    var isPromising = false

    /// Slow slots that count for this origin: those used at it, or those used by transfers that
    /// started from its URLs.
    var count: Int { max(active, held) }
}
