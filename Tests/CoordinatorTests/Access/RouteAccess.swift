import API

/// A route's row of the table of access: who may use it, and a complete request for it.
///
/// Names in braces are texts of an `AccessWorld`.
struct RouteAccess {
    /// What a worker gets for a request of another queue, or with another worker's lease.
    enum Foreign {
        case refused(status: Int, code: String)
        /// The answer has this text, and nothing has changed.
        case changesNothing(String)
        /// The request names no queue, or no lease.
        case notNamed

        static let outOfScope = Foreign.refused(status: 403, code: "cluster.outOfScope")
        static let leaseLost = Foreign.refused(status: 409, code: "worker.leaseLost")
    }

    /// Method and path.
    var name: String
    /// The roles that may use it besides admin; nil for everybody, without a token too.
    var roles: Set<AccessRole>?
    var query = ""
    var body: String?
    /// Of the complete request, by an administrator.
    var statuses: Set<Int> = [200]
    /// Nil but for workers' routes.
    var queue: Foreign?
    /// Nil but for workers' routes.
    var lease: Foreign?

    var method: String { String(name.prefix { $0 != " " }) }
    var path: String { String(name.drop { $0 != " " }.dropFirst()) }
    /// A path of the route, with any texts for its parameters.
    var anyPath: String { path.filter { $0 != "{" && $0 != "}" } }

    private static func open(_ path: String) -> RouteAccess { RouteAccess(name: "GET \(path)") }

    private static func get(
        _ path: String, _ roles: Set<AccessRole> = [.operator, .submitter, .reader],
        query: String = "", _ status: Int = 200
    ) -> RouteAccess {
        RouteAccess(name: "GET \(path)", roles: roles, query: query, statuses: [status])
    }

    private static func change(
        _ path: String, _ roles: Set<AccessRole> = [.operator], _ body: String = "{}",
        _ statuses: Set<Int> = [200, 204]
    ) -> RouteAccess {
        RouteAccess(name: "POST \(path)", roles: roles, body: body, statuses: statuses)
    }

    private static func work(
        _ name: String, query: String = "", _ body: String? = nil, queue: Foreign, lease: Foreign
    ) -> RouteAccess {
        RouteAccess(
            name: name, roles: [.worker], query: query, body: body, queue: queue, lease: lease)
    }

    /// The fields of a job that is leased to another worker.
    private static let held = #""worker":"{worker}","job":{job},"lease":"{lease}""#
    private static let file = #""url":"http://h/a","key":"h/a","role":"media""#

