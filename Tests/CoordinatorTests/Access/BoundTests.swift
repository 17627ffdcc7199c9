import API
import CoordinatorClient
import Model
import TestSupport
import Testing

/// Workers that are bound to queues, and submitters that are bound to sites.
@Suite struct BoundTests {
    private static let otherURL = "file:///srv/other"

    /// Submits one file to each of two sites, whose queues are `srv-edge` and `srv-other`.
    private static func submitToBoth(_ fixture: Fixture) async throws {
        try await fixture.submit(["a"])
        try await submit(to: otherURL, with: fixture.client)
    }

    @discardableResult
    private static func submit(
        to site: String, with client: CoordinatorClient, name: String = "movies"
    ) async throws -> CatalogID {
        let handle = try await client.openCatalog(CatalogSubmission(name: name, storageURL: site))
        try await client.submit(
            AssetBatch(generation: handle.generation, assets: [Fixture.file("b")]), to: handle.id)
        try await client.start(handle.id, CatalogStartRequest(generation: handle.generation))
        return handle.id
    }

    private static func lease(
        _ client: CoordinatorClient, _ queues: [String]
    ) async throws -> LeaseGrant {
        try await client.lease(
            LeaseRequest(worker: Fixture.worker, queues: queues, maxJobs: 10, waitMilliseconds: 0))
    }

