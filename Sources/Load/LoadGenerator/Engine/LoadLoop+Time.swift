internal import Curl
internal import EventLoop
internal import Glibc
internal import LoadModel
internal import Model
internal import Statistics

/// Runs the loop from its start, second by second, to its end.
extension LoadLoop {
    func begin(_ clock: LoadClock) {
        guard phase == .waiting else { return }
        self.clock = clock
        cpuSeconds = Self.threadSeconds
        secondTimer = loop.makeTimer { [unowned self] in secondTick() }
        endTimer = loop.makeTimer { [unowned self] in endTick() }
        arrivalTimer = loop.makeTimer { [unowned self] in pump() }
        levelTimer = loop.makeTimer { [unowned self] in levelTick() }
        do throws(CurlError) {
            try openTransports()
        } catch {
            return fail(Failure(.workerInternal, error.description))
        }
        let wait = -clock.seconds
        loop.schedule(afterSeconds: wait) { [unowned self] in run() }
    }

    private func run() {
        guard phase == .waiting else { return }
        phase = .running
        secondTimer?.schedule(afterSeconds: 1 - clock.seconds)
        endTimer?.schedule(afterSeconds: durationSeconds - clock.seconds)
        if isCapped { return drain(.capped) }
        beginArrivals()
    }

    private func secondTick() {
        flushWholeSeconds()
        guard phase != .done else { return }
        secondTimer?.schedule(afterSeconds: Double(interval.second + 1) - clock.seconds)
    }

    /// Delivers the seconds that have passed.
    private func flushWholeSeconds() {
        let now = clock.seconds
        while phase != .done, Double(interval.second + 1) <= now { flush() }
    }

    /// Delivers the interval of the current second and begins the next.
    private func flush() {
        let start = Double(interval.second)
        let boundary = start + 1
        interval.lengthSeconds = min(max(clock.seconds - start, 0), 1)
        interval.loadSeconds = min(max(loadEndSeconds - start, 0), interval.lengthSeconds)
        // A second that has not passed yet is the last one.
        accountForViewers(toSeconds: min(boundary, clock.seconds))
        countDue(atSeconds: min(boundary, clock.seconds))
        takeCPU()
        interval.counts.inFlight = Int64(active.count)
        // A late loop may have sent arrivals that were due after the second.
        interval.counts.backlog = max(dueCount - arrivedCount, 0) + Int64(waiting.count)
        interval.counts.viewers = Int64(viewers.count)
        interval.isMeasured = Double(interval.second) >= scenario.warmUpSeconds
        if let startup = interval[.startup] {
            startups.count += startup.total
            startups.sum += startup.mean * Double(startup.total)
        }
        let whole = interval
        interval = LoadInterval(second: whole.second + 1)
        onInterval(whole)
    }

    /// Adds the CPU time since the last call.
    private func takeCPU() {
        let cpu = Self.threadSeconds
        interval.counts.cpuSeconds += cpu - cpuSeconds
        if isAfterEnd { interval.counts.cpuSecondsAfterEnd += cpu - cpuSeconds }
        cpuSeconds = cpu
        isAfterEnd = clock.seconds >= durationSeconds
    }

    /// Starts draining at the end of the load, and ends the loop at the end of draining.
    private func endTick() {
        switch phase {
        case .running:
            pump()
            takeCPU()
            drain(.finished)
        case .draining:
            flushWholeSeconds()
            for request in active { expire(request) }
            active.removeAll()
            end(ending)
        case .waiting, .done: return
        }
    }

    /// Lets requests in flight end. All were sent before now, so after one request timeout none is
    /// left.
    func drain(_ ending: LoadResult.Ending) {
        guard phase == .running else { return }
        flushWholeSeconds()
        loadEndSeconds = clock.seconds
        countDue(atSeconds: clock.seconds)
        phase = .draining
        self.ending = ending
        dropUnsent()
        guard !active.isEmpty else { return end(ending) }
        endTimer?.schedule(afterSeconds: scenario.http.timeoutSeconds)
    }

    /// Drops arrivals that are due but were not sent.
    private func dropUnsent() {
        interval.counts.missedSends += dueCount - arrivedCount + Int64(waiting.count)
        dueCount = arrivedCount
        waiting.removeAll()
        arrivalTimer?.cancel()
        levelTimer?.cancel()
        cutOffViewers()
    }

    func fail(_ failure: Failure) {
        self.failure = failure
        end(.finished)
    }

    func end(_ ending: LoadResult.Ending) {
        guard phase != .done else { return }
        let wasStarted = phase != .waiting
        if wasStarted { flushWholeSeconds() }
        loadEndSeconds = min(loadEndSeconds, clock.seconds)
        countDue(atSeconds: clock.seconds)
        if phase == .running { dropUnsent() }
        for request in active { leaveUnfinished(request) }
        active.removeAll()
        if wasStarted { flush() }
        phase = .done
        http1?.close()
        curl?.close()
        (http1, curl) = (nil, nil)
        idle.removeAll()
        for timer in [secondTimer, endTimer, arrivalTimer, levelTimer] { timer?.cancel() }
        onEnd(
            LoadLoopEnd(
                lastSecond: wasStarted ? interval.second - 1 : -1, seconds: max(clock.seconds, 0),
                ending: ending, failure: failure, tallies: tallies))
    }

    private static var threadSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