    /// All routes: the table of `docs/security.md`. Requests are complete, and what ends something
    /// comes after what needs it.
    static let table: [RouteAccess] = [
        .open("/healthz"), .open("/readyz"), .open("/openapi.json"),

        // Of a job, the lease is the proof.
        .work(
            "POST /v1/leases",
            #"{"worker":"{worker}","queues":["{queue}"],"maxJobs":5,"waitMilliseconds":0,"lease":"{lease}"}"#,
            queue: .outOfScope, lease: .changesNothing(#""jobs":[]"#)),
        .work(
            "POST /v1/releases", #"{"worker":"{worker}","lease":"{lease}"}"#,
            queue: .changesNothing(""), lease: .changesNothing("")),
        .work(
            "POST /v1/heartbeats",
            #"{"worker":"{worker}","leases":["{lease}"],"progress":{},"name":"n","activeTransfers":0,"queues":["{queue}"]}"#,
            queue: .outOfScope, lease: .changesNothing(#""leases":[]"#)),
        .work("GET /v1/cooldowns", queue: .notNamed, lease: .notNamed),
        .work(
            "POST /v1/reports",
            #"{"worker":"{worker}","results":[{"job":{job},"lease":"{lease}","outcome":"returned"}]}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/segments", #"{\#(held),"segments":[{"ordinal":0,\#(file)}]}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/splits",
            #"{\#(held),"multipart":"{unknown}","totalBytes":4194304,"partBytes":1048576,"validator":"v"}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/refreshes",
            #"{\#(held),"files":[{"segment":{"ordinal":0,\#(file)},"stored":{"bytes":1,"sha256":"{sha256}"}}]}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/refreshes/files", #"{\#(held)}"#, queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/rewritten-manifests", #"{\#(held)}"#,
            queue: .changesNothing("{}"), lease: .changesNothing("{}")),
        .work(
            "GET /v1/checksums", query: "?site={site}&directory=x",
            queue: .outOfScope, lease: .notNamed),
        .work(
            "POST /v1/checksums/turns",
            #"{"worker":"{worker}","lease":"{lease}","jobs":[{job}]}"#,
            queue: .changesNothing(#"["stale"]"#), lease: .changesNothing(#"["stale"]"#)),
        .work(
            "POST /v1/purges", #"{\#(held),"results":[]}"#, queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/sites/volumes", #"{"worker":"{worker}","site":{site}}"#,
            queue: .outOfScope, lease: .notNamed),
        .work(
            "POST /v1/site-audits/{audit}/leases",
            #"{"worker":"{worker}","name":"n","lease":"{unknown}"}"#,
            queue: .outOfScope, lease: .notNamed),
        .work(
            "POST /v1/site-audits/{audit}/records",
            #"{"worker":"{worker}","lease":"{lease}","page":0}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/site-audits/{audit}/checks",
            #"{"worker":"{worker}","lease":"{lease}","segments":[1],"keys":[],"multiparts":[],"leases":[],"assets":[]}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/site-audits/{audit}/reports",
            #"{"worker":"{worker}","lease":"{lease}","page":0,"number":0,"isPageDone":true,"isEnd":true,"files":0,"bytes":0,"readBytes":0,"checkedFiles":0,"findings":[]}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/sources/{catalog}/leases",
            #"{"worker":"{worker}","name":"n","lease":"{unknown}"}"#,
            queue: .outOfScope, lease: .notNamed),
        .work(
            "POST /v1/sources/{catalog}/checks",
            #"{"worker":"{worker}","lease":"{lease}","names":["a"]}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/sources/{catalog}/assets", query: "?worker={worker}&lease={lease}",
            #"{"generation":1,"assets":[{"name":"a","url":"http://origin.test/a","kind":"file","key":"origin.test/a"}]}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/sources/{catalog}/reports",
            #"{"worker":"{worker}","lease":"{lease}","result":"unchanged"}"#,
            queue: .leaseLost, lease: .leaseLost),
        .work(
            "POST /v1/load-tests/{test}/shards", #"{"worker":"{worker}","name":"n"}"#,
            queue: .outOfScope, lease: .notNamed),
        // A report of a worker that has not joined.
        .work(
            "POST /v1/load-tests/{test}/reports",
            #"{"worker":"{unknown}","progress":"ready","intervals":[],"waitMilliseconds":0}"#,
            queue: .changesNothing(#""leave""#), lease: .notNamed),
        // The worker has no running shard.
        .work(
            "POST /v1/load-tests/{test}/parts", #"{"worker":"{worker}","from":0}"#,
            queue: .outOfScope, lease: .refused(status: 404, code: "input.notFound")),

        .change(
            "/v1/catalogs", [.operator, .submitter],
            #"{"name":"new","storageURL":"file:///srv/edge","priority":5}"#),
        .change(
            "/v1/catalogs/{catalog}/assets", [.operator, .submitter],
            #"{"generation":1,"assets":[{"name":"a","url":"http://origin.test/a","kind":"file","key":"origin.test/a"}]}"#
        ),
        .change(
            "/v1/catalogs/{catalog}/start", [.operator, .submitter], #"{"generation":1}"#),
        .change(
            "/v1/selections", [.operator, .submitter],
            #"{"action":"retry","catalog":{"id":{catalog}}}"#),

        .get("/v1/catalogs/{catalog}"), .get("/v1/catalogs/{catalog}/assets"),
        .get("/v1/catalogs/{catalog}/files"), .get("/v1/catalogs/{catalog}/caches"),
        .get("/v1/catalogs/{catalog}/refresh"), .get("/v1/catalogs/{catalog}/work"),
        .get("/v1/assets", query: "?catalog={catalog}"), .get("/metrics"), .get("/v1/status"),
        .get("/v1/events"), .get("/v1/queues"), .get("/v1/origins"), .get("/v1/sites"),
        .get("/v1/report"), .get("/v1/workers/wanted", query: "?workerSegmentsPerSecond=5"),
        .get("/v1/site-audits"), .get("/v1/site-audits/{audit}"),
        .get("/v1/site-audits/{audit}/findings"),
        .get("/v1/sources"), .get("/v1/sources/{catalog}"),
        .change(
            "/v1/sources/{catalog}", [.operator, .submitter],
            #"{"url":"https://cms.example/list.json","everySeconds":3600}"#),
        .change("/v1/sources/{catalog}/read", [.operator, .submitter]),
        .change("/v1/sources/{catalog}/remove", [.operator, .submitter]),
        .get("/v1/workers/history"), .get("/v1/load-tests"), .get("/v1/load-tests/{test}"),
        .change("/v1/catalogs/{catalog}/interrupt", [.operator, .submitter]),

        .get("/v1/audit", [.operator]), .get("/v1/diagnosis", [.operator]),
        .get("/v1/load-tests/{test}/breakdown", [.operator], query: "?shard=0", 404),
        .change("/v1/queues/{queue}/control", [.operator], #"{"action":"pause"}"#),
        .change("/v1/origins/limits", [.operator], #"{"origin":null,"limits":null}"#),
        .change("/v1/site-audits/{audit}/cancel"),
        .change("/v1/site-audits", [.operator], #"{"site":"srv-other"}"#),
        .change("/v1/sites/settings", [.operator], #"{"site":"{queue}","floorBytes":1}"#),
        .change("/v1/sites/evictions", [.operator], #"{"site":"{queue}","dryRun":true}"#),
        .get("/v1/sites/popularity", query: "?site={queue}"),
        .change(
            "/v1/sites/popularity", [.operator],
            #"{"site":"{queue}","time":1,"files":[{"key":"a","requests":1,"bytes":1}]}"#),
        .change(
            "/v1/load-tests", [.operator],
            #"{"id":"{unknown}","name":"t","queue":"srv-other","scenario":"{}","atLeast":1,"waitSeconds":60,"durationSeconds":1}"#
        ),
        .change(
            "/v1/load-tests/{test}/data", [.operator],
            #"{"parts":[{"number":0,"data":"row"}]}"#),
        .change(
            "/v1/load-tests/{test}/follow", [.operator], #"{"after":[],"waitMilliseconds":0}"#),
        // It has not started.
        .change("/v1/load-tests/{test}/load", [.operator], #"{"level":5}"#, [409]),
        .change("/v1/load-tests/{test}/stop"),
        .get("/v1/webhooks", [.operator]),
        .change(
            "/v1/webhooks", [.operator],
            #"{"url":"https://hook.example/x","secret":"0123456789abcdef","kinds":["worker.lost"]}"#
        ),
        .get("/v1/webhook-deliveries", [.operator]),
        .change("/v1/webhook-deliveries/{delivery}/redeliver"),
        .change(
            "/v1/webhooks/{webhook}/change", [.operator], #"{"url":"https://hook.example/y"}"#),
        .change("/v1/webhooks/{webhook}/remove"),

        .get("/v1/tokens", []), .change("/v1/tokens", [], #"{"role":"reader"}"#),
        .change("/v1/tokens/{token}/revoke", []),
    ]
}
