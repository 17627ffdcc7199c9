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
        /// The load has ended; requests in flight may end within one request timeout.
        case draining
        case done
    }

    let loop: EventLoop
    let plan: LoadPlan
    let scenario: LoadScenario
    /// End of the load on the test's clock.
    let durationSeconds: Double
    let share: LoadShard
    let options: LoadEngine.Options
    let budget: LoadBudget
    /// Maximum number of concurrent requests.
    let places: Int
    /// Maximum number of concurrent viewers of the open model.
    let maxViewers: Int
    let maxConnections: Int
    /// True if each viewer's first request opens a connection.
    let opensConnections: Bool
    let onInterval: @Sendable (LoadInterval) -> Void
    /// Called once, with the totals by object, after the last interval.
    let onEnd: @Sendable (LoadLoopEnd) -> Void

    var clock = LoadClock(startNanoseconds: 0)
    var phase = Phase.waiting
    var ending = LoadResult.Ending.finished
    /// Time on the test's clock after which no request starts.
    var loadEndSeconds = Double.infinity
    /// True if the caps are used up. Another loop may use them up before this one begins.
    var isCapped = false
    var failure: Failure?
    let routes: HTTP1Routes
    /// Transports; nil if the plan does not need them, before the start and after the end.
    var http1: HTTP1Transport?
    var curl: CurlTransport?
    /// Number of libcurl multi handles that connections are spread over.
    let multis: Int
    var idle: [LoadRequest] = []
    var active: [LoadRequest] = []
    var waiting = RequestQueue()
    var interval = LoadInterval(second: 0)
    var tallies: [Int32: LoadTally] = [:]
    var secondTimer: LoopTimer?
    var endTimer: LoopTimer?
    var cpuSeconds = 0.0
    /// True if the last reading of the CPU time was after the end of the load.
    var isAfterEnd = false

    // Next arrivals: see +Arrivals and +Viewers.
    var arrivalTimer: LoopTimer?
    var arrivals: ArrivalSchedule?
    var nextArrival: Double?
    /// A second copy of the arrivals, read up to now: counts those that are due, sent or not.
    var dueArrivals: ArrivalSchedule?
    var nextDue: Double?
    /// Arrivals that are due, and arrivals that were started.
    var dueCount: Int64 = 0
    var arrivedCount: Int64 = 0
    /// Time until which due arrivals had no free slot.
    var blockedUntil = 0.0
    var isBlocked = false
    var users = 0
    /// Adjusts the number of users to the stages.
    var levelTimer: LoopTimer?
    /// Start-up times so far, in microseconds, without those of the current interval.
    var startups = (count: Int64(0), sum: 0.0)
    var picker: TargetPicker
    var cursors: [Int32]
    var viewers: [ViewerSlot] = []
    var thinking: SeededRandom
    /// The number of concurrent users over time.
    let levels: ArrivalSchedule

    /// Creates a loop.
    ///
    /// - Parameters:
    ///   - share: its part of the whole test.
    ///   - part: its part of this process's limits.
    init(
        plan: LoadPlan, scenario: LoadScenario, share: LoadShard, of part: LoadShard,
        options: LoadEngine.Options, budget: LoadBudget, routes: HTTP1Routes,
        onInterval: @escaping @Sendable (LoadInterval) -> Void,
        onEnd: @escaping @Sendable (LoadLoopEnd) -> Void
    ) throws(Failure) {
        do {
            loop = try EventLoop(name: "load")
        } catch {
            throw Failure(.workerInternal, "\(error)")
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
        // Divided like users: if the slots suffice for all users, each loop has enough for its own.
        places = max(1, Int(part.portion(of: Int64(scenario.concurrency))))
        maxViewers = max(1, Int(part.portion(of: Int64(options.maxViewers))))
        if case .viewers(let settings) = scenario.user, scenario.http.keepsAlive {
            opensConnections = settings.opensConnection
        } else {
            opensConnections = false
        }
        maxConnections =
            opensConnections
            ? max((options.viewerConnections - 3 * Self.maxMultis) / part.count, places) : places
        // HTTP/2 requests without an owner share as few connections as their streams allow.
        let mayShare =
            scenario.http.version == .http2
            || scenario.http.version == .automatic
                && plan.objects.contains { !$0.url.hasPrefix("http://") }
        var owners = maxViewers
        if case .closed = scenario.model {
            owners = Int(part.portion(of: Int64(scenario.placesForUsers)))
        }
        multis =
            mayShare && !opensConnections
            ? 1
            : max(
                min(
                    min(maxConnections, owners) / Self.usualConnectionsOfMulti,
                    Self.maxMultis / part.count), 1)
        picker = TargetPicker(
            weights: plan.targets.map(\.weight), popularity: scenario.popularity, share: share,
            seed: scenario.seed)
        thinking = share.random(seed: scenario.seed, for: .thinking)
        levels = ArrivalSchedule(
            stages: scenario.stages, process: .constant, share: share, seed: scenario.seed)
        // Shards start at different objects, so that they do not request the same one at the same
        // time.
        cursors = plan.targets.map { Int32($0.objects.count * share.index / share.count) }
    }

    private static let usualConnectionsOfMulti = 64
    /// Limit for a process with few threads: each multi handle has two descriptors.
    private static let maxMultis = 64

    // MARK: From any thread

    func start(_ clock: LoadClock) {
        loop.execute { [self] in begin(clock) }
    }

    /// Stops the loop at once. Requests in flight are dropped and counted as unfinished.
    func stop(_ ending: LoadResult.Ending) {
        loop.execute { [self] in end(ending) }
    }

    /// Starts draining because the caps are used up.
    func cap() {
        loop.execute { [self] in
            isCapped = true
            drain(.capped)
        }
    }
}

/// Results of an ended loop.
struct LoadLoopEnd: Sendable {
    /// Second of its last interval; -1 for none.
    var lastSecond: Int
    /// Time of its end on the test's clock.
    var seconds: Double
    var ending: LoadResult.Ending
    var failure: Failure?
    /// Totals by object.
    var tallies: [Int32: LoadTally]
}
