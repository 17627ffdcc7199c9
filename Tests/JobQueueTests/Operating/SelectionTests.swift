import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Work that is cancelled, tried again and put before other work.
@Suite struct SelectionTests {
    typealias F = QueueFixture

    /// Catalogs that share a directory would wait for each other's lists of digests.
    private func files(
        _ range: ClosedRange<Int>, in directory: String = "files"
    ) -> [AssetSubmission] {
        range.map { number in
            AssetSubmission(
                name: "f\(number)", url: "http://origin.test/\(directory)/f\(number)",
                kind: .file, key: "origin.test/\(directory)/f\(number)")
        }
    }

    private func apply(
        _ fixture: F, _ action: SelectionAction.Action, _ catalog: CatalogID?, asset: String? = nil,
        code: FailureCode? = nil, priority: Int? = nil
    ) async throws -> SelectionAnswer {
        let answer = try await fixture.queue.catalogs.selections.apply(
            SelectionAction(
                action, catalog: catalog.map { CatalogReference($0) }, asset: asset,
                failureCode: code, priority: priority))
        try await fixture.fold()
        return answer
    }

    private func heartbeat(_ fixture: F, _ grant: LeaseGrant) async throws -> HeartbeatAnswer {
        try await fixture.queue.leases.heartbeat(
            Heartbeat(
                worker: fixture.worker, leases: [grant.lease ?? ""], progress: [:], name: "n",
                activeTransfers: 0))
    }

