import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Catalogs of caches: an asset for each POP, and what the POPs answered.
@Suite struct CacheSiteTests {
    private static let site = "cache:https://edge.example?pop=192.0.2.1&pop=192.0.2.2:8443"
    private static let pops = ["192.0.2.1", "192.0.2.2:8443"]

    /// Completes all jobs; `answer` has each job's answer of its POP, and another digest or nil.
    private func serve(
        _ fixture: QueueFixture, _ answer: (Job) -> (CacheAnswer, sha256: String?)
    ) async throws -> [Job] {
        var jobs: [Job] = []
        while true {
            let grant = try await fixture.lease()
            guard grant.lease != nil else { return jobs }
            jobs += grant.jobs.filter { $0.kind == .fetch }
            let reports = grant.jobs.map { job -> JobReport in
                var report = QueueFixture.done(job, grant)
                guard job.kind == .fetch, case .done(var done) = report.outcome else {
                    return report
                }
                let (cache, sha256) = answer(job)
                done.cache = cache.text
                if let sha256 { done.stored = StoredObject(bytes: 10, sha256: sha256) }
                report.outcome = .done(done)
                return report
            }
            // Another lease's report records nothing.
            let stale = reports.map {
                JobReport(job: $0.job, lease: .random(), outcome: $0.outcome)
            }
            #expect(try await fixture.report(stale).allSatisfy { $0 == .stale })
            #expect(try await fixture.report(reports).allSatisfy { $0 == .accepted })
            #expect(try await fixture.report(reports).allSatisfy { $0 == .stale })
        }
    }

    private static let same = String(repeating: "a", count: 64)

