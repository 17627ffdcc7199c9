internal import Model

extension OriginScheduler {
    /// The state that the scheduler's lock protects.
    struct State {
        let loops: Int
        let connections: Int
        /// Waiting transfers of all origins, in order.
        var queue = WaitingQueue()
        /// Number of all waiting transfers, here and in the lanes' lines.
        var waitingCount = 0
        var isClosed = false
        var lanes: [String: OriginState] = [:]
        /// URL prefix of the last look-up, common to most URLs of a batch.
        private var lastPrefix: String.UTF8View = "".utf8
        private var lastLane: OriginState?
        /// By loop: lanes with waiting transfers that the loop can start.
        var ready: [[OriginState]]
        var unsettled: [[OriginState]]
        /// Lanes with limits or in cooldown.
        var limited: [OriginState] = []
        var activeTotal = 0
        /// Running transfers, by loop.
        var activeCounts: [Int]
        /// Use of the slots by class; nil if slow transfers are treated like others.
        var classes: SlotClasses?
        /// True if some origin is slow, or was recently.
        var hasSlowLanes = false
        /// Time of the last check for expired slowness.
        var expiredAt = 0.0
        /// Lanes with a `reviewAt`.
        var reviews: [OriginState] = []
        var sampledAt = 0.0
        /// Time of the next call of `tick`, as far as requested.
        var tickAt = Double.infinity
        var prunedAt = 0.0
        private var lanesMade = 0
        private var cancellations: [Cancellation] = []

        struct Cancellation {
            var boundary: UInt64
            var at: Double
            var matches: @Sendable (Transfer) -> Bool
        }

        init(loops: Int, connections: Int, slow policy: SlowPolicy?) {
            self.loops = loops
            self.connections = max(connections, 1)
            ready = Array(repeating: [], count: loops)
            unsettled = ready
            activeCounts = Array(repeating: 0, count: loops)
            classes = policy.map { policy in
                SlotClasses(
                    policy: policy,
                    capacities: (0..<loops).map {
                        OriginScheduler.capacity(of: $0, loops: loops, connections: connections)
                    })
            }
        }

        // MARK: Lanes

        /// Returns the lane of a URL's origin; all invalid URLs use one lane.
        mutating func lane(ofURL url: String, now: Double) -> OriginState {
            if let lastLane, Self.isIn(url, lastPrefix) { return lastLane }
            let origin = originName(of: url) ?? ""
            let lane = lane(origin, now: now)
            if !origin.isEmpty, url.utf8.starts(with: origin.utf8) {
                (lastLane, lastPrefix) = (lane, origin.utf8)
            }
            return lane
        }

        private static func isIn(_ url: String, _ origin: String.UTF8View) -> Bool {
            var rest = url.utf8.makeIterator()
            for byte in origin where rest.next() != byte { return false }
            // Any other byte could continue with a port, or turn the apparent host into userinfo.
            return rest.next() == UInt8(ascii: "/")
        }

        mutating func lane(_ origin: String, now: Double) -> OriginState {
            if let lane = lanes[origin] { return lane }
            let lane = OriginState(
                origin: origin, firstLoop: lanesMade % loops, loops: loops, ceiling: connections,
                now: now)
            lanesMade += 1
            lanes[origin] = lane
            return lane
        }

        /// Removes unused lanes: after a minute without limits, ten minutes if slow, and an hour
        /// after their limits expired.
        mutating func prune(now: Double) {
            guard now - prunedAt >= 10 else { return }
            prunedAt = now
            lanes = lanes.filter { _, lane in
                if lane.hasWork || !lane.sockets.isEmpty || lane.reviewAt != nil { return true }
                let seconds = lane.limits == nil ? lane.pace.isSlow ? 600.0 : 60 : 3_600
                return now - max(lane.usedAt, lane.limits?.deadline ?? 0) < seconds
            }
            hasSlowLanes = lanes.values.contains(where: \.pace.isSlow)
            limited.removeAll { lanes[$0.origin] !== $0 }
            lastLane = nil
        }

        // MARK: Cancelling

        mutating func remember(_ cancellation: Cancellation, now: Double) {
            cancellations.removeAll { now - $0.at > 10 }
            cancellations.append(cancellation)
        }

        func isCancelled(_ transfer: Transfer) -> Bool {
            isClosed
                || cancellations.contains { $0.boundary > transfer.id && $0.matches(transfer) }
        }

        mutating func remove(where matches: (Transfer) -> Bool) -> [Transfer] {
            var removed = queue.remove { matches($0.transfer) }
            for lane in lanes.values where !lane.line.isEmpty || !lane.slowLine.isEmpty {
                removed += lane.line.remove { matches($0.transfer) }
                removed += lane.slowLine.remove { matches($0.transfer) }
            }
            for waiting in removed { waiting.lane.pending -= 1 }
            waitingCount -= removed.count
            return removed.map(\.transfer)
        }

        // MARK: Starting

        mutating func take(
            _ limit: Int, on loop: Int, into batch: inout Batch, now: Double
        ) {
            guard limit > 0 else { return }
            takeOthers(limit, on: loop, guaranteed: true, into: &batch, now: now)
            takeReady(limit, on: loop, into: &batch, now: now)
            // A loop takes only its part, so that few transfers spread over all loops.
            let share = (queue.count + loops - 1) / loops
            var left = min(limit - batch.starts.count, share)
            while left > 0, let head = queue.popFirst() {
                let lane = head.lane
                let slotClass = slotClass(of: lane)
                if slotClass == .prompt, lane.line.isEmpty {
                    let admission = lane.admit(head.transfer.id, on: loop, now: now)
                    if case .now = admission {
                        start(head, on: loop, into: &batch, now: now)
                        left -= 1
                        continue
                    }
                    if case .later(let time) = admission {
                        review(lane, at: time, &batch.effects)
                    }
                }
                lane.line.append(head)
                if lane.cooling != nil {
                    review(lane, &batch.effects, now: now)
                } else if slotClass != .prompt {
                    wait(lane, for: slotClass, on: loop, &batch.effects, now: now)
                } else {
                    markReady(lane, but: loop, &batch.effects, now: now)
                }
            }
            batch.isMore = queue.count > 0 || !ready[loop].isEmpty
            guard !batch.isMore else { return }
            takeOthers(limit, on: loop, guaranteed: false, into: &batch, now: now)
        }

