import API
import CoordinatorClient
import Model
import Postgres
import TestSupport
import Testing

@testable import Coordinator
@testable import JobQueue

/// A repeated request with the same `Idempotency-Key` creates nothing more.
@Suite struct IdempotencyTests {
    private static let catalog = #"{"name":"a","storageURL":"file:///srv/edge","priority":5}"#

    private static func send(
        _ fixture: Fixture, _ target: String, _ body: String, key: String
    ) async throws -> Wire.Answer {
        try await fixture.send("POST", target, body, headers: ["Idempotency-Key": key])
    }

    @Test func theFirstAnswerIsGivenAgain() async throws {
        try await Fixture.with { fixture in
            let first = try await Self.send(fixture, "/v1/catalogs", Self.catalog, key: "k1")
            #expect(first.status == 200 && first.headers["idempotency-replayed"] == nil)
            let again = try await Self.send(fixture, "/v1/catalogs", Self.catalog, key: "k1")
            #expect(again.status == 200 && again.body == first.body)
            #expect(again.headers["idempotency-replayed"] == "true")
            let other = try await Self.send(fixture, "/v1/catalogs", Self.catalog, key: "k2")
            #expect(other.status == 200 && other.body != first.body)
            // A repeated request is no change.
            #expect(try await fixture.changes().count == 2)
        }
    }

    @Test func aKeyIsOfOneRequestAndOneToken() async throws {
        try await Fixture.with { fixture in
            _ = try await Self.send(fixture, "/v1/catalogs", Self.catalog, key: "k")
            let changed = Self.catalog.replacing("5", with: "6")
            let reused = try await Self.send(fixture, "/v1/catalogs", changed, key: "k")
            #expect(reused.status == 422 && reused.code == "input.keyReused")
            let token = try await fixture.token(.submitter)
            let answer = try await Wire.exchange(
                port: fixture.port, "POST", "/v1/catalogs",
                headers: Fixture.bearer(token.secret).merging(["Idempotency-Key": "k"]) { $1 },
                body: Array(changed.utf8))
            #expect(answer.status == 200)
            for key in [String(repeating: "k", count: 129), "a b", "é"] {
                let refused = try await Self.send(fixture, "/v1/catalogs", Self.catalog, key: key)
                #expect(refused.status == 400 && refused.code == "input.field", "\(key)")
            }
        }
    }

    @Test func aRequestThatFailedMayBeRepeated() async throws {
        try await Fixture.with { fixture in
            _ = try await fixture.token(.reader, name: "taken")
            let body = #"{"role":"reader","name":"taken"}"#
            let first = try await Self.send(fixture, "/v1/tokens", body, key: "k")
            #expect(first.code == "input.nameInUse")
            _ = try await fixture.client.revokeToken("taken")
            #expect(try await Self.send(fixture, "/v1/tokens", body, key: "k").status == 200)
        }
    }

    @Test func theTextOfATokenIsNotKept() async throws {
        try await Fixture.with { fixture in
            let body = #"{"role":"reader"}"#
            let first = try await Self.send(fixture, "/v1/tokens", body, key: "k")
            let created = try WireJSON.decode(IssuedToken.self, from: Array(first.body.utf8))
            let again = try await Self.send(fixture, "/v1/tokens", body, key: "k")
            #expect(again.status == 409 && again.code == "input.alreadyCreated")
            #expect(try await fixture.client.tokens().tokens.count == 1)
            let rows = try await fixture.execute(
                "SELECT r::text || convert_from(coalesce(r.answer, ''), 'UTF8') FROM repeated_request r"
            )
            #expect(!rows.isEmpty && !rows.contains(created.secret))
        }
    }

