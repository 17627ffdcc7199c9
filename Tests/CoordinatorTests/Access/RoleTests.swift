import API
import CoordinatorClient
import HTTPServer
import JobQueue
import Model
import TestSupport
import Testing

@testable import Coordinator

/// What each role may do, route by route.
@Suite struct RoleTests {
    /// Every route with the roles that may use it, besides admin: the matrix of `docs/security.md`.
    static let matrix: [String: Set<AccessRole>] = [
        "POST /v1/leases": [.worker], "POST /v1/releases": [.worker],
        "POST /v1/heartbeats": [.worker], "GET /v1/cooling": [.worker],
        "POST /v1/reports": [.worker], "POST /v1/segments": [.worker],
        "POST /v1/splits": [.worker], "POST /v1/refreshes": [.worker],
        "POST /v1/refreshes/files": [.worker], "POST /v1/rewritten-manifests": [.worker],
        "GET /v1/checksums": [.worker], "POST /v1/checksums/turns": [.worker],
        "POST /v1/sites/volumes": [.worker], "POST /v1/load-tests/{test}/shards": [.worker],
        "POST /v1/load-tests/{test}/reports": [.worker],

        "POST /v1/catalogs": [.operator, .submitter],
        "POST /v1/catalogs/{catalog}/assets": [.operator, .submitter],
        "POST /v1/catalogs/{catalog}/start": [.operator, .submitter],
        "POST /v1/catalogs/{catalog}/interrupt": [.operator, .submitter],
        "POST /v1/selections": [.operator, .submitter],

        "GET /v1/catalogs/{catalog}": [.operator, .submitter, .reader],
        "GET /v1/catalogs/{catalog}/assets": [.operator, .submitter, .reader],
        "GET /v1/catalogs/{catalog}/files": [.operator, .submitter, .reader],
        "GET /v1/catalogs/{catalog}/refresh": [.operator, .submitter, .reader],
        "GET /v1/assets": [.operator, .submitter, .reader],
        "GET /metrics": [.operator, .submitter, .reader],
        "GET /v1/status": [.operator, .submitter, .reader],
        "GET /v1/events": [.operator, .submitter, .reader],
        "GET /v1/queues": [.operator, .submitter, .reader],
        "GET /v1/origins": [.operator, .submitter, .reader],
        "GET /v1/sites": [.operator, .submitter, .reader],
        "GET /v1/report": [.operator, .submitter, .reader],
        "GET /v1/workers/wanted": [.operator, .submitter, .reader],
        "GET /v1/workers/history": [.operator, .submitter, .reader],
        "GET /v1/load-tests": [.operator, .submitter, .reader],
        "GET /v1/load-tests/{test}": [.operator, .submitter, .reader],
        "GET /v1/load-tests/{test}/breakdown": [.operator],

        "POST /v1/queues/{queue}/control": [.operator],
        "POST /v1/origins/limits": [.operator], "POST /v1/sites/settings": [.operator],
        "POST /v1/load-tests": [.operator], "POST /v1/load-tests/{test}/follow": [.operator],
        "POST /v1/load-tests/{test}/stop": [.operator], "GET /v1/audit": [.operator],
        "GET /v1/diagnosis": [.operator],

        "GET /v1/webhooks": [.operator], "POST /v1/webhooks": [.operator],
        "POST /v1/webhooks/{webhook}/remove": [.operator],
        "GET /v1/webhook-deliveries": [.operator],
        "POST /v1/webhook-deliveries/{delivery}/redeliver": [.operator],

        "GET /v1/tokens": [], "POST /v1/tokens": [], "POST /v1/tokens/{token}/revoke": [],
    ]

    /// Routes of people that change something, but nothing that somebody has to answer for.
    static let unrecorded: Set<String> = ["POST /v1/load-tests/{test}/follow"]

    static func routes(_ fixture: Fixture) -> [Route] { fixture.coordinator.api.routes }

    @Test func everyRoleMayExactlyWhatTheMatrixSays() async throws {
        try await Fixture.with { fixture in
            let routes = Self.routes(fixture)
            let open = routes.filter { $0.rule == nil }.map(\.name)
            #expect(open.sorted() == ["GET /healthz", "GET /openapi.json", "GET /readyz"])
            #expect(
                Set(routes.map(\.name)) == Set(Self.matrix.keys).union(open),
                "a route that the matrix does not have")
            for role in AccessRole.allCases {
                let token = try await fixture.token(role)
                for route in routes {
                    guard let allowed = Self.matrix[route.name] else { continue }
                    let path = "\(route.path)".replacing("{catalog}", with: "999999")
                        .replacing("{queue}", with: "none").replacing("{token}", with: "none")
                        .replacing("{test}", with: Fixture.unknown)
                        .replacing("{webhook}", with: "999999")
                        .replacing("{delivery}", with: "999999")
                    // No request is complete: what is allowed fails for another reason.
                    let answer = try await fixture.send(
                        route.method.rawValue, path, route.method == .post ? "{\"x\":1}" : nil,
                        by: token)
                    let isRefused = answer.status == 403 && answer.code == "cluster.forbidden"
                    let isAllowed = role == .admin || allowed.contains(role)
                    #expect(isRefused == !isAllowed, "\(role) \(route.name): \(answer)")
                    #expect(answer.status != 401, "\(role) \(route.name)")
                    #expect(!answer.body.contains(token.secret))
                }
            }
        }
    }

    @Test func whatPeopleChangeIsRecordedAndNothingElse() async throws {
        try await Fixture.with { fixture in
            for route in Self.routes(fixture) {
                guard let rule = route.rule, rule != .workers, route.method == .post else {
                    continue
                }
                var isRecorded = false
                if case .change = route.handling { isRecorded = true }
                #expect(isRecorded != Self.unrecorded.contains(route.name), "\(route.name)")
            }
        }
    }

    @Test func aRefusalNamesTheRoleThatIsNeeded() async throws {
        try await Fixture.with { fixture in
            let token = try await fixture.token(.submitter, name: "nightly")
            let answer = try await fixture.send(
                "POST", "/v1/origins/limits", "{}", by: token)
            #expect(answer.status == 403)
            let text = answer.body.replacing("\\/", with: "/")
            #expect(
                text.contains(
                    "The token nightly has the role submitter; POST /v1/origins/limits needs one of: "
                        + "admin, operator."), "\(text)")
            // The environment's token allows everything.
            #expect(try await fixture.send("GET", "/v1/tokens").status == 200)
        }
    }
}
