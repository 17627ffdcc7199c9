internal import EventLoop
internal import LoadModel
internal import Model

/// A playing viewer on its loop.
final class ViewerSlot {
    private unowned let loop: LoadLoop
    fileprivate var viewer: Viewer
    private var timer: LoopTimer?
    /// End of its viewer's wait.
    private var dueSeconds = 0.0
    /// True until its first request ends.
    private(set) var isNew = true
    /// Index among the playing viewers; -1 after its end.
    fileprivate var index = -1
    var isOver: Bool { index < 0 }
    /// Index of the libcurl multi handle that has its connection.
    let multi: Int

    init(_ viewer: Viewer, loop: LoadLoop, multi: Int) {
        self.viewer = viewer
        self.multi = multi
        self.loop = loop
    }

    /// Executes the viewer's next action, which was due at `plannedSeconds`.
    fileprivate func go(_ action: Viewer.Action, plannedSeconds: Double) {
        switch action {
        case .fetch(let object): loop.request(object, .viewer(self), plannedSeconds: plannedSeconds)
        case .wait(let until):
            if timer == nil { timer = loop.loop.makeTimer { [unowned self] in waitIsOver() } }
            dueSeconds = until
            timer?.schedule(afterSeconds: until - loop.clock.seconds)
        case .end: loop.viewerEnded(self, isCutOff: false)
        }
    }

    /// Continues after a wait, from the planned end of the wait even if the loop is late.
    private func waitIsOver() {
        let now = loop.clock.seconds
        let action = viewer.next(atSeconds: now)
        let planned = min(dueSeconds, now)
        if case .fetch = action { loop.countIfLate(plannedSeconds: planned, atSeconds: now) }
        go(action, plannedSeconds: planned)
    }

    fileprivate func cancel() { timer?.cancel() }

    /// Handles the end of the viewer's request.
    func ended(_ failure: FailureCode?, bytes: Int64, tookSeconds: Double, atSeconds now: Double) {
        isNew = false
        guard !isOver else { return }
        guard failure == nil else { return go(viewer.failed(atSeconds: now), plannedSeconds: now) }
        viewer.received(
            bytes: bytes, tookSeconds: tookSeconds, atSeconds: now, into: &loop.record.interval)
        go(viewer.next(atSeconds: now), plannedSeconds: now)
    }
}

extension LoadLoop {
    func startViewer(_ title: MediaTitle, _ settings: ViewerSettings, plannedSeconds: Double) {
        let slot = ViewerSlot(
            Viewer(title: title, settings: settings, plannedSeconds: plannedSeconds), loop: self,
            multi: transports.curl?.viewerComes() ?? 0)
        slot.index = viewers.count
        viewers.append(slot)
        record.interval.counts.viewersStarted += 1
        // Counts from the due time, so that a late generator shows.
        slot.go(slot.viewer.next(atSeconds: plannedSeconds), plannedSeconds: plannedSeconds)
    }

    func accountForViewers(toSeconds seconds: Double) {
        for slot in viewers { slot.viewer.account(toSeconds: seconds, into: &record.interval) }
    }

    /// Ends a viewer.
    ///
    /// - Parameter usualStartupSeconds: assumed start-up time of a viewer that is cut off before it
    ///   plays.
    fileprivate func viewerEnded(
        _ slot: ViewerSlot, isCutOff: Bool, usualStartupSeconds: Double = 0
    ) {
        slot.viewer.finish(
            atSeconds: clock.seconds, isCutOff: isCutOff, usualStartupSeconds: usualStartupSeconds,
            into: &record.interval)
        slot.cancel()
        transports.curl?.viewerLeaves(slot.multi)
        let last = viewers.removeLast()
        if last !== slot {
            viewers[slot.index] = last
            last.index = slot.index
        }
        slot.index = -1
        if case .closed = scenario.model, !isCutOff { userEnded(atSeconds: clock.seconds) }
    }

    /// Cuts off viewers in the middle of their titles, at the end of the test or when there are too
    /// many. Their requests in flight continue without them.
    func cutOffViewers(atMost most: Int = .max) {
        guard !viewers.isEmpty else { return }
        let usual = record.usualStartupSeconds
        for slot in viewers.suffix(most).reversed() {
            viewerEnded(slot, isCutOff: true, usualStartupSeconds: usual)
        }
    }
}
