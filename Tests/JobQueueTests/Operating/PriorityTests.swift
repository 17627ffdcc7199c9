import API
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Work whose priority operators change.
@Suite struct PriorityTests: SelectionSuite {
    @Test func aCatalogIsPutBeforeAnother() async throws {
        try await F.with { fixture in
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
        try await F.with { fixture in
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
        try await F.with { fixture in
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
                    _ = try await fixture.queue.jobs.segments.add(segments)
                    var report = F.done(job, grant)
                    report.segments = 2
                    #expect(try await fixture.report([report]) == [.accepted])
                } else if job.key.hasSuffix("large") {
                    _ = try await fixture.queue.jobs.splits.split(
                        SplitRequest(
                            worker: fixture.worker, job: job.id, lease: grant.lease ?? "",
                            multipart: .random(), totalBytes: 3 << 20,
                            partBytes: 1 << 20,
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
            // Except for the part that the worker continued with.
            #expect(try await fixture.count("\(lanes) WHERE l.own_priority = 7") == 5)
            #expect(try await fixture.count("\(lanes) WHERE l.own_priority <> 7") == 1)
        }
    }
}

extension SelectionAnswer {
    fileprivate func expectOne() { #expect(assets == 1 && jobs == 1) }
}
