import API
import Coordinator
import CoordinatorClient
import JobQueue
import Model
import TestSupport
import Testing

/// The audit log: who changed what.
@Suite struct AuditTests {
    @Test func everyChangeLeavesOneRow() async throws {
        try await Fixture.with { fixture in
            let token = try await fixture.token(.operator, name: "ops")
            try await fixture.asking(with: token) { client in
                let site = "file:///srv/edge"
                let handle = try await client.openCatalog(
                    CatalogSubmission(name: "movies", storageURL: site, priority: 7))
                for name in ["a", "b", "c"] {
                    try await client.submit(
                        AssetBatch(generation: handle.generation, assets: [Fixture.file(name)]),
                        to: handle.id)
                }
                try await client.start(
                    handle.id, CatalogStartRequest(generation: handle.generation))
                _ = try await client.control(queue: "srv-edge", QueueControl(.pause))
                _ = try await client.apply(
                    SelectionAction(
                        .reprioritise, catalog: CatalogReference(handle.id), priority: 9))
                try await client.setLimits(
                    OriginLimitsChange(
                        origin: "http://origin.test", limits: OriginLimits(connections: 8)))
                _ = try await client.configure(
                    SiteSettings(site: "srv-edge", schedule: "off in UTC"))
                _ = try await code {
                    try await client.control(queue: "none", QueueControl(.drain))
                }
                try await client.interrupt(handle.id)
            }
            _ = try await fixture.client.revokeToken("ops")
            let entries = try await fixture.changes().reversed()
            let shown = entries.map {
                "\($0.name) \($0.action) [\($0.object)] \($0.status ?? 0) \($0.code?.rawValue ?? "")"
            }
            let expected = [
                "environment POST /v1/tokens [token ops: role operator, number 1] 200 ",
                "ops POST /v1/catalogs [catalog movies at file:///srv/edge, priority 7, number 1] 200 ",
                // Of three batches.
                "ops POST /v1/catalogs/{catalog}/assets [catalog 1, submission 1] 204 ",
                "ops POST /v1/catalogs/{catalog}/start [catalog 1, submission 1] 200 ",
                "ops POST /v1/queues/{queue}/control [queue srv-edge: pause] 200 ",
                "ops POST /v1/selections [catalog 1: reprioritise, priority 9] 200 ",
                "ops POST /v1/origins/limits [http://origin.test: limits, connections 8, "
                    + "requestsPerSecond unlimited, bytesPerSecond unlimited] 204 ",
                "ops POST /v1/sites/settings [site srv-edge: settings, schedule 'off in UTC'] 200 ",
                "ops POST /v1/queues/{queue}/control [queue none: drain] 404 input.notFound",
                "ops POST /v1/catalogs/{catalog}/interrupt [catalog 1] 204 ",
                "environment POST /v1/tokens/{token}/revoke [token ops, number 1] 200 ",
            ]
            #expect(shown == expected)
            #expect(entries.filter { $0.name == "ops" }.allSatisfy { $0.token == token.token.id })
            #expect(entries.first?.role == .admin && entries.first?.token == nil)
        }
    }

    /// What was created or named has its number, and what was numbered its name.
    @Test func objectsHaveNumbersAndNames() async throws {
        try await Fixture.with { fixture in
            let named = try await fixture.token(.reader, name: "named").token.id
            let numbered = try await fixture.token(.reader, name: "numbered").token.id
            _ = try await fixture.client.revokeToken("named")
            _ = try await fixture.client.revokeToken("\(numbered)")
            let webhook = try await fixture.client.createWebhook(
                WebhookSubmission(
                    url: "https://hook.example/x?key=geheim", secret: "0123456789abcdef"))
            let delivery = try await fixture.execute(
                """
                INSERT INTO webhook_delivery (webhook_id, kind, body, state, ended_at)
                VALUES (\(webhook.id), 'worker.lost', '{}', 'dead', now()) RETURNING id
                """
            ).prefix { $0.isNumber }
            _ = try await fixture.client.redeliver(WebhookDeliveryID(try #require(Int64(delivery))))
            _ = try await fixture.client.removeWebhook(webhook.id)
            #expect(
                try await fixture.changes().reversed().map(\.object) == [
                    "token named: role reader, number \(named)",
                    "token numbered: role reader, number \(numbered)",
                    "token named, number \(named)", "token \(numbered), name numbered",
                    "webhook https://hook.example/x?…, number \(webhook.id)",
                    "delivery \(delivery), webhook \(webhook.id)",
                    "webhook \(webhook.id), https://hook.example/x?…",
                ])
        }
    }

    /// A worker's requests, reads and what is rejected before it is tried leave none.
    @Test func nothingElseLeavesARow() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let count = try await fixture.changes().count
            let grant = try await fixture.lease(1)
            _ = try await fixture.client.report(
                ReportRequest(
                    worker: Fixture.worker,
                    results: [
                        JobReport(
                            job: grant.jobs[0].id, lease: try #require(grant.lease),
                            outcome: .returned())
                    ]))
            _ = try await fixture.client.sites()
            for (target, body) in [
                ("/v1/queues/srv-edge/control", "{}"), ("/v1/origins/limits", "x"),
                ("/v1/catalogs", #"{"name":"","storageURL":"file:///a","priority":5}"#),
            ] {
                #expect(try await fixture.send("POST", target, body).status == 400)
            }
            #expect(try await fixture.changes().count == count)
        }
    }

