import API
import Metrics
import Model

/// The descriptions of all routes, by `Route.name`. A test requires one for each.
extension RouteDescription {
    static let all: [String: RouteDescription] = [
        open, working, catalogs, operating, audits, evictions, sources, sourceWork, loadTests,
        webhooks, access,
    ].reduce(into: [:]) { all, group in all.merge(group) { $1 } }

    private static let open: [String: RouteDescription] = [
        "GET /healthz": Self("Reports that the coordinator runs.", .text(["text/plain"])),
        "GET /readyz": Self("Reports that the database answers.", .text(["text/plain"])),
        "GET /openapi.json": Self("Returns this API's OpenAPI document.", .document),
    ]

    private static let working: [String: RouteDescription] = [
        "POST /v1/leases": Self(
            "Leases a batch of jobs; waits for some if there are none.",
            body: LeaseRequest.self, .rows(LeaseGrant.self)),
        "POST /v1/releases": Self(
            "Releases a lease whose grant never arrived.", body: LeaseRelease.self, .nothing),
        "POST /v1/heartbeats": Self(
            "Extends a worker's leases and reports its activity.",
            body: Heartbeat.self, .json(HeartbeatAnswer.self)),
        "GET /v1/cooldowns": Self(
            "Returns the origins in cooldown, once they differ from a version.",
            query: [
                Parameter(
                    "after", Schema(.string), "The version that the caller has; none for at once."),
                Parameter(
                    "waitMilliseconds", Schema(.integer, .range(0...WireLimits.waitMilliseconds)),
                    "Maximum time to wait for another version."),
            ], .json(CooldownList.self)),
        "POST /v1/reports": Self(
            "Records the results of leased jobs.",
            body: ReportRequest.self, .rows(ReportAnswer.self)),
        "POST /v1/segments": Self(
            "Adds segments that a job has found in a title.",
            body: SegmentBatch.self, .json(VerdictAnswer.self)),
        "POST /v1/splits": Self(
            "Splits a leased fetch of a large file into parts.",
            body: SplitRequest.self, .json(VerdictAnswer.self)),
        "POST /v1/refreshes": Self(
            "Records files that a refresh has requested again.",
            body: RefreshBatch.self, .json(VerdictAnswer.self)),
        "POST /v1/refreshes/files": Self(
            "Returns a page of the stored files of an asset whose refresh is leased.",
            body: RefreshFilesRequest.self, .json(RefreshFilesPage.self)),
        "POST /v1/rewritten-manifests": Self(
            "Returns the rewritten manifest that a leased job stores.",
            body: RewrittenManifestRequest.self, .json(RewrittenManifest.self)),
        "GET /v1/checksums": Self(
            "Lists the entries of a directory's SHA256SUMS.",
            query: [
                Parameter(
                    "site", Schema(.integer, .range(1...Int.max)), "The site's number.",
                    isRequired: true),
                Parameter("directory", Schema(.string), "The directory, relative to the site."),
            ] + Parameter.page, .rows(ChecksumPage.self), failures: [404]),
        "POST /v1/checksums/turns": Self(
            "Returns which jobs may write the checksum files of their directories now.",
            body: ChecksumTurnRequest.self, .json(ChecksumTurns.self)),
        "POST /v1/purges": Self(
            "Reports deleted files of a leased purge job; returns the next ones to delete.",
            body: PurgeRequest.self, .json(PurgePage.self)),
        "POST /v1/sites/volumes": Self(
            "Reads or records the volume of a site.",
            body: SiteVolumeRequest.self, .json(SiteVolumeAnswer.self)),
        "POST /v1/site-audits/{audit}/leases": Self(
            "Leases an audit, unless another worker has it.",
            body: WorkLeaseRequest.self, .json(SiteAuditGrant.self)),
        "POST /v1/site-audits/{audit}/records": Self(
            "Returns a page of what is recorded as stored at the site of a leased audit.",
            body: SiteAuditRecordsRequest.self, .rows(SiteAuditRecords.self)),
        "POST /v1/site-audits/{audit}/checks": Self(
            "Returns the present records of what looks wrong in a leased audit.",
            body: SiteAuditCheck.self, .json(SiteAuditChecked.self)),
        "POST /v1/site-audits/{audit}/reports": Self(
            "Records what a leased audit has found.",
            body: SiteAuditReport.self, .json(SiteAuditOrder.self)),
        "POST /v1/load-tests/{test}/shards": Self(
            "Joins a load test if it still needs workers.",
            body: LoadTestJoin.self, .json(LoadTestAssignment.self)),
        "POST /v1/load-tests/{test}/reports": Self(
            "Reports the progress of a shard; returns the worker's order.",
            body: LoadTestReport.self, .json(LoadTestOrder.self)),
        "POST /v1/load-tests/{test}/parts": Self(
            "Returns a running shard's parts of the test's data, or blocks of URLs.",
            body: LoadTestPartsRequest.self, .json(LoadTestParts.self)),
    ]

