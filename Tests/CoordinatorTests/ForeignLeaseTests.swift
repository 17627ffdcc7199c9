import API
import CoordinatorClient
import Model
import TestSupport
import Testing

/// Leases that are unknown, another worker's or over: 409, and nothing changes.
@Suite struct ForeignLeaseTests {
    private static let unknownWorker = WorkerID(stringLiteral: Fixture.unknown)
    private static let unknownLease = LeaseID(stringLiteral: Fixture.unknown)
    private static let other: WorkerID = "22222222-2222-4333-8444-555555555555"
    private static let digest = String(repeating: "0", count: 64)

    /// A request for each thing that a job's holder may do.
    private static func requests(
        _ worker: WorkerID, _ lease: LeaseID, _ job: JobID
    ) -> [(target: String, body: String)] {
        let head = #"{"worker":"\#(worker)","#
        let results = [
            #""outcome":"done","bytes":1,"sha256":"\#(digest)""#,
            #""outcome":"done","segments":1"#, #""outcome":"returned""#,
            #""outcome":"failed","failureCode":"origin.http.404","failureMessage":"no""#,
            #""outcome":"failed","retryAfterSeconds":3600,"#
                + #""failureCode":"origin.http.429","failureMessage":"no""#,
        ]
        return results.map {
            ("/v1/reports", head + #""results":[{"job":\#(job),"lease":"\#(lease)",\#($0)}]}"#)
        } + [
            (
                "/v1/segments",
                head + #""job":\#(job),"lease":"\#(lease)","segments":[{"ordinal":0,"#
                    + #""url":"http://h/a","key":"h/a","role":"media"}]}"#
            ),
            (
                "/v1/splits",
                head + #""job":\#(job),"lease":"\#(lease)","multipart":"\#(Fixture.unknown)","#
                    + #""totalBytes":4194304,"partBytes":1048576,"validator":"v"}"#
            ),
        ]
    }

    @Test func workersCannotUseOthersLeases() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b", "c"])
            let mine = try await fixture.lease(1)
            let lease = try #require(mine.lease)
            let job = mine.jobs[0].id
            let theirs = try await fixture.client.lease(
                LeaseRequest(worker: Self.other, queues: [], maxJobs: 1, waitMilliseconds: 0))
            let theirLease = try #require(theirs.lease)
            let before = try await fixture.tables()
            let strangers: [(WorkerID, LeaseID, JobID)] = [
                // Another worker with my lease, and I with theirs or with their job.
                (Self.other, lease, job), (Fixture.worker, theirLease, theirs.jobs[0].id),
                (Fixture.worker, lease, theirs.jobs[0].id), (Self.other, theirLease, job),
                (Fixture.worker, theirLease, job), (Self.unknownWorker, lease, job),
                (Fixture.worker, Self.unknownLease, job), (Fixture.worker, lease, JobID(.max)),
                (Fixture.worker, lease, JobID(0)), (Fixture.worker, lease, JobID(.min)),
            ]
            for (worker, lease, job) in strangers {
                for (target, body) in Self.requests(worker, lease, job) {
                    let answer = try await fixture.send("POST", target, body)
                    #expect(answer.status == 409, "\(body): \(answer)")
                    #expect(answer.code == "worker.leaseLost", "\(body): \(answer)")
                }
            }
            #expect(try await fixture.tables() == before)
        }
    }

    @Test func aLeaseThatIsOverIsAStrangers() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let grant = try await fixture.lease(1)
            let lease = try #require(grant.lease)
            _ = try await fixture.execute(
                "UPDATE lease SET expires_at = now() - interval '1 second'")
            try await waitUntil(deadlineSeconds: 30, "the sweep") {
                try await fixture.execute(
                    "SELECT count(*) FROM delayed_job WHERE NOT EXISTS (SELECT FROM tally)")
                    == "1\n"
            }
            let before = try await fixture.tables()
            for (target, body) in Self.requests(Fixture.worker, lease, grant.jobs[0].id) {
                let answer = try await fixture.send("POST", target, body)
                #expect(answer.status == 409 && answer.code == "worker.leaseLost", "\(answer)")
            }
            #expect(try await fixture.tables() == before)
        }
    }

    /// What is held counts, beside what is not; the client answers for each.
    @Test func mixedBatchesAreAnsweredOneByOne() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b"])
            let grant = try await fixture.lease(2)
            let lease = try #require(grant.lease)
            let results = [
                JobReport(job: grant.jobs[0].id, lease: Self.unknownLease, outcome: .returned()),
                JobReport(job: grant.jobs[1].id, lease: lease, outcome: .returned()),
            ]
            let request = ReportRequest(worker: Fixture.worker, results: results)
            #expect(try await fixture.client.report(request).answers == [.stale, .accepted])
            // Once more, as after an answer that was lost.
            let again = try await fixture.client.report(request)
            #expect(again.answers == [.stale, .stale])
        }
    }

    /// A heartbeat with a lease that the worker does not hold gets it reported as lost.
    @Test func heartbeatsExtendNothingOfOthers() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            let grant = try await fixture.lease(1)
            let lease = try #require(grant.lease)
            let before = try await fixture.execute("SELECT * FROM lease")
            let answer = try await fixture.client.heartbeat(
                Heartbeat(
                    worker: Self.other, leases: [lease, Self.unknownLease], progress: [:],
                    name: "n",
                    activeTransfers: 0))
            #expect(answer.leases.isEmpty)
            #expect(try await fixture.execute("SELECT * FROM lease") == before)
        }
    }
}
