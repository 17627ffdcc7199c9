internal import EventLoop
internal import LoadModel
internal import Model
internal import Statistics

/// One thread of a load generator: its part of the arrivals or users, its connections, its counts.
///
/// `@unchecked`: everything but `start` and `stop` runs on the loop's thread, which `EventLoop` and
/// `CurlMulti` check.
final class LoadLoop: @unchecked Sendable {
    enum Phase {
        case waiting
        case running
        /// Its time is over; what is under way may end, until each request has had its timeout.
        case draining
        case done
    }

    let loop: EventLoop
    let plan: LoadPlan
    let scenario: LoadScenario
    /// When the load ends, on the test's clock.
    let durationSeconds: Double
    let share: LoadShare
    let options: LoadEngine.Options
    let budget: LoadBudget
    /// Requests under way at a time, at most.
    let places: Int
    /// Viewers of the open model at a time, at most.
    let mostViewers: Int
    let mostConnections: Int
    /// Each viewer's first request opens a connection.
    let opensConnections: Bool
    let onInterval: @Sendable (LoadInterval) -> Void
    /// Told once, with the tallies by object, after the last interval.
    let onEnd: @Sendable (LoadLoopEnd) -> Void

    var clock = LoadClock(startNanoseconds: 0)
    var phase = Phase.waiting
    var ending = LoadResult.Ending.finished
    /// From when on nothing new is begun, on the test's clock.
    var loadEndSeconds = Double.infinity
    /// Told so, perhaps before it began: another loop may be that quick.
    var isCapped = false
    var failure: Failure?
    let routes: HTTP1Routes
    /// What carries requests: nil where the plan has none for it, before the start and after the end.
    var http1: HTTP1Transport?
    var curl: CurlTransport?
    /// Handles that libcurl's connections are dealt over.
    let multis: Int
    var idle: [LoadRequest] = []
    var active: [LoadRequest] = []
    var waiting = RequestQueue()
    var interval = LoadInterval(second: 0)
    var tallies: [Int32: LoadTally] = [:]
    var secondTimer: LoopTimer?
    var endTimer: LoopTimer?
    var cpuSeconds = 0.0
    /// At the last reading of the CPU's time the end of the load was past.
    var isAfterEnd = false

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
    /// Brings the number of users to what the stages say.
    var levelTimer: LoopTimer?
    /// Start-up times so far, in microseconds, without those of the interval.
    var startups = (count: Int64(0), sum: 0.0)
    var picker: TargetPicker
    var cursors: [Int32]
    var viewers: [ViewerSlot] = []
    var thinking: SeededRandom
    /// How many users there are at a time.
    let levels: ArrivalSchedule

    /// - Parameters:
    ///   - share: its part of the whole test.
    ///   - part: its part of what this process may have.
    init(
        plan: LoadPlan, scenario: LoadScenario, share: LoadShare, of part: LoadShare,
        options: LoadEngine.Options, budget: LoadBudget, routes: HTTP1Routes,
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
        durationSeconds = scenario.durationSeconds
        self.share = share
        self.options = options
        self.budget = budget
        self.routes = routes
        self.onInterval = onInterval
        self.onEnd = onEnd
        // As users are dealt, so that where there are places for all each loop has them for its own.
        places = max(1, Int(part.portion(of: Int64(scenario.concurrency))))
        mostViewers = max(1, Int(part.portion(of: Int64(options.mostViewers))))
        if case .viewers(let settings) = scenario.user, scenario.http.keepsAlive {
            opensConnections = settings.opensConnection
        } else {
            opensConnections = false
        }
        mostConnections =
            opensConnections
            ? max((options.viewerConnections - 3 * Self.mostMultis) / part.count, places) : places
        // Requests of HTTP/2 that are nobody's go by as few connections as they have room in.
        let mayShare =
            scenario.http.version == .http2
            || scenario.http.version == .automatic
                && plan.objects.contains { !$0.url.hasPrefix("http://") }
        var owners = mostViewers
        if case .closed = scenario.model {
            owners = Int(part.portion(of: Int64(scenario.placesForUsers)))
        }
        multis =
            mayShare && !opensConnections
            ? 1
            : max(
                min(
                    min(mostConnections, owners) / Self.usualConnectionsOfMulti,
                    Self.mostMultis / part.count), 1)
        picker = TargetPicker(
            weights: plan.targets.map(\.weight), popularity: scenario.popularity, share: share,
            seed: scenario.seed)
        thinking = share.random(seed: scenario.seed, for: .thinking)
        levels = ArrivalSchedule(
            stages: scenario.stages, process: .constant, share: share, seed: scenario.seed)
        // So that shares do not ask for the same at the same time.
        cursors = plan.targets.map { Int32($0.objects.count * share.index / share.count) }
    }

    private static let usualConnectionsOfMulti = 64
    /// Of a process with fewer threads: each has two descriptors of its own.
    private static let mostMultis = 64

    // MARK: From any thread

    func start(_ clock: LoadClock) {
        loop.execute { [self] in begin(clock) }
    }

    /// Ends it at once: what is under way is dropped, and counted as unfinished.
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
