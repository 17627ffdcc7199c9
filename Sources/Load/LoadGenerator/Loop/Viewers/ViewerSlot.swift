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
    /// The URLs at which its manifests were received.
    fileprivate(set) var moves = ManifestMoves()
    /// Nil for a title with one pathway.
    fileprivate(set) var steering: ViewerSteering?
    /// Index of its class; -1 without classes.
    fileprivate let type: Int
    private let roundTripSeconds: Double
    /// By lane: a request that waits for its round trip.
    private var delayed: [Delayed]

    private struct Delayed {
        var timer: LoopTimer?
        var object = WantedObject(index: 0)
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
        _ object: WantedObject, _ lane: ViewerLane, plannedSeconds: Double
    ) {
        guard roundTripSeconds > 0 else {
            return send(object, lane, plannedSeconds: plannedSeconds)
        }
        let index = lane.rawValue
        // A new connection takes one more.
        let opens =
            isNew && loop.transports.capacity.opensConnections || !loop.scenario.http.keepsAlive
        let seconds = roundTripSeconds * (opens ? 2 : 1)
        delayed[index].object = object
        delayed[index].seconds = seconds
        if delayed[index].timer == nil {
            delayed[index].timer = loop.loop.makeTimer { [unowned self] in
                guard !isOver else { return }
                send(delayed[index].object, lane, plannedSeconds: loop.clock.seconds)
            }
        }
        delayed[index].timer?.schedule(afterSeconds: seconds)
    }

    private func send(_ object: WantedObject, _ lane: ViewerLane, plannedSeconds: Double) {
        var detour: Detour?
        if let steering {
            detour = steering.detour(of: object, moves)
        } else if !moves.isEmpty, let url = moves.url(of: loop.object(object)) {
            detour = loop.detour(to: url)
        }
        loop.request(object, .viewer(self, lane), detour, plannedSeconds: plannedSeconds)
    }

    /// Records that its first connection is open.
    final func hasConnected() { isNew = false }

    /// Records where a manifest was received: what it lists on its own origin follows it.
    fileprivate final func received(_ request: LoadRequest) {
        let isElsewhere = request.detour != nil || request.object.entry?.object.locations != nil
        guard isElsewhere || !moves.isEmpty || !loop.plan.finalURLs.isEmpty,
            loop.object(request.object).role == .playlist
        else { return }
        moves.received(
            Int32(request.object.countsAs), at: request.url, in: loop.plan)
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

    func cancel() {
        for request in delayed { request.timer?.cancel() }
        steering?.cancel()
    }

    /// Reads the answer of the steering server; returns the failure that it is.
    final func readSteering(_ request: LoadRequest, atSeconds now: Double) -> FailureCode? {
        isOver ? nil : steering?.read(request, atSeconds: now)
    }

    /// Handles the end of a request of the steering manifest.
    func steeringEnded(_ request: LoadRequest, _ failure: FailureCode?, atSeconds now: Double) {}

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
    /// Its title by pathway; one for all service locations of DASH.
    private let titles: [Player.Title]

    /// - Parameters:
    ///   - titles: its title by pathway.
    ///   - source: nil for one pathway.
    init(
        _ viewer: Player, _ titles: [Player.Title], _ source: SteeringSource?, loop: LoadLoop,
        multi: Int, _ traits: ViewerTraits
    ) {
        self.viewer = viewer
        self.titles = titles
        states = Array(repeating: LaneState(), count: viewer.lanes)
        super.init(loop: loop, multi: multi, traits)
        guard let source else { return }
        steering = ViewerSteering(source, self) { [unowned self] in self.viewer.throughput }
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
        let position = lane.rawValue
        switch action {
        case .fetch(let index):
            guard let object = loop.wanted(index) else {
                return loop.fail(Failure(.workerInternal, "object \(index) is not listed"))
            }
            states[position].isRequesting = true
            states[position].timer?.cancel()
            request(object, lane, plannedSeconds: plannedSeconds)
        case .wait(let until):
            states[position].dueSeconds = until
            guard until < .infinity else {
                states[position].timer?.cancel()
                return
            }
            if states[position].timer == nil {
                states[position].timer = loop.loop.makeTimer { [unowned self] in waitIsOver(lane) }
            }
            states[position].timer?.schedule(afterSeconds: until - loop.clock.seconds)
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

    // MARK: Pathways

    override func steeringEnded(
        _ request: LoadRequest, _ failure: FailureCode?, atSeconds now: Double
    ) {
        guard !isOver, let steering else { return }
        if failure != nil { steering.failed(request, atSeconds: now) }
        if steering.client.choose(atSeconds: now) { change(failed: nil, atSeconds: now) }
        steering.proceed(atSeconds: now)
        if !states.contains(where: \.isRequesting) { proceed(.video, atSeconds: now) }
    }

    /// Moves the viewer to the chosen pathway.
    private func change(failed: ViewerLane?, atSeconds now: Double) {
        guard let client = steering?.client else { return }
        loop.record.interval.counts.pathways.changes += 1
        // What service locations serve is the same.
        if client.form == .hls {
            viewer.change(to: titles[min(client.current.origin, titles.count - 1)], failed: failed)
        } else if let failed {
            viewer.retry(failed)
        }
    }

    /// Returns true if the viewer left the pathway on which a lane's last try has failed.
    private func leavesPathway(
        _ lane: ViewerLane, _ request: LoadRequest, atSeconds now: Double
    ) -> Bool {
        guard let steering, let pathway = request.detour?.pathway, viewer.isLastTry(lane) else {
            return false
        }
        let object = loop.object(request.object)
        if pathway == steering.client.pathway(of: object) {
            let departure = steering.client.pathwayFailed(of: object, atSeconds: now)
            guard departure.hasChanged else { return false }
            loop.record.interval.counts.pathways.failures += 1
            change(failed: departure.movesObject ? lane : nil, atSeconds: now)
            return departure.movesObject
        } else {
            viewer.retry(lane)
        }
        return true
    }

    override func readsBody(_ lane: ViewerLane) -> Bool { viewer.readsBody(lane) }

    override func ended(
        _ lane: ViewerLane, _ failure: FailureCode?, _ request: LoadRequest, tookSeconds: Double,
        atSeconds now: Double
    ) {
        isNew = false
        guard !isOver else { return }
        states[lane.rawValue].isRequesting = false
        guard failure == nil else { return failed(lane, request, atSeconds: now) }
        received(request)
        do throws(Failure) {
            try viewer.received(
                lane, bytes: request.response.bytes, body: request.text.bytes,
                tookSeconds: tookSeconds + delaySeconds(lane), atSeconds: now,
                into: &loop.record.interval)
        } catch {
            loop.record.interval.counts.live.stalePlaylists += 1
            return failed(lane, request, atSeconds: now)
        }
        if let steering, loop.object(request.object).manifest < 0 {
            steering.begin(atSeconds: now)
            // Continues when the server has answered.
            if steering.client.holdsStart { return }
        }
        proceed(lane, atSeconds: now)
    }

    private func failed(_ lane: ViewerLane, _ request: LoadRequest, atSeconds now: Double) {
        if leavesPathway(lane, request, atSeconds: now) { return proceed(lane, atSeconds: now) }
        go(lane, viewer.failed(lane, atSeconds: now), plannedSeconds: now)
    }
}
