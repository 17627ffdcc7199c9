import API
import CoordinatorClient
import Model
import TestSupport
import Testing

/// Well-formed requests of clients without access.
@Suite struct StrangerTests {
    @Test func strangersLeasesChangeNothing() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b"])
            let grant = try await fixture.lease(1)
            let held = try #require(grant.lease)
            let before = try await fixture.tables()
            let stored = StoredObject(bytes: 1, sha256: String(repeating: "0", count: 64))
            let job = grant.jobs[0].id
            let (noWorker, noLease) = (
                WorkerID(stringLiteral: Fixture.unknown), LeaseID(stringLiteral: Fixture.unknown)
            )
            for (worker, lease, job) in [
                (noWorker, held, job), (Fixture.worker, noLease, job),
                (Fixture.worker, held, JobID(job.rawValue + 1)), (Fixture.worker, held, JobID(-1)),
            ] {
                var done = JobReport(job: job, lease: lease, outcome: .done())
                done.stored = stored
                let failed = JobReport(
                    job: job, lease: lease,
                    outcome: .failed(JobReport.Failed(Failure("origin.http.404", "no"))))
                let back = JobReport(job: job, lease: lease, outcome: .returned())
                let answer = try await fixture.client.report(
                    ReportRequest(worker: worker, results: [done, failed, back]))
                #expect(answer.answers == [.stale, .stale, .stale])
                let segments = try await fixture.client.segments(
                    SegmentBatch(
                        worker: worker, job: job, lease: lease,
                        segments: [
                            ResolvedSegment(
                                ordinal: 0, url: "http://h/a", key: "h/a", role: .media)
                        ]))
                #expect(segments.verdict == .stale)
                let split = try await fixture.client.split(
                    SplitRequest(
                        worker: worker, job: job, lease: lease, multipart: "\(Fixture.unknown)",
                        totalBytes: 4 << 20, partBytes: 1 << 20, validator: "\"v\""))
                #expect(split.verdict == .stale)
            }
            #expect(try await fixture.tables() == before)
        }
    }
}
