import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The time left, and what becomes of deadlines.
extension WaitTests {
    private func shiftPace(_ fixture: F, seconds: Double) async throws {
        try await fixture.pool.query(
            """
            UPDATE catalog SET started_at = started_at - make_interval(secs => $1),
                pace = ARRAY[pace[1] - $1, pace[2], pace[3], pace[4] - $1, pace[5], pace[6]]
            """, [.double(seconds)])
    }

    /// The time of the older sample.
    private func paceBegin(_ fixture: F) async throws -> Double {
        try #require(try await fixture.pool.query("SELECT pace[1] FROM catalog").firstRow).double(0)
    }

    private func work(_ fixture: F, _ files: Int) async throws {
        let grant = try await fixture.lease(files)
        _ = try await fixture.report(grant.jobs.map { F.done($0, grant, bytes: 10) })
    }

    @Test func theTimeLeftIsThatOfTheLatestPace() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit((0..<100).map { F.file("f\($0)") })
            func left() async throws -> Double? {
                try await beat(fixture)
                return try await fixture.queue.catalogs.status(of: catalog).finish?.seconds
            }
            /// Expects the time that so many files take at the pace since the older sample.
            func expectLeft(_ files: Double, at done: Double) async throws {
                let begin = try await paceBegin(fixture)
                let earliest = try await now(fixture) - begin
                let left = try await left() ?? 0
                let latest = try await now(fixture) - begin
                #expect(
                    (files / done * earliest...files / done * latest).contains(left), "\(left)")
            }
            #expect(try await left() == nil)
            try await work(fixture, 10)
            #expect(try await left() == nil)
            try await shiftPace(fixture, seconds: 40)
            try await work(fixture, 20)
            // 20 in 40 s, 70 are left.
            try await expectLeft(70, at: 20)
            try await shiftPace(fixture, seconds: 40)
            try await work(fixture, 40)
            // Of the second half only: 40 in 40 s, 30 are left.
            try await expectLeft(30, at: 40)
            // It stood still: what comes then counts from then on.
            try await shiftPace(fixture, seconds: 600)
            try await work(fixture, 10)
            #expect(try await left() == nil)
            // Nothing is known of a queue that is paused.
            try await shiftPace(fixture, seconds: 40)
            try await work(fixture, 10)
            #expect(try await left() != nil)
            _ = try await fixture.queue.sites.set(.paused, ofQueue: try await queueName(fixture))
            #expect(try await left() == nil)
        }
    }

    @Test func anAssetThatMayNotStartYetIsTheEnd() async throws {
        try await F.with { fixture in
            var files = (0..<100).map { F.file("f\($0)") }
            let start = try await now(fixture) + 7_200
            files[98].notBefore = start - 3_600
            files[99].notBefore = start
            let catalog = try await fixture.submit(files)
            try await beat(fixture)
            try await work(fixture, 10)
            _ = try await fixture.queue.catalogs.status(of: catalog)
            try await shiftPace(fixture, seconds: 40)
            try await work(fixture, 20)
            try await beat(fixture)
            let finish = try await fixture.queue.catalogs.status(of: catalog).finish
            guard case .finishes(let end, let seconds, .notBefore)? = finish?.estimate else {
                Issue.record("\(String(describing: finish))")
                return
            }
            #expect(abs(end - start) < 0.01 && (7_000...7_200).contains(seconds))
            #expect(try await reasons(fixture, catalog) == [])
            // Nothing else is left: the first of them ends the wait.
            try await fixture.drain()
            try await beat(fixture)
            let waits = try await waits(fixture, catalog)
            #expect(waits.map(\.reason) == [.assetsNotBefore])
            #expect(abs((waits.first?.until ?? 0) - start + 3_600) < 0.01)
            // Paused, they do not start by themselves.
            let pause = SelectionAction(.pause, catalog: CatalogReference(catalog))
            #expect(try await fixture.queue.catalogs.selections.apply(pause).assets == 2)
            #expect(try await reasons(fixture, catalog) == [.paused(assets: 2)])
        }
    }

    @Test func aDeadlineThatCannotBeMetIsKnown() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            let catalog = try await fixture.submit(
                (0..<100).map { F.file("f\($0)") }, deadline: now + 200)
            var verdicts: [CatalogFinish.Deadline?] = []
            func outlook() async throws -> DeadlineOutlook? {
                try await beat(fixture)
                let status = try await fixture.queue.catalogs.status(of: catalog)
                verdicts.append(status.finish?.deadline)
                return status.outlook
            }
            #expect(try await outlook() == nil)
            try await work(fixture, 10)
            try await shiftPace(fixture, seconds: 40)
            try await work(fixture, 10)
            // 10 in 40 s, 80 are left: 320 s.
            let begin = try await paceBegin(fixture)
            func lateSeconds() async throws -> Double {
                let time = try await self.now(fixture)
                return 80.0 / 10 * (time - begin) - (now + 200 - time)
            }
            let earliest = try await lateSeconds()
            let late = try await outlook()
            let latest = try await lateSeconds()
            #expect(
                late?.kind == .late && (earliest...latest).contains(late?.seconds ?? 0),
                "\(late?.seconds ?? 0)")
            try await shiftPace(fixture, seconds: 40)
            try await work(fixture, 40)
            #expect(try await outlook() == nil)

            _ = try await fixture.queue.sites.configure(SiteSettings(site: F.site, schedule: "off"))
            #expect(try await outlook() == DeadlineOutlook(.blocked))
            try await fixture.pool.query(
                "UPDATE site SET next_change = now() + interval '1 hour'")
            let blocked = try await outlook()
            #expect(blocked?.kind == .blocked && abs((blocked?.seconds ?? 0) - 3_400) < 60)
            _ = try await fixture.queue.sites.configure(SiteSettings(site: F.site, schedule: ""))

            try await fixture.pool.query(
                "UPDATE catalog SET deadline = now() - interval '7 s'")
            let missed = try await outlook()
            #expect(missed?.kind == .missed && (7...120).contains(missed?.seconds ?? 0))
            #expect(verdicts == [.unknown, .missed, .met, .missed, .missed, .missed])
            try await fixture.drain()
            let ended = try await fixture.queue.catalogs.status(of: catalog)
            #expect(ended.state == .completed && ended.outlook?.kind == .missed)
            #expect(ended.finish == nil)

            // A refresh is a run of its own.
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            let refreshed = try await fixture.queue.catalogs.status(of: catalog)
            #expect(refreshed.outlook == nil && refreshed.deadline == nil)
        }
    }

    @Test func aDeadlineThatWasOverAtTheStartIsMissed() async throws {
        try await F.with { fixture in
            let deadline = try await now(fixture) - 60
            let catalog = try await fixture.submit(
                [F.file("a"), F.file("b")], notBefore: deadline - 60, deadline: deadline)
            func missed() async throws -> CatalogState? {
                let status = try await fixture.queue.catalogs.status(of: catalog)
                guard status.outlook?.kind == .missed, status.deadline == deadline else {
                    return nil
                }
                #expect((60...180).contains(status.outlook?.seconds ?? 0))
                return status.state
            }
            #expect(try await missed() == .running)
            let begun = try await fixture.lease(1)
            _ = try await fixture.report(begun.jobs.map { F.done($0, begun) })
            // It is the submission's, however often that is started.
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            try await fixture.queue.catalogs.submissions.start(catalog, generation: 1)
            #expect(try await missed() == .running)
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { F.failed($0, grant, "origin.http.404") })
            try await fixture.drain()
            #expect(try await missed() == .failed)
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.retry, catalog: CatalogReference(catalog)))
            #expect(try await missed() == .running)
            // Its refresh joins a run that is late.
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            #expect(try await missed() == .running)
            try await fixture.drain()
            #expect(try await missed() == .completed)
            // The next submission has its own, or none; from its start on.
            let handle = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            #expect(handle.id == catalog)
            #expect(try await missed() == .completed)
            try await fixture.queue.catalogs.submissions.add(
                [F.file("a")], to: catalog, generation: handle.generation)
            try await fixture.queue.catalogs.submissions.start(
                catalog, generation: handle.generation)
            let next = try await fixture.queue.catalogs.status(of: catalog)
            #expect(next.state == .running && next.outlook == nil && next.deadline == nil)
        }
    }

    @Test func aDelayedRetryDoesNotBlockWhatIsReady() async throws {
        try await F.with { fixture in
            let now = try await now(fixture)
            let catalog = try await fixture.submit(
                [F.file("a"), F.file("b")], deadline: now + 200)
            try await beat(fixture)
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "origin.timeout")])
            try await fixture.pool.query(
                "UPDATE delayed_job SET available_at = now() + interval '1 hour'")
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.waits?.map(\.reason) == [.retry("origin.timeout")])
            #expect(status.outlook == nil)
            let other = try await fixture.lease()
            _ = try await fixture.report(other.jobs.map { F.done($0, other) })
            #expect(try await fixture.queue.catalogs.status(of: catalog).outlook?.kind == .blocked)
        }
    }
}
