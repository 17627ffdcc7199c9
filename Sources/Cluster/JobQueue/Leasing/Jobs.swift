import Services
import Statistics

/// Jobs, from their claim to the report of what became of them.
package struct Jobs: Sendable {
    package let claims: Claims
    package let leases: Leases
    package let reports: Reports
    /// What workers that read a manifest add.
    package let segments: Segments
    /// What workers that fetch a large file ask for.
    package let splits: Splits
    /// What titles do without.
    package let optionalRenditions: OptionalRenditions

    /// - Parameter random: source of the jitter of retries.
    init(
        database: QueueDatabase, settings: JobQueue.Settings, random: SeededRandom,
        queues: KnownQueues, quotas: Quotas, closedSites: ClosedSites
    ) {
        let renewals = URLRenewals(freshSeconds: settings.freshURLSeconds)
        let writer = ReportPlanExecutor(
            origins: OriginCooldowns(settings), closedSites: closedSites, renewals: renewals,
            maxAttemptsAtMirrors: settings.maxAttemptsAtMirrors)
        reports = Reports(
            database: database, writer: writer, renewals: renewals,
            delays: RetryDelays(settings.retry, random))
        claims = Claims(
            database: database, queues: queues, quotas: quotas, closedSites: closedSites,
            reports: reports, leaseSeconds: settings.leaseSeconds)
        leases = Leases(
            database: database, reports: reports, quotas: quotas, closedSites: closedSites,
            leaseSeconds: settings.leaseSeconds, machine: settings.machine)
        segments = Segments(database: database, renewals: renewals)
        splits = Splits(database: database)
        optionalRenditions = OptionalRenditions(database: database)
    }
}
