package import Model
package import Postgres
package import Statistics

/// The PostgreSQL queues: one object per subject, with its parts, over one pool of connections.
///
/// Safe to use from any task; any number of processes may use one database. Every method of these objects is one
/// transaction, one statement, or a bounded number of transactions, and throws a `Failure`:
/// `cluster.databaseUnreachable` when the database does not answer, else the code that its description names.
/// Serialization failures and deadlocks are retried.
package final class JobQueue: Sendable {
    package struct Settings: Sendable {
        /// Time for which a lease holds without a heartbeat, in seconds, 1 to 3,600.
        package var leaseSeconds: Double
        /// Delays between the attempts of one job.
        package var retry: Backoff
        package var breaker: Breaker
        /// Days after which ended catalogs are deleted, from 1; nil for never.
        package var retentionDays: Int?
        /// Days for which the audit log is kept, and tokens after their end, from 1.
        package var auditDays = 90
        /// Attempts at mirrors during the own origin's cooldown, after which a mirror's failure is
        /// final.
        package var maxAttemptsAtMirrors = 8
        /// Seconds for which assets wait for a neighbour that works on nothing of their catalog.
        package var neighbourSeconds = 60.0
        /// Seconds after the reading of its manifest within which a rejected URL has not expired,
        /// unless its own parameters show it.
        package var freshURLSeconds = 5.0
        /// Time limit of a statement on a whole catalog, of ten million assets for example.
        package var catalogStatementSeconds = 3_600.0
        /// Maximum number of recorded origins that no list names.
        package var maxUnlistedOrigins = 10_000
        package var loadTests = LoadTestTimes()
        /// Records in one page of an audit, from 1.
        package var recordsPerAuditPage = WireLimits.recordsPerAuditPage
        /// The boot id of the machine that runs all of a private cluster; nil for other clusters. A pause of a private
        /// cluster is a crash unless the machine has restarted; a pause of another one is an outage.
        package var machine: String?

        package init(
            leaseSeconds: Double = 30, retry: Backoff = Backoff(),
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

    /// The circuit breaker of a failing origin.
    package struct Breaker: Sendable {
        /// Failures in a row that open it.
        package var failures = 20
        /// The first cooldown in seconds; each further one is twice as long.
        package var firstSeconds = 5.0
        package var longestSeconds = 60.0
        /// Openings without a success between them, after which its jobs are tried once each.
        package var openings = 8

        package init() {}
    }

    package let settings: Settings
    package let catalogs: Catalogs
    package let jobs: Jobs
    package let files: SiteFiles
    package let origins: Origins
    package let sites: Sites
    package let workers: Workers
    package let loadTests: LoadTests
    package let events: Events
    package let access: AccessRecords
    package let figures: Figures
    package let housekeeping: QueueHousekeeping
    private let database: QueueDatabase

    /// Settings of every session of the pool.
    ///
    /// No statement runs long enough for compiling it to pay. Planner settings are the server's:
    /// functions that need others set them in their definition (`SQL/functions`).
    package static let sessionSettings = ["jit": "off"]

    /// - Parameter random: source of the jitter of retries.
    package init(
        pool: PostgresPool, settings: Settings = Settings(), random: SeededRandom = SeededRandom()
    ) {
        let database = QueueDatabase(
            pool: pool, catalogStatementSeconds: settings.catalogStatementSeconds)
        let queues = KnownQueues(database: database)
        let statuses = StatusReader(leaseSeconds: settings.leaseSeconds)
        let limits = KnownLimits(database: database)
        let quotas = Quotas(
            database: database, limits: limits, leaseSeconds: settings.leaseSeconds)
        let shared = SharedFiles(database: database)
        let closedSites = ClosedSites(database: database, limits: limits, shared: shared)
        self.settings = settings
        self.database = database
        catalogs = Catalogs(
            database: database, statuses: statuses, leaseSeconds: settings.leaseSeconds)
        jobs = Jobs(
            database: database, settings: settings, random: random, queues: queues,
            quotas: quotas, closedSites: closedSites)
        files = SiteFiles(
            database: database, leaseSeconds: settings.leaseSeconds, shared: shared)
        origins = Origins(
            database: database, limits: limits, mirrors: MirrorMoves(database: database),
            neighbours: Neighbours(
                database: database, patienceSeconds: settings.neighbourSeconds))
        sites = Sites(
            database: database, limits: limits, closed: closedSites, shared: shared, quotas: quotas,
            checksums: ChecksumFiles(database: database),
            volumes: SiteVolumes(database: database),
            audits: SiteAudits(
                database: database, leaseSeconds: settings.leaseSeconds,
                pageRecords: settings.recordsPerAuditPage))
        workers = Workers(database: database, statuses: statuses)
        loadTests = LoadTests(database: database, times: settings.loadTests)
        events = Events(
            database: database, webhooks: Webhooks(database: database, random: random))
        access = AccessRecords(database: database)
        figures = Figures(database: database, statuses: statuses)
        housekeeping = QueueHousekeeping(database: database, queues: queues)
    }

    /// Closes the pool's connections; those in use are closed when they are returned.
    package func close() async { await database.pool.shutdown() }
}
