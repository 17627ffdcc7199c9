import JobQueue
import Transfer

/// The HTTP API, version 1, with all routes in one table.
///
/// Stateless except for the signals that wake long polls and start folding.
struct API: Sendable {
    let health: HealthRoutes
    let metrics: MetricsRoutes
    let leases: LeaseRoutes
    let results: ResultRoutes
    let catalogs: CatalogRoutes
    let operators: OperatorRoutes
    let pool: WorkerPoolRoutes
    let loadTests: LoadTestRoutes
    let access: AccessRoutes
    let diagnosis: DiagnosisRoutes
    let events: EventRoutes
    let document = DocumentRoutes()
    let webhooks: WebhookRoutes
    let audits: SiteAuditRoutes
    let evictions: EvictionRoutes
    let sources: SourceRoutes

    /// - Parameters:
    ///   - databaseConnections: the most that this coordinator opens.
    ///   - webhookAddresses: those that it sends events to.
    init(
        memory: ClusterMemory, reported: WorkSignal, hub: EventHub,
        metrics counts: CoordinatorMetrics, figures: FigureCache, databaseConnections: Int,
        webhookAddresses: AddressPolicy
    ) {
        let queue = memory.queue
        health = HealthRoutes(readiness: ReadinessProbe(queue: queue))
        metrics = MetricsRoutes(registry: counts.registry, cache: figures)
        leases = LeaseRoutes(
            queue: queue, signal: memory.signal, cooldowns: memory.cooldowns,
            loadTests: memory.loadTests, audits: memory.audits, sources: memory.sources,
            probes: memory.probes, metrics: counts)
        results = ResultRoutes(
            queue: queue, reported: reported, cooldowns: memory.cooldowns, metrics: counts)
        catalogs = CatalogRoutes(queue: queue, reported: reported)
        operators = OperatorRoutes(queue: queue)
        pool = WorkerPoolRoutes(queue: queue)
        loadTests = LoadTestRoutes(queue: queue, loadTests: memory.loadTests)
        access = AccessRoutes(queue: queue, memory: memory)
        audits = SiteAuditRoutes(queue: queue)
        evictions = EvictionRoutes(queue: queue)
        sources = SourceRoutes(queue: queue)
        events = EventRoutes(queue: queue, hub: hub)
        webhooks = WebhookRoutes(
            queue: queue, addresses: WebhookAddresses(policy: webhookAddresses))
        diagnosis = DiagnosisRoutes(queue: queue, databaseConnections: databaseConnections)
    }

    /// All routes.
    var routes: [Route] {
        healthRoutes + workerRoutes + catalogRoutes + operatorRoutes + auditRoutes + sourceRoutes
            + loadRoutes + accessRoutes + webhookRoutes
    }

    private var healthRoutes: [Route] {
        [
            .open("/healthz", health.live).probe,
            .open("/readyz", health.ready).probe,
            .open("/openapi.json") { _ in try document.openAPI(of: routes) },
        ]
    }

    private var workerRoutes: [Route] {
        [
            .post("/v1/leases", .workers, leases.lease).frequent,
            .post("/v1/releases", .workers, leases.release),
            .post("/v1/heartbeats", .workers, leases.heartbeat).frequent,
            .get("/v1/cooldowns", .workers, leases.cooldownList),
            .post("/v1/reports", .workers, results.report).frequent,
            .post("/v1/segments", .workers, results.segments),
            .post("/v1/splits", .workers, results.split),
            .post("/v1/refreshes", .workers, results.refreshed),
            .post("/v1/refreshes/files", .workers, results.refreshFiles),
            .post("/v1/rewritten-manifests", .workers, results.rewrittenManifest),
            .get("/v1/checksums", .workers, results.checksums),
            .post("/v1/checksums/turns", .workers, results.checksumTurns),
            .post("/v1/purges", .workers, results.purge),
            .post("/v1/sites/volumes", .workers, results.volume),
            .post("/v1/site-audits/{audit}/leases", .workers, audits.lease),
            .post("/v1/site-audits/{audit}/records", .workers) { request, path, _ in
                try await audits.records(request, path)
            },
            .post("/v1/site-audits/{audit}/checks", .workers) { request, path, _ in
                try await audits.check(request, path)
            },
            .post("/v1/site-audits/{audit}/reports", .workers) { request, path, _ in
                try await audits.report(request, path)
            },
            .post("/v1/load-tests/{test}/shards", .workers, loadTests.join),
            .post("/v1/load-tests/{test}/reports", .workers, loadTests.report),
            .post("/v1/load-tests/{test}/parts", .workers, loadTests.parts),
        ]
    }

