import API
import JobQueue
import Model
import Postgres
import Statistics
import TestSupport
import Testing

/// Selections that meet reports and claims half-way.
@Suite struct SelectionRaceTests {
    typealias F = QueueFixture

    private static func apply(
        _ fixture: F, _ action: SelectionAction.Action, _ catalog: CatalogID, asset: String? = nil,
        priority: Int? = nil
    ) async throws {
        _ = try await fixture.queue.catalogs.selections.apply(
            SelectionAction(
                action, catalog: CatalogReference(catalog), asset: asset, priority: priority))
        try await fixture.fold()
    }

    /// Nothing is left, the counts agree, and a retry brings everything to its end.
    private static func expectCancelled(_ fixture: F, _ catalog: CatalogID) async throws {
        #expect(try await fixture.count("job WHERE kind <> 'checksums'") == 0)
        #expect(try await fixture.count("delayed_job WHERE kind <> 'checksums'") == 0)
        try await fixture.drain()
        #expect(try await fixture.queue.catalogs.status(of: catalog).state == .cancelled)
        #expect(try await fixture.count("directory WHERE unsettled <> 0") == 0)
    }

    @Test func aCancellationLeavesNoJobOfAListThatJustCame() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.title("t")])
            let grant = try await fixture.lease(1)
            let batch = TitleTests.batch(fixture, grant, TitleTests.segments(3))
            #expect(try await fixture.queue.jobs.segments.add(batch) == .accepted)
            var report = F.done(grant.jobs[0], grant)
            report.segments = 3
            let resolved = report
            try await fixture.inOrder([
                { _ = try await fixture.report([resolved]) },
                { try await Self.apply(fixture, .cancel, catalog) },
            ])
            try await Self.expectCancelled(fixture, catalog)
        }
    }

    @Test func aCancellationLeavesNoPartOfASplit() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("large")])
            let grant = try await fixture.lease()
            let request = SplitTests.request(
                fixture, grant, total: 3 * SplitTests.part,
                multipart: .random())
            try await fixture.inOrder([
                { _ = try await fixture.queue.jobs.splits.split(request) },
                { try await Self.apply(fixture, .cancel, catalog) },
            ])
            try await Self.expectCancelled(fixture, catalog)
        }
    }

    @Test func aResultThatComesFirstCounts() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a"), F.file("b")])
            let grant = try await fixture.lease(1)
            try await fixture.inOrder([
                { _ = try await fixture.report([F.done(grant.jobs[0], grant)]) },
                { try await Self.apply(fixture, .cancel, catalog) },
            ])
            try await Self.expectCancelled(fixture, catalog)
            let states = try await fixture.assets(of: catalog).map(\.state)
            #expect(states == [.completed, .cancelled])
        }
    }

    /// Workers at work, and an operator who changes everything all the time.
    @Test func operatorsAndWorkersMeet() async throws {
        try await F.with { fixture in
            let names = (0..<12).map { "f\($0)" }
            let catalog = try await fixture.submit(names.map { F.file($0) } + [F.title("t")])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<3 {
                    group.addTask { try await Self.work(fixture, seed: UInt64(number)) }
                }
                group.addTask { try await Self.operate(fixture, catalog, names) }
                try await group.waitForAll()
            }
            // Unused leases expire, and failed assets are retried.
            try await fixture.expireLeases()
            try await Self.apply(fixture, .retry, catalog)
            while try await fixture.queue.catalogs.status(of: catalog).state == .running {
                try await fixture.skipDelays()
                let grant = try await fixture.lease()
                try await Self.resolve(fixture, grant, fixture.worker)
                _ = try await fixture.report(grant.jobs.map { Self.result($0, grant) })
            }
            let status = try await fixture.queue.catalogs.status(of: catalog)
            let left = try await fixture.assets(of: catalog).filter { $0.state != .completed }
            #expect(left.isEmpty, "\(left)")
            #expect(
                status.state == .completed && status.totals.completed == names.count + 1,
                "\(status)")
            #expect(status.totals.segmentsDone == status.totals.segments)
            #expect(status.totals.bytes == 10 * Int64(status.totals.segments))
            #expect(try await fixture.count("job") == 0)
            #expect(try await fixture.count("directory WHERE unsettled <> 0") == 0)
        }
    }

    private static func result(_ job: Job, _ grant: LeaseGrant) -> JobReport {
        var report = F.done(job, grant)
        if job.kind == .resolve { report.segments = 5 }
        return report
    }

    /// Hands in the segments of the title, if it is among the jobs.
    private static func resolve(
        _ fixture: F, _ grant: LeaseGrant, _ worker: WorkerID
    ) async throws {
        for job in grant.jobs where job.kind == .resolve {
            _ = try await fixture.queue.jobs.segments.add(
                SegmentBatch(
                    worker: worker, job: job.id, lease: grant.lease ?? "",
                    segments: TitleTests.segments(5)))
        }
    }

    private static func work(_ fixture: F, seed: UInt64) async throws {
        var random = SeededRandom(seed: seed)
        let worker = WorkerID.random()
        for _ in 0..<60 {
            let grant = try await fixture.lease(Int.random(in: 1...4, using: &random), as: worker)
            try await resolve(fixture, grant, worker)
            let results = grant.jobs.map { job in
                Int.random(in: 0..<4, using: &random) == 0
                    ? F.failed(job, grant, "origin.http.404") : result(job, grant)
            }
            if !results.isEmpty {
                _ = try await fixture.report(results, as: worker)
            }
            await Task.yield()
        }
    }

    private static func operate(
        _ fixture: F, _ catalog: CatalogID, _ names: [String]
    ) async throws {
        var random = SeededRandom(seed: 5)
        for _ in 0..<60 {
            let name = Bool.random(using: &random) ? names.randomElement(using: &random) : nil
            switch Int.random(in: 0..<4, using: &random) {
            case 0: try await apply(fixture, .cancel, catalog, asset: name)
            case 1:
                try await apply(
                    fixture, .reprioritise, catalog, asset: name,
                    priority: Int.random(in: 0...9, using: &random))
            default: try await apply(fixture, .retry, catalog, asset: name)
            }
        }
    }
}
