import JobQueue

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

    init(
        queue: JobQueue, signal: WorkSignal, reported: WorkSignal, cooling: CoolingOrigins,
        loadTests called: CalledLoadTests, metrics counts: CoordinatorMetrics, figures: FigureCache
    ) {
        health = HealthRoutes(readiness: ReadinessProbe(queue: queue))
        metrics = MetricsRoutes(registry: counts.registry, cache: figures)
        leases = LeaseRoutes(
            queue: queue, signal: signal, cooling: cooling, loadTests: called, metrics: counts)
        results = ResultRoutes(
            queue: queue, reported: reported, cooling: cooling, metrics: counts)
        catalogs = CatalogRoutes(queue: queue)
        operators = OperatorRoutes(queue: queue, reported: reported)
        pool = WorkerPoolRoutes(queue: queue)
        loadTests = LoadTestRoutes(queue: queue, loadTests: called)
    }

    /// All routes.
    var routes: [Route] {
        healthRoutes + workerRoutes + catalogRoutes + operatorRoutes + loadRoutes
    }

    private var healthRoutes: [Route] {
        [
            .get("/healthz", health.live).open,
            .get("/readyz", health.ready).open,
        ]
    }

    private var workerRoutes: [Route] {
        [
            .post("/v1/leases", leases.lease).frequent,
            .post("/v1/releases", leases.release),
            .post("/v1/heartbeats", leases.heartbeat).frequent,
            .get("/v1/cooling", leases.coolingList),
            .post("/v1/reports", results.report).frequent,
            .post("/v1/segments", results.segments),
            .post("/v1/splits", results.split),
            .post("/v1/refreshes", results.refreshed),
            .post("/v1/refreshes/files", results.refreshFiles),
            .post("/v1/rewritten-manifests", results.rewrittenManifest),
            .post("/v1/checksums/turns", results.checksumTurns),
            .post("/v1/sites/volumes", results.volume),
        ]
    }

    private var catalogRoutes: [Route] {
        [
            .post("/v1/catalogs", catalogs.open),
            .get("/v1/catalogs/{catalog}", catalogs.status),
            .get("/v1/catalogs/{catalog}/assets", catalogs.assets),
            .post("/v1/catalogs/{catalog}/assets", catalogs.add),
            .post("/v1/catalogs/{catalog}/start", catalogs.start),
            .post("/v1/catalogs/{catalog}/interrupt", catalogs.interrupt),
            .get("/v1/catalogs/{catalog}/files", catalogs.files),
            .get("/v1/catalogs/{catalog}/refresh", catalogs.refreshSummary),
            .get("/v1/assets", catalogs.browse),
            .get("/v1/checksums", catalogs.checksums),
        ]
    }

    private var operatorRoutes: [Route] {
        [
            .get("/metrics", metrics.metrics),
            .get("/v1/status", operators.status),
            .get("/v1/queues", operators.queues),
            .post("/v1/queues/{queue}/control", operators.control),
            .post("/v1/selections", operators.select),
            .get("/v1/origins", operators.origins),
            .post("/v1/origins/limits", operators.setLimits),
            .get("/v1/sites", operators.sites),
            .post("/v1/sites/settings", operators.configure),
            .get("/v1/workers/wanted", pool.wanted),
            .get("/v1/workers/history", pool.history),
        ]
    }

    private var loadRoutes: [Route] {
        [
            .get("/v1/load-tests", loadTests.list),
            .post("/v1/load-tests", loadTests.create),
            .get("/v1/load-tests/{test}", loadTests.status),
            .post("/v1/load-tests/{test}/follow", loadTests.follow),
            .post("/v1/load-tests/{test}/stop", loadTests.stop),
            .get("/v1/load-tests/{test}/breakdown", loadTests.breakdown),
            .post("/v1/load-tests/{test}/shards", loadTests.join),
            .post("/v1/load-tests/{test}/reports", loadTests.report),
        ]
    }
}
