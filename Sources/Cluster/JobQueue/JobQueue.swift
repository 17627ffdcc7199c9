package import Model
package import Postgres
package import Services
package import Statistics
import Synchronization

/// The PostgreSQL queues: submissions, leases, results and what can be read of them.
///
/// Safe to use from any task; any number of processes may use one database. Every method is one
/// transaction (or one statement) and throws a `Failure`: `cluster.databaseUnreachable` when the
/// database does not answer, else the code that its description names. Serialization failures and
/// deadlocks are tried again here.
package final class JobQueue: Sendable {
    package struct Settings: Sendable {
        /// How long a lease holds without a heartbeat, in seconds, 1 to 3,600.
        package var leaseSeconds: Double
        /// Delays between the tries of one job.
        package var retry: RetryPolicy
        package var breaker: Breaker
        /// After how many days catalogs that ended are forgotten, from 1; nil for never.
        package var retentionDays: Int?
        /// Attempts at a file while its own origin is left alone, after which a failure of its mirrors ends it.
        package var mostAttemptsAtMirrors = 8
        /// A URL that is refused so soon after it was read from its manifest has not expired, unless it says so, in
        /// seconds.
        package var freshURLSeconds = 5.0
        /// How long a statement may take that works on a whole catalog, of ten million assets say.
        package var catalogStatementSeconds = 3_600.0
        /// Origins with a row at most that no list names.
        package var mostUnlistedOrigins = 10_000
        package var loadTests = LoadTests()
        /// The boot id of the machine that runs all of a private cluster; nil for other clusters. A pause of a private
        /// cluster is a crash unless the machine has restarted; a pause of another one is an outage.
        package var machine: String?

        package init(
            leaseSeconds: Double = 30, retry: RetryPolicy = RetryPolicy(),
            breaker: Breaker = Breaker(), retentionDays: Int? = nil
        ) {
            precondition((1...3_600).contains(leaseSeconds))
            precondition((retentionDays ?? 1) > 0)
            self.retentionDays = retentionDays
            self.leaseSeconds = leaseSeconds
            self.retry = retry
            self.breaker = breaker
        }
    }

    /// When an origin that fails is left alone.
    package struct Breaker: Sendable {
        /// Failures in a row that open it.
        package var failures = 20
        /// The first time that it is left alone, in seconds; each further time is twice as long.
        package var firstSeconds = 5.0
        package var longestSeconds = 60.0
        /// Openings without a success between them, after which its jobs are tried once each.
        package var openings = 8

        package init() {}
    }

    package let settings: Settings
    let pool: PostgresPool
    private let random: Mutex<SeededRandom>
    /// Whether any site may have a bandwidth in force or any origin a limit, as far as was last heard of.
    let areLimitsSet = Atomic<Bool>(true)
    /// Whether any site may have a bound to its room, or a fault.
    let areSitesNarrow = Atomic<Bool>(true)
    /// Counts what was changed here.
    let siteChanges = Atomic<Int>(0)
    /// The least that a member of a group weighs, so that a group has twenty at most.
    static let leastWeight = 100
    /// Claims that come while another one of the same queue is under way go together.
    let claims = GroupedCalls<Int64, Claim, Result<LeaseGrant?, Failure>>(
        width: 2, mostWeight: 2_000)
    /// So do reports of what was fetched.
    let doneReports = GroupedCalls<DoneReport.Place, DoneReport, Result<[Bool], Failure>>(
        width: 3, mostWeight: 2_000)
    /// How many more reports are taken to be of segments that have results already.
    let replacingCalls = Atomic<Int>(0)
    /// How far lanes of origins that are left alone were looked through for jobs with mirrors.
    let mirrorSearch = Mutex(MirrorSearch())
    /// Queues by name, for a while.
    let knownQueues = Mutex<[String: QueuePlace]>([:])
    /// Queues of which jobs waited to be tried alone at the last claim.
    let queuesAwaitingTrial = Mutex<Set<Int64>>([])

    /// What every session of the pool should be set to.
    ///
    /// The statements that run all the time touch a batch of rows through an index each. Planned
    /// while the tables were empty, or with stale statistics, they would come out as scans of whole
    /// tables; and planned for each execution, planning would cost more than the work.
    package static let sessionSettings = [
        "plan_cache_mode": "force_generic_plan", "enable_hashjoin": "off",
        "enable_mergejoin": "off", "enable_material": "off", "enable_memoize": "off",
        "enable_seqscan": "off", "jit": "off",
    ]

    /// - Parameter random: where the jitter of retries comes from.
    package init(
        pool: PostgresPool, settings: Settings = Settings(), random: SeededRandom = SeededRandom()
    ) {
        self.pool = pool
        self.settings = settings
        self.random = Mutex(random)
    }

    /// Seconds until the try after number `attempt`.
    func delaySeconds(attempt: Int, retryAfter: Double?) -> Double {
        random.withLock { random in
            settings.retry.delaySeconds(attempt: attempt, retryAfter: retryAfter, using: &random)
        }
    }

    /// Runs `body` in a transaction, again when PostgreSQL says that another one was in its way.
    func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws(Failure) -> Value {
        try await withConnection { connection in
            try await connection.transaction { try await body($0) }
        }
    }

    /// Gives the statements of a transaction as long as those on whole catalogs may take.
    ///
    /// Not before the catalog's lock is had: whoever waits for that holds a connection, and is told
    /// `cluster.busy` before long, to come again.
    func takeTime(_ connection: PostgresConnection) async throws {
        try await connection.setStatementTimeout(seconds: settings.catalogStatementSeconds)
    }

    /// Lends a connection to `body` and turns what it throws into a `Failure`.
    func withConnection<Value: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) async throws -> Value
    ) async throws(Failure) -> Value {
        var tries = 0
        while true {
            tries += 1
            do {
                return try await pool.withConnection { try await body($0) }
            } catch let failure as Failure {
                throw failure
            } catch let error as PostgresError {
                if error.isRetryableTransaction && tries < Self.mostTries { continue }
                throw Failure(queue: error)
            } catch {
                throw Failure(.workerInternal, "The queue was interrupted: \(error)")
            }
        }
    }

    private static let mostTries = 10
}

extension Failure {
    /// What a caller of the queue is told of a database error.
    package init(queue error: PostgresError) {
        if error.isConnectionFailure {
            self.init(.clusterDatabaseUnreachable, "PostgreSQL does not answer: \(error.message)")
        } else if [.timeout, .cancelled, .closed].contains(error.kind) {
            self.init(.clusterBusy, "No answer of PostgreSQL in time: \(error.message)")
        } else if error.isPrivilege {
            self.init(
                .clusterDatabasePrivilege,
                "PostgreSQL refuses it to this role (42501): \(error.message)")
        } else if error.isOfTheMoment {
            self.init(
                .clusterBusy,
                "PostgreSQL cannot do it now (\(error.sqlState)): \(error.message)")
        } else {
            self.init(
                .workerInternal,
                "PostgreSQL refused a statement (\(error.sqlState)): \(error.message)")
        }
    }
}

extension PostgresError {
    /// The state of the server is at fault, not the statement: read-only, cancelled by an operator,
    /// no space or memory, always another transaction in the way. Whoever asks again, as workers do
    /// with their results, loses nothing (PostgreSQL manual, appendix A).
    fileprivate var isOfTheMoment: Bool {
        ["25006", "57014"].contains(sqlState)
            || ["40", "53", "55", "58"].contains(sqlState.prefix(2))
    }
}
