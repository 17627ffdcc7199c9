internal import Catalog
internal import Curl
internal import Digest
internal import EventLoop
internal import Glibc
internal import LoadTest
internal import Model
internal import Planner
internal import Transfer

/// One thread of a load generator: its part of the arrivals or users, its connections, its counts.
///
/// `@unchecked`: everything but `start` and `stop` runs on the loop's thread, which `EventLoop` and
/// `CurlMulti` check.
final class LoadLoop: @unchecked Sendable {
    enum Phase {
        case waiting
        case running
        /// Its time is over; what is under way may end.
        case draining
        case done
    }

    let loop: EventLoop
    let plan: LoadPlan
    let scenario: LoadScenario
    let share: LoadShare
    let options: LoadEngine.Options
    let budget: LoadBudget
    /// Requests under way at a time, at most.
    let places: Int
    private let mostConnections: Int
    /// Each viewer's first request opens a connection.
    private let opensConnections: Bool
    private let onInterval: @Sendable (LoadInterval) -> Void
    /// Told once, with the tallies by object, after the last interval.
    private let onEnd: @Sendable (LoadLoopEnd) -> Void

    var clock = LoadClock(startNanoseconds: 0)
    var phase = Phase.waiting
    private var ending = LoadResult.Ending.finished
    /// Told so, perhaps before it began: another loop may be that quick.
    private var isCapped = false
    private var failure: Failure?
    private var multi: CurlMulti?
    private let profile: CurlProfile
    private var headers: CurlHeaders?
    private var idle: [LoadRequest] = []
    var active: [LoadRequest] = []
    var waiting = RequestQueue()
    var interval = LoadInterval(second: 0)
    private var tallies: [Int32: LoadTally] = [:]
    private var secondTimer: LoopTimer?
    private var endTimer: LoopTimer?
    private var cpuSeconds = 0.0

    // What comes next: see +Arrivals and +Viewers.
    var arrivalTimer: LoopTimer?
    var arrivals: ArrivalSchedule?
    var nextArrival: Double?
    /// The same arrivals once more, up to now: how many are due, sent or not.
    var dueArrivals: ArrivalSchedule?
    var nextDue: Double?
    /// Arrivals that are due, and those that were sent on their way.
    var dueCount: Int64 = 0
    var arrivedCount: Int64 = 0
    /// Until when arrivals that were due had no free place.
    var blockedUntil = 0.0
    var isBlocked = false
    var users = 0
    var picker: TargetPicker
    var cursors: [Int32]
    var viewers: [ViewerSlot] = []
    var thinking: SeededRandom
    /// How many users there are at a time.
    let levels: ArrivalSchedule

    init(
        plan: LoadPlan, scenario: LoadScenario, share: LoadShare, loops: Int,
        options: LoadEngine.Options, budget: LoadBudget,
        onInterval: @escaping @Sendable (LoadInterval) -> Void,
        onEnd: @escaping @Sendable (LoadLoopEnd) -> Void
    ) throws(Failure) {
        do {
            loop = try EventLoop(name: "load")
        } catch {
            throw Failure("worker.internal", "\(error)")
        }
        self.plan = plan
        self.scenario = scenario
        self.share = share
        self.options = options
        self.budget = budget
        self.onInterval = onInterval
        self.onEnd = onEnd
        places = max(1, scenario.http.concurrency / loops)
        if case .viewers(let settings) = scenario.user, scenario.http.keepsAlive {
            opensConnections = settings.opensConnection
        } else {
            opensConnections = false
        }
        mostConnections =
            opensConnections ? max(options.viewerConnections / loops, places) : places
        profile = LoadEngine.profile(scenario.http, options)
        picker = TargetPicker(
            weights: plan.targets.map(\.weight), popularity: scenario.popularity, share: share,
            seed: scenario.seed)
        thinking = share.random(seed: scenario.seed, for: .thinking)
        levels = ArrivalSchedule(
            stages: scenario.stages, process: .constant, share: share, seed: scenario.seed)
        // So that shares do not ask for the same at the same time.
        cursors = plan.targets.map { Int32($0.objects.count * share.index / share.count) }
    }

    // MARK: From any thread

    func start(_ clock: LoadClock) {
        loop.execute { [self] in begin(clock) }
    }

    /// Ends it at once: what is under way is dropped, and counts as nothing.
    func stop(_ ending: LoadResult.Ending) {
        loop.execute { [self] in end(ending) }
    }

    /// All that the caps allow is used up: what is under way may end.
    func cap() {
        loop.execute { [self] in
            isCapped = true
            drain(.capped)
        }
    }

    // MARK: On the loop: time

