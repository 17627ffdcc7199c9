internal import Model

extension OriginScheduler {
    /// The state that the scheduler's lock protects.
    struct State {
        /// Waiting transfers of all origins, in order.
        var queue = WaitingQueue()
        /// Number of all waiting transfers, here and in the origins' lines.
        var waitingCount = 0
        var cancellations = Cancellations()
        var origins: OriginTable
        /// By loop: origins with waiting transfers that the loop can start.
        var ready: [[OriginState]]
        var unsettled: [[OriginState]]
        /// Origins with limits or in cooldown.
        var limited: [OriginState] = []
        var slots: SlotUse
        /// Use of the slots by class; nil if slow transfers are treated like others.
        var classes: SlotClasses?
        var schedule = ReviewSchedule()

        init(loops: Int, connections: Int, slow policy: SlowPolicy?) {
            slots = SlotUse(loops: loops, connections: max(connections, 1))
            origins = OriginTable(loops: loops, connections: slots.connections)
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

        // MARK: Origins

        mutating func origin(ofURL url: String, now: Double) -> OriginState {
            origins.origin(ofURL: url, now: now)
        }

        mutating func origin(named name: String, now: Double) -> OriginState {
            origins.origin(named: name, now: now)
        }

        mutating func prune(now: Double) {
            guard origins.prune(now: now) else { return }
            limited.removeAll { origins[$0.name] !== $0 }
        }

        // MARK: Cancelling

        mutating func remove(where matches: (Transfer) -> Bool) -> [Transfer] {
            var removed = queue.remove { matches($0.transfer) }
            for origin in origins.values where !origin.lines.isEmpty {
                removed += origin.lines.remove { matches($0.transfer) }
            }
            for waiting in removed { waiting.origin.lines.pending -= 1 }
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
                let origin = head.origin
                let slotClass = slotClass(of: origin)
                if slotClass == .prompt, origin.lines.skipped.isEmpty {
                    let admission = origin.admit(head.transfer.id, on: loop, now: now)
                    if case .now = admission {
                        start(head, on: loop, into: &batch, now: now)
                        left -= 1
                        continue
                    }
                    if case .later(let time) = admission {
                        review(origin, at: time, &batch.effects)
                    }
                }
                origin.lines.skipped.append(head)
                if origin.cooldown != nil {
                    review(origin, &batch.effects, now: now)
                } else if slotClass != .prompt {
                    wait(origin, for: slotClass, on: loop, &batch.effects, now: now)
                } else {
                    markReady(origin, but: loop, &batch.effects, now: now)
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
                let origin = ready[loop].removeFirst()
                origin.slots.isReady[loop] = false
                guard let head = origin.lines.skipped.first else { continue }
                let slotClass = slotClass(of: origin)
                if slotClass != .prompt {
                    wait(origin, for: slotClass, on: loop, &batch.effects, now: now)
                    continue
                }
                switch origin.admit(head.transfer.id, on: loop, now: now) {
                case .now:
                    _ = origin.lines.skipped.popFirst()
                    start(head, on: loop, into: &batch, now: now)
                    if !origin.lines.skipped.isEmpty, origin.slots.hasFree(on: loop) {
                        ready[loop].append(origin)
                        origin.slots.isReady[loop] = true
                    }
                case .later(let time): review(origin, at: time, &batch.effects)
                case .full: break
                }
            }
        }

        mutating func start(
            _ waiting: Waiting, on loop: Int, into batch: inout Batch, now: Double
        ) {
            waiting.origin.lines.pending -= 1
            waitingCount -= 1
            occupy(waiting.origin, on: loop, &batch.effects, now: now)
            batch.starts.append(waiting)
        }

        private mutating func occupy(
            _ origin: OriginState, on loop: Int, _ effects: inout Effects, now: Double
        ) {
            origin.slots.active[loop] += 1
            origin.usedAt = now
            slots.occupy(on: loop)
            if !isAloneUnproven(origin) { classes?.note(slots.byLoop[loop], on: loop) }
            if slots.total == 1 {
                schedule.beginSampling(now: now)
                askForTick(at: schedule.nextSampleAt, &effects)
            }
        }

        /// Adds an origin with waiting transfers to the lists of the loops that have a slot for it,
        /// and wakes those loops. Loop `own` is left out.
        mutating func markReady(
            _ origin: OriginState, but own: Int? = nil, _ effects: inout Effects, now: Double
        ) {
            guard !origin.lines.skipped.isEmpty else { return }
            for loop in 0..<loops
            where origin.slots.hasFree(on: loop) && !origin.slots.isReady[loop] && loop != own {
                ready[loop].append(origin)
                origin.slots.isReady[loop] = true
                effects.wake.insert(loop)
            }
        }

        // MARK: Ending

        mutating func release(
            _ release: Release, on loop: Int, _ effects: inout Effects, now: Double
        ) {
            let origin = release.origin
            origin.slots.active[loop] -= 1
            origin.usedAt = now
            slots.release(on: loop)
            leaveClass(release, &effects, now: now)
            origin.limits?.pacer?.end(release.transfer, now: now)
            var decision: AdaptiveConcurrency.Decision?
            switch release.ending {
            case .ended(let seconds):
                let progress = AdaptiveConcurrency.Progress(
                    receivedBytes: origin.receivedBytes,
                    isFull: origin.slots.isFull(with: origin.slots.activeTotal + 1)
                        && origin.lines.pending > 0,
                    seconds: seconds)
                decision = origin.speed.ended(progress, now: now)
            case .overload(let overload, let startedAt):
                decision = origin.speed.failed(overload, startedAt: startedAt, now: now)
            case .silent: break
            }
            if let decision {
                origin.layOut(connections: slots.connections)
                // All loops may use the added slots.
                if decision.kind == .raised { effects.wake.formUnion(0..<loops) }
                markReady(origin, but: loop, &effects, now: now)
            }
            if release.cooldownSeconds > 0 {
                beginCooldown(origin, forSeconds: release.cooldownSeconds, &effects, now: now)
            }
            if origin.isLimited {
                review(origin, &effects, now: now)
            } else if !origin.lines.skipped.isEmpty, origin.slots.hasFree(on: loop),
                !origin.slots.isReady[loop]
            {
                // For the loop itself, which takes next.
                ready[loop].append(origin)
                origin.slots.isReady[loop] = true
            }
        }

        mutating func move(
            _ waiting: Waiting, on loop: Int, later: Bool, _ effects: inout Effects, now: Double
        ) -> Move {
            guard !cancellations.contains(waiting.transfer) else { return .cancelled }
            let origin = waiting.origin
            if !later, let slotClass = openClass(of: origin, on: loop),
                case .now = origin.admit(waiting.transfer.id, on: loop, now: now)
            {
                enter(slotClass, waiting, on: loop, now: now)
                occupy(origin, on: loop, &effects, now: now)
                return .start
            }
            origin.lines.skipped.prepend(waiting)
            origin.lines.pending += 1
            waitingCount += 1
            if later {
                review(origin, at: origin.connections.crowd(now: now), &effects)
            } else {
                review(origin, &effects, now: now)
            }
            return .waits
        }
    }
}