    @Test func aWorkerLeasesFromItsQueuesOnly() async throws {
        try await Fixture.with { fixture in
            try await Self.submitToBoth(fixture)
            let token = try await fixture.token(.worker, queues: ["srv-other"])
            try await fixture.asking(with: token) { client in
                for queues in [["srv-edge"], ["srv-other", "srv-edge"], ["none"]] {
                    #expect(
                        try await code { try await Self.lease(client, queues) }
                            == .clusterOutOfScope, "\(queues)")
                }
                // All of its own, then none.
                let grant = try await Self.lease(client, [])
                #expect(grant.jobs.count == 1 && grant.site?.storageURL == Self.otherURL)
                #expect(try await Self.lease(client, []).jobs.isEmpty)
                #expect(try await Self.lease(client, ["srv-other"]).jobs.isEmpty)
                var heartbeat = Heartbeat(
                    worker: Fixture.worker, leases: [try #require(grant.lease)], progress: [:],
                    name: "n", activeTransfers: 0)
                #expect(try await client.heartbeat(heartbeat).leases.count == 1)
                #expect(
                    try await fixture.execute("SELECT queues FROM worker") == "{srv-other}\n")
                heartbeat.queues = ["srv-edge"]
                #expect(
                    try await code { try await client.heartbeat(heartbeat) } == .clusterOutOfScope)
                let back = JobReport(
                    job: grant.jobs[0].id, lease: try #require(grant.lease), outcome: .returned())
                let answer = try await client.report(
                    ReportRequest(worker: Fixture.worker, results: [back]))
                #expect(answer.answers == [.accepted])
            }
            // The other queue's job waits for others; so does the one that was returned.
            let sites = [try await fixture.lease(), try await fixture.lease()].map(\.site)
            #expect(sites.contains { $0?.storageURL == Fixture.storageURL })
        }
    }

    @Test func aWorkerReportsNothingOfOtherSites() async throws {
        try await Fixture.with { fixture in
            try await Self.submitToBoth(fixture)
            let sites = try await fixture.client.sites().sites
            let own = try #require(sites.first { $0.queue == "srv-other" }).id
            let other = try #require(sites.first { $0.queue == "srv-edge" }).id
            let token = try await fixture.token(.worker, queues: ["srv-other"])
            try await fixture.asking(with: token) { client in
                _ = try await Self.lease(client, [])
                let volume = { (site: SiteID) in
                    try await code {
                        try await client.volume(
                            SiteVolumeRequest(worker: Fixture.worker, site: site))
                    }
                }
                #expect(try await volume(own) == nil)
                #expect(try await volume(other) == .clusterOutOfScope)
            }
            let list = { (site: SiteID) in
                try await fixture.send(
                    "GET", "/v1/checksums?site=\(site)&directory=x", by: token
                ).code
            }
            #expect(try await list(own) == nil)
            #expect(try await list(other) == "cluster.outOfScope")
            let body = """
                {"worker":"\(Fixture.worker)","leases":[],"progress":{},"name":"n","activeTransfers":0,
                "sites":[{"site":\(own),"availableBytes":1000,"isSound":true},
                {"site":\(other),"availableBytes":1000,"isSound":true}]}
                """
            let answer = try await fixture.send("POST", "/v1/heartbeats", body, by: token)
            #expect(answer.status == 200, "\(answer)")
            let after = try await fixture.client.sites().sites
            #expect(after.first { $0.id == own }?.availableBytes == 1_000)
            #expect(after.first { $0.id == other }?.availableBytes == nil)
        }
    }

    @Test func aWorkerJoinsNoLoadTestOfAnotherQueue() async throws {
        try await Fixture.with { fixture in
            try await Self.submitToBoth(fixture)
            let token = try await fixture.token(.worker, queues: ["srv-other"])
            let test = LoadTestID.random()
            _ = try await fixture.client.create(
                LoadTestSubmission(
                    id: test, name: "t", queue: "srv-edge", scenario: "{}", atLeast: 1,
                    waitSeconds: 60, durationSeconds: 1))
            let body = #"{"worker":"\#(Fixture.worker)","name":"n"}"#
            let answer = try await fixture.send(
                "POST", "/v1/load-tests/\(test)/shards", body, by: token)
            #expect(answer.code == "cluster.outOfScope", "\(answer)")
            let unbound = try await fixture.token(.worker)
            #expect(
                try await fixture.send("POST", "/v1/load-tests/\(test)/shards", body, by: unbound)
                    .status == 200)
        }
    }

    /// What counts is the site that a name means, also one that is written as the token's.
    @Test func aSubmitterNamesItsSitesByTheirQueues() async throws {
        try await Fixture.with { fixture in
            try await Self.submitToBoth(fixture)
            for unknown in ["nowhere", "Srv-other", "", "/srv/other"] {
                let rejected = try await code {
                    try await fixture.token(.submitter, sites: ["srv-other", unknown])
                }
                #expect(rejected == .inputNotFound || rejected == .inputField, "\(unknown)")
            }
            let token = try await fixture.token(.submitter, sites: ["srv-other"])
            #expect(token.token.sites == [Self.otherURL])
            func movies(_ site: String?) -> CatalogReference {
                CatalogReference(name: "movies", site: site)
            }
            try await fixture.asking(with: token) { client in
                let before = try await fixture.tables()
                let references: [(CatalogReference, FailureCode)] = [
                    (movies("srv-edge"), .clusterOutOfScope),
                    (movies(Fixture.storageURL), .clusterOutOfScope),
                    (movies(nil), .inputAmbiguous), (movies("nowhere"), .inputNotFound),
                    (movies("/srv/other"), .inputField),
                ]
                for (reference, expected) in references {
                    let selection = SelectionAction(.cancel, catalog: reference)
                    let changed = try await code { try await client.apply(selection) }
                    #expect(changed == expected, "\(reference)")
                    var query = EventQuery()
                    query.catalog = reference
                    let seen = try await code { try await client.eventPage(query, after: nil) }
                    #expect(seen == expected, "\(reference)")
                }
                let named = CatalogSubmission(name: "movies", storageURL: "srv-other")
                let opened = try await code { try await client.openCatalog(named) }
                #expect(opened == .inputField)
                #expect(try await fixture.tables() == before)
                let list = try await client.assets(AssetQuery(movies("srv-other")))
                #expect(list.assets.map(\.name) == ["b"])
                let answer = try await client.apply(
                    SelectionAction(.cancel, catalog: movies("srv-other")))
                #expect(answer.assets == 1)
                #expect(try await client.status(of: list.catalog).state == .cancelled)
            }
            // Another site's queue with the text of the token's site is still of the other site.
            _ = try await fixture.execute(
                """
                UPDATE dray.site SET storage_url = 'file:///srv/moved'
                WHERE storage_url = '\(Self.otherURL)';
                UPDATE dray.queue SET name = '\(Self.otherURL)' WHERE name = 'srv-edge'
                """)
            try await fixture.asking(with: token) { client in
                let selection = SelectionAction(.cancel, catalog: movies(Self.otherURL))
                let moved = try await code { try await client.apply(selection) }
                #expect(moved == .clusterOutOfScope)
            }
        }
    }

    @Test func aSubmitterSubmitsToItsSitesOnly() async throws {
        try await Fixture.with { fixture in
            try await Self.submitToBoth(fixture)
            let foreign = try await Self.submit(
                to: Fixture.storageURL, with: fixture.client, name: "foreign")
            // The spelling does not matter.
            let token = try await fixture.token(.submitter, sites: ["file:///srv/other/"])
            #expect(token.token.sites == [Self.otherURL])
            try await fixture.asking(with: token) { client in
                let own = try await Self.submit(to: Self.otherURL, with: client, name: "own")
                #expect(
                    try await code { try await Self.submit(to: Fixture.storageURL, with: client) }
                        == .clusterOutOfScope)
                let before = try await fixture.tables()
                let generation = try await fixture.client.status(of: foreign).generation
                let start = CatalogStartRequest(generation: generation)
                let batch = AssetBatch(generation: generation, assets: [Fixture.file("c")])
                var copying = CatalogSubmission(name: "own", storageURL: Self.otherURL)
                copying.neighbours = [Fixture.storageURL]
                let attempts: [() async throws -> Void] = [
                    { [copying] in _ = try await client.openCatalog(copying) },
                    { try await client.submit(batch, to: foreign) },
                    { _ = try await client.start(foreign, start) },
                    { try await client.interrupt(foreign) },
                    {
                        _ = try await client.apply(
                            SelectionAction(.cancel, catalog: CatalogReference(foreign)))
                    },
                    {
                        _ = try await client.apply(
                            SelectionAction(
                                .cancel,
                                catalog: CatalogReference(
                                    name: "foreign", site: Fixture.storageURL)))
                    },
                    {
                        _ = try await client.apply(
                            SelectionAction(.retry, failureCode: .originHTTP404))
                    },
                ]
                for (number, attempt) in attempts.enumerated() {
                    #expect(try await code(attempt) == .clusterOutOfScope, "\(number)")
                }
                #expect(try await fixture.tables() == before)
                // Reading is not bound.
                #expect(try await client.status(of: foreign).name == "foreign")
                let cancelled = try await client.apply(
                    SelectionAction(.cancel, catalog: CatalogReference(name: "own")))
                #expect(cancelled.assets == 1)
                try await client.interrupt(own)
            }
        }
    }
}