    private var catalogRoutes: [Route] {
        [
            .change("/v1/catalogs", .submitters, catalogs.open).creating,
            .get("/v1/catalogs/{catalog}", .readers, catalogs.status),
            .get("/v1/catalogs/{catalog}/assets", .readers, catalogs.assets),
            .change("/v1/catalogs/{catalog}/assets", .submitters, catalogs.add),
            .change("/v1/catalogs/{catalog}/start", .submitters, catalogs.start),
            .change("/v1/catalogs/{catalog}/interrupt", .submitters, catalogs.interrupt),
            .get("/v1/catalogs/{catalog}/files", .readers, catalogs.files),
            .get("/v1/catalogs/{catalog}/caches", .readers, catalogs.caches),
            .get("/v1/catalogs/{catalog}/work", .readers, catalogs.work),
            .get("/v1/catalogs/{catalog}/refresh", .readers, catalogs.refreshSummary),
            .get("/v1/assets", .readers, catalogs.browse),
            .change("/v1/selections", .submitters, catalogs.select),
        ]
    }

    private var operatorRoutes: [Route] {
        [
            .get("/metrics", .readers, metrics.metrics),
            .get("/v1/status", .readers, operators.status),
            .get("/v1/diagnosis", .operators, diagnosis.diagnosis),
            .get("/v1/events", .readers, events.events),
            .get("/v1/queues", .readers, operators.queues),
            .change("/v1/queues/{queue}/control", .operators, operators.control),
            .get("/v1/origins", .readers, operators.origins),
            .change("/v1/origins/limits", .operators, operators.setLimits),
            .get("/v1/sites", .readers, operators.sites),
            .change("/v1/sites/settings", .operators, operators.configure),
            .change("/v1/sites/evictions", .operators, evictions.evict),
            .get("/v1/sites/popularity", .readers, evictions.popularity),
            .change("/v1/sites/popularity", .operators, evictions.note).creating,
            .get("/v1/report", .readers, operators.report),
            .get("/v1/workers/wanted", .readers, pool.wanted),
            .get("/v1/workers/history", .readers, pool.history),
        ]
    }

    private var auditRoutes: [Route] {
        [
            .get("/v1/site-audits", .readers, audits.list),
            .change("/v1/site-audits", .operators, audits.create).creating,
            .get("/v1/site-audits/{audit}", .readers, audits.status),
            .get("/v1/site-audits/{audit}/findings", .readers, audits.findings),
            .change("/v1/site-audits/{audit}/cancel", .operators, audits.cancel),
        ]
    }

    private var sourceRoutes: [Route] {
        [
            .get("/v1/sources", .readers, sources.list),
            .get("/v1/sources/{catalog}", .readers, sources.status),
            .change("/v1/sources/{catalog}", .submitters, sources.set),
            .change("/v1/sources/{catalog}/read", .submitters, sources.readNow),
            .change("/v1/sources/{catalog}/remove", .submitters, sources.remove),
            .post("/v1/sources/{catalog}/leases", .workers, sources.lease),
            .post("/v1/sources/{catalog}/checks", .workers) { request, path, _ in
                try await sources.check(request, path)
            },
            .post("/v1/sources/{catalog}/assets", .workers) { request, path, _ in
                try await sources.add(request, path)
            },
            .post("/v1/sources/{catalog}/reports", .workers) { request, path, _ in
                try await sources.report(request, path)
            },
        ]
    }

    private var loadRoutes: [Route] {
        [
            .get("/v1/load-tests", .readers, loadTests.list),
            .change("/v1/load-tests", .operators, loadTests.create).creating,
            .get("/v1/load-tests/{test}", .readers, loadTests.status),
            .change("/v1/load-tests/{test}/data", .operators, loadTests.add),
            .post("/v1/load-tests/{test}/follow", .operators, loadTests.follow),
            .change("/v1/load-tests/{test}/load", .operators, loadTests.change),
            .change("/v1/load-tests/{test}/stop", .operators, loadTests.stop),
            .get("/v1/load-tests/{test}/breakdown", .operators, loadTests.breakdown),
        ]
    }

    private var webhookRoutes: [Route] {
        [
            .get("/v1/webhooks", .operators, webhooks.list),
            .change("/v1/webhooks", .operators, webhooks.create).creating,
            .change("/v1/webhooks/{webhook}/change", .operators, webhooks.change),
            .change("/v1/webhooks/{webhook}/remove", .operators, webhooks.remove),
            .get("/v1/webhook-deliveries", .operators, webhooks.deliveries),
            .change(
                "/v1/webhook-deliveries/{delivery}/redeliver", .operators, webhooks.redeliver),
        ]
    }

    private var accessRoutes: [Route] {
        [
            .get("/v1/tokens", .admins, access.list),
            .change("/v1/tokens", .admins, access.create).creating,
            .change("/v1/tokens/{token}/revoke", .admins, access.revoke),
            .get("/v1/audit", .operators, access.audit),
        ]
    }
}