    @Test func noSecretOfAURLIsRecorded() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            _ = try await fixture.send(
                "POST", "/v1/selections",
                #"""
                {"action":"cancel","catalog":{"id":1},
                 "asset":"http://origin.test/a?X-Amz-Signature=geheim"}
                """#)
            _ = try await fixture.send(
                "POST", "/v1/catalogs",
                #"""
                {"name":"https://u:geheim@h/a?token=geheim b","storageURL":"file:///a","priority":5}
                """#)
            let objects = try await fixture.execute("SELECT object FROM audit_record")
            #expect(!objects.contains("geheim"), "\(objects)")
            #expect(objects.contains("https://…@h/a?…"), "\(objects)")
        }
    }

    /// What cannot be recorded is not done.
    @Test func withoutARecordNothingIsChanged() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            _ = try await fixture.execute("ALTER TABLE audit_record RENAME TO hidden")
            let answer = try await fixture.send(
                "POST", "/v1/queues/srv-edge/control", #"{"action":"pause"}"#)
            #expect(answer.status == 500)
            _ = try await fixture.execute("ALTER TABLE hidden RENAME TO audit_record")
            #expect(try await fixture.client.queues().queues.map(\.state) == [.active])
        }
    }

    @Test func theLogIsReadInPagesAndBounded() async throws {
        try await Fixture.with { fixture in
            _ = try await fixture.execute(
                """
                INSERT INTO audit_record (begun_at, token_id, token_name, role, action, object)
                SELECT now() - make_interval(days => 50 - n), 0, 'n', 'admin', 'a', 'o' || n
                FROM generate_series(1, 50) AS n
                """)
            let queue = fixture.coordinator.queue
            var after: String?
            var objects: [String] = []
            repeat {
                let page = try await fixture.client.audit(after: after, limit: 20)
                #expect(page.entries.count <= 20)
                objects += page.entries.map(\.object)
                after = page.next
            } while after != nil
            #expect(objects == (1...50).reversed().map { "o\($0)" })
            for query in ["limit=0", "limit=100000000", "after=x", "after=-1"] {
                #expect(try await fixture.send("GET", "/v1/audit?\(query)").status == 400)
            }
            try await queue.access.audit.trim(olderThanDays: 30)
            #expect(
                try await fixture.changes().map(\.object) == (21...50).reversed().map { "o\($0)" })
            try await queue.access.audit.trim(olderThanDays: 36_500, rows: 3)
            #expect(try await fixture.changes().map(\.object) == ["o50", "o49", "o48"])
            // All tokens together.
            try await queue.access.audit.trim(olderThanDays: 36_500, total: 3)
            #expect(try await fixture.changes().count == 3)
            try await queue.access.audit.trim(olderThanDays: 36_500, total: 2)
            #expect(try await fixture.changes().map(\.object) == ["o50", "o49"])
        }
    }

    /// A submitter with many small changes does not push those of others out of the log.
    @Test func aTokenDisplacesItsOwnRowsOnly() async throws {
        try await Fixture.with { fixture in
            let token = try await fixture.token(.submitter, name: "busy")
            try await fixture.submit(["a"])
            _ = try await fixture.client.control(queue: "srv-edge", QueueControl(.pause))
            let others = try await fixture.changes()
            try await fixture.asking(with: token) { client in
                for number in 0..<20 {
                    _ = try await client.openCatalog(
                        CatalogSubmission(name: "c\(number)", storageURL: Fixture.storageURL))
                }
            }
            try await fixture.coordinator.queue.access.audit.trim(olderThanDays: 90, rows: 6)
            let left = try await fixture.changes()
            #expect(left.filter { $0.name != "busy" } == others)
            #expect(
                left.filter { $0.name == "busy" }.map { $0.object.prefix { $0 != "," } }
                    == (14..<20).reversed().map { "catalog c\($0) at file:///srv/edge" })
        }
    }
}
