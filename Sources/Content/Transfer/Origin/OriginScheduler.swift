internal import Model
import Synchronization

/// Decides which transfer starts next on which loop, so that each origin's limits hold over all of an
/// engine's loops. Safe from any thread.
///
/// Transfers start in the order they came, but one whose origin has no place for it is ignored:
/// it waits in its origin's own line, and those behind it go ahead. Under the lock nothing is done
/// but counting; what follows from it is an `Effects`, for the caller to carry out after that.
final class OriginScheduler: Sendable {
    /// What is to be done after a change.
    struct Effects {
        /// Loops that may have something to start.
        var wake: Set<Int> = []
        /// Loops that have connections to close or transfers to end; see `settle`.
        var settle: Set<Int> = []
        /// Transfers to be ended that no loop has: to be given back, and those that a redirect has
        /// led to where there is no share.
        var returned: [Transfer] = []
        var refused: [Transfer] = []
        /// Those that a redirect has led to an origin that is left alone for so many seconds.
        var postponed: [(transfer: Transfer, origin: String, seconds: Double)] = []
        /// When `tick` is to be called, if not before.
        var tickAt: Double?

        var isEmpty: Bool {
            wake.isEmpty && settle.isEmpty && returned.isEmpty && refused.isEmpty
                && postponed.isEmpty
                && tickAt == nil
        }
    }

    /// What a loop starts, and whether more is there for it.
    struct Batch {
        var starts: [Waiting] = []
        var isMore = false
        var effects = Effects()
    }

    /// A transfer that has left its place.
    struct Release {
        var lane: OriginLane
        var transfer: UInt64
        var ending: Ending
        /// What the origin asked for with Retry-After, in seconds.
        var coolingSeconds = 0.0
        /// What its last moments say of the origin's pace, and of the one whose URL led there.
        var pace = TransferPace.unknown
        var home: OriginLane?
    }

    /// What its end says of its origin.
    enum Ending {
        case ended(seconds: Double)
        case trouble(AdaptiveConcurrency.Trouble, startedAt: Double)
        /// Nothing: it was cancelled, or goes on elsewhere.
        case silent
    }

    let state: Mutex<State>

    /// `connections` are those of all `loops` together. Without a policy slow transfers are as good as others.
    init(loops: Int, connections: Int, slow policy: SlowPolicy? = nil) {
        state = Mutex(State(loops: loops, connections: connections, slow: policy))
    }

    /// A loop's part of the connections: the first loops take the remainder.
    static func capacity(of loop: Int, loops: Int, connections: Int) -> Int {
        max((connections + loops - 1 - loop) / loops, 1)
    }

    // MARK: Waiting

    /// Queues transfers; false, and nothing done, after `close`.
    func submit(_ transfers: [Transfer], now: Double) -> Bool {
        state.withLock { state in
            guard !state.isClosed else { return false }
            for transfer in transfers {
                let lane = state.lane(ofURL: transfer.request.url, now: now)
                lane.pending += 1
                state.queue.append(Waiting(transfer: transfer, lane: lane))
            }
            state.waitingCount += transfers.count
            return true
        }
    }

    /// Takes out those that wait and match. One below `boundary`, the next transfer's number, that
    /// is under way and would wait again is not let in either, for a while.
    func remove(
        below boundary: UInt64, now: Double, where matches: @escaping @Sendable (Transfer) -> Bool
    ) -> [Transfer] {
        state.withLock { state in
            state.remember(
                State.Cancellation(boundary: boundary, at: now, matches: matches), now: now)
            return state.remove { matches($0) }
        }
    }

    /// Takes out those of some transfers that wait and were never begun.
    func removeUnbegun(_ transfers: Set<UInt64>) -> [Transfer] {
        state.withLock { state in
            state.remove { transfers.contains($0.id) && $0.state == .queued }
        }
    }

    /// Takes out all that wait; nothing can wait from now on.
    func close() -> [Transfer] {
        state.withLock { state in
            state.isClosed = true
            return state.remove { _ in true }
        }
    }

    var waitingCount: Int { state.withLock { $0.waitingCount } }

    // MARK: Starting and ending

    /// What a loop with `limit` free slots starts next, after a transfer of its own has ended.
    func take(
        _ limit: Int, on loop: Int, releasing release: Release? = nil, now: Double
    ) -> Batch {
        state.withLock { state in
            var batch = Batch()
            if let release { state.release(release, on: loop, &batch.effects, now: now) }
            state.take(limit, on: loop, into: &batch, now: now)
            return batch
        }
    }