    /// Nothing is stored, so that no directory has a checksum file.
    @Test func noJobWritesAChecksumFile() async throws {
        try await QueueFixture.with { fixture in
            let catalog = try await fixture.submit([QueueFixture.file("a")], site: Self.site)
            func expectEnded() async throws {
                try await fixture.fold()
                #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
                #expect(try await fixture.count("delayed_job WHERE kind = 'checksums'") == 0)
                #expect(try await fixture.count("job WHERE kind = 'checksums'") == 0)
            }
            #expect(
                try await serve(fixture) { _ in (CacheAnswer(.stored, detail: "X"), Self.same) }
                    .count == 2)
            try await expectEnded()
            _ = try await fixture.submit([QueueFixture.file("a")], site: Self.site)
            _ = try await serve(fixture) { _ in (CacheAnswer(.hit, detail: "X"), Self.same) }
            try await expectEnded()
        }
    }

    @Test func eachPassIsRecordedByPOP() async throws {
        try await QueueFixture.with { fixture in
            let files = ["a", "b"].map { QueueFixture.file($0) }
            let catalog = try await fixture.submit(files, site: Self.site)
            let jobs = try await serve(fixture) { _ in
                (CacheAnswer(.stored, detail: "X"), Self.same)
            }
            #expect(
                Set(jobs.compactMap(\.requestedURL))
                    == Set(
                        Self.pops.flatMap { pop in
                            ["a", "b"].map { "https://\(pop)/files/\($0)" }
                        }))
            let names = try await fixture.assets(of: catalog).map(\.name)
            #expect(names.sorted() == Self.pops.flatMap { ["\($0)/a", "\($0)/b"] }.sorted())
            func report() async throws -> CacheReport {
                try await fixture.queue.catalogs.cacheAnswers.report(
                    of: catalog, after: 0, limit: 10)
            }
            var answers = try await report()
            #expect(answers.pops.map(\.pop) == Self.pops)
            #expect(answers.pops.allSatisfy { $0.objects == 2 && $0.stored == 2 && $0.bytes == 20 })
            #expect(answers.findings.isEmpty)

            // Everything is requested again; one POP has lost an object and serves other bytes.
            try await fixture.submit(files, site: Self.site)
            let again = try await serve(fixture) { job in
                job.key == "192.0.2.1/files/a"
                    ? (CacheAnswer(.stored, ageSeconds: 0, detail: "gone"), nil)
                    : (CacheAnswer(.hit, ageSeconds: 7, detail: "X"), Self.same)
            }
            #expect(again.count == 4)
            answers = try await report()
            #expect(answers.pops.map(\.hits) == [1, 2])
            #expect(answers.pops.map(\.notCached) == [1, 0])
            #expect(answers.pops.map(\.evicted) == [1, 0])
            #expect(answers.pops.map(\.differing) == [1, 1])
            #expect(answers.findings.map(\.code) == ["content.evicted", "content.differs"])
            #expect(answers.findings.map(\.pop) == Self.pops)
            #expect(answers.findings[0].detail == "gone")
            #expect(answers.findings.allSatisfy { $0.path == "files/a" && $0.differs })
            let page = try await fixture.queue.catalogs.cacheAnswers.report(
                of: catalog, after: 0, limit: 1)
            #expect(page.findings.count == 1)
            let next = try #require(page.next.flatMap { Int64($0) })
            let rest = try await fixture.queue.catalogs.cacheAnswers.report(
                of: catalog, after: next, limit: 1)
            #expect(rest.findings.map(\.code) == ["content.differs"])

            // An interrupted submission is requested again as a whole as well.
            let handle = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: Self.site))
            try await fixture.queue.catalogs.submissions.add(
                files, to: handle.id, generation: handle.generation)
            try await fixture.queue.catalogs.submissions.start(
                handle.id, generation: handle.generation)
            let grant = try await fixture.lease(1)
            _ = try await fixture.report(grant.jobs.map { QueueFixture.done($0, grant) })
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await fixture.submit(files, site: Self.site)
            let left = try await serve(fixture) { _ in (CacheAnswer(.hit, detail: ""), Self.same) }
            #expect(left.count == 4)
        }
    }

    /// A second pass requests what the first one has completed.
    @Test func whatHasFailedIsLeftOutOnDemand() async throws {
        try await QueueFixture.with { fixture in
            let files = ["a", "b"].map { QueueFixture.file($0) }
            let catalog = try await fixture.submit(files, site: Self.site)
            while true {
                let first = try await fixture.lease()
                guard first.lease != nil else { break }
                _ = try await fixture.report(
                    first.jobs.map { job in
                        job.key.hasPrefix("192.0.2.1/")
                            ? QueueFixture.done(job, first)
                            : QueueFixture.failed(job, first, "origin.http.404")
                    })
            }
            let handle = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: Self.site))
            try await fixture.queue.catalogs.submissions.add(
                files, to: handle.id, generation: handle.generation)
            try await fixture.queue.catalogs.submissions.start(
                handle.id, generation: handle.generation, skipsFailed: true)
            let again = try await serve(fixture) { _ in (CacheAnswer(.hit, detail: "X"), Self.same)
            }
            #expect(again.map(\.key).sorted() == ["192.0.2.1/files/a", "192.0.2.1/files/b"])
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .failed)
            #expect(status.totals.completed == 2 && status.totals.failed == 2)
        }
    }

    /// Nothing lies there that could be deleted, so a title that has failed is at no site.
    @Test func nothingIsHeldForDeletion() async throws {
        try await QueueFixture.with { fixture in
            var title = QueueFixture.title("t")
            (title.maxSites, title.title) = (1, "L")
            let catalog = try await fixture.submit(
                [title], site: "cache:http://edge.test?pop=192.0.2.1:80")
            func resolve(sha256: String?) async throws {
                let grant = try await fixture.lease()
                #expect(grant.jobs.map(\.kind) == [.resolve])
                let segments = ["0.ts", "1.ts", "main.m3u8"].enumerated().map { ordinal, name in
                    ResolvedSegment(
                        ordinal: ordinal, url: "http://192.0.2.1:80/t/\(name)",
                        key: "192.0.2.1:80/t/\(name)", role: ordinal == 2 ? .playlist : .media,
                        sha256: ordinal == 0 ? sha256 : nil)
                }
                let batch = TitleTests.batch(fixture, grant, segments)
                #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
                var report = QueueFixture.done(grant.jobs[0], grant)
                report.segments = segments.count
                #expect(try await fixture.report([report]) == [.accepted])
            }
            func fetch(failing code: FailureCode, _ isFailing: (Job) -> Bool) async throws {
                try await fixture.pool.query("UPDATE job SET attempt = 7 WHERE kind = 'fetch'")
                let grant = try await fixture.lease()
                #expect(grant.jobs.count == 3 && grant.jobs.allSatisfy { $0.kind == .fetch })
                _ = try await fixture.report(
                    grant.jobs.map { job in
                        isFailing(job)
                            ? QueueFixture.failed(job, grant, code)
                            : QueueFixture.done(job, grant)
                    })
            }
            try await resolve(sha256: nil)
            try await fetch(failing: .manifestChanged) { $0.key.hasSuffix("1.ts") }
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.retry, catalog: CatalogReference(catalog)))
            // What was requested of the first segment is another object; the playlist is requested again.
            try await resolve(sha256: Self.same)
            try await fetch(failing: "origin.http.404") { _ in true }
            let failed = try await fixture.assets(of: catalog)[0]
            #expect(failed.state == .failed && failed.segmentsDone == 0)
            #expect(try await fixture.count("unneeded_file") == 0)
            // Not by a lease: that may be of the cache's queue, which has a checksum file to write.
            let stored = try await fixture.submit([title], catalog: "stored")
            #expect(try await fixture.assets(of: stored).map(\.state) == [.resolving])
        }
    }

    @Test func whatOnlyStorageHasIsRefused() async throws {
        try await QueueFixture.with { fixture in
            let queue = fixture.queue
            let catalog = try await fixture.submit([QueueFixture.file("a")], site: Self.site)
            func expectRefused(_ body: () async throws -> Void) async {
                let failure = await #expect(throws: Failure.self) { try await body() }
                #expect(failure?.code == .inputCacheSite, "\(String(describing: failure))")
            }
            await expectRefused {
                _ = try await queue.sites.audits.create(SiteAuditSubmission(site: Self.site))
            }
            for kind in [SelectionAction.Action.remove, .refresh] {
                await expectRefused {
                    _ = try await queue.catalogs.selections.apply(
                        SelectionAction(kind, catalog: CatalogReference(catalog)))
                }
            }
            var settings = SiteSettings(site: Self.site)
            settings.quotaBytes = 1 << 30
            await expectRefused { [settings] in _ = try await queue.sites.configure(settings) }
            (settings.quotaBytes, settings.expiresAt) = (0, 4e9)
            await expectRefused { [settings] in _ = try await queue.sites.configure(settings) }
            settings.expiresAt = 0
            settings.maximumBytesPerSecond = 1 << 20
            _ = try await queue.sites.configure(settings)
            var rights = CatalogSubmission(name: "rights", storageURL: Self.site)
            rights.keepSeconds = 3_600
            await expectRefused { [rights] in _ = try await queue.catalogs.submissions.open(rights)
            }
            var recording = CatalogSubmission(name: "recording", storageURL: Self.site)
            recording.titles = TitleOptions()
            recording.titles?.records = true
            await expectRefused { [recording] in
                _ = try await queue.catalogs.submissions.open(recording)
            }
            var asset = QueueFixture.file("b")
            asset.expiresAt = 4e9
            await expectRefused { [asset] in
                _ = try await fixture.submit([asset], catalog: "expires", site: Self.site)
            }
            // A catalog of storage has no answers of POPs.
            let stored = try await fixture.submit([QueueFixture.file("a")], catalog: "stored")
            let none = try await queue.catalogs.cacheAnswers.report(of: stored, after: 0, limit: 1)
            #expect(none.pops.isEmpty && none.findings.isEmpty)
        }
    }
}