    /// Every route that creates something, twice at once and then once more: each has one effect.
    @Test func everyRouteThatCreatesHonoursAKey() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let bodies = [
                "/v1/catalogs": Self.catalog, "/v1/tokens": #"{"role":"reader"}"#,
                "/v1/site-audits": #"{"site":"srv-edge"}"#,
                "/v1/sites/popularity":
                    #"{"site":"srv-edge","time":1,"files":[{"key":"a","requests":1,"bytes":1}]}"#,
                "/v1/webhooks": #"{"url":"https://hook.example/x","secret":"0123456789abcdef"}"#,
                "/v1/load-tests": #"{"id":"\#(Fixture.unknown)","name":"t","queue":"srv-edge","#
                    + #""scenario":"{}","atLeast":1,"waitSeconds":60,"durationSeconds":1}"#,
            ]
            let creating = fixture.coordinator.api.routes.filter(\.isCreating).map {
                "\($0.path)"
            }
            #expect(creating.sorted() == bodies.keys.sorted())
            for (path, body) in bodies {
                async let first = Self.send(fixture, path, body, key: path)
                async let second = Self.send(fixture, path, body, key: path)
                let answers = [try await first, try await second]
                let made = answers.filter {
                    $0.status == 200 && $0.headers["idempotency-replayed"] == nil
                }
                #expect(made.count == 1, "\(path): \(answers)")
                for answer in answers where answer.status != 200 {
                    #expect(answer.status == 409, "\(path): \(answer)")
                }
                let again = try await Self.send(fixture, path, body, key: path)
                if path == "/v1/tokens" {
                    #expect(again.code == "input.alreadyCreated")
                } else {
                    #expect(again.body == made.first?.body, "\(path)")
                }
            }
            #expect(
                try await fixture.execute(
                    "SELECT count(*) FROM repeated_request WHERE key LIKE '/v1/%'") == "6\n")
        }
    }

    /// Also while its transaction waits: a second request with its key does not.
    @Test func aRequestThatIsNotAnsweredYetHoldsItsKey() async throws {
        try await Fixture.with { fixture in
            async let locked = try? fixture.execute(
                "BEGIN; LOCK TABLE catalog IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(100)")
            try await Self.waitForBackend("wait_event = 'PgSleep'", fixture)
            async let first = Self.send(fixture, "/v1/catalogs", Self.catalog, key: "k")
            // Chores wait for the lock as well.
            try await Self.waitForBackend(
                """
                wait_event_type = 'Lock' AND pid IN (
                    SELECT pid FROM pg_locks
                    WHERE relation = 'repeated_request'::regclass AND mode = 'RowExclusiveLock')
                """, fixture)
            let second = try await Self.send(fixture, "/v1/catalogs", Self.catalog, key: "k")
            #expect(second.status == 409 && second.code == "cluster.requestRunning")
            #expect(second.headers["retry-after"] == "1")
            // It changes nothing, so it leaves no record.
            #expect(try await fixture.changes().map(\.status) == [nil])
            _ = try await fixture.execute(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND wait_event = 'PgSleep'
                """)
            _ = await locked
            let made = try await first
            let again = try await Self.send(fixture, "/v1/catalogs", Self.catalog, key: "k")
            #expect(made.status == 200 && again.body == made.body)
        }
    }

    /// PostgreSQL ends the transaction of a coordinator that is gone without closing its connection.
    @Test func aTransactionWithAKeyIsNotIdleForLong() async throws {
        try await Fixture.with { fixture in
            let key = RequestKey(caller: nil, key: "k", digest: [UInt8](repeating: 1, count: 32))
            let bound = try await fixture.coordinator.queue.access.requests.database.once(key) {
                try await $0.query(
                    "SELECT current_setting('idle_in_transaction_session_timeout') AS bound"
                ).only().string("bound")
            }
            #expect(bound == "15s")
        }
    }

    /// One that is too large is not kept, but its key is.
    @Test(arguments: [(65_534, true), (65_535, false)])
    func aKeptAnswerIsBounded(characters: Int, isKept: Bool) async throws {
        try await Fixture.with { fixture in
            let requests = fixture.coordinator.queue.access.requests
            let key = RequestKey(caller: nil, key: "k", digest: [UInt8](repeating: 1, count: 32))
            let text = String(repeating: "x", count: characters)
            let made = try await requests.database.once(key) { _ in text }
            #expect(made == text)
            let kept = isKept ? Array("\"\(text)\"".utf8) : nil
            let found = try await requests.find(key)
            #expect(found == .answered(kept))
        }
    }

    private static func waitForBackend(
        _ condition: String, _ fixture: Fixture
    ) async throws {
        try await waitUntil(deadlineSeconds: 30, condition) {
            try await fixture.execute(
                """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                AND pid <> pg_backend_pid() AND \(condition)
                """) != "0\n"
        }
    }

    /// A token's keys displace no others.
    @Test func keysAreKeptForADayAndBounded() async throws {
        try await Fixture.with { fixture in
            let requests = fixture.coordinator.queue.access.requests
            let token = try await fixture.token(.submitter)
            _ = try await fixture.execute(
                """
                INSERT INTO repeated_request (caller, key, digest, begun_at)
                SELECT 0, 'k' || n, sha256('a'), now() - make_interval(hours => 30 - n)
                FROM generate_series(1, 10) AS n;
                INSERT INTO repeated_request (caller, key, digest)
                SELECT \(token.token.id), 't' || n, sha256('a') FROM generate_series(1, 9) AS n
                """)
            let kept = {
                try await fixture.execute(
                    "SELECT string_agg(key, ' ' ORDER BY caller, begun_at) FROM repeated_request")
            }
            let old = RequestKey(caller: nil, key: "k5", digest: [UInt8](repeating: 0, count: 32))
            #expect(try await requests.find(old) == .new)
            try await requests.trim()
            #expect(try await kept() == "k7 k8 k9 k10 t1 t2 t3 t4 t5 t6 t7 t8 t9\n")
            try await requests.trim(rows: 4)
            #expect(try await kept() == "k7 k8 k9 k10 t6 t7 t8 t9\n")
            // All tokens together: the oldest go first.
            try await requests.trim(rows: 4, total: 5)
            #expect(try await kept() == "k10 t6 t7 t8 t9\n")
        }
    }

    /// Its key is as new.
    @Test func anOldKeyIsUsedAgain() async throws {
        try await Fixture.with { fixture in
            let first = try await Self.send(fixture, "/v1/catalogs", Self.catalog, key: "k")
            _ = try await fixture.execute(
                "UPDATE repeated_request SET begun_at = now() - interval '25 hours'")
            let other = Self.catalog.replacing("5", with: "6")
            let second = try await Self.send(fixture, "/v1/catalogs", other, key: "k")
            #expect(second.status == 200 && second.body != first.body)
            let again = try await Self.send(fixture, "/v1/catalogs", other, key: "k")
            #expect(
                again.body == second.body && again.headers["idempotency-replayed"] == "true",
                "\(again)")
        }
    }

    /// Old keys are deleted meanwhile.
    @Test func anOldKeyThatIsUsedAgainStays() async throws {
        try await Fixture.with { fixture in
            let requests = fixture.coordinator.queue.access.requests
            let insert = """
                INSERT INTO repeated_request (caller, key, digest, begun_at)
                VALUES (0, 'k', sha256('a'), now() - interval '25 hours')
                """
            // Housekeeping deletes it at its start, and then for ten seconds none.
            _ = try await fixture.execute(insert)
            try await waitUntil(deadlineSeconds: 90, "the first deletion") {
                try await fixture.execute("SELECT count(*) FROM repeated_request") == "0\n"
            }
            _ = try await fixture.execute(insert)
            let key = RequestKey(caller: nil, key: "k", digest: [UInt8](repeating: 1, count: 32))
            async let made = requests.database.once(key) { _ in
                try await Self.waitForBackend(
                    "wait_event_type = 'Lock' AND query LIKE '%DELETE FROM repeated_request%'",
                    fixture)
                return "made"
            }
            try await Self.waitForBackend(
                "state = 'idle in transaction' AND query LIKE '%repeated_request%'", fixture)
            try await requests.trim()
            #expect(try await made == "made")
            #expect(try await requests.find(key) == .answered(Array(#""made""#.utf8)))
        }
    }
}