    func release(_ release: Release, on loop: Int, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            state.release(release, on: loop, &effects, now: now)
            return effects
        }
    }

    /// What became of a transfer that wants to go on at another place or another time.
    enum Move {
        case start
        case waits
        case cancelled
    }

    /// Gives up a transfer's place for one in `waiting`'s lane, where it waits in front when there is
    /// none, or when it has to be `later` in any case.
    func move(
        _ waiting: Waiting, from release: Release, on loop: Int, later: Bool, now: Double
    ) -> (move: Move, effects: Effects) {
        state.withLock { state in
            var effects = Effects()
            state.release(release, on: loop, &effects, now: now)
            let move = state.move(waiting, on: loop, later: later, &effects, now: now)
            return (move, effects)
        }
    }

    /// The lane of a URL's origin.
    func lane(ofURL url: String, now: Double) -> OriginLane {
        state.withLock { $0.lane(ofURL: url, now: now) }
    }

    // MARK: Limits

    /// Sets what holds at an origin until `deadline`; limits without any bound lift all.
    func setLimits(
        _ limits: OriginAllowance, of origin: String, until deadline: Double, now: Double
    ) -> Effects {
        state.withLock { state in
            var effects = Effects()
            state.setLimits(limits, of: origin, until: deadline, &effects, now: now)
            return effects
        }
    }

    /// Lifts the limits of origins that have some.
    func liftLimits(of origins: Set<String>, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            for lane in state.limited where lane.limits != nil && origins.contains(lane.origin) {
                state.setLimits(
                    OriginAllowance(), of: lane.origin, until: now, &effects, now: now)
            }
            return effects
        }
    }

    /// What is used of the shares that have numbers.
    func uses(now: Double) -> [OriginUse] { state.withLock { $0.uses(now: now) } }

    /// Begins nothing more under the share `number` of an origin that there is nothing to do at; false when there
    /// is, or another share has come.
    func giveUp(_ origin: String, number: Int64) -> Bool {
        state.withLock { $0.giveUp(origin, number: number) }
    }

    var isAnyLimited: Bool { state.withLock { $0.limited.contains { $0.limits != nil } } }

    /// Leaves origins alone until so many seconds have passed, or for longer when that was said
    /// before.
    func cool(_ origins: [(origin: String, seconds: Double)], now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            for (origin, seconds) in origins {
                state.cool(state.lane(origin, now: now), forSeconds: seconds, &effects, now: now)
            }
            return effects
        }
    }

    /// Takes back what was said of origins until `toldAt`: work of theirs was handed out after it.
    func warm(_ origins: Set<String>, toldUntil toldAt: Double, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            for origin in origins {
                guard let lane = state.lanes[origin], let cooling = lane.cooling,
                    cooling.toldAt <= toldAt
                else { continue }
                state.warm(lane, &effects, now: now)
            }
            return effects
        }
    }

    func coolingOrigins(now: Double) -> Set<String> {
        state.withLock { state in
            Set(state.limited.filter { ($0.cooling?.until ?? 0) > now }.map(\.origin))
        }
    }

    /// Whether any origin is left alone.
    var isAnyCooling: Bool { state.withLock { $0.limited.contains { $0.cooling != nil } } }

    /// Whether a transfer's request may go out now.
    func maySend(_ lane: OriginLane, _ transfer: UInt64, now: Double) -> (Bool, Effects) {
        state.withLock { state in
            var effects = Effects()
            if let cooling = lane.cooling, cooling.until > now { return (false, effects) }
            guard let limits = lane.limits else { return (true, effects) }
            guard limits.mostUnderWay(now) > 0 else { return (false, effects) }
            let maySend = lane.limits?.pacer?.sent(transfer, now: now) ?? true
            // Only now is it known when the next one can go.
            if limits.pacer != nil, !lane.line.isEmpty { state.review(lane, &effects, now: now) }
            return (maySend, effects)
        }
    }

    /// The answer to a transfer's request has begun.
    func answered(_ lane: OriginLane, _ transfer: UInt64, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            guard lane.limits?.pacer != nil else { return effects }
            lane.limits?.pacer?.answered(transfer, now: now)
            if !lane.line.isEmpty { state.review(lane, &effects, now: now) }
            return effects
        }
    }

    // MARK: Connections

    /// Whether a connection may be opened for a transfer. If not, an idle one of the loop makes room
    /// for a later one.
    func mayOpen(_ lane: OriginLane, on loop: Int, now: Double) -> (Bool, Effects) {
        state.withLock { state in
            var effects = Effects()
            return (state.mayOpen(lane, on: loop, &effects, now: now), effects)
        }
    }

    /// Descriptors that were made for a transfer and are not closed.
    func sockets(of transfer: UInt64, _ lane: OriginLane) -> [Int32] {
        state.withLock { _ in
            lane.sockets.filter { $0.transfer == transfer && $0.descriptor >= 0 }.map(\.descriptor)
        }
    }

    func opened(_ socket: LaneSocket, _ lane: OriginLane) {
        state.withLock { _ in lane.sockets.append(socket) }
    }

    /// libcurl closes a socket; `counts` when the other side may not know of it yet.
    func closed(_ descriptor: Int32, _ lane: OriginLane, counts: Bool, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            state.closed(descriptor, lane, counts: counts, &effects, now: now)
            return effects
        }
    }

    /// What a loop has to do for one lane.
    struct Settlement {
        /// How many transfers to end.
        var ending = 0
        /// Which connections to shut down.
        var closing: [Int32] = []
    }

    /// Lanes that a loop has something to do for.
    func unsettled(on loop: Int) -> [OriginLane] {
        state.withLock { $0.takeUnsettled(on: loop) }
    }

    /// What a loop has to do for a lane; `busy` are the sockets that its `transfers` use, and what
    /// is named in `closing` counts as closed from now on.
    func settle(
        _ lane: OriginLane, on loop: Int, busy: Set<Int32>, transfers: Set<UInt64>, now: Double
    ) -> Settlement {
        state.withLock { state in
            state.settle(lane, on: loop, busy: busy, transfers: transfers, now: now)
        }
    }

    // MARK: Time

    /// Looks after what was to happen by now.
    func tick(now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            state.tick(&effects, now: now)
            return effects
        }
    }

    /// What is done at which origin; those without work for a while are left out.
    func statuses(now: Double) -> [OriginActivity] {
        state.withLock { $0.statuses(now: now) }
    }

    /// Transfers that wait although the engine has free places: for limited origins.
    var heldBackCount: Int { state.withLock { $0.heldBackCount } }
}
