internal import EventLoop
internal import LoadModel
internal import Model

/// A playing viewer on its loop: a `PlayerSlot`.
class ViewerSlot {
    unowned let loop: LoadLoop
    /// True until its first request ends.
    fileprivate(set) var isNew = true
    /// Index among the playing viewers; -1 after its end.
    var index = -1
    var isOver: Bool { index < 0 }
    /// Index of the libcurl multi handle that has its connection.
    let multi: Int
    /// Nil without a limit.
    let link: ViewerLink?
    /// Nil if its requests are those of all.
    let addition: ViewerAddition?
    /// Index of its class; -1 without classes.
    fileprivate let type: Int
    private let roundTripSeconds: Double
    /// By lane: a request that waits for its round trip.
    private var delayed: [Delayed]

    private struct Delayed {
        var timer: LoopTimer?
        var object = 0
        var seconds = 0.0
    }

    init(loop: LoadLoop, multi: Int, _ traits: ViewerTraits) {
        self.loop = loop
        self.multi = multi
        link =
            traits.bitsPerSecond < .infinity
            ? ViewerLink(bitsPerSecond: traits.bitsPerSecond) : nil
        addition = loop.addition(ofRow: traits.row)
        type = traits.type
        roundTripSeconds = traits.roundTripSeconds
        delayed =
            roundTripSeconds > 0
            ? Array(repeating: Delayed(), count: ViewerLane.allCases.count) : []
    }

    /// Requests an object, after the viewer's round trip.
    ///
    /// Latencies count from its end: they are the server's. The viewer's own figures include it.
    fileprivate final func request(
        _ object: Int, _ lane: ViewerLane, plannedSeconds: Double
    ) {
        guard roundTripSeconds > 0 else {
            return loop.request(object, .viewer(self, lane), plannedSeconds: plannedSeconds)
        }
        let place = lane.rawValue
        // A new connection takes one more.
        let opens = isNew && loop.capacity.opensConnections || !loop.scenario.http.keepsAlive
        let seconds = roundTripSeconds * (opens ? 2 : 1)
        delayed[place].object = object
        delayed[place].seconds = seconds
        if delayed[place].timer == nil {
            delayed[place].timer = loop.loop.makeTimer { [unowned self] in
                guard !isOver else { return }
                loop.request(
                    delayed[place].object, .viewer(self, lane), plannedSeconds: loop.clock.seconds)
            }
        }
        delayed[place].timer?.schedule(afterSeconds: seconds)
    }

    /// The round trips of a lane's last request.
    fileprivate final func delaySeconds(_ lane: ViewerLane) -> Double {
        delayed.isEmpty ? 0 : delayed[lane.rawValue].seconds
    }

    /// Returns true, once, if it leaves because it has waited too long.
    func abandons(atSeconds now: Double) -> Bool { false }

    /// Executes the first action, which was due at `plannedSeconds`.
    func begin(plannedSeconds: Double) {}

    func account(toSeconds seconds: Double) {}

    func finish(isCutOff: Bool, usualStartupSeconds: Double) {}

    func cancel() { for request in delayed { request.timer?.cancel() } }

    /// Returns true if the body of a lane's request is needed.
    func readsBody(_ lane: ViewerLane) -> Bool { false }

    /// Handles the end of a lane's request.
    func ended(
        _ lane: ViewerLane, _ failure: FailureCode?, _ request: LoadRequest,
        tookSeconds: Double, atSeconds now: Double
    ) {}
}

/// A slot for one kind of viewers.
final class PlayerSlot<Player: PlayingViewer>: ViewerSlot {
    /// The state of a lane.
    private struct LaneState {
        var timer: LoopTimer?
        /// End of its wait.
        var dueSeconds = 0.0
        var isRequesting = false
    }

    private var viewer: Player
    private var states: [LaneState]