    private static let catalogs: [String: RouteDescription] = [
        "POST /v1/catalogs": Self(
            "Opens a catalog for submission; creates it, its site and its queue on first use.",
            body: CatalogSubmission.self, .json(CatalogHandle.self)),
        "GET /v1/catalogs/{catalog}": Self(
            "Returns the progress of a catalog.",
            query: [
                Parameter("active", Schema(.boolean), "False to leave out the assets in progress.")
            ], .json(CatalogStatus.self)),
        "GET /v1/catalogs/{catalog}/assets": Self(
            "Lists the assets of a catalog by number.",
            query: [.choice("state", AssetState.self, "Assets in this state only.")]
                + Parameter.page, .json(AssetPage.self)),
        "POST /v1/catalogs/{catalog}/assets": Self(
            "Adds assets to a submission; may be repeated.", body: AssetBatch.self, .nothing),
        "POST /v1/catalogs/{catalog}/start": Self(
            "Ends a submission and creates its jobs; may be repeated.",
            body: CatalogStartRequest.self, .json(CatalogStarted.self)),
        "POST /v1/catalogs/{catalog}/interrupt": Self(
            "Holds the jobs of a catalog that have not started, until it is submitted again.",
            body: NoFields.self, .nothing),
        "GET /v1/catalogs/{catalog}/files": Self(
            "Lists the stored files of a catalog by asset.", query: Parameter.page,
            .json(FilePage.self)),
        "GET /v1/catalogs/{catalog}/caches": Self(
            "Returns how the POPs of a cache served a catalog's objects.", query: Parameter.page,
            .json(CacheReport.self)),
        "GET /v1/catalogs/{catalog}/work": Self(
            "Returns the workers' work for the present or last run of a catalog.",
            .json(CatalogWork.self)),
        "GET /v1/catalogs/{catalog}/refresh": Self(
            "Returns the results so far of a catalog's last refresh.", .json(RefreshSummary.self)),
        "GET /v1/assets": Self(
            "Lists assets of a catalog by state, name, failure, size and more.",
            query: [
                Parameter(
                    "catalog", Schema(.string, .characters(1...200)), "Its number or name.",
                    isRequired: true),
                .siteOfCatalog,
                Parameter("state", Schema(.string), "States, separated by commas."),
                .choice("kind", AssetKind.self, "Assets of this kind only."),
                Parameter(
                    "code", Schema(.string, .characters(1...1_000)),
                    "A failure code; `*` matches any characters."),
                Parameter(
                    "name", Schema(.string, .characters(1...1_000)),
                    "The whole name; `*` matches any characters."),
                Parameter(
                    "search", Schema(.string, .characters(1...1_000)),
                    "A part of the name or the URL."),
                Parameter("minimumBytes", Schema(.integer, .range(0...Int.max)), "Smallest size."),
                Parameter("maximumBytes", Schema(.integer, .range(0...Int.max)), "Largest size."),
                .choice("sort", AssetQuery.Order.self, "The order; `name` without it."),
                Parameter("descending", Schema(.boolean), "True for the reverse order."),
            ] + Parameter.page, .json(AssetListing.self), failures: [404]),
        "POST /v1/selections": Self(
            "Cancels, retries, pauses, resumes, refreshes, removes, reprioritises or reschedules "
                + "what is selected.",
            body: SelectionAction.self, .json(SelectionAnswer.self)),
    ]

