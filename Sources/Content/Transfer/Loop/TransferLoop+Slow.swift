internal import EventLoop
internal import Model

/// Periodic checks for timeouts and slow transfers.
extension TransferLoop {
    func tick() {
        // A loop may be busy for a long time.
        unhashed?.hash()
        let now = MonotonicClock.nowSeconds
        judge(now: now)
        for running in active.values where running.mayShareConnection && running.hasAdvanced() {
            noteTraffic(running, now: now)
        }
        for running in Array(active.values) {
            guard let overdue = running.overdue(now: now) else { continue }
            if running.mayShareConnection { closeIfSilent(running, since: overdue.since) }
            running.end(overdue.failure)
        }
        if !active.isEmpty { timers?.tickAgain(afterSeconds: options.tickSeconds) }
    }

    // MARK: Slow transfers

    /// Reports the pace of transfers that were observed for long enough.
    private func judge(now: Double) {
        let seconds = timers?.ticked(now: now) ?? 0
        guard let policy = options.slow else { return }
        // A loop that was itself delayed cannot judge any pace.
        let isLate = seconds > 3 * options.tickSeconds
        var judgements: [Judgement] = []
        for running in active.values {
            let pace = running.paceNow(policy, isLate: isLate, now: now)
            guard pace != .unknown else { continue }
            judgements.append(
                Judgement(
                    transfer: running.transfer.id, origins: origins(of: running, now: now),
                    pace: pace,
                    bytesAtRisk: running.bytesAtRisk, mayStop: running.canStop,
                    losses: running.isStoppable ? running.route.losses : nil,
                    slowSeconds: running.watch.slowSeconds))
        }
        if !judgements.isEmpty { perform(scheduler.judge(judgements, on: index, now: now)) }
    }

    /// Returns the origin that a transfer uses now, and that of its own URL after redirects to
    /// another one.
    private func origins(of running: ActiveTransfer, now: Double) -> [OriginState] {
        guard running.route.redirects > 0 else { return [running.origin] }
        let home = scheduler.origin(ofURL: running.request.url, now: now)
        return home === running.origin ? [home] : [running.origin, home]
    }

    /// Adds the pace that a transfer's end shows.
    func note(_ ended: ActiveTransfer, in release: inout OriginScheduler.Release) {
        guard let policy = options.slow else { return }
        if case .ended(let seconds) = release.ending {
            release.pace = ended.paceAtEnd(policy, seconds: seconds)
        }
        guard ended.route.redirects > 0 else { return }
        release.home = origins(of: ended, now: MonotonicClock.nowSeconds).dropFirst().first
    }

    /// Stops a slow transfer whose slot others wait for; it resumes when it gets a slow slot.
    func stop(_ id: UInt64) {
        guard let running = active[id] else { return }
        guard running.isStoppable, !running.life.isEnding else { return scheduler.keep(id) }
        // The rest of a split file already belongs to other jobs, which this first part must match.
        let isFirstPart = running.life.receiving?.terms.isFirstPart == true
        guard !isFirstPart else { return running.end(.gaveWay) }
        let now = MonotonicClock.nowSeconds
        remove(running.easy)
        let isKept = running.leaveUntilResumed()
        running.transfer.handle(.stop)
        let url = running.request.url
        let waiting = Waiting(
            transfer: running.transfer, origin: scheduler.origin(ofURL: url, now: now),
            route: Route(
                url: url, redirects: 0, isAtOrigin: true, startedAt: running.route.startedAt,
                stoppedAt: now, losses: isKept ? 0 : running.route.losses + 1))
        let from = running.origin
        guard leave(running) else { return }
        let release = OriginScheduler.Release(origin: from, transfer: id, ending: .silent)
        let (waits, effects) = scheduler.stop(waiting, from: release, on: index, now: now)
        settle(from)
        perform(effects)
        if !waits { running.transfer.cancelUnstarted() }
        fill()
    }
}

extension Failure {
    static let gaveWay = Failure(
        .workerCancelled, "the transfer was slow, and others waited for its connection")
}
