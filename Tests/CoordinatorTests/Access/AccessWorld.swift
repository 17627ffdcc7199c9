import API
import CoordinatorClient
import Model
import TestSupport

/// A cluster in which each request of the table of access would have an effect.
struct AccessWorld {
    let fixture: Fixture
    /// Texts for the names in braces.
    private let texts: [String: String]
    /// A worker of the other queue, which holds nothing.
    private static let other: WorkerID = "22222222-2222-4333-8444-555555555555"

    /// Two sites, a leased job of one of them, a load test there, and a dead delivery of a webhook.
    init(_ fixture: Fixture) async throws {
        self.fixture = fixture
        let catalog = try await fixture.submit(["a"])
        let grant = try await fixture.lease()
        let handle = try await fixture.client.openCatalog(
            CatalogSubmission(name: "movies", storageURL: "file:///srv/other"))
        try await fixture.client.start(
            handle.id, CatalogStartRequest(generation: handle.generation))
        _ = try await fixture.client.heartbeat(
            Heartbeat(
                worker: Self.other, leases: [], progress: [:], name: "n", activeTransfers: 0))
        let test = try await fixture.client.create(
            LoadTestSubmission(
                id: .random(), name: "t", queue: "srv-edge", scenario: "{}", atLeast: 1,
                waitSeconds: WireLimits.loadWaitSeconds.upperBound, durationSeconds: 1, parts: 2))
        try await fixture.client.set(
            SourceSubmission(url: "https://cms.example/list.json", everySeconds: 3_600), of: catalog
        )
        let audit = try await fixture.client.create(SiteAuditSubmission(site: "srv-edge"))
        var hook = WebhookSubmission(
            url: "https://hook.example/x", secret: "0123456789abcdef")
        hook.kinds = ["worker.lost"]
        let webhook = try await fixture.client.createWebhook(hook)
        let delivery = try await fixture.execute(
            """
            INSERT INTO webhook_delivery (webhook_id, kind, body, state, ended_at)
            VALUES (\(webhook.id), 'worker.lost', '{}', 'dead', now()) RETURNING id
            """)
        // However long the requests take, no worker is lost: nor one that sends a heartbeat.
        _ = try await fixture.execute(
            """
            CREATE FUNCTION stay() RETURNS trigger LANGUAGE plpgsql AS
                $$BEGIN NEW.last_seen := now() + interval '1 day'; RETURN NEW; END$$;
            CREATE TRIGGER stay BEFORE INSERT OR UPDATE ON worker
                FOR EACH ROW EXECUTE FUNCTION stay();
            UPDATE worker SET last_seen = now();
            UPDATE lease SET expires_at = now() + interval '1 day'
            """)
        let token = try await fixture.token(.reader, name: "spare")
        guard let lease = grant.lease, let site = grant.site?.id, let job = grant.jobs.first
        else { throw DeadlinePassed("nothing is leased") }
        texts = [
            "worker": "\(Self.other)", "lease": "\(lease)", "job": "\(job.id)", "site": "\(site)",
            "queue": "srv-edge", "catalog": "\(catalog)", "test": "\(test.id)",
            "audit": "\(audit.id)",
            "webhook": "\(webhook.id)", "delivery": String(delivery.prefix { $0.isNumber }),
            "token": "\(token.token.id)", "unknown": Fixture.unknown,
            "sha256": String(repeating: "0", count: 64),
        ]
    }

    private func filled(_ text: String) -> String {
        texts.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    /// Sends the complete request of a route.
    func send(_ row: RouteAccess, headers: [String: String] = [:]) async throws -> Wire.Answer {
        try await fixture.send(
            row.method, filled(row.path + row.query), row.body.map(filled), headers: headers)
    }

    /// Sends a request that is rejected for its body, or the complete one where there is none.
    func sendIncomplete(
        _ row: RouteAccess, headers: [String: String]
    ) async throws -> Wire.Answer {
        try await fixture.send(
            row.method, filled(row.path + row.query), row.body.map { _ in #"{"x":1}"# },
            headers: headers)
    }

    /// Everything but the times of workers' last heartbeats, and their quotas.
    func tables() async throws -> String { try await fixture.tables(besides: "worker", "quota") }
}
