internal import EventLoop
internal import LoadModel

/// Starts arrivals: at the planned times of the open model, or at the end of the previous request.
extension LoadLoop {
    func beginArrivals() {
        guard case .open = scenario.model else { return levelTick() }
        source.begin(scenario)
        pump()
    }

    // MARK: Open

    /// Sends due arrivals while slots are free. One that is late keeps its planned time, against
    /// coordinated omission.
    func pump() {
        guard life.isRunning else { return }
        let now = clock.seconds
        while let next = source.arrivals?.next, next.seconds <= now, life.isRunning {
            let planned = next.seconds
            guard slots.hasFree || isViewers else {
                source.block()
                return
            }
            let blockedUntil = source.startArrival()
            if planned < blockedUntil { record.interval.counts.pacing.queued += 1 }
            // An arrival that waited for a slot is not late because of this loop.
            countIfLate(plannedSeconds: max(planned, blockedUntil), atSeconds: now)
            arrive(next)
        }
        if let next = source.arrivals?.next {
            timers?.arrival.schedule(afterSeconds: next.seconds - clock.seconds)
        }
    }

    /// Counts an arrival as late if a slot was free when it was due.
    func countIfLate(plannedSeconds: Double, atSeconds now: Double) {
        guard now - plannedSeconds > LoadHealth.lateSeconds, slots.hasFree else { return }
        record.interval.counts.pacing.lateSends += 1
    }

    private var isViewers: Bool {
        if case .viewers = scenario.user { true } else { false }
    }

    private func arrive(_ arrival: LoadArrival) {
        let plannedSeconds = arrival.seconds
        if let object = arrival.object {
            return send(WantedObject(index: object), .arrival, plannedSeconds: plannedSeconds)
        }
        let target = source.nextTarget()
        if isViewers, viewers.isFull {
            record.interval.counts.viewers.rejected += 1
            record.interval.counts.pacing.missedSends += 1
        } else if !startViewer(ofTarget: target, plannedSeconds: plannedSeconds) {
            send(
                WantedObject(index: nextObject(of: target)), .arrival,
                plannedSeconds: plannedSeconds)
        }
    }

    /// Uses a free slot, first for waiting requests.
    func slotIsFree(atSeconds now: Double) {
        while slots.hasFree, let entry = slots.popWaiting() {
            send(entry.object, entry.owner, entry.detour, plannedSeconds: entry.plannedSeconds)
        }
        guard source.isBlocked, slots.hasFree else { return }
        source.unblock(atSeconds: now)
        pump()
    }

    /// Counts the arrivals that are due up to `seconds`.
    func countDue(atSeconds seconds: Double) {
        guard life.isRunning else { return }
        record.interval.counts.pacing.planned += source.countDue(atSeconds: seconds)
    }

    // MARK: Closed

    /// Seconds between two adjustments of the number of users.
    private static let levelSeconds = 0.1

    /// Adjusts the number of users to the stages, periodically.
    func levelTick() {
        guard life.isRunning else { return }
        adjustUsers(atSeconds: clock.seconds)
        timers?.level.schedule(afterSeconds: Self.levelSeconds)
    }

    private func adjustUsers(atSeconds now: Double) {
        let wanted = source.users.wanted(atSeconds: now)
        while source.users.count < wanted, life.isRunning {
            source.users.add()
            startUser(plannedSeconds: now)
        }
        // Users between requests leave at the end of a request, which is short. Titles are long, so
        // viewers are cut off.
        let leaving = min(source.users.count - wanted, viewers.count)
        guard leaving > 0 else { return }
        source.users.remove(leaving)
        cutOffViewers(atMost: leaving)
    }

    private func startUser(plannedSeconds: Double) {
        let target = source.nextTarget()
        if !startViewer(ofTarget: target, plannedSeconds: plannedSeconds) {
            request(
                WantedObject(index: nextObject(of: target)), .user,
                plannedSeconds: plannedSeconds)
        }
    }

    /// Starts the user's next request or title after the think time, unless there are too many
    /// users.
    func userEnded(atSeconds now: Double) {
        guard life.isRunning, !source.users.leaves(atSeconds: now) else { return }
        let seconds = source.users.thinkSeconds()
        guard seconds > 0 else { return startUser(plannedSeconds: now) }
        loop.schedule(afterSeconds: seconds) { [unowned self] in
            guard life.isRunning, !source.users.leaves(atSeconds: clock.seconds) else { return }
            countIfLate(plannedSeconds: now + seconds, atSeconds: clock.seconds)
            startUser(plannedSeconds: now + seconds)
        }
    }

    private func nextObject(of target: Int) -> Int {
        source.nextObject(of: target, plan.targets[target].objects)
    }
}
