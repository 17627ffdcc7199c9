import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Failed work that operators retry.
@Suite struct RetryTests: SelectionSuite {
    @Test func whatFailedIsTriedAgainByItsCode() async throws {
        try await F.with { fixture in
            let one = try await fixture.submit(files(1...3))
            let two = try await fixture.submit(
                files(4...6, in: "two"), catalog: "two")
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { job in
                    if job.key.hasSuffix("f1") || job.key.hasSuffix("f4") {
                        return F.failed(job, grant, "origin.http.403")
                    }
                    if job.key.hasSuffix("f2") { return F.failed(job, grant, "origin.http.404") }
                    return F.done(job, grant)
                })
            try await expectEnded(fixture, one, completed: 1, failed: 2)
            try await expectEnded(fixture, two, completed: 2, failed: 1)

            let missing = try await apply(fixture, .retry, nil, code: "origin.http.410")
            #expect(missing == SelectionAnswer(assets: 0, jobs: 0))
            #expect(
                try await apply(fixture, .retry, nil, code: "origin.http.403")
                    == SelectionAnswer(assets: 2, jobs: 2))
            #expect(try await fixture.queue.catalogs.status(of: one).state == .running)
            let again = try await fixture.lease()
            // Nothing else is fetched, and attempts count from 1 again.
            #expect(Set(again.jobs.map { $0.key.suffix(2) }) == ["f1", "f4"])
            #expect(again.jobs.allSatisfy { $0.attempt == 1 })
            _ = try await fixture.report(again.jobs.map { F.done($0, again) })
            try await expectEnded(fixture, one, completed: 2, failed: 1)
            try await expectEnded(fixture, two, completed: 3, failed: 0)
            #expect(try await apply(fixture, .retry, one, asset: "f2").assets == 1)
            try await expectEnded(fixture, one, completed: 3, failed: 0)
        }
    }

    @Test func aRetryJoinsRunningJobs() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...4))
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "origin.http.404")])
            #expect(
                try await apply(fixture, .retry, catalog) == SelectionAnswer(assets: 1, jobs: 1))
            // Leased jobs continue.
            #expect(try await fixture.report([F.done(grant.jobs[1], grant)]) == [.accepted])
            try await expectEnded(fixture, catalog, completed: 4, failed: 0)
        }
    }

    @Test func anInterruptedCatalogResumesAsAWhole() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "origin.http.404")])
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await apply(fixture, .retry, catalog, asset: "f1").assets == 3)
            try await expectEnded(fixture, catalog, completed: 3, failed: 0)
        }
    }

    @Test func listsOfDigestsThatFailedAreWrittenAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease()
            _ = try await fixture.report([
                F.done(grant.jobs[0], grant), F.failed(grant.jobs[1], grant, "origin.http.404"),
            ])
            for isWhole in [false, true] {
                let lists = try await fixture.lease()
                #expect(lists.jobs.map(\.kind) == [.checksums])
                _ = try await fixture.report([F.failed(lists.jobs[0], lists, "storage.permission")])
                #expect(try await fixture.queue.catalogs.status(of: catalog).state == .failed)
                // With the file that failed, and then by itself.
                let answer = try await apply(
                    fixture, .retry, catalog, asset: isWhole ? nil : "f2")
                #expect(answer == SelectionAnswer(assets: isWhole ? 0 : 1, jobs: 1))
                #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
                if !isWhole {
                    let file = try await fixture.lease()
                    _ = try await fixture.report([F.done(file.jobs[0], file)])
                }
            }
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
            #expect(
                try await apply(fixture, .retry, catalog) == SelectionAnswer(assets: 0, jobs: 0))
        }
    }

    @Test func anAssetWithANewURLIsRetriedWithIt() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { F.failed($0, grant, "origin.http.404") })
            var renamed = files(1...1)[0]
            renamed.url = "http://elsewhere.test/f1"
            try await fixture.queue.catalogs.submissions.add([renamed], to: catalog, generation: 1)
            #expect(
                try await apply(fixture, .retry, catalog) == SelectionAnswer(assets: 2, jobs: 2))
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.url).contains(renamed.url))
            _ = try await fixture.report(again.jobs.map { F.done($0, again) })
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func aCatalogThatIsBeingSubmittedAgainCannotBeRetried() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "origin.http.404")])
            let again = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.catalogs.submissions.add(
                files(2...2), to: catalog, generation: again.generation)
            let failure = await #expect(throws: Failure.self) {
                try await apply(fixture, .retry, catalog)
            }
            #expect(failure?.code == "input.field")
            // Running assets can be cancelled nevertheless, also resubmitted ones.
            #expect(try await apply(fixture, .cancel, catalog).assets == 1)
            try await fixture.queue.catalogs.submissions.start(
                catalog, generation: again.generation)
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            // One that was never started has nothing to cancel or to try again.
            let fresh = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "fresh", storageURL: F.site))
            for action in [SelectionAction.Action.cancel, .retry] {
                #expect(
                    try await apply(fixture, action, fresh.id)
                        == SelectionAnswer(assets: 0, jobs: 0))
            }
        }
    }
}