    /// The counts of a catalog agree with its assets, and the queue holds nothing of what ended.
    private func expectEnded(
        _ fixture: F, _ catalog: CatalogID, completed: Int, failed: Int, cancelled: Int = 0,
        as state: CatalogState? = nil
    ) async throws {
        try await fixture.drain()
        let status = try await fixture.queue.catalogs.status(of: catalog)
        let expected = failed > 0 ? CatalogState.failed : cancelled > 0 ? .cancelled : .completed
        #expect(status.state == state ?? expected)
        #expect(status.totals.cancelled == (cancelled > 0 ? cancelled : nil))
        #expect(status.totals.completed == completed && status.totals.failed == failed)
        let assets = try await fixture.assets(of: catalog)
        #expect(assets.count { $0.state == .completed } == completed)
        #expect(assets.count { $0.state == .failed } == failed)
        #expect(assets.count { $0.state == .cancelled } == cancelled)
        #expect(status.totals.segmentsDone == assets.reduce(0) { $0 + $1.segmentsDone })
        #expect(
            status.totals.segments == status.totals.segmentsDone + status.totals.segmentsFailed)
        #expect(try await fixture.count("job") == 0)
        #expect(try await fixture.count("directory WHERE unsettled <> 0") == 0)
        #expect(try await fixture.queue.sites.queues()[0].waiting == 0)
    }

    // MARK: Cancel

    @Test func cancellingACatalogEndsItAndStopsItsWorkers() async throws {
        try await F.with("cancel") { fixture in
            let catalog = try await fixture.submit(files(1...5))
            let other = try await fixture.submit(
                files(1...2, in: "other"), catalog: "other")
            let grant = try await fixture.lease(2)
            let mine = grant.jobs.filter { $0.asset != AssetID(0) }
            _ = try await fixture.report([F.done(mine[0], grant)])
            let before = try await fixture.assets(of: catalog).count { $0.state == .completed }

            let answer = try await apply(fixture, .cancel, catalog)
            #expect(answer.assets == 5 - before && answer.jobs == 5 - before)
            // Once more finds nothing.
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 0, jobs: 0))
            let cancelled = try await heartbeat(fixture, grant).cancelled ?? []
            let held = try await fixture.assets(of: catalog)
                .filter { $0.state == .cancelled }.map(\.id)
            #expect(
                Set(cancelled) == Set(mine.dropFirst().filter { held.contains($0.asset) }.map(\.id))
            )
            // It is told again should the answer have been lost, and nobody else is.
            #expect(try await heartbeat(fixture, grant).cancelled ?? [] == cancelled)
            let stranger = try await fixture.queue.leases.heartbeat(
                Heartbeat(
                    worker: F.newID(), leases: [grant.lease ?? ""], progress: [:], name: "n",
                    activeTransfers: 0))
            #expect(stranger.cancelled == nil)
            for job in mine.dropFirst() where held.contains(job.asset) {
                #expect(try await fixture.report([F.done(job, grant)]) == [.stale])
            }
            try await fixture.expireLeases()
            try await expectEnded(
                fixture, catalog, completed: before, failed: 0, cancelled: 5 - before)
            let failures = try await fixture.assets(of: catalog).compactMap(\.failure)
            #expect(failures.allSatisfy { $0.code == "worker.cancelled" })
            try await expectEnded(fixture, other, completed: 2, failed: 0)
        }
    }

    @Test func cancellingOneAssetLeavesTheOthers() async throws {
        try await F.with("cancel_asset") { fixture in
            let catalog = try await fixture.submit(files(1...3))
            #expect(
                try await apply(fixture, .cancel, catalog, asset: "f2")
                    == SelectionAnswer(assets: 1, jobs: 1))
            try await expectEnded(fixture, catalog, completed: 2, failed: 0, cancelled: 1)
            let states = try await fixture.assets(of: catalog).map(\.state)
            #expect(states == [.completed, .cancelled, .completed])
        }
    }

    /// Whatever keeps its work from being handed out: the catalog has ended with the answer.
    @Test(arguments: [
        "UPDATE catalog SET not_before = now() + interval '1 hour'",
        "UPDATE queue SET state = 'paused'", "UPDATE site SET schedule_closed = true",
        "UPDATE origin SET cooldown_until = now() + interval '1 hour'",
        "UPDATE origin SET breaker = 'failing'",
    ])
    func cancellingACatalogThatIsHeldEndsIt(hold: String) async throws {
        try await F.with("cancel_held") { fixture in
            let catalog = try await fixture.submit(files(1...3))
            try await fixture.pool.query(hold)
            #expect(try await apply(fixture, .cancel, catalog).assets == 3)
            let status = try await fixture.queue.catalogs.status(of: catalog)
            #expect(status.state == .cancelled && status.state.isTerminal)
            #expect(status.totals.cancelled == 3 && status.totals.failed == 0)
            #expect(try await fixture.count("job") + fixture.count("delayed_job") == 0)
            // Once more changes nothing.
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 0, jobs: 0))
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .cancelled)
            // And a retry begins where it was.
            #expect(try await apply(fixture, .retry, catalog).assets == 3)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .running)
        }
    }

    /// Of a catalog that has all its files, and whose list of digests cannot be written.
    @Test func cancellingDoesNotWaitForLists() async throws {
        try await F.with("cancel_lists") { fixture in
            let catalog = try await fixture.submit(files(1...1))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
            let lists = try await fixture.lease(1)
            #expect(lists.jobs.map(\.kind) == [.sums])
            _ = try await apply(fixture, .cancel, catalog)
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .cancelled)
            #expect(try await heartbeat(fixture, lists).cancelled == lists.jobs.map(\.id))
            // A retry writes it.
            #expect(try await apply(fixture, .retry, catalog).jobs == 1)
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
        }
    }

    @Test func cancellingWhatHasEndedChangesNothing() async throws {
        try await F.with("cancel_ended") { fixture in
            let catalog = try await fixture.submit(files(1...2))
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 0, jobs: 0))
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func titlesAndLargeFilesAreCancelledInAnyStage() async throws {
        try await F.with("cancel_stages") { fixture in
            // One that is being resolved, one in parts, one about to be put together.
            let catalog = try await fixture.submit([F.title("film"), F.file("large")])
            let grant = try await fixture.lease()
            let file = try #require(grant.jobs.first { $0.kind == .fetch })
            let split = try await fixture.queue.segments.split(
                SplitRequest(
                    worker: fixture.worker, job: file.id, lease: grant.lease ?? "",
                    assembly: F.newID(), totalBytes: 3 << 20, partBytes: 1 << 20, validator: "v"))
            let part = try #require(split.job)
            #expect(try await fixture.report([F.done(part, grant, bytes: 1 << 20)]) == [.accepted])
            #expect(try await apply(fixture, .cancel, catalog).assets == 2)
            #expect(try await fixture.report([F.done(grant.jobs[0], grant)]) == [.stale])
            try await expectEnded(fixture, catalog, completed: 0, failed: 0, cancelled: 2)

            // And both can be taken up again.
            #expect(try await apply(fixture, .retry, catalog).assets == 2)
            var sizes: [Int64?] = []
            while true {
                let grant = try await fixture.lease()
                guard grant.lease != nil else { break }
                for job in grant.jobs {
                    if job.kind == .fetch { sizes.append(job.length) }
                    var report = F.done(job, grant, bytes: job.length ?? 3 << 20)
                    if job.kind == .resolve {
                        report = F.failed(job, grant, "manifest.empty")
                    }
                    _ = try await fixture.report([report])
                }
            }
            // The part that was stored is not fetched again.
            #expect(sizes == [1 << 20, 1 << 20])
            try await expectEnded(fixture, catalog, completed: 1, failed: 1)
        }
    }

    // MARK: Retry

    @Test func whatFailedIsTriedAgainByItsCode() async throws {
        try await F.with("retry_code") { fixture in
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
            // Nothing else is fetched, and the tries are counted anew.
            #expect(Set(again.jobs.map { $0.key.suffix(2) }) == ["f1", "f4"])
            #expect(again.jobs.allSatisfy { $0.attempt == 1 })
            _ = try await fixture.report(again.jobs.map { F.done($0, again) })
            try await expectEnded(fixture, one, completed: 2, failed: 1)
            try await expectEnded(fixture, two, completed: 3, failed: 0)
            #expect(try await apply(fixture, .retry, one, asset: "f2").assets == 1)
            try await expectEnded(fixture, one, completed: 3, failed: 0)
        }
    }

    @Test func aRetryJoinsWhatIsUnderWay() async throws {
        try await F.with("retry_running") { fixture in
            let catalog = try await fixture.submit(files(1...4))
            let grant = try await fixture.lease(2)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "origin.http.404")])
            #expect(
                try await apply(fixture, .retry, catalog) == SelectionAnswer(assets: 1, jobs: 1))
            // What is held goes on as it was.
            #expect(try await fixture.report([F.done(grant.jobs[1], grant)]) == [.accepted])
            try await expectEnded(fixture, catalog, completed: 4, failed: 0)
        }
    }

    @Test func anInterruptedCatalogGoesOnAsAWhole() async throws {
        try await F.with("retry_interrupted") { fixture in
            let catalog = try await fixture.submit(files(1...3))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "origin.http.404")])
            try await fixture.queue.submissions.interrupt(catalog)
            #expect(try await apply(fixture, .retry, catalog, asset: "f1").assets == 3)
            try await expectEnded(fixture, catalog, completed: 3, failed: 0)
        }
    }

    @Test func listsOfDigestsThatFailedAreWrittenAgain() async throws {
        try await F.with("retry_sums") { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease()
            _ = try await fixture.report([
                F.done(grant.jobs[0], grant), F.failed(grant.jobs[1], grant, "origin.http.404"),
            ])
            for isWhole in [false, true] {
                let sums = try await fixture.lease()
                #expect(sums.jobs.map(\.kind) == [.sums])
                _ = try await fixture.report([F.failed(sums.jobs[0], sums, "storage.permission")])
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

    @Test func anAssetThatWasNamedAnewIsTriedAsItIsNow() async throws {
        try await F.with("retry_renamed") { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease()
            _ = try await fixture.report(
                grant.jobs.map { F.failed($0, grant, "origin.http.404") })
            var renamed = files(1...1)[0]
            renamed.url = "http://elsewhere.test/f1"
            try await fixture.queue.submissions.add([renamed], to: catalog, generation: 1)
            #expect(
                try await apply(fixture, .retry, catalog) == SelectionAnswer(assets: 2, jobs: 2))
            let again = try await fixture.lease()
            #expect(again.jobs.map(\.url).contains(renamed.url))
            _ = try await fixture.report(again.jobs.map { F.done($0, again) })
            try await expectEnded(fixture, catalog, completed: 2, failed: 0)
        }
    }

    @Test func whatIsNotStartedYetIsNotCancelled() async throws {
        try await F.with("cancel_new") { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let again = try await fixture.queue.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.submissions.add(
                files(1...4), to: catalog, generation: again.generation)
            #expect(
                try await apply(fixture, .cancel, catalog) == SelectionAnswer(assets: 2, jobs: 2))
            let totals = try await fixture.queue.catalogs.status(of: catalog).totals
            #expect(totals.assets == 2 && totals.cancelled == 2)
            try await fixture.queue.submissions.start(catalog, generation: again.generation)
            try await expectEnded(fixture, catalog, completed: 4, failed: 0)
        }
    }

    @Test func aCatalogThatIsBeingSubmittedAgainIsLeftAlone() async throws {
        try await F.with("retry_open") { fixture in
            let catalog = try await fixture.submit(files(1...2))
            let grant = try await fixture.lease(1)
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "origin.http.404")])
            let again = try await fixture.queue.submissions.open(
                CatalogSubmission(name: "movies", storageURL: F.site))
            try await fixture.queue.submissions.add(
                files(2...2), to: catalog, generation: again.generation)
            let failure = await #expect(throws: Failure.self) {
                try await apply(fixture, .retry, catalog)
            }
            #expect(failure?.code == "input.field")
            // What is under way can be cancelled all the same, also what was named again.
            #expect(try await apply(fixture, .cancel, catalog).assets == 1)
            try await fixture.queue.submissions.start(catalog, generation: again.generation)
            try await fixture.drain()
            #expect(try await fixture.queue.catalogs.status(of: catalog).state == .completed)
            // One that was never started has nothing to cancel or to try again.
            let fresh = try await fixture.queue.submissions.open(
                CatalogSubmission(name: "fresh", storageURL: F.site))
            for action in [SelectionAction.Action.cancel, .retry] {
                #expect(
                    try await apply(fixture, action, fresh.id)
                        == SelectionAnswer(assets: 0, jobs: 0))
            }
        }
    }

    // MARK: Reprioritise

    @Test func aCatalogIsPutBeforeAnother() async throws {
        try await F.with("priority_catalog") { fixture in
            try await fixture.submit(files(1...3))
            let urgent = try await fixture.submit(files(7...9, in: "urgent"), catalog: "urgent")
            #expect(
                try await apply(fixture, .reprioritise, urgent, priority: 9)
                    == SelectionAnswer(assets: 3, jobs: 3))
            let grant = try await fixture.lease(3)
            #expect(grant.jobs.allSatisfy { ["f7", "f8", "f9"].contains($0.key.suffix(2)) })
            #expect(try await apply(fixture, .reprioritise, urgent, priority: 0).assets == 3)
        }
    }

    @Test func anAssetIsPutBeforeTheRestOfItsCatalog() async throws {
        try await F.with("priority_asset") { fixture in
            let catalog = try await fixture.submit(files(1...5))
            let held = try await fixture.lease(1)
            #expect(
                try await apply(fixture, .reprioritise, catalog, asset: "f4", priority: 9)
                    == SelectionAnswer(assets: 1, jobs: 1))
            // What is held stays with its worker.
            #expect(
                try await apply(fixture, .reprioritise, catalog, asset: "f1", priority: 9)
                    == SelectionAnswer(assets: 1, jobs: 0))
            let next = try await fixture.lease(1)
            #expect(next.jobs.map(\.key) == ["origin.test/files/f4"])
            #expect(try await fixture.report([F.done(held.jobs[0], held)]) == [.accepted])
            #expect(try await fixture.report([F.done(next.jobs[0], next)]) == [.accepted])
            try await apply(fixture, .reprioritise, catalog, asset: "f5", priority: 0).expectOne()
            let last = try await fixture.lease(2)
            #expect(last.jobs.map { $0.key.suffix(2) } == ["f2", "f3"])
            _ = try await fixture.report(last.jobs.map { F.done($0, last) })
            try await expectEnded(fixture, catalog, completed: 5, failed: 0)
        }
    }

    @Test func whatBecomesOfHeldWorkHasThePriorityOfItsAsset() async throws {
        try await F.with("priority_held") { fixture in
            let catalog = try await fixture.submit([F.title("t"), F.file("f"), F.file("large")])
            let grant = try await fixture.lease()
            for name in ["t", "f", "large"] {
                let answer = try await apply(
                    fixture, .reprioritise, catalog, asset: name, priority: 7)
                #expect(answer == SelectionAnswer(assets: 1, jobs: 0))
            }
            for job in grant.jobs {
                if job.kind == .resolve {
                    let segments = SegmentBatch(
                        worker: fixture.worker, job: job.id, lease: grant.lease ?? "",
                        segments: TitleTests.segments(2))
                    _ = try await fixture.queue.segments.add(segments)
                    var report = F.done(job, grant)
                    report.segments = 2
                    #expect(try await fixture.report([report]) == [.accepted])
                } else if job.key.hasSuffix("large") {
                    _ = try await fixture.queue.segments.split(
                        SplitRequest(
                            worker: fixture.worker, job: job.id, lease: grant.lease ?? "",
                            assembly: F.newID(), totalBytes: 3 << 20, partBytes: 1 << 20,
                            validator: "v"))
                } else {
                    let failed = F.failed(job, grant, "origin.http.503")
                    #expect(try await fixture.report([failed]) == [.accepted])
                }
            }
            try await fixture.skipDelays()
            let next = try await fixture.lease(1)
            #expect(next.jobs.count == 1)
            let lanes = "job j JOIN lane l ON l.id = j.lane_id"
            // But for the part that the worker went on with.
            #expect(try await fixture.count("\(lanes) WHERE l.own_priority = 7") == 5)
            #expect(try await fixture.count("\(lanes) WHERE l.own_priority <> 7") == 1)
        }
    }
}

extension SelectionAnswer {
    fileprivate func expectOne() { #expect(assets == 1 && jobs == 1) }
}
