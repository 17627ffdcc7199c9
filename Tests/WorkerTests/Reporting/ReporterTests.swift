import API
import CoordinatorClient
import Model
import Storage
import TestSupport
import Testing
import Transfer

@testable import Worker

/// What becomes of a job's end, without a coordinator.
@Suite struct ReporterTests {
    /// Runs a test with the objects of a worker that does not run, and a job that it holds.
    private static func with(_ body: (WorkerService, LeasedJob) async throws -> Void) async throws {
        let edge = try TemporaryDirectory("edge")
        let worker = try WorkerService(
            WorkerService.Configuration(
                coordinators: ["http://127.0.0.1:9"], token: .test,
                roots: SiteRoots(existing: [edge.path]), name: "w"))
        defer {
            worker.core.engine.shutdown()
            worker.core.client.shutdown()
            edge.remove()
        }
        let job = Job.fetch(1, "http://origin.test/a?token=x", key: "h/a")
        worker.core.held.add("l", [job], at: SiteID(1), seconds: 30, askedAt: .now)
        let site = LeasedSite(id: SiteID(1), storageURL: "file://\(edge.path)")
        try await body(worker, LeasedJob(job: job, lease: "l", site: site))
    }

    @Test(arguments: ["worker.cancelled", "worker.leaseLost"] as [FailureCode])
    func whatIsNoFailureOfTheJobGivesItBack(code: FailureCode) async throws {
        try await Self.with { worker, work in
            worker.reporting.reporter.fail(work, Failure(code, ""))
            let reports = worker.reporting.results.takeNow(10)
            #expect(reports.map(\.outcome) == [.returned()] && reports[0].failure == nil)
            #expect(worker.core.held.pendingCount == 0 && worker.core.held.count == 1)
        }
    }

    @Test func aSiteOutsideOfTheRootsIsNotLeasedForAWhile() async throws {
        try await Self.with { worker, work in
            #expect(worker.sites.excluded.outsideRoots == nil)
            worker.reporting.reporter.fail(work, Failure("storage.outsideRoots", ""))
            #expect(worker.reporting.results.takeNow(10).map(\.outcome) == [.returned()])
            #expect(worker.sites.excluded.outsideRoots == [SiteID(1)])
        }
    }

    @Test func aWorkersOwnFailureNamesItAndExcludesTheSite() async throws {
        try await Self.with { worker, work in
            worker.reporting.reporter.fail(work, Failure("storage.sitePermission", "no"))
            let report = try #require(worker.reporting.results.takeNow(10).first)
            #expect(report.failure?.message == "worker w: no")
            #expect(worker.sites.excluded.all(outsideRoots: nil) == [SiteID(1)])
        }
    }

    @Test func aRefusedSignatureIsKnownByItsDigest() async throws {
        try await Self.with { worker, work in
            worker.reporting.reporter.fail(
                work, Failure("origin.http.403", ""), retryAfter: 2,
                origins: [OriginOutcome(origin: "http://other.test", code: "origin.http.403")])
            let report = try #require(worker.reporting.results.takeNow(10).first)
            #expect(report.retryAfterSeconds == 2)
            #expect(report.refused?.count == 64)
            #expect(report.refused?.contains("token") == false)
        }
    }

    @Test func whateverIsThrownEndsTheJob() async throws {
        struct Unknown: Error {}
        try await Self.with { worker, work in
            worker.reporting.reporter.fail(work, any: Unknown())
            worker.reporting.reporter.fail(
                work,
                any: FetchFailure(failure: Failure("origin.http.503", ""), retryAfterSeconds: 7))
            let reports = worker.reporting.results.takeNow(10)
            #expect(reports.map(\.failure?.code) == ["worker.internal", "origin.http.503"])
            #expect(reports.map(\.retryAfterSeconds) == [nil, 7])
        }
    }

    /// While many transfers run, small batches wait for others, unless an origin requests a pause.
    @Test func aBatchWaitsWhileManyTransfersRun() async throws {
        try await Self.with { worker, work in
            let sender = worker.reporting.sender
            var report = JobReport(job: work.job.id, lease: work.lease, outcome: .done())
            #expect(!sender.isWorthWaiting([report]))
            let jobs = (Int64(2)..<40).map { number in
                var job = work.job
                job.id = JobID(number)
                return job
            }
            worker.core.held.add("m", jobs, at: SiteID(1), seconds: 30, askedAt: .now)
            #expect(sender.isWorthWaiting([report]))
            #expect(
                !sender.isWorthWaiting(Array(repeating: report, count: ReportSender.fullReport)))
            report.outcome = .returned(afterSeconds: 1)
            #expect(!sender.isWorthWaiting([report]))
        }
    }
}