    private static let operating: [String: RouteDescription] = [
        "GET /metrics": Self(
            "Returns the metrics of the coordinator and the cluster, for Prometheus.",
            .text(MetricsFormat.allCases.map(\.contentType))),
        "GET /v1/status": Self("Returns an overview of the cluster.", .json(ClusterStatus.self)),
        "GET /v1/diagnosis": Self(
            "Returns what a coordinator knows of itself and its database.",
            .json(CoordinatorDiagnosis.self)),
        "GET /v1/events": Self(
            "Returns changes of states, the oldest first, as a page or as a stream.",
            query: [
                Parameter(
                    "catalog", Schema(.string, .characters(1...200)),
                    "Number or name of the catalog."),
                .siteOfCatalog,
                Parameter(
                    "kind", Schema(.string),
                    "Kinds (`asset.failed`) or subjects (`worker`), separated by commas."),
                Parameter(
                    "since", Schema(.number, .range(WireLimits.pointsInTime)),
                    "Events from this time on: seconds since 1970."),
                Parameter(
                    "after", Schema(.string, .characters(1...200)),
                    "The `next` of a page or the `id` of an event; `now` for the present position."),
                .limit,
            ], .events(EventPage.self), failures: [404, 410]),
        "GET /v1/report": Self(
            "Returns what was stored and what failed, from daily figures.",
            query: [
                .choice("by", DailyReport.Grouping.self, "What is grouped; `day` without it."),
                Parameter(
                    "days", Schema(.integer, .range(1...WireLimits.reportDays)),
                    "The last days in UTC, with today; 7 without it."),
                Parameter("since", Schema(.string), "The first day in UTC: `2026-11-26`."),
                Parameter("until", Schema(.string), "The last day in UTC; today without it."),
                Parameter(
                    "catalog", Schema(.string, .characters(1...200)), "Results of this catalog."),
                Parameter("site", Schema(.string, .characters(1...4_000)), "Results of this site."),
                Parameter(
                    "origin", Schema(.string, .characters(1...1_000)), "Results of this origin."),
                Parameter(
                    "code", Schema(.string, .characters(1...100)), "Failures with this code."),
            ], .json(DailyReport.self), failures: [404]),
        "GET /v1/queues": Self("Lists the queues.", .json(QueueList.self)),
        "POST /v1/queues/{queue}/control": Self(
            "Pauses, resumes or drains a queue.",
            body: QueueControl.self, .json(ClusterStatus.QueueStatus.self)),
        "GET /v1/origins": Self(
            "Lists the origins by name, with their limits and health.", query: Parameter.page,
            .json(OriginPage.self)),
        "POST /v1/origins/limits": Self(
            "Sets or clears the limits of an origin, or those of all origins without their own.",
            body: OriginLimitsChange.self, .nothing),
        "GET /v1/sites": Self("Lists the sites by queue.", .json(SiteList.self)),
        "POST /v1/sites/settings": Self(
            "Changes the settings of a site.", body: SiteSettings.self, .json(SiteStatus.self)),
        "GET /v1/workers/wanted": Self(
            "Returns the number of workers that an autoscaler should keep now.",
            query: [
                Parameter(
                    "queue", Schema(.string, .characters(1...200)), "This queue's workers only."),
                Parameter(
                    "workerSegmentsPerSecond", Schema(.number, .range(1e-6...1e6)),
                    "The rate of one worker.", isRequired: true),
                Parameter(
                    "withinSeconds", Schema(.number, .range(1...31_536_000)),
                    "Time in which work without a deadline should be done."),
                Parameter(
                    "bootSeconds", Schema(.number, .range(0...86_400)),
                    "Time until a new worker works."),
                Parameter(
                    "minimum", Schema(.number, .range(0...100_000)), "Minimum of workers."),
                Parameter(
                    "maximum", Schema(.number, .range(0...100_000)), "Maximum of workers."),
                Parameter(
                    "tolerance", Schema(.number, .range(0.0...0.9)),
                    "Part of the workers that is not worth a change."),
            ], .json(WorkersWanted.self), failures: [404]),
        "GET /v1/workers/history": Self(
            "Returns the work of all workers by minute.",
            query: [
                Parameter(
                    "seconds", Schema(.number, .range(60...WorkersHistory.keptSeconds)),
                    "Length of the period; a day without it.")
            ], .json(WorkersHistory.self)),
    ]

