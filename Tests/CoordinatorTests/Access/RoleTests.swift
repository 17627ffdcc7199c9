import API
import CoordinatorClient
import HTTPServer
import JobQueue
import Model
import TestSupport
import Testing

@testable import Coordinator

/// The table of access: every route with every kind of sender.
@Suite struct RoleTests {
    /// Routes of people that change something, but nothing that somebody has to answer for.
    private static let unrecorded: Set<String> = ["POST /v1/load-tests/{test}/follow"]

    private static func routes(_ fixture: Fixture) -> [Route] { fixture.coordinator.api.routes }

    /// What a browser sends for a page of another site, by that site's name for this address.
    private static let foreignHeaders = [
        ["Host": "evil.example"],
        ["Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"],
    ]

    private static func with(_ body: (AccessWorld) async throws -> Void) async throws {
        try await Fixture.with {
            // However long the requests take, its load test is not abandoned.
            $0.queue.loadTests.followedSeconds = 86_400
        } _: { fixture in
            try await body(try await AccessWorld(fixture))
        }
    }

    /// Runs `body`, which is to change nothing.
    private static func expectNoChange(
        in world: AccessWorld, _ body: () async throws -> Void
    ) async throws {
        let before = try await world.tables()
        try await body()
        let after = try await world.tables()
        #expect(after == before)
    }

    @Test func everyRouteIsInTheTable() async throws {
        try await Fixture.with { fixture in
            let routes = Self.routes(fixture)
            #expect(routes.map(\.name).sorted() == RouteAccess.table.map(\.name).sorted())
            for row in RouteAccess.table {
                let route = try #require(routes.first { $0.name == row.name }, "\(row.name)")
                #expect((route.rule == nil) == (row.roles == nil), "\(row.name)")
                let isOfWorkers = route.rule == .workers
                #expect((row.queue != nil) == isOfWorkers, "\(row.name): a foreign queue")
                #expect((row.lease != nil) == isOfWorkers, "\(row.name): a foreign lease")
            }
        }
    }

    /// A foreign Host or Origin makes no difference.
    @Test func withoutAValidTokenNothingIsAnswered() async throws {
        try await Self.with { world in
            let fixture = world.fixture
            let revoked = try await fixture.token(.admin, name: "revoked")
            _ = try await fixture.client.revokeToken("revoked")
            let expired = try await fixture.token(.admin, expires: 4_000_000_000)
            _ = try await fixture.execute(
                "UPDATE access_token SET expires_at = now() - interval '1 second' "
                    + "WHERE expires_at IS NOT NULL; SELECT pg_notify('dray_work', 'tokens')")
            try await waitUntil(deadlineSeconds: 30, "the end of the token") {
                try await fixture.send("GET", "/v1/status", by: expired).status == 401
            }
            let strangers = [
                ["Authorization": ""], Fixture.bearer(revoked.secret),
                Fixture.bearer(expired.secret),
            ]
            try await Self.expectNoChange(in: world) {
                for token in strangers {
                    for headers in [[:]] + Self.foreignHeaders {
                        for row in RouteAccess.table {
                            let answer = try await world.send(
                                row, headers: headers.merging(token) { $1 })
                            #expect(
                                answer.status == (row.roles == nil ? 200 : 401),
                                "\(row.name) \(headers) \(token): \(answer)")
                            guard row.roles != nil else { continue }
                            #expect(answer.code == "cluster.unauthorized", "\(row.name)")
                        }
                    }
                }
            }
        }
    }

    @Test func everyRoleMayExactlyWhatTheTableSays() async throws {
        try await Self.with { world in
            for role in AccessRole.allCases {
                let token = try await world.fixture.token(role)
                let headers = Fixture.bearer(token.secret)
                try await Self.expectNoChange(in: world) {
                    for row in RouteAccess.table {
                        guard let roles = row.roles else { continue }
                        let isAllowed = role == .admin || roles.contains(role)
                        let answer =
                            isAllowed
                            ? try await world.sendIncomplete(row, headers: headers)
                            : try await world.send(row, headers: headers)
                        let expected = row.body == nil ? row.statuses : [400]
                        #expect(
                            isAllowed
                                ? expected.contains(answer.status)
                                : answer.status == 403 && answer.code == "cluster.forbidden",
                            "\(role) \(row.name): \(answer)")
                        #expect(!answer.body.contains(token.secret))
                    }
                }
            }
        }
    }

    /// A worker of one queue, and one without queues that does not hold the lease.
    @Test func workersUseNoForeignQueueOrLease() async throws {
        try await Self.with { world in
            let columns: [([String]?, KeyPath<RouteAccess, RouteAccess.Foreign?>)] = [
                (["srv-other"], \.queue), (nil, \.lease),
            ]
            for (queues, expected) in columns {
                let token = try await world.fixture.token(.worker, queues: queues)
                for row in RouteAccess.table {
                    guard let expected = row[keyPath: expected] else { continue }
                    if case .notNamed = expected { continue }
                    try await Self.expectNoChange(in: world) {
                        let answer = try await world.send(
                            row, headers: Fixture.bearer(token.secret))
                        switch expected {
                        case .refused(let status, let code):
                            #expect(
                                answer.status == status && answer.code == code,
                                "\(row.name) \(queues ?? []): \(answer)")
                        case .changesNothing(let text):
                            #expect(
                                (200..<300).contains(answer.status)
                                    && (text.isEmpty || answer.body.contains(text)),
                                "\(row.name) \(queues ?? []): \(answer)")
                        case .notNamed: break
                        }
                    }
                }
            }
        }
    }

    /// With a token, a foreign Host or Origin makes no difference either: a complete request has its
    /// effect, and a read none. No page of another site may read an answer, or send a token at all.
    @Test(arguments: foreignHeaders)
    func noOtherSiteIsLetIn(headers: [String: String]) async throws {
        try await Self.with { world in
            // Reads first, while there is what they name.
            try await Self.expectNoChange(in: world) {
                for row in RouteAccess.table {
                    let asked = try await world.fixture.send(
                        "OPTIONS", row.anyPath,
                        headers: headers.merging(["Access-Control-Request-Method": row.method]) {
                            $1
                        })
                    #expect(asked.status == 204, "\(row.name)")
                    Self.expectNoAccess(asked, row)
                    guard row.method == "GET" else { continue }
                    let answer = try await world.send(row, headers: headers)
                    #expect(row.statuses.contains(answer.status), "\(row.name): \(answer)")
                    Self.expectNoAccess(answer, row)
                }
            }
            let before = try await world.tables()
            for row in RouteAccess.table where row.method != "GET" && row.queue == nil {
                let answer = try await world.send(row, headers: headers)
                #expect(row.statuses.contains(answer.status), "\(row.name): \(answer)")
                Self.expectNoAccess(answer, row)
            }
            #expect(try await world.tables() != before)
        }
    }

    /// Nothing in an answer allows a browser to read it for another site.
    private static func expectNoAccess(_ answer: Wire.Answer, _ row: RouteAccess) {
        for name in answer.headers.keys {
            #expect(!name.hasPrefix("access-control"), "\(row.name): \(name)")
        }
    }

    /// The requests that are rejected for others are complete: only their sender was wrong.
    @Test func anAdministratorsRequestsHaveTheirEffect() async throws {
        try await Self.with { world in
            for row in RouteAccess.table where row.queue == nil {
                let answer = try await world.send(row)
                #expect(row.statuses.contains(answer.status), "\(row.name): \(answer)")
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

    @Test func aRejectionNamesTheRoleThatIsNeeded() async throws {
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
