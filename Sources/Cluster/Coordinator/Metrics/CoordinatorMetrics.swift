import API
import HTTPServer
import JobQueue
package import Metrics
import Model
import Postgres

/// Counts and measures the work of a coordinator. Safe from any thread.
///
/// Requests and batches are counted once each, whatever number of jobs they have. Figures of the
/// whole cluster are in `ClusterMetrics`.
package final class CoordinatorMetrics: Sendable {
    package let registry = MetricRegistry()

    let leases: Counter
    let leasedJobs: Counter
    let lostJobs: Counter
    let claimDuration: DurationHistogram
    let reportDuration: DurationHistogram
    let heartbeatDuration: DurationHistogram
    let webhooks: WebhookMetrics
    private let results: BoundedSeries<Counter>
    private let failures: BoundedSeries<Counter>
    private let requests: BoundedSeries<Counter>
    private let segments: BoundedSeries<Counter>
    private let storedBytes: BoundedSeries<Counter>
    private let retries: BoundedSeries<Counter>
    private let assets: BoundedSeries<Counter>

    /// Number of queues with series of their own.
    static let maxQueues = 200

    package init() {
        registry.declareProcess(version: drayVersion)
        leases = registry.counter("dray_leases", "Leases that were granted.")
        leasedJobs = registry.counter("dray_leased_jobs", "Jobs in leases that were granted.")
        lostJobs = registry.counter(
            "dray_lost_jobs", "Jobs whose lease ended before its worker reported them.")
        claimDuration = registry.histogram(
            "dray_claim_duration_seconds", exponents: DurationHistogram.requestExponents,
            "Time of a claim of jobs in the database, without the wait for jobs.")
        reportDuration = registry.histogram(
            "dray_report_duration_seconds", exponents: DurationHistogram.requestExponents,
            "Time in which the results of a report are recorded.")
        heartbeatDuration = registry.histogram(
            "dray_heartbeat_duration_seconds", exponents: DurationHistogram.requestExponents,
            "Time in which a heartbeat is recorded.")
        results = registry.counters(
            "dray_results", ["outcome", "verdict"], maxSeries: 10,
            "Reported results of jobs. A stale one came without the lease, a rejected one is invalid: "
                + "both change nothing."
        )
        failures = registry.counters(
            "dray_failures", ["code"], maxSeries: 160,
            "Accepted results that are failures, by failure code; some are tried again.")
        requests = registry.counters(
            "dray_http_requests", ["route", "status"], maxSeries: 240,
            "Requests that a route answered, by class of the status.")
        segments = registry.counters(
            "dray_segments", ["queue", "result"], maxSeries: 2 * Self.maxQueues,
            "Segments that ended, by their queue. The coordinator that folds a count has it.")
        storedBytes = registry.counters(
            "dray_stored_bytes", ["queue", "source"], maxSeries: 2 * Self.maxQueues,
            "Bytes of segments that are done: fetched from an origin, or reused because they were "
                + "stored already."
        )
        retries = registry.counters(
            "dray_retries", ["queue"], maxSeries: Self.maxQueues, "Attempts that are repeated.")
        assets = registry.counters(
            "dray_assets", ["queue", "state"], maxSeries: 3 * Self.maxQueues,
            "Assets that ended, by state.")
        webhooks = WebhookMetrics(in: registry)
    }

    /// Counts the results of a report that was recorded.
    func count(_ reported: [JobReport], _ verdicts: [ReportAnswer.Verdict]) {
        var done = 0
        for (index, verdict) in zip(reported.indices, verdicts) {
            // Nearly all of them.
            if case .done = reported[index].outcome, verdict == .accepted {
                done += 1
                continue
            }
            let report = reported[index]
            results[report.outcome.kind.rawValue, verdict.rawValue].add()
            guard verdict == .accepted, let code = report.failed?.failure.code else { continue }
            // Any text may come from a worker.
            failures[code.isKnown ? code.rawValue : MetricFamily.other].add()
        }
        if done > 0 {
            results[JobReport.Outcome.Kind.done.rawValue, ReportAnswer.Verdict.accepted.rawValue]
                .add(done)
        }
    }

    func count(_ grant: LeaseGrant) {
        guard grant.lease != nil else { return }
        leases.add()
        leasedJobs.add(grant.jobs.count)
    }

    func count(_ folded: FoldedCounts) {
        let queue = folded.queue
        add(folded.segmentsDone, to: segments, queue, "done")
        add(folded.segmentsFailed, to: segments, queue, "failed")
        add(folded.bytes - folded.reusedBytes, to: storedBytes, queue, "origin")
        add(folded.reusedBytes, to: storedBytes, queue, "reused")
        if folded.retries > 0 { retries[queue].add(folded.retries) }
        add(folded.assetsCompleted, to: assets, queue, "completed")
        add(folded.assetsFailed, to: assets, queue, "failed")
        add(folded.assetsCancelled, to: assets, queue, "cancelled")
    }

    private func add(
        _ count: Int64, to counters: BoundedSeries<Counter>, _ queue: String, _ value: String
    ) {
        if count > 0 { counters[queue, value].add(count) }
    }

    /// Returns the route with a handler that counts its answers.
    func counting(_ route: Route) -> Route {
        var counting = route
        let answers = RouteAnswers(requests, route: route.name)
        counting.answers = answers
        return counting
    }

    /// Declares the number of event streams.
    func declare(_ hub: EventHub) {
        registry.gauge("dray_event_streams", "Open streams of events.") { [weak hub] in
            hub.map { Double($0.streamCount) }
        }
    }

    /// Declares the use of the database's connections, and requests.
    func declare(
        pool: PostgresPool, waitingRequests: @escaping @Sendable () -> Int,
        server: @escaping @Sendable () -> HTTPServer?
    ) {
        registry.gauges(
            "dray_database_connections", ["state"], maxSeries: 3,
            "Connections to PostgreSQL, without the one that listens."
        ) {
            let usage = pool.usage
            return [
                MetricSample(["used"], Double(usage.used)),
                MetricSample(["idle"], Double(usage.idle)),
            ]
        }
        registry.gauge("dray_database_max_connections", "Maximum of connections to PostgreSQL.") {
            Double(pool.usage.maximum)
        }
        registry.gauge(
            "dray_database_waiting_calls", "Calls that wait for a connection to PostgreSQL."
        ) { Double(pool.usage.waiting) }
        registry.gauge(
            "dray_waiting_lease_requests", "Lease requests that are held open until there are jobs."
        ) { Double(waitingRequests()) }
        registry.gauge("dray_http_active_requests", "Requests that are being answered.") {
            server().map { Double($0.activeRequestCount) }
        }
        registry.gauge("dray_http_connections", "Open connections of clients and workers.") {
            server().map { Double($0.connectionCount) }
        }
    }
}

/// Counts the answers of one route. Safe from any thread.
final class RouteAnswers: Sendable {
    private let requests: BoundedSeries<Counter>
    private let route: String
    /// Nearly all answers, without a look-up.
    private let succeeded: Counter

    init(_ requests: BoundedSeries<Counter>, route: String) {
        self.requests = requests
        self.route = route
        succeeded = requests[route, "2xx"]
    }

    func count(_ status: Int) {
        switch status {
        case 200..<300: succeeded.add()
        case 300..<400: requests[route, "3xx"].add()
        case 400..<500: requests[route, "4xx"].add()
        default: requests[route, "5xx"].add()
        }
    }
}
