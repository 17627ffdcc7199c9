import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

@Suite struct SubmissionTests {
    typealias F = QueueFixture

    @Test func aSecondSubmissionChecksWhatIsThere() async throws {
        try await F.with { fixture in
            let assets = [F.file("a"), F.file("b")]
            let catalog = try await fixture.submit(assets)
            try await fixture.drain()
            #expect(try await fixture.submit(assets) == catalog)
            let grant = try await fixture.lease()
            #expect(grant.jobs.allSatisfy { $0.previous?.sha256 == F.digest(of: $0.key) })
            _ = try await fixture.report(
                grant.jobs.map { job in
                    var report = F.done(job, grant)
                    report.isReused = true
                    return report
                })
            try await fixture.drain()
            let totals = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(totals.completed == 2 && totals.bytes == 20 && totals.adoptedBytes == 20)
        }
    }

    /// Also where other catalogs, and segments without a result, are reported together with them.
    @Test func resultsOfASecondSubmissionReplaceThoseOfTheFirst() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a"), F.file("b")])
            try await fixture.drain()
            let catalog = try await fixture.submit([F.file("a"), F.file("b"), F.file("c")])
            try await fixture.submit([F.file("d")], catalog: "first")
            let grant = try await fixture.lease()
            #expect(grant.jobs.count == 4)
            #expect(
                try await fixture.report(grant.jobs.map { F.done($0, grant, bytes: 20) })
                    == [ReportAnswer.Verdict](repeating: .accepted, count: 4))
            #expect(try await fixture.count("result WHERE bytes = 20 AND attempts = 1") == 4)
            #expect(try await fixture.count("result") == 4)
            try await fixture.drain()
            let totals = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(totals.completed == 3 && totals.bytes == 60)
        }
    }

    @Test func anAssetThatIsNoLongerNamedStaysOut() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a"), F.file("b")])
            let catalog = try await fixture.submit([F.file("b")])
            let jobs = try await fixture.drain()
            #expect(jobs.filter { $0.kind == .fetch }.map(\.key) == ["origin.test/files/b"])
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.assets == 1)
            #expect(try await fixture.assets(of: catalog).map(\.name) == ["b"])
        }
    }

    @Test func anAssetWithAnotherDigestStartsOver() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            let digest = String(repeating: "c", count: 64)
            try await fixture.submit([F.file("a", sha256: digest)])
            let grant = try await fixture.lease()
            #expect(grant.jobs.map(\.sha256) == [digest])
            #expect(grant.jobs.map(\.previous) == [nil])
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func anInterruptedCatalogResumes() async throws {
        try await F.with { fixture in
            let assets = (1...4).map { F.file("f\($0)") }
            let catalog = try await fixture.submit(assets)
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.done(grant.jobs[0], grant)])
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .interrupted)
            #expect(try await fixture.lease().lease == nil)
            // Earlier leases are stale now.
            #expect(try await fixture.report([F.done(grant.jobs[1], grant)]) == [.stale])

            try await fixture.submit(assets)
            let jobs = try await fixture.drain().filter { $0.kind == .fetch }
            #expect(jobs.filter { $0.previous == nil }.count == 3)
            #expect(try await fixture.queue.catalogs.status(of: catalog).totals.completed == 4)
        }
    }

    @Test func startingTwiceMakesNoSecondJob() async throws {
        try await F.with { fixture in
            let handle = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "c", storageURL: F.site))
            // A batch whose answer was lost is sent again.
            for _ in 1...2 {
                try await fixture.queue.catalogs.submissions.add(
                    [F.file("a")], to: handle.id, generation: handle.generation)
            }
            for _ in 1...2 {
                try await fixture.queue.catalogs.submissions.start(
                    handle.id, generation: handle.generation)
            }
            #expect(try await fixture.count("job") == 1)
        }
    }

    @Test func aStartReportsAssetsThatAreNoLongerListed() async throws {
        try await F.with { fixture in
            func start(_ names: [String]) async throws -> Int? {
                let handle = try await fixture.queue.catalogs.submissions.open(
                    CatalogSubmission(name: "c", storageURL: F.site))
                try await fixture.queue.catalogs.submissions.add(
                    names.map { F.file($0) }, to: handle.id, generation: handle.generation)
                return try await fixture.queue.catalogs.submissions.start(
                    handle.id, generation: handle.generation
                ).left
            }
            #expect(try await start(["a", "b", "c"]) == 0)
            #expect(try await start(["a", "d"]) == 2)
            // What left before is not counted again, and what came back is there.
            #expect(try await start(["a", "b"]) == 1)
            let list = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "c", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.interrupt(list.id)
            #expect(try await start(["a", "b"]) == 0)
        }
    }

    @Test func anOvertakenSubmissionIsRefused() async throws {
        try await F.with { fixture in
            let old = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "c", storageURL: F.site))
            let new = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "c", storageURL: F.site))
            #expect(new.id == old.id && new.generation == old.generation + 1)
            let error = await #expect(throws: Failure.self) {
                try await fixture.queue.catalogs.submissions.add(
                    [F.file("a")], to: old.id, generation: old.generation)
            }
            #expect(error?.code == "input.field")
        }
    }

    @Test func aDirectoryOfTwoCatalogsListsTheFilesOfBoth() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")], catalog: "one")
            try await fixture.drain()
            try await fixture.submit([F.file("b")], catalog: "two")
            try await fixture.drain()
            let site = try #require(try await fixture.queue.sites.list().sites.first).id
            let page = try await fixture.queue.sites.checksums.page(
                site: site, directory: "origin.test/files", after: nil, limit: 10)
            #expect(page.entries.map(\.key) == ["origin.test/files/a", "origin.test/files/b"])
        }
    }

    @Test func sitesHaveQueuesOfTheirOwn() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")], site: "file:///srv/edge/one")
            try await fixture.submit([F.file("a")], site: "file:///srv/edge/two")
            let grant = try await fixture.queue.jobs.claims.lease(
                LeaseRequest(
                    worker: fixture.worker, queues: ["srv-edge-two"], maxJobs: 10,
                    waitMilliseconds: 0), as: .random())
            #expect(grant.jobs.count == 1)
            #expect(grant.site?.storageURL == "file:///srv/edge/two")
        }
    }

    // MARK: Retention

    @Test func oldCatalogsAreForgottenAndNothingElse() async throws {
        try await F.with { fixture in
            let other = [F.file("b"), F.title("t")]
            let old = try await fixture.submit([F.file("a")], catalog: "old")
            try await fixture.drain()
            let young = try await fixture.submit(other, catalog: "young")
            let open = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "open", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                [F.file("c")], to: open.id, generation: 1)
            let reopened = try await fixture.submit([F.file("d")], catalog: "reopened")
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { F.failed($0, grant, "origin.http.404") })
            try await fixture.pool.query(
                """
                UPDATE catalog SET opened_at = now() - interval '8 days',
                    ended_at = ended_at - interval '8 days'
                WHERE name <> 'young'
                """)
            _ = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "reopened", storageURL: F.site))
            #expect(try await fixture.queue.housekeeping.retention.delete(olderThanDays: 9) == 0)
            let gone = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 1...3 {
                    group.addTask {
                        try await fixture.queue.housekeeping.retention.delete(olderThanDays: 7)
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(gone == 2)
            for catalog in [old, open.id] {
                let failure = await #expect(throws: Failure.self) {
                    try await fixture.queue.catalogs.status(of: catalog)
                }
                #expect(failure?.code == "input.notFound")
            }
            for catalog in [young, reopened] {
                #expect(try await !fixture.assets(of: catalog).isEmpty)
            }
            for (table, count) in [
                ("asset", 3), ("directory", 3), ("result", 2), ("segment", 2),
                ("lane l WHERE NOT EXISTS (SELECT FROM catalog WHERE id = l.catalog_id)", 0),
            ] {
                let found = try await fixture.count(table)
                #expect(found == Int64(count), "\(table): \(found)")
            }
            // Wanted again, it is new.
            let again = try await fixture.submit([F.file("a")], catalog: "old")
            #expect(again != old)
            #expect(try await fixture.lease().jobs.contains { $0.key.hasSuffix("a") })
        }
    }

    /// One would delete and replace what the other has recorded.
    @Test func sitesInABucketHaveNoObjectsInCommon() async throws {
        try await F.with { fixture in
            func code(_ url: String) async -> FailureCode? {
                do {
                    _ = try await fixture.queue.catalogs.submissions.open(
                        CatalogSubmission(name: "movies", storageURL: url))
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(await code("s3://edge/a") == nil)
            #expect(await code("s3://edge/a") == nil)
            #expect(await code("s3://edge/a?storage-class=STANDARD_IA") == .inputDestination)
            #expect(await code("s3://edge/a/b") == .inputDestination)
            #expect(await code("s3://edge") == .inputDestination)
            #expect(await code("s3://edge/ab") == nil)
            #expect(await code("s3://edge-2/a") == nil)
            #expect(await code("s3://edge/a?endpoint=http://10.0.0.1:9000") == nil)
        }
    }

    /// Audits of the outer one would find the inner one's files, which no record of it knows.
    @Test func noSiteLiesInAnother() async throws {
        try await F.with { fixture in
            func code(_ url: String, adds: Bool = false) async -> FailureCode? {
                do {
                    if adds {
                        var settings = SiteSettings(site: url)
                        settings.adds = true
                        _ = try await fixture.queue.sites.configure(settings)
                    } else {
                        _ = try await fixture.queue.catalogs.submissions.open(
                            CatalogSubmission(name: "movies", storageURL: url))
                    }
                    return nil
                } catch {
                    return error.code
                }
            }
            #expect(await code("file:///srv/edge") == nil)
            for url in ["file:///srv/edge/sub", "file:///srv/edge/a/b", "file:///srv", "file:///"] {
                #expect(await code(url) == .inputDestination, "\(url)")
                #expect(await code(url, adds: true) == .inputDestination, "\(url)")
            }
            #expect(try await fixture.count("site") == 1)
            for url in [
                "file:///srv/edge", "file:///srv/edge2", "file:///srv/edg", "s3://srv/edge",
            ] {
                #expect(await code(url) == nil, "\(url)")
            }
            // Sites of an earlier version continue.
            _ = try await fixture.pool.query(
                "INSERT INTO site (storage_url) VALUES ('file:///srv/edge/old')")
            #expect(await code("file:///srv/edge") == nil)
            #expect(await code("file:///srv/edge/old") == .inputDestination)
            // One without catalogs leaves its directory to others.
            #expect(await code("file:///mnt", adds: true) == nil)
            #expect(await code("file:///mnt/edge") == nil)
            #expect(await code("file:///mnt") == .inputDestination)
        }
    }

    /// The options of commands have other names than the API's fields.
    @Test func aNestedSiteIsNamed() async throws {
        try await F.with { fixture in
            func open(_ url: String) async throws(Failure) {
                _ = try await fixture.queue.catalogs.submissions.open(
                    CatalogSubmission(name: "movies", storageURL: url))
            }
            try await open("file:///srv/edge")
            for (url, message) in [
                ("file:///srv/edge/sub", "/srv/edge/sub lies in that of the site /srv/edge"),
                ("file:///srv", "/srv contains that of the site /srv/edge"),
            ] {
                let failure = await #expect(throws: Failure.self) { try await open(url) }
                #expect(failure?.message.contains(message) == true, "\(failure?.message ?? "")")
                #expect(failure?.hint.contains("use /srv/edge;") == true)
                #expect(failure?.hint.contains("--to") == true)
            }
        }
    }
}
