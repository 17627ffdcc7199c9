import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Coordinator
@testable import JobQueue

/// Issued tokens: their text, their end, their use.
@Suite struct TokenTests {
    @Test func aTokenIsShownOnceAndStoredHashed() async throws {
        try await Fixture.with { fixture in
            let issued = try await fixture.token(.reader, name: "dashboard")
            #expect(issued.secret.wholeMatch(of: /dray_[0-9a-f]{64}/) != nil)
            #expect(issued.token.name == "dashboard" && issued.token.role == .reader)
            #expect(issued.token.createdBy == "environment")
            let other = try await fixture.token(.reader)
            #expect(other.secret != issued.secret && other.token.name == "reader-\(other.token.id)")
            let listed = try await fixture.client.tokens()
            #expect(listed.tokens.map(\.id) == [other.token.id, issued.token.id])
            // In no answer, no table and no log of changes.
            let body = try await fixture.send("GET", "/v1/tokens").body
            #expect(!body.contains(issued.secret.dropFirst(5)))
            let stored = try await fixture.execute(
                "SELECT t::text FROM access_token t UNION ALL SELECT a::text FROM audit_record a")
            #expect(!stored.contains(issued.secret.dropFirst(5)))
            #expect(
                try await fixture.execute(
                    """
                    SELECT encode(hash, 'hex') = encode(sha256('\(issued.secret)'), 'hex')
                    FROM access_token WHERE name = 'dashboard'
                    """) == "t\n")
            #expect(try await fixture.send("GET", "/v1/status", by: issued).status == 200)
            #expect(try await fixture.send("GET", "/v1/tokens", by: issued).status == 403)
        }
    }

    @Test func namesAreUniqueUntilRevoked() async throws {
        try await Fixture.with { fixture in
            let first = try await fixture.token(.reader, name: "a")
            #expect(
                try await code { try await fixture.token(.worker, name: "a") } == .inputNameInUse)
            _ = try await fixture.client.revokeToken("a")
            let second = try await fixture.token(.worker, name: "a")
            #expect(second.token.id > first.token.id)
            for name in ["environment", "12", "", "a\nb", String(repeating: "x", count: 101)] {
                #expect(
                    try await code { try await fixture.token(.reader, name: name) } == .inputField,
                    "\(name)")
            }
            for (role, queues, sites) in [
                (AccessRole.reader, ["q"] as [String]?, nil as [String]?),
                (.worker, nil, ["file:///a"]),
                (.submitter, nil, ["s3://a"]), (.submitter, nil, []), (.worker, [], nil),
            ] {
                let refused = try await code {
                    try await fixture.token(role, queues: queues, sites: sites)
                }
                #expect(refused == .inputField, "\(role) \(queues ?? []) \(sites ?? [])")
            }
            #expect(
                try await fixture.send("POST", "/v1/tokens", #"{"role":"root"}"#).status == 400)
            #expect(try await code { try await fixture.token(.reader, expires: 1) } == .inputField)
        }
    }

    /// Coordinators keep all of them in memory.
    @Test func thereIsAMaximumOfTokens() async throws {
        try await Fixture.with { fixture in
            let fill = { (count: Int) in
                try await fixture.execute(
                    """
                    INSERT INTO access_token (name, role, hash, created_by)
                    SELECT 'n' || n, 'reader', sha256(convert_to(n::text, 'UTF8')), 'test'
                    FROM generate_series(1, \(count)) AS n
                    """)
            }
            _ = try await fill(999)
            let last = try await fixture.token(.reader, name: "last")
            #expect(try await code { try await fixture.token(.reader) } == .inputTooLarge)
            _ = try await fixture.client.revokeToken("n1")
            _ = try await fixture.token(.reader)
            #expect(try await fixture.send("GET", "/v1/status", by: last).status == 200)
        }
    }

    @Test func aTokenExpiresByTheDatabasesClock() async throws {
        try await Fixture.with { fixture in
            let issued = try await fixture.token(.reader, expires: 4_000_000_000)
            #expect(try await fixture.send("GET", "/v1/status", by: issued).status == 200)
            _ = try await fixture.execute(
                "UPDATE access_token SET expires_at = now() - interval '1 second'; "
                    + "SELECT pg_notify('dray_work', 'tokens')")
            try await waitUntil(deadlineSeconds: 30, "the end of the token") {
                try await fixture.send("GET", "/v1/status", by: issued).status == 401
            }
            let answer = try await fixture.send("GET", "/v1/status", by: issued)
            #expect(answer.code == "cluster.unauthorized" && answer.body.contains("expired"))
        }
    }

    /// A second coordinator learns of tokens and of their end by notification.
    @Test func everyCoordinatorKnowsEachToken() async throws {
        try await Fixture.with { fixture in
            let other = try await Fixture(fixture.server, databaseURL: fixture.databaseURL)
            let issued = try await fixture.token(.reader)
            #expect(try await fixture.send("GET", "/v1/status", by: issued).status == 200)
            try await waitUntil(deadlineSeconds: 60, "the token at the other coordinator") {
                try await fixture.send("GET", "/v1/status", by: issued, port: other.port).status
                    == 200
            }
            let revoked = try await fixture.client.revokeToken("\(issued.token.id)")
            #expect(revoked.revoked != nil)
            let again = try await fixture.client.revokeToken("\(issued.token.id)")
            #expect(again.revoked == revoked.revoked)
            #expect(try await fixture.send("GET", "/v1/status", by: issued).status == 401)
            try await waitUntil(deadlineSeconds: 60, "the end of the token") {
                try await fixture.send("GET", "/v1/status", by: issued, port: other.port).status
                    == 401
            }
            let missing = try await code { try await fixture.client.revokeToken("none") }
            #expect(missing == .inputNotFound)
            await other.close()
        }
    }

    /// Also a request that was waiting gets nothing more.
    @Test(.timeLimit(.minutes(1))) func aRevokedWorkerThatWaitsGetsNoJobs() async throws {
        try await Fixture.with { fixture in
            let issued = try await fixture.token(.worker)
            try await fixture.asking(with: issued) { client in
                async let waiting = code {
                    try await client.lease(
                        LeaseRequest(
                            worker: Fixture.worker, queues: [], maxJobs: 1,
                            waitMilliseconds: 20_000))
                }
                try await waitUntil(deadlineSeconds: 60, "the request") {
                    fixture.coordinator.waitingRequests == 1
                }
                _ = try await fixture.client.revokeToken("\(issued.token.id)")
                #expect(try await waiting == .clusterUnauthorized)
            }
        }
    }

    @Test func readersAndSubmittersOfSomeSitesGetNoSignatures() async throws {
        try await Fixture.with { fixture in
            let handle = try await fixture.client.openCatalog(
                CatalogSubmission(name: "movies", storageURL: Fixture.storageURL))
            var asset = Fixture.file("a")
            asset.url += "?X-Amz-Signature=geheim"
            try await fixture.client.submit(
                AssetBatch(generation: handle.generation, assets: [asset]), to: handle.id)
            try await fixture.client.start(
                handle.id, CatalogStartRequest(generation: handle.generation))
            let reader = try await fixture.token(.reader)
            let submitter = try await fixture.token(.submitter)
            let elsewhere = try await fixture.token(.submitter, sites: ["file:///elsewhere"])
            for path in ["/v1/catalogs/1/assets", "/v1/assets?catalog=1", "/v1/catalogs/1"] {
                let shown = try await fixture.send("GET", path, by: reader)
                #expect(shown.status == 200 && !shown.body.contains("geheim"), "\(shown)")
                let bound = try await fixture.send("GET", path, by: elsewhere)
                #expect(bound.status == 200 && !bound.body.contains("geheim"), "\(bound)")
            }
            let whole = try await fixture.send("GET", "/v1/catalogs/1/assets", by: submitter)
            #expect(whole.body.contains("geheim"))
        }
    }

    /// Reads overlap: one may end after a later one has seen a revocation.
    @Test func aReadThatBeganBeforeARevocationBringsNoTokenBack() throws {
        let access = Access(token: AccessToken.random())
        let known = KnownToken(
            id: AccessTokenID(1), name: "a", role: .reader,
            hash: String(repeating: "ab", count: 32),
            queues: [], sites: [])
        let first = access.beginRead()
        let (early, late) = (access.beginRead(), access.beginRead())
        #expect(!access.store([known], of: first))
        #expect(access.store([], of: late), "it was revoked")
        #expect(!access.store([known], of: early))
        #expect(!access.store([], of: access.beginRead()), "it is still gone")
    }

    @Test func theLastUseIsRecorded() async throws {
        try await Fixture.with { fixture in
            let used = try await fixture.token(.reader, name: "used")
            _ = try await fixture.token(.reader, name: "unused")
            #expect(try await fixture.client.tokens().tokens.allSatisfy { $0.lastUsed == nil })
            _ = try await fixture.send("GET", "/v1/status", by: used)
            try await waitUntil(deadlineSeconds: 30, "the record of the use") {
                try await fixture.client.tokens().tokens.contains { $0.lastUsed != nil }
            }
            let tokens = try await fixture.client.tokens().tokens
            #expect(tokens.filter { $0.lastUsed != nil }.map(\.name) == ["used"])
        }
    }
}
