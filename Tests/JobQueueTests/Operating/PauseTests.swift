import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Assets that operators pause and resume.
@Suite struct PauseTests: SelectionSuite {
    private func status(_ fixture: F, _ name: String, of catalog: CatalogID) async throws
        -> AssetStatus
    {
        try #require(try await fixture.assets(of: catalog).first { $0.name == name })
    }

    @Test func whatWaitsOfAPausedAssetIsNotLeasedUntilItIsResumed() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            #expect(
                try await apply(fixture, .pause, catalog, asset: "f2")
                    == SelectionAnswer(assets: 1, jobs: 1))
            // Once more finds nothing.
            #expect(
                try await apply(fixture, .pause, catalog, asset: "f2")
                    == SelectionAnswer(assets: 0, jobs: 0))
            let paused = try await status(fixture, "f2", of: catalog)
            #expect(paused.isPaused == true && paused.state == .ready)

            let grant = try await fixture.lease()
            #expect(grant.jobs.map { $0.key.suffix(2) } == ["f1", "f3"])
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await fixture.fold()
            var total = try await fixture.queue.catalogs.status(of: catalog)
            #expect(total.state == .running && total.totals.paused == 1)
            #expect(total.waits?.map(\.reason).contains(.paused(assets: 1)) == true)
            #expect(try await fixture.lease().jobs.isEmpty)

            #expect(
                try await apply(fixture, .resume, catalog, asset: "f2")
                    == SelectionAnswer(assets: 1, jobs: 1))
            total = try await fixture.queue.catalogs.status(of: catalog)
            #expect(total.totals.paused == nil)
            try await expectEnded(fixture, catalog, completed: 3, failed: 0)
        }
    }

    @Test func aWorkerIsAskedToReturnWhatItHoldsAndGetsItAgainAfterwards() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease()
            #expect(
                try await apply(fixture, .pause, catalog) == SelectionAnswer(assets: 2, jobs: 0))
            let answer = try await heartbeat(fixture, grant)
            #expect(answer.paused == grant.jobs.map(\.id) && answer.cancelled == nil)
            // What it had received by then counts.
            let results = [
                F.done(grant.jobs[0], grant),
                JobReport(job: grant.jobs[1].id, lease: grant.lease ?? "", outcome: .returned()),
            ]
            #expect(try await fixture.report(results) == [.accepted, .accepted])
            try await fixture.skipDelays()
            #expect(try await fixture.lease().jobs.isEmpty)
            #expect(try await status(fixture, "f1", of: catalog).state == .completed)
            #expect(try await status(fixture, "f1", of: catalog).isPaused == nil)

            #expect(
                try await apply(fixture, .resume, catalog) == SelectionAnswer(assets: 1, jobs: 1))
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.key) == ["origin.test/files/f2"])
            _ = try await fixture.report(again.jobs.map { F.done($0, again) })
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func whatIsResumedBeforeItsWorkerNoticedContinues() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            let grant = try await fixture.lease()
            _ = try await apply(fixture, .pause, catalog)
            _ = try await apply(fixture, .resume, catalog)
            #expect(try await heartbeat(fixture, grant).paused == nil)
            #expect(try await fixture.report([F.done(grant.jobs[0], grant)]) == [.accepted])
            try await expectEnded(fixture, catalog, completed: 1, failed: 0)
        }
    }

    /// A mistyped name is no success; a pattern may match none.
    @Test func anAssetThatIsNotThereIsNotFound() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            func change(_ action: SelectionAction.Action, _ name: String) async throws -> Int {
                var selection = SelectionAction(action, catalog: CatalogReference(catalog))
                selection.name = name
                return try await fixture.queue.catalogs.selections.apply(selection).assets
            }
            for name in ["nosuch", "f[12]"] {
                for action in [SelectionAction.Action.pause, .resume, .retry, .cancel, .pin] {
                    let failure = await #expect(throws: Failure.self) {
                        _ = try await change(action, name)
                    }
                    #expect(failure?.code == .inputNotFound)
                    #expect(failure?.message.contains(name) == true)
                }
            }
            #expect(try await change(.pause, "no*") == 0)
            #expect(try await change(.pause, "f1") == 1)
            // It is there, and paused already.
            #expect(try await change(.pause, "f1") == 0)
        }
    }

    @Test func theJobsOfALostWorkerWaitWhileTheirAssetIsPaused() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...1))
            _ = try await fixture.lease()
            _ = try await apply(fixture, .pause, catalog)
            try await fixture.expireLeases()
            try await fixture.skipDelays()
            #expect(try await fixture.lease().jobs.isEmpty)
            _ = try await apply(fixture, .resume, catalog)
            try await fixture.skipDelays()
            #expect(try await fixture.lease().jobs.count == 1)
        }
    }

    @Test func theSegmentsOfATitleThatIsPausedWhileItsManifestIsReadWait() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let grant = try await fixture.lease()
            _ = try await apply(fixture, .pause, catalog)
            _ = try await fixture.queue.jobs.segments.add(
                SegmentBatch(
                    worker: fixture.worker, job: grant.jobs[0].id, lease: grant.lease ?? "",
                    segments: TitleTests.segments(3)))
            var report = F.done(grant.jobs[0], grant)
            report.segments = 3
            #expect(try await fixture.report([report]) == [.accepted])
            try await fixture.skipDelays()
            #expect(try await fixture.lease().jobs.isEmpty)
            #expect(try await apply(fixture, .resume, catalog).jobs == 3)
            #expect(try await fixture.lease().jobs.count == 3)
        }
    }

    @Test func aPausedAssetStaysPausedWhenItsCatalogIsInterruptedAndStartedAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            _ = try await apply(fixture, .pause, catalog, asset: "f1")
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            #expect(try await status(fixture, "f1", of: catalog).state == .interrupted)
            try await fixture.submit(files(1...2))
            let grant = try await fixture.lease()
            #expect(grant.jobs.map { $0.key.suffix(2) } == ["f2"])
            #expect(try await status(fixture, "f1", of: catalog).isPaused == true)
            _ = try await apply(fixture, .resume, catalog, asset: "f1")
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func interruptedAssetsAreResumedToo() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            _ = try await apply(fixture, .pause, catalog, asset: "f1")
            try await fixture.queue.catalogs.submissions.interrupt(catalog)
            var action = SelectionAction(.resume, catalog: CatalogReference(catalog))
            action.states = ["paused", "interrupted"]
            let answer = try await fixture.queue.catalogs.selections.apply(action)
            #expect(answer == SelectionAnswer(assets: 2, jobs: 2))
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func aPausedAssetCanBeCancelledAndRetried() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...2))
            _ = try await apply(fixture, .pause, catalog)
            _ = try await apply(fixture, .cancel, catalog, asset: "f1")
            _ = try await apply(fixture, .retry, catalog, asset: "f1")
            // What is tried again is not paused.
            let grant = try await fixture.lease()
            #expect(grant.jobs.map { $0.key.suffix(2) } == ["f1"])
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            _ = try await apply(fixture, .cancel, catalog)
            try await expectEnded(fixture, catalog, completed: 1, failed: 0, cancelled: 1)
        }
    }

    @Test func aPriorityThatIsSetMeanwhileHoldsAfterwards() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            _ = try await apply(fixture, .pause, catalog, asset: "f3")
            _ = try await apply(fixture, .reprioritise, catalog, asset: "f3", priority: 9)
            #expect(try await fixture.lease(1).jobs.map { $0.key.suffix(2) } == ["f1"])
            _ = try await apply(fixture, .resume, catalog, asset: "f3")
            #expect(try await fixture.lease(1).jobs.map { $0.key.suffix(2) } == ["f3"])
        }
    }

    @Test func assetsAreSelectedByPatternAndState() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(
                ["series/1", "series/2", "film_1"].map { F.file($0) })
            var action = SelectionAction(.pause, catalog: CatalogReference(catalog))
            // A character of LIKE means itself.
            action.name = "s_ries/*"
            #expect(try await fixture.queue.catalogs.selections.apply(action).assets == 0)
            action.name = "series/*"
            #expect(try await fixture.queue.catalogs.selections.apply(action).assets == 2)
            var query = AssetQuery(CatalogReference(catalog))
            query.states = try #require(AssetStates(["paused"]))
            let listings = fixture.queue.catalogs.listings
            #expect(
                try await listings.browse(query).assets.map(\.name) == ["series/1", "series/2"])
            query.states = try #require(AssetStates(["ready"]))
            #expect(try await listings.browse(query).assets.map(\.name) == ["film_1"])
            #expect(AssetStates(["running"]) == nil)

            var cancel = SelectionAction(.cancel, catalog: CatalogReference(catalog))
            cancel.states = ["paused"]
            #expect(try await fixture.queue.catalogs.selections.apply(cancel).assets == 2)
            try await expectEnded(fixture, catalog, completed: 1, failed: 0, cancelled: 2)
        }
    }

    /// A file has no result before it is complete, so that its recorded state stays `ready`.
    @Test func aFileThatAWorkerHoldsIsInProgress() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit(files(1...3))
            let listings = fixture.queue.catalogs.listings
            func names(_ state: String, _ order: AssetQuery.Order) async throws -> [String] {
                var query = AssetQuery(CatalogReference(catalog))
                query.states = try #require(AssetStates([state]))
                query.order = order
                let found = try await listings.browse(query).assets
                #expect(found.allSatisfy { $0.stateName == state })
                let page = try await fixture.queue.catalogs.assets(
                    of: catalog, after: AssetID(0), state: AssetState(rawValue: state), limit: 10)
                if state != AssetStates.paused {
                    #expect(page.assets.filter { $0.isPaused != true }.count == found.count)
                }
                return found.map(\.name).sorted()
            }
            for order in AssetQuery.Order.allCases {
                #expect(try await names("inProgress", order) == [])
            }
            let grant = try await fixture.lease(1)
            for order in AssetQuery.Order.allCases {
                #expect(try await names("inProgress", order) == ["f1"])
                #expect(try await names("ready", order) == ["f2", "f3"])
            }
            try await fixture.submit(files(4...4, in: "others"), catalog: "other")
            var action = SelectionAction(.pause)
            action.states = ["inProgress"]
            #expect(try await fixture.queue.catalogs.selections.apply(action).assets == 1)
            #expect(try await heartbeat(fixture, grant).paused == grant.jobs.map(\.id))
            #expect(try await names("paused", .name) == ["f1"])
            #expect(try await names("inProgress", .name) == [])
            let returned = JobReport(
                job: grant.jobs[0].id, lease: grant.lease ?? "", outcome: .returned())
            #expect(try await fixture.report([returned]) == [.accepted])
            action = SelectionAction(.resume, catalog: CatalogReference(catalog))
            #expect(try await fixture.queue.catalogs.selections.apply(action).assets == 1)
            #expect(try await names("ready", .name) == ["f1", "f2", "f3"])
        }
    }
}
