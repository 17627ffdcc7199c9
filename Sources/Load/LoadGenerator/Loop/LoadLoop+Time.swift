internal import Curl
internal import EventLoop
internal import LoadModel
internal import Model

/// Runs the loop from its start, second by second, to its end.
extension LoadLoop {
    func begin(_ clock: LoadClock) {
        guard life.phase == .waiting else { return }
        self.clock = clock
        record.cpu.start()
        timers = LoopTimers(
            second: loop.makeTimer { [unowned self] in secondTick() },
            end: loop.makeTimer { [unowned self] in endTick() },
            arrival: loop.makeTimer { [unowned self] in pump() },
            level: loop.makeTimer { [unowned self] in levelTick() })
        do throws(CurlError) {
            try transports.open(for: self)
        } catch {
            return fail(Failure(.workerInternal, error.description))
        }
        let now = clock.seconds
        if plan.targets.contains(where: { $0.live != nil }) {
            viewers.live = LoopLive(plan, transports.routes, atSeconds: now)
        }
        let wait = -now
        loop.schedule(afterSeconds: wait) { [unowned self] in run() }
    }

    private func run() {
        guard life.phase == .waiting else { return }
        life.run()
        timers?.second.schedule(afterSeconds: 1 - clock.seconds)
        timers?.end.schedule(afterSeconds: life.durationSeconds - clock.seconds)
        if life.isCapped { return drain(.capped) }
        beginArrivals()
    }

    private func secondTick() {
        flushWholeSeconds()
        guard !life.isDone else { return }
        timers?.second.schedule(
            afterSeconds: Double(record.interval.second + 1) - clock.seconds)
    }

    /// Delivers the seconds that have passed.
    private func flushWholeSeconds() {
        let now = clock.seconds
        while !life.isDone, Double(record.interval.second + 1) <= now { flush() }
    }

    /// Delivers the interval of the current second and begins the next.
    private func flush() {
        let start = Double(record.interval.second)
        let boundary = start + 1
        let length = min(max(clock.seconds - start, 0), 1)
        record.interval.lengthSeconds = length
        record.interval.loadSeconds = life.loadSeconds(from: start, length: length)
        // A second that has not passed yet is the last one.
        accountForViewers(toSeconds: min(boundary, clock.seconds))
        countDue(atSeconds: min(boundary, clock.seconds))
        record.takeCPU(isAfterLoad: life.hasLoadEnded(clock.seconds))
        record.interval.counts.levels.inFlight = Int64(slots.active.count)
        record.interval.counts.levels.backlog = source.backlog + Int64(slots.waitingCount)
        record.interval.counts.levels.viewers = Int64(viewers.count)
        record.interval.isMeasured = start >= scenario.warmUpSeconds
        onInterval(record.nextInterval())
    }

    /// Starts draining at the end of the load, and ends the loop at the end of draining.
    private func endTick() {
        switch life.phase {
        case .running:
            pump()
            drain(.finished)
        case .draining:
            flushWholeSeconds()
            for request in slots.active { expire(request) }
            slots.removeActive()
            end(life.ending)
        case .waiting, .done: return
        }
    }

    /// Lets requests in flight end. All were sent before now, so after one request timeout none is
    /// left.
    func drain(_ ending: LoadResult.Ending) {
        guard life.isRunning else { return }
        flushWholeSeconds()
        countDue(atSeconds: clock.seconds)
        life.drain(ending, atSeconds: clock.seconds)
        record.takeCPU(isAfterLoad: life.hasLoadEnded(clock.seconds))
        dropUnsent()
        guard !slots.active.isEmpty else { return end(ending) }
        timers?.end.schedule(afterSeconds: scenario.http.timeoutSeconds)
    }

    /// Drops arrivals that are due but were not sent.
    private func dropUnsent() {
        record.interval.counts.pacing.missedSends +=
            source.dropBacklog() + Int64(slots.dropWaiting())
        timers?.cancelLoad()
        cutOffViewers()
    }

    func fail(_ failure: Failure) {
        life.fail(failure)
        end(.finished)
    }

    func end(_ ending: LoadResult.Ending) {
        guard !life.isDone else { return }
        let wasStarted = life.phase != .waiting
        if wasStarted { flushWholeSeconds() }
        life.endLoad(atSeconds: clock.seconds)
        countDue(atSeconds: clock.seconds)
        if life.isRunning { dropUnsent() }
        for request in slots.active { leaveUnfinished(request) }
        slots.removeActive()
        if wasStarted { flush() }
        life.end()
        transports.close()
        transports.removeAll()
        slots.removeIdle()
        timers?.cancelAll()
        onEnd(
            LoadLoopEnd(
                lastSecond: wasStarted ? record.interval.second - 1 : -1,
                seconds: max(clock.seconds, 0), loadSeconds: max(life.loadEndSeconds, 0),
                ending: ending, failure: life.failure,
                tallies: record.tallies, groups: record.groups, classes: viewers.classes))
    }
}
