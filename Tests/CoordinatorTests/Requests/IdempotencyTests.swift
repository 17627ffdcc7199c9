import API
import CoordinatorClient
import JobQueue
import Model
import TestSupport
import Testing

@testable import Coordinator

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
            #expect(first.code == "input.duplicate")
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

    @Test func aRequestThatIsNotAnsweredYetHoldsItsKey() async throws {
        try await Fixture.with { fixture in
            let requests = fixture.coordinator.queue.requests
            let digest = [UInt8](repeating: 1, count: 32)
            let first = try await requests.begin(caller: nil, key: "k", digest: digest)
            guard case .begun(let number) = first else {
                Issue.record("\(first)")
                return
            }
            #expect(try await requests.begin(caller: nil, key: "k", digest: digest) == .running)
            // Its coordinator was killed.
            _ = try await fixture.execute(
                "UPDATE repeated_request SET begun_at = now() - interval '61 seconds'")
            let second = try await requests.begin(caller: nil, key: "k", digest: digest)
            guard case .begun(let later) = second else {
                Issue.record("\(second)")
                return
            }
            #expect(later > number)
            // The first one has lost the key.
            try await requests.end(number, status: 200, body: [1])
            try await requests.release(number)
            #expect(try await requests.begin(caller: nil, key: "k", digest: digest) == .running)
            try await requests.end(later, status: 200, body: [2])
            #expect(
                try await requests.begin(caller: nil, key: "k", digest: digest)
                    == .answered(status: 200, body: [2]))
        }
    }

    @Test func keysAreKeptForADayAndBounded() async throws {
        try await Fixture.with { fixture in
            let requests = fixture.coordinator.queue.requests
            for key in 0..<6 {
                _ = try await requests.begin(
                    caller: nil, key: "k\(key)", digest: [UInt8](repeating: 1, count: 32))
            }
            _ = try await fixture.execute(
                "UPDATE repeated_request SET begun_at = now() - interval '25 hours' WHERE key = 'k5'"
            )
            try await requests.trim()
            let kept = try await fixture.execute("SELECT key FROM repeated_request")
            #expect(kept.split(separator: "\n").count == 5)
            try await requests.trim(rows: 2)
            let left = try await fixture.execute("SELECT key FROM repeated_request ORDER BY 1")
            #expect(left.split(separator: "\n") == ["k3", "k4"])
        }
    }
}
