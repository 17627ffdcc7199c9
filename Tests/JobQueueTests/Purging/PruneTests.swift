import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Files that left a list or a title.
@Suite struct PruneTests: SelectionSuite {
    private func prune(
        _ fixture: F, _ catalog: CatalogID, generation: Int = 2
    ) async throws -> SelectionAnswer {
        var action = SelectionAction(.remove, catalog: CatalogReference(catalog))
        action.ofLeft = true
        action.generation = generation
        return try await fixture.queue.catalogs.selections.apply(action)
    }

    @Test func whatTheLastListDoesNotNameIsRemoved() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...4))
            try await fixture.drain()
            try await fixture.submit(files(3...5))
            let answer = try await prune(fixture, catalog)
            #expect(answer.assets == 2 && answer.files == 2)
            #expect(
                try await Set(RemovalTests.purge(fixture)) == [
                    "origin.test/files/f1", "origin.test/files/f2",
                ])
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .completed && status.totals.assets == 3)
            #expect(status.totals.completed == 3 && status.totals.freedFiles == 2)
            #expect(try await prune(fixture, catalog).assets == 0)
            // A later submission shows what it freed itself.
            try await fixture.submit(files(3...5))
            try await fixture.drain()
            let later = try await fixture.queue.catalogs.status(of: catalog)
            #expect(later.totals.freedFiles == nil)
            #expect(try await fixture.count("directory WHERE unsettled <> 0") == 0)
        }
    }

    @Test func anEarlierListDoesNotDecideAnyMore() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.submit(files(3...4))
            try await fixture.drain()
            let failure = await #expect(throws: Failure.self) {
                try await prune(fixture, catalog, generation: 1)
            }
            #expect(failure?.code == .inputField)
            #expect(try await prune(fixture, catalog).assets == 2)
        }
    }

    @Test func aSubmissionThatIsNotStartedDecidesNothing() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await fixture.drain()
            _ = try await fixture.queue.catalogs.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            let failure = await #expect(throws: Failure.self) { try await prune(fixture, catalog) }
            #expect(failure?.code == .inputField)
        }
    }

    /// A title that was packaged again: media that its new manifest does not list go, once the
    /// title is complete.
    @Test func whatATitleNoLongerListsIsDeletedOnceItIsComplete() async throws {
        try await F.with { fixture in
            func resolve(_ names: [String]) async throws {
                let grant = try await fixture.lease()
                let job = try #require(grant.jobs.first { $0.kind == .resolve })
                let segments = names.enumerated().map { ordinal, name in
                    ResolvedSegment(
                        ordinal: ordinal, url: "http://origin.test/t/\(name)",
                        key: "origin.test/t/\(name)",
                        role: name.hasSuffix("m3u8") ? .playlist : .media)
                }
                _ = try await fixture.queue.jobs.segments.add(
                    SegmentBatch(
                        worker: fixture.worker, job: job.id, lease: grant.lease ?? "",
                        segments: segments))
                var report = F.done(job, grant)
                report.segments = segments.count
                _ = try await fixture.report([report])
            }
            var title = F.title("t")
            let catalog = try await fixture.submit([title])
            try await resolve(["a1.ts", "a2.ts", "both.ts", "main.m3u8"])
            try await fixture.drain()
            title.url += "?v=2"
            try await fixture.submit([title])
            try await resolve(["b1.ts", "both.ts", "main.m3u8"])
            #expect(try await fixture.queue.files.purges.reconcile() == 1)
            // Its old manifest may still be at the edge.
            let grant = try await fixture.lease(1)
            let job = try #require(grant.jobs.first)
            #expect(job.kind == .purge)
            #expect(try await RemovalTests.deleteAll(of: job, grant.lease ?? "", fixture).isEmpty)
            _ = try await fixture.report([F.done(job, grant)])
            // Until then they cause no work.
            #expect(try await fixture.queue.files.purges.reconcile() == 0)
            try await fixture.drain()
            #expect(try await fixture.queue.files.purges.reconcile() == 1)
            #expect(
                try await Set(RemovalTests.purge(fixture)) == [
                    "origin.test/t/a1.ts", "origin.test/t/a2.ts",
                ])
            #expect(
                try await fixture.queue.catalogs.status(of: catalog).totals.completed == 1)
        }
    }

    /// A file whose key the list has changed, and a poster that it no longer names.
    @Test func whatAFileAssetStoredBeforeIsDeleted() async throws {
        try await F.with { fixture in
            let poster = SidecarSubmission(
                url: "http://origin.test/p.jpg", key: "origin.test/p.jpg", role: .image)
            var assets = files(1...2)
            assets[1].sidecars = [poster]
            try await fixture.submit(assets)
            try await fixture.drain()
            assets[0].key = "origin.test/files/other"
            assets[1].sidecars = nil
            try await fixture.submit(assets)
            try await fixture.drain()
            _ = try await fixture.queue.files.purges.reconcile()
            #expect(
                try await Set(RemovalTests.purge(fixture)) == [
                    "origin.test/files/f1", "origin.test/p.jpg",
                ])
        }
    }
}