    init(_ viewer: Player, loop: LoadLoop, multi: Int, _ traits: ViewerTraits) {
        self.viewer = viewer
        states = Array(repeating: LaneState(), count: viewer.lanes)
        super.init(loop: loop, multi: multi, traits)
    }

    override func begin(plannedSeconds: Double) {
        proceed(.video, atSeconds: plannedSeconds)
    }

    /// Executes the next action of a lane, and those of others that wait.
    private func proceed(_ lane: ViewerLane, atSeconds now: Double) {
        go(lane, viewer.next(lane, atSeconds: now), plannedSeconds: now)
        proceedOthers(lane, atSeconds: now)
    }

    private func proceedOthers(_ lane: ViewerLane, atSeconds now: Double) {
        guard states.count > 1 else { return }
        let other: ViewerLane = lane == .video ? .audio : .video
        guard !isOver, !states[other.rawValue].isRequesting else { return }
        go(other, viewer.next(other, atSeconds: now), plannedSeconds: now)
    }

    /// Executes an action of a lane, which was due at `plannedSeconds`.
    private func go(_ lane: ViewerLane, _ action: Viewer.Action, plannedSeconds: Double) {
        let place = lane.rawValue
        switch action {
        case .fetch(let object):
            states[place].isRequesting = true
            states[place].timer?.cancel()
            request(object, lane, plannedSeconds: plannedSeconds)
        case .wait(let until):
            states[place].dueSeconds = until
            guard until < .infinity else {
                states[place].timer?.cancel()
                return
            }
            if states[place].timer == nil {
                states[place].timer = loop.loop.makeTimer { [unowned self] in waitIsOver(lane) }
            }
            states[place].timer?.schedule(afterSeconds: until - loop.clock.seconds)
        case .end: loop.viewerEnded(self, isCutOff: false)
        }
    }

    /// Continues after a wait, from the planned end of the wait even if the loop is late.
    private func waitIsOver(_ lane: ViewerLane) {
        let now = loop.clock.seconds
        let planned = min(states[lane.rawValue].dueSeconds, now)
        let action = viewer.next(lane, atSeconds: now)
        if case .fetch = action { loop.countIfLate(plannedSeconds: planned, atSeconds: now) }
        go(lane, action, plannedSeconds: planned)
        proceedOthers(lane, atSeconds: now)
    }

    override func account(toSeconds seconds: Double) {
        viewer.account(toSeconds: seconds, into: &loop.record.interval)
    }

    override func abandons(atSeconds now: Double) -> Bool { viewer.abandons(atSeconds: now) }

    override func finish(isCutOff: Bool, usualStartupSeconds: Double) {
        viewer.finish(
            atSeconds: loop.clock.seconds, isCutOff: isCutOff,
            usualStartupSeconds: usualStartupSeconds, into: &loop.record.interval)
        loop.addTotals(viewer.totals, ofClass: type)
    }

    override func cancel() {
        super.cancel()
        for state in states { state.timer?.cancel() }
    }

    override func readsBody(_ lane: ViewerLane) -> Bool { viewer.readsBody(lane) }

    override func ended(
        _ lane: ViewerLane, _ failure: FailureCode?, _ request: LoadRequest, tookSeconds: Double,
        atSeconds now: Double
    ) {
        isNew = false
        guard !isOver else { return }
        states[lane.rawValue].isRequesting = false
        guard failure == nil else {
            return go(lane, viewer.failed(lane, atSeconds: now), plannedSeconds: now)
        }
        do throws(Failure) {
            try viewer.received(
                lane, bytes: request.bytes, body: request.text,
                tookSeconds: tookSeconds + delaySeconds(lane), atSeconds: now,
                into: &loop.record.interval)
        } catch {
            loop.record.interval.counts.stalePlaylists += 1
            return go(lane, viewer.failed(lane, atSeconds: now), plannedSeconds: now)
        }
        proceed(lane, atSeconds: now)
    }
}
