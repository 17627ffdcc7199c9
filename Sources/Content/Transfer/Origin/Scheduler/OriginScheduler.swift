internal import Model
import Synchronization

/// Decides which transfer starts next on which loop, so that each origin's limits hold over all
/// loops of an engine. Safe from any thread.
///
/// Transfers start in the order of submission. A transfer whose origin has no slot is skipped: it
/// waits in its origin's own line, and later ones start first. The lock protects only counting; the
/// consequences are returned as `Effects`, which the caller applies afterwards.
final class OriginScheduler: Sendable {
    /// Actions that follow from a change.
    struct Effects {
        /// Loops that may have something to start.
        var wake: Set<Int> = []
        /// Loops that must close connections or end transfers; see `settle`.
        var settle: Set<Int> = []
        /// Queued transfers to end: ones to return, and ones that a redirect led to an origin
        /// without a quota.
        var returned: [Transfer] = []
        var refused: [Transfer] = []
        /// Transfers that a redirect led to an origin in cooldown, with the remaining seconds.
        var postponed: [(transfer: Transfer, origin: String, seconds: Double)] = []
        /// Latest time for the next call of `tick`.
        var tickAt: Double?

        var isEmpty: Bool {
            wake.isEmpty && settle.isEmpty && returned.isEmpty && refused.isEmpty
                && postponed.isEmpty
                && tickAt == nil
        }
    }

    /// Transfers that a loop starts, and whether more wait for it.
    struct Batch {
        var starts: [Waiting] = []
        var isMore = false
        var effects = Effects()
    }

    /// A transfer that has left its slot.
    struct Release {
        var origin: OriginState
        var transfer: UInt64
        var ending: Ending
        /// Cooldown that the origin requested with Retry-After, in seconds.
        var cooldownSeconds = 0.0
        /// Last observed pace, for this origin and for `home`, the origin of the transfer's own
        /// URL.
        var pace = TransferPace.unknown
        var home: OriginState?
    }

    /// The meaning of a transfer's end for its origin.
    enum Ending {
        case ended(seconds: Double)
        case overload(AdaptiveConcurrency.Overload, startedAt: Double)
        /// No meaning: it was cancelled, or continues elsewhere.
        case silent
    }

    let state: Mutex<State>

    /// Distributes `connections` over all `loops`. Without a policy, slow transfers are treated
    /// like others.
    init(loops: Int, connections: Int, slow policy: SlowPolicy? = nil) {
        state = Mutex(State(loops: loops, connections: connections, slow: policy))
    }

    /// Returns a loop's part of the connections: the first loops take the remainder.
    static func capacity(of loop: Int, loops: Int, connections: Int) -> Int {
        max((connections + loops - 1 - loop) / loops, 1)
    }

    // MARK: Waiting

    /// Queues transfers; returns false, without effect, after `close`.
    func submit(_ transfers: [Transfer], now: Double) -> Bool {
        state.withLock { state in
            guard !state.cancellations.isClosed else { return false }
            for transfer in transfers {
                let origin = state.origin(ofURL: transfer.request.url, now: now)
                origin.lines.pending += 1
                state.queue.append(Waiting(transfer: transfer, origin: origin))
            }
            state.waitingCount += transfers.count
            return true
        }
    }

    /// Removes and returns waiting transfers that match. Matching ones that run now are also
    /// rejected if they queue again within some seconds. `boundary` is the next transfer's number;
    /// later transfers are not affected.
    func remove(
        below boundary: UInt64, now: Double, where matches: @escaping @Sendable (Transfer) -> Bool
    ) -> [Transfer] {
        state.withLock { state in
            state.cancellations.add(
                Cancellations.Cancellation(boundary: boundary, at: now, matches: matches),
                now: now)
            return state.remove { matches($0) }
        }
    }

    /// Removes and returns those of some transfers that wait and never started.
    func removeUnstarted(_ transfers: Set<UInt64>) -> [Transfer] {
        state.withLock { state in
            state.remove { transfers.contains($0.id) && $0.state == .queued }
        }
    }

    /// Removes and returns all waiting transfers; none can wait from now on.
    func close() -> [Transfer] {
        state.withLock { state in
            state.cancellations.close()
            return state.remove { _ in true }
        }
    }

    var waitingCount: Int { state.withLock { $0.waitingCount } }

    // MARK: Starting and ending

    /// Returns the next transfers for a loop with `limit` free slots, after one of its own has
    /// ended.
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

    /// The outcome for a transfer that continues at another origin or at another time.
    enum Move {
        case start
        case waits
        case cancelled
    }

    /// Moves a transfer from its slot to one at `waiting`'s origin. Without a free slot, or if it
    /// must start `later`, it waits at the front.
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

    /// Returns a URL's origin.
    func origin(ofURL url: String, now: Double) -> OriginState {
        state.withLock { $0.origin(ofURL: url, now: now) }
    }

    // MARK: Limits

    /// Sets an origin's limits until `deadline`; limits without any bound remove all.
    func setLimits(
        _ limits: OriginAllowance, of name: String, until deadline: Double, now: Double
    ) -> Effects {
        state.withLock { state in
            var effects = Effects()
            state.setLimits(limits, of: name, until: deadline, &effects, now: now)
            return effects
        }
    }

