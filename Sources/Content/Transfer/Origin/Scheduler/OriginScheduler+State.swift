internal import Model

extension OriginScheduler {
    /// The state that the scheduler's lock protects.
    struct State {
        /// Waiting transfers of all origins, in order.
        var queue = WaitingQueue()
        /// Number of all waiting transfers, here and in the lanes' lines.
        var waitingCount = 0
        var cancellations = Cancellations()
        var lanes: OriginLanes
        /// By loop: lanes with waiting transfers that the loop can start.
        var ready: [[OriginState]]
        var unsettled: [[OriginState]]
        /// Lanes with limits or in cooldown.
        var limited: [OriginState] = []
        var slots: SlotUse
        /// Use of the slots by class; nil if slow transfers are treated like others.
        var classes: SlotClasses?
        var schedule = ReviewSchedule()

        init(loops: Int, connections: Int, slow policy: SlowPolicy?) {
            slots = SlotUse(loops: loops, connections: max(connections, 1))
            lanes = OriginLanes(loops: loops, connections: slots.connections)
            ready = Array(repeating: [], count: loops)
            unsettled = ready
            classes = policy.map { policy in
                SlotClasses(
                    policy: policy,
                    capacities: (0..<loops).map {
                        OriginScheduler.capacity(of: $0, loops: loops, connections: connections)
                    })
            }
        }

        var loops: Int { slots.loops }

        // MARK: Lanes

        mutating func lane(ofURL url: String, now: Double) -> OriginState {
            lanes.lane(ofURL: url, now: now)
        }

        mutating func lane(_ origin: String, now: Double) -> OriginState {
            lanes.lane(origin, now: now)
        }

        mutating func prune(now: Double) {
            guard lanes.prune(now: now) else { return }
            limited.removeAll { lanes[$0.origin] !== $0 }
        }

        // MARK: Cancelling

        mutating func remove(where matches: (Transfer) -> Bool) -> [Transfer] {
            var removed = queue.remove { matches($0.transfer) }
            for lane in lanes.values where !lane.lines.isEmpty {
                removed += lane.lines.remove { matches($0.transfer) }
            }
            for waiting in removed { waiting.lane.lines.pending -= 1 }
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
                if slotClass == .prompt, lane.lines.skipped.isEmpty {
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
                lane.lines.skipped.append(head)
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
                lane.slots.isReady[loop] = false
                guard let head = lane.lines.skipped.first else { continue }
                let slotClass = slotClass(of: lane)
                if slotClass != .prompt {
                    wait(lane, for: slotClass, on: loop, &batch.effects, now: now)
                    continue
                }
                switch lane.admit(head.transfer.id, on: loop, now: now) {
                case .now:
                    _ = lane.lines.skipped.popFirst()
                    start(head, on: loop, into: &batch, now: now)
                    if !lane.lines.skipped.isEmpty, lane.slots.hasFree(on: loop) {
                        ready[loop].append(lane)
                        lane.slots.isReady[loop] = true
                    }
                case .later(let time): review(lane, at: time, &batch.effects)
                case .full: break
                }
            }
        }

        mutating func start(
            _ waiting: Waiting, on loop: Int, into batch: inout Batch, now: Double
        ) {
            waiting.lane.lines.pending -= 1
            waitingCount -= 1
            occupy(waiting.lane, on: loop, &batch.effects, now: now)
            batch.starts.append(waiting)
        }

        private mutating func occupy(
            _ lane: OriginState, on loop: Int, _ effects: inout Effects, now: Double
        ) {
            lane.slots.active[loop] += 1
            lane.usedAt = now
            slots.occupy(on: loop)
            classes?.note(slots.byLoop[loop], on: loop)
            if slots.total == 1 {
                schedule.beginSampling(now: now)
                askForTick(at: schedule.nextSampleAt, &effects)
            }
        }

        /// Adds a lane with waiting transfers to the lists of the loops that have a slot for it,
        /// and wakes those loops. Loop `own` is left out.
        mutating func markReady(
            _ lane: OriginState, but own: Int? = nil, _ effects: inout Effects, now: Double
        ) {
            guard !lane.lines.skipped.isEmpty else { return }
            for loop in 0..<loops
            where lane.slots.hasFree(on: loop) && !lane.slots.isReady[loop] && loop != own {
                ready[loop].append(lane)
                lane.slots.isReady[loop] = true
                effects.wake.insert(loop)
            }
        }

        // MARK: Ending

        mutating func release(
            _ release: Release, on loop: Int, _ effects: inout Effects, now: Double
        ) {
            let lane = release.lane
            lane.slots.active[loop] -= 1
            lane.usedAt = now
            slots.release(on: loop)
            leaveClass(release, &effects, now: now)
            lane.limits?.pacer?.end(release.transfer, now: now)
            var decision: AdaptiveConcurrency.Decision?
            switch release.ending {
            case .ended(let seconds):
                let progress = AdaptiveConcurrency.Progress(
                    receivedBytes: lane.receivedBytes,
                    isFull: lane.slots.isFull(with: lane.slots.activeTotal + 1)
                        && lane.lines.pending > 0,
                    seconds: seconds)
                decision = lane.speed.ended(progress, now: now)
            case .overload(let overload, let startedAt):
                decision = lane.speed.failed(overload, startedAt: startedAt, now: now)
            case .silent: break
            }
            if let decision {
                lane.layOut(connections: slots.connections)
                // All loops may use the added slots.
                if decision.kind == .raised { effects.wake.formUnion(0..<loops) }
                markReady(lane, but: loop, &effects, now: now)
            }
            if release.coolingSeconds > 0 {
                cool(lane, forSeconds: release.coolingSeconds, &effects, now: now)
            }
            if lane.isLimited {
                review(lane, &effects, now: now)
            } else if !lane.lines.skipped.isEmpty, lane.slots.hasFree(on: loop),
                !lane.slots.isReady[loop]
            {
                // For the loop itself, which takes next.
                ready[loop].append(lane)
                lane.slots.isReady[loop] = true
            }
        }

        mutating func move(
            _ waiting: Waiting, on loop: Int, later: Bool, _ effects: inout Effects, now: Double
        ) -> Move {
            guard !cancellations.contains(waiting.transfer) else { return .cancelled }
            let lane = waiting.lane
            if !later, let slotClass = openClass(of: lane, on: loop),
                case .now = lane.admit(waiting.transfer.id, on: loop, now: now)
            {
                enter(slotClass, waiting, on: loop, now: now)
                occupy(lane, on: loop, &effects, now: now)
                return .start
            }
            lane.lines.skipped.prepend(waiting)
            lane.lines.pending += 1
            waitingCount += 1
            if later {
                review(lane, at: lane.connections.crowd(now: now), &effects)
            } else {
                review(lane, &effects, now: now)
            }
            return .waits
        }
    }
}