    private static let loadTests: [String: RouteDescription] = [
        "GET /v1/load-tests": Self(
            "Lists the load tests, the latest first.", .json(LoadTestList.self)),
        "POST /v1/load-tests": Self(
            "Creates a load test and calls for workers.",
            body: LoadTestSubmission.self, .json(LoadTestStatus.self)),
        "GET /v1/load-tests/{test}": Self(
            "Returns the status of a load test.", .json(LoadTestStatus.self)),
        "POST /v1/load-tests/{test}/data": Self(
            "Adds parts of a load test's data; may be repeated.", body: LoadTestData.self,
            .json(LoadTestDataAnswer.self)),
        "POST /v1/load-tests/{test}/follow": Self(
            "Returns the changes of a load test, and keeps it running.",
            body: LoadTestFollow.self, .json(LoadTestUpdate.self)),
        "POST /v1/load-tests/{test}/load": Self(
            "Changes the rate or the users of a running load test, from two seconds after to its "
                + "planned end.",
            body: LoadTestChangeRequest.self, .json(LoadTestChange.self)),
        "POST /v1/load-tests/{test}/stop": Self(
            "Stops all workers of a load test.", body: NoFields.self, .json(LoadTestStatus.self)),
        "GET /v1/load-tests/{test}/breakdown": Self(
            "Returns a shard's results by URL, target and rendition.",
            query: [
                Parameter(
                    "shard", Schema(.integer, .range(0...WireLimits.loadWorkers - 1)),
                    "The shard's number.", isRequired: true)
            ], .json(LoadTestBreakdown.self)),
    ]

    private static let webhooks: [String: RouteDescription] = [
        "GET /v1/webhooks": Self(
            "Lists the webhooks without their secrets.", .json(WebhookList.self)),
        "POST /v1/webhooks": Self(
            "Creates a webhook, to which events are sent from now on.",
            body: WebhookSubmission.self, .json(WebhookStatus.self)),
        "POST /v1/webhooks/{webhook}/change": Self(
            "Changes the URL or the secret of a webhook, which keeps its deliveries.",
            body: WebhookChange.self, .json(WebhookStatus.self)),
        "POST /v1/webhooks/{webhook}/remove": Self(
            "Removes a webhook and its deliveries.", body: NoFields.self,
            .json(WebhookStatus.self)),
        "GET /v1/webhook-deliveries": Self(
            "Lists what was sent and is to be sent to webhooks, the latest first.",
            query: [
                Parameter(
                    "webhook", Schema(.integer, .range(1...Int.max)),
                    "Deliveries of this webhook only."),
                .choice("state", WebhookDelivery.State.self, "Deliveries in this state only."),
            ] + Parameter.page, .json(WebhookDeliveryPage.self), failures: [404]),
        "POST /v1/webhook-deliveries/{delivery}/redeliver": Self(
            "Sends a delivery again.", body: NoFields.self, .json(WebhookDelivery.self)),
    ]

    private static let access: [String: RouteDescription] = [
        "GET /v1/tokens": Self(
            "Lists the access tokens without their texts.", .json(TokenList.self)),
        "POST /v1/tokens": Self(
            "Creates an access token; the answer alone has its text.",
            body: TokenSubmission.self, .json(IssuedToken.self)),
        "POST /v1/tokens/{token}/revoke": Self(
            "Revokes an access token at once.", body: NoFields.self, .json(TokenStatus.self)),
        "GET /v1/audit": Self(
            "Lists the changes that requests made or tried, the latest first.",
            query: Parameter.page, .json(AuditPage.self)),
    ]
}