    private func begin(_ clock: LoadClock) {
        guard phase == .waiting else { return }
        self.clock = clock
        cpuSeconds = Self.threadSeconds
        secondTimer = loop.makeTimer { [unowned self] in secondTick() }
        endTimer = loop.makeTimer { [unowned self] in endTick() }
        arrivalTimer = loop.makeTimer { [unowned self] in pump() }
        let open = { [self] () throws(CurlError) in
            var limits = CurlMulti.Limits()
            limits.totalConnections = mostConnections
            multi = try CurlMulti(loop: loop, limits: limits)
            let lines = scenario.http.headers.map(\.line)
            if !lines.isEmpty { headers = try CurlHeaders(lines) }
        }
        do throws(CurlError) {
            try open()
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
        let seconds = scenario.durationSeconds
        if seconds.isFinite { endTimer?.schedule(afterSeconds: seconds - clock.seconds) }
        if isCapped { return drain(.capped) }
        beginArrivals()
    }

    private func secondTick() {
        let now = clock.seconds
        while phase != .done, Double(interval.second + 1) <= now { flush() }
        guard phase != .done else { return }
        if phase == .running { adjustUsers(atSeconds: now) }
        secondTimer?.schedule(afterSeconds: Double(interval.second + 1) - clock.seconds)
    }

    /// Hands out the interval of the second that is over, and begins the next.
    private func flush() {
        let boundary = Double(interval.second + 1)
        // A second that is not over yet is the last one.
        accountForViewers(toSeconds: min(boundary, clock.seconds))
        countDue(atSeconds: min(boundary, clock.seconds))
        let cpu = Self.threadSeconds
        interval.counts.cpuSeconds = cpu - cpuSeconds
        cpuSeconds = cpu
        interval.counts.inFlight = Int64(active.count)
        interval.counts.backlog = dueCount - arrivedCount + Int64(waiting.count)
        interval.counts.viewers = Int64(viewers.count)
        interval.isMeasured = Double(interval.second) >= scenario.warmUpSeconds
        let whole = interval
        interval = LoadInterval(second: whole.second + 1)
        onInterval(whole)
    }

    /// Its time is over: nothing new is begun.
    private func endTick() {
        switch phase {
        case .running:
            pump()
            drain(.finished)
        case .draining: end(ending)
        case .waiting, .done: return
        }
    }

    /// Lets what is under way end, for a bounded time.
    func drain(_ ending: LoadResult.Ending) {
        guard phase == .running else { return }
        countDue(atSeconds: clock.seconds)
        phase = .draining
        self.ending = ending
        interval.counts.missedSends += dueCount - arrivedCount + Int64(waiting.count)
        dueCount = arrivedCount
        waiting.removeAll()
        arrivalTimer?.cancel()
        cutOffViewers()
        guard !active.isEmpty else { return end(ending) }
        endTimer?.schedule(afterSeconds: min(scenario.http.timeoutSeconds, options.drainSeconds))
    }

    private func fail(_ failure: Failure) {
        self.failure = failure
        end(.finished)
    }

    func end(_ ending: LoadResult.Ending) {
        guard phase != .done else { return }
        if phase == .running { cutOffViewers() }
        let wasStarted = phase != .waiting
        for request in active { drop(request) }
        active.removeAll()
        waiting.removeAll()
        if wasStarted { flush() }
        phase = .done
        multi?.close()
        multi = nil
        idle.removeAll()
        headers = nil
        for timer in [secondTimer, endTimer, arrivalTimer] { timer?.cancel() }
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

    // MARK: Requests

    /// Asks for an object, or has it wait for a place.
    func request(_ object: Int, _ owner: LoadRequest.Owner, plannedSeconds: Double) {
        guard active.count < places else {
            waiting.append(
                RequestQueue.Entry(object: object, owner: owner, plannedSeconds: plannedSeconds))
            return
        }
        send(object, owner, plannedSeconds: plannedSeconds)
    }

    func send(_ object: Int, _ owner: LoadRequest.Owner, plannedSeconds: Double) {
        guard let multi else { return }
        guard budget.takeRequest() else { return budget.spend() }
        do throws(CurlError) {
            let request = try takeRequest()
            if request.object != object { try set(request, for: object) }
            if opensConnections { try request.setOpensConnection(owner.opensConnection) }
            request.easy.delegate = request
            request.begin(
                owner: owner, plannedSeconds: plannedSeconds, sentSeconds: clock.seconds)
            try multi.add(request.easy)
            request.place = active.count
            active.append(request)
            interval.counts.sent += 1
        } catch {
            fail(Failure("worker.internal", error.description))
        }
    }

    private func takeRequest() throws(CurlError) -> LoadRequest {
        if let request = idle.popLast() { return request }
        var settings = CurlEasy.Options(userAgent: options.userAgent)
        settings.bufferBytes = options.bufferBytes
        let easy = try CurlEasy(options: settings)
        try easy.setProfile(profile)
        try easy.setHeaders(headers)
        try easy.setGet()
        let http = scenario.http
        try easy.setConnectTimeout(milliseconds: Int(http.connectTimeoutSeconds * 1000))
        try easy.setTotalTimeout(milliseconds: Int(http.timeoutSeconds * 1000))
        return LoadRequest(easy: easy, loop: self, checksBodies: scenario.bodies == .checked)
    }

    private func set(_ request: LoadRequest, for object: Int) throws(CurlError) {
        let wanted = plan.objects[object]
        let hadRange = request.object >= 0 && plan.objects[request.object].range != nil
        request.object = -1
        try request.easy.setURL(wanted.url)
        if let range = wanted.range {
            let last = range.length.map { "\(range.offset + $0 - 1)" } ?? ""
            try request.easy.setRange("\(range.offset)-\(last)")
        } else if hadRange {
            try request.easy.setRange(nil)
        }
        request.object = object
    }

    /// Whether bytes of a body may be received. Called from inside libcurl.
    func takes(_ count: Int) -> Bool {
        guard phase != .done else { return false }
        guard budget.take(bytes: count) else {
            budget.spend()
            return false
        }
        interval.counts.bytes += Int64(count)
        return true
    }

    private func drop(_ request: LoadRequest) {
        multi?.remove(request.easy)
        request.easy.delegate = nil
        request.owner = .arrival
    }

    /// Frees a request's place.
    private func leave(_ request: LoadRequest) {
        let last = active.removeLast()
        if last !== request {
            active[request.place] = last
            last.place = request.place
        }
        request.easy.delegate = nil
        request.owner = .arrival
        idle.append(request)
    }

    // MARK: Ends

    func ended(_ request: LoadRequest, _ code: CurlCode) {
        let now = clock.seconds
        let owner = request.owner
        let failure = outcome(of: request, code)
        let isCapped = failure != nil && code == .writeError
        if !isCapped { record(request, failure, now) }
        leave(request)
        switch owner {
        case .arrival: break
        case .user: userEnded(atSeconds: now)
        case .viewer(let slot):
            slot.ended(
                failure, bytes: request.bytes, tookSeconds: now - request.sentSeconds,
                atSeconds: now)
        }
        if isBlocked || waiting.count > 0 { placeIsFree(atSeconds: clock.seconds) }
        if phase == .draining, active.isEmpty { end(ending) }
    }

    private func outcome(of request: LoadRequest, _ code: CurlCode) -> FailureCode? {
        let object = plan.objects[request.object]
        guard code == .ok else {
            if request.isAddressDenied, code == .couldNotConnect { return "origin.addressDenied" }
            return request.easy.failureCode(of: code, url: object.url)
        }
        switch request.easy.status {
        case 200: if object.range != nil { return "origin.rangeIgnored" }
        case 206: if object.range == nil { return "origin.rangeMismatch" }
        case 201..<300: break
        case 300..<400: return "origin.redirected"
        case 400...: return FailureCode.origin(httpStatus: request.easy.status)
        default: return "origin.protocol"
        }
        if let wanted = object.sha256, let digest = request.digest(),
            digest != SHA256Digest(hex: wanted)
        {
            return "integrity.digestMismatch"
        }
        return nil
    }

    private func record(_ request: LoadRequest, _ failure: FailureCode?, _ now: Double) {
        let easy = request.easy
        let delay = request.sentSeconds - request.plannedSeconds
        let total = microseconds(now - request.plannedSeconds)
        interval.record(total, .total)
        interval.record(microseconds(now - request.sentSeconds), .totalUncorrected)
        interval.record(microseconds(delay), .sendDelay)
        let firstByte = easy.timings.firstByteSeconds
        if firstByte > 0 {
            interval.record(microseconds(firstByte), .firstByteUncorrected)
            interval.record(microseconds(firstByte + delay), .firstByte)
        }
        if easy.openedConnection {
            interval.counts.connections += 1
            let connected = easy.secondsUntilSent
            if connected > 0 { interval.record(microseconds(connected), .connect) }
        }
        if let failure {
            interval.counts.failed += 1
            interval.errors[failure.rawValue, default: 0] += 1
        } else {
            interval.counts.succeeded += 1
        }
        guard Double(interval.second) >= scenario.warmUpSeconds else { return }
        tallies[Int32(request.object), default: LoadTally()].record(
            bytes: request.bytes, microseconds: total, isFailure: failure != nil)
    }

    private func microseconds(_ seconds: Double) -> Int64 { Int64(max(seconds, 0) * 1e6) }
}

/// What a loop leaves behind.
struct LoadLoopEnd: Sendable {
    /// Of its last interval; -1 for none.
    var lastSecond: Int
    /// When it ended, on the test's clock.
    var seconds: Double
    var ending: LoadResult.Ending
    var failure: Failure?
    /// By object.
    var tallies: [Int32: LoadTally]
}