    /// Removes the limits of those of the origins that have some.
    func liftLimits(of names: Set<String>, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            for origin in state.limited where origin.limits != nil && names.contains(origin.name) {
                state.setLimits(
                    OriginAllowance(), of: origin.name, until: now, &effects, now: now)
            }
            return effects
        }
    }

    /// Returns the use of all numbered quotas.
    func uses(now: Double) -> [OriginUse] { state.withLock { $0.uses(now: now) } }

    /// Stops using the quota `number` of an idle origin; returns false if the origin has work or a
    /// newer quota.
    func giveUp(_ name: String, number: Int64) -> Bool {
        state.withLock { $0.giveUp(name, number: number) }
    }

    var isAnyLimited: Bool { state.withLock { $0.limited.contains { $0.limits != nil } } }

    /// Puts origins into cooldown for the given seconds; a longer cooldown stays.
    func beginCooldowns(_ origins: [(origin: String, seconds: Double)], now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            for (name, seconds) in origins {
                state.beginCooldown(
                    state.origin(named: name, now: now), forSeconds: seconds, &effects, now: now)
            }
            return effects
        }
    }

    /// Ends cooldowns reported until `reportedAt`, because work for these origins was leased
    /// afterwards.
    func endCooldowns(_ names: Set<String>, reportedUntil reportedAt: Double, now: Double)
        -> Effects
    {
        state.withLock { state in
            var effects = Effects()
            for name in names {
                guard let origin = state.origins[name], let cooldown = origin.cooldown,
                    cooldown.reportedAt <= reportedAt
                else { continue }
                state.endCooldown(origin, &effects, now: now)
            }
            return effects
        }
    }

    func originsInCooldown(now: Double) -> Set<String> {
        state.withLock { state in
            Set(state.limited.filter { ($0.cooldown?.until ?? 0) > now }.map(\.name))
        }
    }

    /// True if any origin is in cooldown.
    var isAnyInCooldown: Bool { state.withLock { $0.limited.contains { $0.cooldown != nil } } }

    /// Returns whether a transfer's request may be sent now.
    func maySend(_ origin: OriginState, _ transfer: UInt64, now: Double) -> (Bool, Effects) {
        state.withLock { state in
            var effects = Effects()
            if let cooldown = origin.cooldown, cooldown.until > now { return (false, effects) }
            guard let limits = origin.limits else { return (true, effects) }
            guard limits.maxActive(now) > 0 else { return (false, effects) }
            let maySend = origin.limits?.pacer?.sent(transfer, now: now) ?? true
            // The time for the next request is known only now.
            if limits.pacer != nil, !origin.lines.skipped.isEmpty {
                state.review(origin, &effects, now: now)
            }
            return (maySend, effects)
        }
    }

    /// Records that the response to a transfer's request has begun.
    func answered(_ origin: OriginState, _ transfer: UInt64, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            guard origin.limits?.pacer != nil else { return effects }
            origin.limits?.pacer?.answered(transfer, now: now)
            if !origin.lines.skipped.isEmpty { state.review(origin, &effects, now: now) }
            return effects
        }
    }

    // MARK: Connections

    /// Returns whether a connection may be opened for a transfer. If not, an idle one of the loop
    /// is marked for closing.
    func mayOpen(_ origin: OriginState, on loop: Int, now: Double) -> (Bool, Effects) {
        state.withLock { state in
            var effects = Effects()
            return (state.mayOpen(origin, on: loop, &effects, now: now), effects)
        }
    }

    /// Returns the open descriptors that were created for a transfer.
    func sockets(of transfer: UInt64, _ origin: OriginState) -> [Int32] {
        state.withLock { _ in
            origin.connections.sockets.filter { $0.transfer == transfer && $0.descriptor >= 0 }.map(
                \.descriptor)
        }
    }

    func opened(_ socket: OriginSocket, _ origin: OriginState) {
        state.withLock { _ in origin.connections.add(socket) }
    }

    /// Records that libcurl closes a socket; `counts` is true if the peer may not know yet.
    func closed(_ descriptor: Int32, _ origin: OriginState, counts: Bool, now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            state.closed(descriptor, origin, counts: counts, &effects, now: now)
            return effects
        }
    }

    /// Actions for a loop at one origin.
    struct Settlement {
        /// Number of transfers to end.
        var ending = 0
        /// Connections to shut down.
        var closing: [Int32] = []
    }

    /// Removes and returns the origins that a loop must settle.
    func unsettled(on loop: Int) -> [OriginState] {
        state.withLock { $0.takeUnsettled(on: loop) }
    }

    /// Returns a loop's actions for an origin. `busy` are the sockets that its `transfers` use. The
    /// connections in `closing` count as closed from now on.
    func settle(
        _ origin: OriginState, on loop: Int, busy: Set<Int32>, transfers: Set<UInt64>, now: Double
    ) -> Settlement {
        state.withLock { state in
            state.settle(origin, on: loop, busy: busy, transfers: transfers, now: now)
        }
    }

    // MARK: Time

    /// Performs the actions that are due.
    func tick(now: Double) -> Effects {
        state.withLock { state in
            var effects = Effects()
            state.tick(&effects, now: now)
            return effects
        }
    }

    /// Returns the activity at each origin, except for origins that have been idle for a while.
    func statuses(now: Double) -> [OriginActivity] {
        state.withLock { $0.statuses(now: now) }
    }

    /// Transfers that wait for limited origins although the engine has free slots.
    func heldBackCount(now: Double) -> Int { state.withLock { $0.heldBackCount(now: now) } }
}