        /// Starts transfers that were skipped before and have a slot now, one origin after the
        /// other.
        private mutating func takeReady(
            _ limit: Int, on loop: Int, into batch: inout Batch, now: Double
        ) {
            while batch.starts.count < limit, !ready[loop].isEmpty {
                let lane = ready[loop].removeFirst()
                lane.isReady[loop] = false
                guard let head = lane.line.first else { continue }
                let slotClass = slotClass(of: lane)
                if slotClass != .prompt {
                    wait(lane, for: slotClass, on: loop, &batch.effects, now: now)
                    continue
                }
                switch lane.admit(head.transfer.id, on: loop, now: now) {
                case .now:
                    _ = lane.line.popFirst()
                    start(head, on: loop, into: &batch, now: now)
                    if !lane.line.isEmpty, lane.active[loop] < lane.quotas[loop] {
                        ready[loop].append(lane)
                        lane.isReady[loop] = true
                    }
                case .later(let time): review(lane, at: time, &batch.effects)
                case .full: break
                }
            }
        }

        mutating func start(
            _ waiting: Waiting, on loop: Int, into batch: inout Batch, now: Double
        ) {
            waiting.lane.pending -= 1
            waitingCount -= 1
            occupy(waiting.lane, on: loop, &batch.effects, now: now)
            batch.starts.append(waiting)
        }

        private mutating func occupy(
            _ lane: OriginState, on loop: Int, _ effects: inout Effects, now: Double
        ) {
            lane.active[loop] += 1
            lane.usedAt = now
            activeTotal += 1
            activeCounts[loop] += 1
            classes?.note(activeCounts[loop], on: loop)
            if activeTotal == 1 {
                sampledAt = now
                askForTick(at: now + Self.sampleSeconds, &effects)
            }
        }

        /// Adds a lane with waiting transfers to the lists of the loops that have a slot for it,
        /// and wakes those loops. Loop `own` is left out.
        mutating func markReady(
            _ lane: OriginState, but own: Int? = nil, _ effects: inout Effects, now: Double
        ) {
            guard !lane.line.isEmpty else { return }
            for loop in 0..<loops
            where lane.active[loop] < lane.quotas[loop] && !lane.isReady[loop] && loop != own {
                ready[loop].append(lane)
                lane.isReady[loop] = true
                effects.wake.insert(loop)
            }
        }

        // MARK: Ending

        mutating func release(
            _ release: Release, on loop: Int, _ effects: inout Effects, now: Double
        ) {
            let lane = release.lane
            lane.active[loop] -= 1
            lane.usedAt = now
            activeTotal -= 1
            activeCounts[loop] -= 1
            leaveClass(release, &effects, now: now)
            lane.limits?.pacer?.end(release.transfer, now: now)
            var decision: AdaptiveConcurrency.Decision?
            switch release.ending {
            case .ended(let seconds):
                let progress = AdaptiveConcurrency.Progress(
                    receivedBytes: lane.receivedBytes,
                    isFull: lane.activeTotal + 1 >= lane.quotas.reduce(0, +) && lane.pending > 0,
                    seconds: seconds)
                decision = lane.concurrency.handle(.ended(progress), now: now)
                let isFirst = lane.transferSeconds == 0
                lane.transferSeconds += (isFirst ? 1 : 0.1) * (seconds - lane.transferSeconds)
            case .trouble(let trouble, let startedAt):
                decision = lane.concurrency.handle(
                    .trouble(trouble, startedAt: startedAt), now: now)
            case .silent: break
            }
            if let decision {
                lane.layOut(connections: connections)
                // All loops may use the added slots.
                if decision.kind == .raised { effects.wake.formUnion(0..<loops) }
                markReady(lane, but: loop, &effects, now: now)
            }
            if release.coolingSeconds > 0 {
                cool(lane, forSeconds: release.coolingSeconds, &effects, now: now)
            }
            if lane.isLimited {
                review(lane, &effects, now: now)
            } else if !lane.line.isEmpty, lane.active[loop] < lane.quotas[loop],
                !lane.isReady[loop]
            {
                // For the loop itself, which takes next.
                ready[loop].append(lane)
                lane.isReady[loop] = true
            }
        }

        mutating func move(
            _ waiting: Waiting, on loop: Int, later: Bool, _ effects: inout Effects, now: Double
        ) -> Move {
            guard !isCancelled(waiting.transfer) else { return .cancelled }
            let lane = waiting.lane
            if !later, let slotClass = openClass(of: lane, on: loop),
                case .now = lane.admit(waiting.transfer.id, on: loop, now: now)
            {
                enter(slotClass, waiting, on: loop, now: now)
                occupy(lane, on: loop, &effects, now: now)
                return .start
            }
            lane.line.prepend(waiting)
            lane.pending += 1
            waitingCount += 1
            if later {
                lane.crowdedUntil = now + OriginState.closingSeconds
                review(lane, at: lane.crowdedUntil, &effects)
            } else {
                review(lane, &effects, now: now)
            }
            return .waits
        }
    }
}
