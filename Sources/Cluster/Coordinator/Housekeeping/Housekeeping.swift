import Model
import Services

/// A periodic action of a coordinator, independent of requests.
struct Chore: Sendable {
    /// Name for logs.
    let name: String
    /// Minimum time between two starts.
    let period: Duration
    let action: @Sendable () async throws -> Void

    init(
        _ name: String, every period: Duration,
        _ action: @escaping @Sendable () async throws -> Void
    ) {
        self.name = name
        self.period = period
        self.action = action
    }
}

/// Schedules chores. A value; the time is passed in.
struct ChoreTurns: Sendable {
    private let periods: [Duration]
    private var dueAt: [ContinuousClock.Instant?]

    init(periods: [Duration]) {
        self.periods = periods
        dueAt = periods.map { _ in nil }
    }

    /// Returns the indexes of the due chores in order, at first all. They are due again one period
    /// from now.
    mutating func due(now: ContinuousClock.Instant) -> [Int] {
        let due = periods.indices.filter { dueAt[$0].map { $0 <= now } ?? true }
        for number in due { dueAt[number] = now + periods[number] }
        return due
    }
}

/// Runs each chore once per period, one after the other in order.
///
/// Every coordinator does so; none is elected. Chores are safe to run on several at once.
struct Housekeeping: Service {
    let name = "housekeeping"
    let chores: [Chore]
    let times: ChoreTimes
    private let failures: BackgroundFailures

    /// Interval of checks: no period is shorter.
    static let tick = Duration.seconds(1)

    init(
        _ chores: [Chore], times: ChoreTimes? = nil,
        _ failures: BackgroundFailures = BackgroundFailures()
    ) {
        self.chores = chores
        self.times = times ?? ChoreTimes(chores)
        self.failures = failures
    }

    /// Runs until its task is cancelled.
    func run() async {
        var turns = ChoreTurns(periods: chores.map(\.period))
        while !Task.isCancelled {
            await run(turns.due(now: .now))
            try? await Task.sleep(for: Self.tick)
        }
    }

    /// Runs the chores with these indexes in order.
    func run(_ due: [Int]) async {
        for number in due {
            guard await run(chores[number]) else { return }
        }
    }

    /// Runs a chore; returns false if the database does not answer: the other chores would fail
    /// too.
    private func run(_ chore: Chore) async -> Bool {
        let start = ContinuousClock.now
        do {
            try await chore.action()
            times.succeeded(chore.name)
            failures.succeeded(chore.name, since: start)
            return true
        } catch {
            times.failed(chore.name)
            failures.failed(chore.name, error)
            let code = (error as? Failure)?.code
            return code.map { !$0.isOfUnavailableCluster } ?? true
        }
    }
}
