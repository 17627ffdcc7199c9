internal import Curl
internal import EventLoop
internal import Glibc
internal import LoadModel
internal import Model
internal import Statistics

/// From the start over its seconds to the end.
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
            return fail(Failure("worker.internal", error.description))
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

    /// Hands out the seconds that are over.
    private func flushWholeSeconds() {
        let now = clock.seconds
        while phase != .done, Double(interval.second + 1) <= now { flush() }
    }

    /// Hands out the interval of the second that is over, and begins the next.
    private func flush() {
        let start = Double(interval.second)
        let boundary = start + 1
        interval.lengthSeconds = min(max(clock.seconds - start, 0), 1)
        interval.loadSeconds = min(max(loadEndSeconds - start, 0), interval.lengthSeconds)
        // A second that is not over yet is the last one.
        accountForViewers(toSeconds: min(boundary, clock.seconds))
        countDue(atSeconds: min(boundary, clock.seconds))
        takeCPU()
        interval.counts.inFlight = Int64(active.count)
        // A loop that is late may have sent what was due after the second.
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

    /// Its time is over: nothing new is begun. Or that of the last requests is.
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

    /// Lets what is under way end. Each request was sent by now, so that after the timeout of a request none is
    /// left that has not had it.
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

    /// What is due and was not sent never will be.
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
