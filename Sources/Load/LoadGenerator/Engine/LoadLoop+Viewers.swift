internal import EventLoop
internal import LoadModel
internal import Model
internal import Statistics

/// A viewer that plays, on its loop.
final class ViewerSlot {
    private unowned let loop: LoadLoop
    fileprivate var viewer: Viewer
    private var timer: LoopTimer?
    /// When its viewer's wait is over.
    private var dueSeconds = 0.0
    /// Nothing of it has come yet.
    private(set) var isNew = true
    /// Its place among those that play; -1 when it is over.
    fileprivate var place = -1
    var isOver: Bool { place < 0 }
    /// Which of libcurl's multi handles has its connection.
    let multi: Int

    init(_ viewer: Viewer, loop: LoadLoop, multi: Int) {
        self.viewer = viewer
        self.multi = multi
        self.loop = loop
    }

    /// Does what its viewer wants next, and wanted from `plannedSeconds` on.
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

    /// Goes on from when its viewer was to, however late the loop is with that.
    private func waitIsOver() {
        let now = loop.clock.seconds
        let action = viewer.next(atSeconds: now)
        let planned = min(dueSeconds, now)
        if case .fetch = action { loop.countIfLate(plannedSeconds: planned, atSeconds: now) }
        go(action, plannedSeconds: planned)
    }

    fileprivate func cancel() { timer?.cancel() }

    /// The request that it waited for is over.
    func ended(_ failure: FailureCode?, bytes: Int64, tookSeconds: Double, atSeconds now: Double) {
        isNew = false
        guard !isOver else { return }
        guard failure == nil else { return go(viewer.failed(atSeconds: now), plannedSeconds: now) }
        viewer.received(
            bytes: bytes, tookSeconds: tookSeconds, atSeconds: now, into: &loop.interval)
        go(viewer.next(atSeconds: now), plannedSeconds: now)
    }
}

extension LoadLoop {
    func startViewer(_ title: MediaTitle, _ settings: ViewerSettings, plannedSeconds: Double) {
        let slot = ViewerSlot(
            Viewer(title: title, settings: settings, plannedSeconds: plannedSeconds), loop: self,
            multi: curl?.viewerComes() ?? 0)
        slot.place = viewers.count
        viewers.append(slot)
        interval.counts.viewersStarted += 1
        // From when it was due on, not from when the generator had time for it.
        slot.go(slot.viewer.next(atSeconds: plannedSeconds), plannedSeconds: plannedSeconds)
    }

    func accountForViewers(toSeconds seconds: Double) {
        for slot in viewers { slot.viewer.account(toSeconds: seconds, into: &interval) }
    }

    /// - Parameter usualStartupSeconds: of one that is cut off before it began to play.
    fileprivate func viewerEnded(
        _ slot: ViewerSlot, isCutOff: Bool, usualStartupSeconds: Double = 0
    ) {
        slot.viewer.finish(
            atSeconds: clock.seconds, isCutOff: isCutOff, usualStartupSeconds: usualStartupSeconds,
            into: &interval)
        slot.cancel()
        curl?.viewerLeaves(slot.multi)
        let last = viewers.removeLast()
        if last !== slot {
            viewers[slot.place] = last
            last.place = slot.place
        }
        slot.place = -1
        if case .closed = scenario.model, !isCutOff { userEnded(atSeconds: clock.seconds) }
    }

    /// The test is over, or for so many of them: they leave in the midst of their titles. A request that is under
    /// way goes on without its viewer.
    func cutOffViewers(atMost most: Int = .max) {
        guard !viewers.isEmpty else { return }
        let usual = usualStartupSeconds
        for slot in viewers.suffix(most).reversed() {
            viewerEnded(slot, isCutOff: true, usualStartupSeconds: usual)
        }
    }

    /// The mean start-up time so far, of this loop; 0 before there is one.
    private var usualStartupSeconds: Double {
        let new = interval[.startup]
        let count = startups.count + (new?.total ?? 0)
        let sum = startups.sum + (new.map { $0.mean * Double($0.total) } ?? 0)
        return count > 0 ? sum / Double(count) / 1e6 : 0
    }
}
