import Model
import Services

/// Something that a coordinator does again and again, whatever workers ask.
struct Chore: Sendable {
    /// As logs name it.
    let name: String
    /// From one start to the next, at least.
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

/// When each of some chores is due. A value, into which the time is passed.
struct ChoreTurns: Sendable {
    private let periods: [Duration]
    private var dueAt: [ContinuousClock.Instant?]

    init(periods: [Duration]) {
        self.periods = periods
        dueAt = periods.map { _ in nil }
    }

    /// The numbers of the chores that are due, in order; all of them the first time. They are due again a period
    /// from now.
    mutating func due(now: ContinuousClock.Instant) -> [Int] {
        let due = periods.indices.filter { dueAt[$0].map { $0 <= now } ?? true }
        for number in due { dueAt[number] = now + periods[number] }
        return due
    }
}

/// Runs chores, each in its period, one after the other in their order.
struct Housekeeping: Service {
    let name = "housekeeping"
    let chores: [Chore]
    private let log = Logger("coordinator")

    /// How often chores are looked at: no period is shorter.
    static let tick = Duration.seconds(1)

    init(_ chores: [Chore]) { self.chores = chores }

    /// Works until its task is cancelled.
    func run() async {
        var turns = ChoreTurns(periods: chores.map(\.period))
        while !Task.isCancelled {
            await run(turns.due(now: .now))
            try? await Task.sleep(for: Self.tick)
        }
    }

    /// Runs the chores of these numbers in order.
    func run(_ due: [Int]) async {
        for number in due {
            guard await run(chores[number]) else { return }
        }
    }

    /// False where the database does not answer: the other chores would fail as well.
    private func run(_ chore: Chore) async -> Bool {
        do {
            try await chore.action()
            return true
        } catch {
            log.warning("housekeeping failed", ["chore": chore.name, "error": "\(error)"])
            let code = (error as? Failure)?.code
            return code.map { !$0.isOfUnavailableCluster } ?? true
        }
    }
}
