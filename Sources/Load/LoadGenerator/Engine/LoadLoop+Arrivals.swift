internal import EventLoop
internal import LoadModel
internal import Statistics

/// Starts arrivals: at the planned times of the open model, or at the end of the previous request.
extension LoadLoop {
    func beginArrivals() {
        guard case .open(let process) = scenario.model else { return levelTick() }
        let schedule = ArrivalSchedule(
            stages: scenario.stages, process: process, share: share, seed: scenario.seed)
        arrivals = schedule
        dueArrivals = schedule
        nextArrival = arrivals?.next()
        nextDue = dueArrivals?.next()
        pump()
    }

    // MARK: Open

    /// Sends due arrivals while slots are free.
    func pump() {
        guard phase == .running else { return }
        let now = clock.seconds
        while let planned = nextArrival, planned <= now, phase == .running {
            guard active.count < places || isViewers else {
                isBlocked = true
                return
            }
            nextArrival = arrivals?.next()
            arrivedCount += 1
            if planned < blockedUntil { interval.counts.queued += 1 }
            // An arrival that waited for a slot is not late because of this loop.
            countIfLate(plannedSeconds: max(planned, blockedUntil), atSeconds: now)
            arrive(plannedSeconds: planned)
        }
        if let next = nextArrival { arrivalTimer?.schedule(afterSeconds: next - clock.seconds) }
    }

    /// Counts an arrival as late if a slot was free when it was due.
    func countIfLate(plannedSeconds: Double, atSeconds now: Double) {
        guard now - plannedSeconds > LoadHealth.lateSeconds, active.count < places else { return }
        interval.counts.lateSends += 1
    }

    private var isViewers: Bool {
        if case .viewers = scenario.user { true } else { false }
    }

    private func arrive(plannedSeconds: Double) {
        let target = picker.next()
        if case .viewers(let settings) = scenario.user, let title = plan.targets[target].title {
            guard viewers.count < maxViewers else {
                interval.counts.viewersRefused += 1
                interval.counts.missedSends += 1
                return
            }
            startViewer(title, settings, plannedSeconds: plannedSeconds)
        } else {
            send(nextObject(of: target), .arrival, plannedSeconds: plannedSeconds)
        }
    }

    /// Uses a free slot, first for waiting requests.
    func placeIsFree(atSeconds now: Double) {
        while active.count < places, let entry = waiting.popFirst() {
            if case .viewer(let slot) = entry.owner, slot.isOver { continue }
            send(entry.object, entry.owner, plannedSeconds: entry.plannedSeconds)
        }
        guard isBlocked, active.count < places else { return }
        isBlocked = false
        blockedUntil = now
        pump()
    }

    /// Counts the arrivals that are due up to `seconds`.
    func countDue(atSeconds seconds: Double) {
        guard phase == .running, dueArrivals != nil else { return }
        while let due = nextDue, due <= seconds {
            interval.counts.planned += 1
            dueCount += 1
            nextDue = dueArrivals?.next()
        }
    }

    // MARK: Closed

    /// Seconds between two adjustments of the number of users.
    private static let levelSeconds = 0.1

    /// Adjusts the number of users to the stages, periodically.
    func levelTick() {
        guard phase == .running else { return }
        adjustUsers(atSeconds: clock.seconds)
        levelTimer?.schedule(afterSeconds: Self.levelSeconds)
    }

    private func adjustUsers(atSeconds now: Double) {
        let wanted = levels.closedUsers(atSeconds: now)
        while users < wanted, phase == .running {
            users += 1
            startUser(plannedSeconds: now)
        }
        // Users between requests leave at the end of a request, which is short. Titles are long, so
        // viewers are cut off.
        let leaving = min(users - wanted, viewers.count)
        guard leaving > 0 else { return }
        users -= leaving
        cutOffViewers(atMost: leaving)
    }

    private func startUser(plannedSeconds: Double) {
        let target = picker.next()
        if case .viewers(let settings) = scenario.user, let title = plan.targets[target].title {
            startViewer(title, settings, plannedSeconds: plannedSeconds)
        } else {
            request(nextObject(of: target), .user, plannedSeconds: plannedSeconds)
        }
    }

    /// Starts the user's next request or title after the think time, unless there are too many
    /// users.
    func userEnded(atSeconds now: Double) {
        guard phase == .running, !leaves(atSeconds: now) else { return }
        let seconds = thinkSeconds()
        guard seconds > 0 else { return startUser(plannedSeconds: now) }
        loop.schedule(afterSeconds: seconds) { [unowned self] in
            guard phase == .running, !leaves(atSeconds: clock.seconds) else { return }
            countIfLate(plannedSeconds: now + seconds, atSeconds: clock.seconds)
            startUser(plannedSeconds: now + seconds)
        }
    }

    /// Returns true and removes the user if there are more users than the stages specify.
    private func leaves(atSeconds now: Double) -> Bool {
        guard users > levels.closedUsers(atSeconds: now) else { return false }
        users -= 1
        return true
    }

    private func thinkSeconds() -> Double {
        switch scenario.think {
        case .none: 0
        case .constant(let seconds): seconds
        case .exponential(let mean): thinking.exponential(mean: mean)
        }
    }

    /// Returns the next object of a target, in rotation.
    private func nextObject(of target: Int) -> Int {
        let objects = plan.targets[target].objects
        let cursor = Int(cursors[target])
        cursors[target] = Int32(cursor + 1 < objects.count ? cursor + 1 : 0)
        return objects.lowerBound + cursor
    }
}
