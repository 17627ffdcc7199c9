import Foundation
import Model
import Testing

@Suite struct WireColumnsTests {
    static func job(_ number: Int64, _ change: (inout Job) -> Void = { _ in }) -> Job {
        var job = Job(
            id: JobID(number), kind: .fetch, site: SiteID(1), asset: AssetID(number), attempt: 1,
            url: "http://h/\(number)", key: "h/\(number)")
        job.role = .media
        change(&job)
        return job
    }

    /// Plain and unusual jobs in one list keep their order and every field.
    @Test func aGrantComesBackAsItWas() throws {
        let jobs = [
            Self.job(1), Self.job(2) { $0.sha256 = String(repeating: "a", count: 64) },
            Self.job(3) { $0.role = .`init` }, Self.job(4) { $0.site = SiteID(2) },
            Self.job(5) { $0.key = "elsewhere/5" }, Self.job(6) { $0.kind = .verify },
            Self.job(7) { $0.url = "https://h/7" }, Self.job(8) { $0.attempt = 4 },
            Self.job(9) { $0.known = StoredObject(bytes: 1, sha256: "b") },
            Self.job(10) { $0.known = StoredObject(bytes: 2, sha256: "c") }, Self.job(11),
        ]
        var grant = LeaseGrant(
            lease: "l", seconds: 30, sites: ["1": "file:///a", "2": "file:///b"], jobs: jobs)
        grant.waitedSeconds = 1.5
        grant.shares = [
            OriginShare(
                origin: "http://h", connections: 2, requestsPerSecond: 0.5, bytesPerSecond: 1_000,
                seconds: 10)
        ]
        let back = try JSONDecoder().decode(
            LeaseGrant.self, from: try JSONEncoder().encode(grant))
        #expect(back.jobs == jobs)
        #expect(back.lease == "l" && back.seconds == 30 && back.waitedSeconds == 1.5)
        #expect(back.sites == grant.sites && back.shares == grant.shares)
    }

    @Test func aReportComesBackAsItWas() throws {
        var results: [JobReport] = []
        for number in 1...9 as ClosedRange<Int64> {
            var report = JobReport(
                job: JobID(number), lease: "lease-\(number % 2)",
                outcome: number == 5 ? .failed : .done)
            if number != 5 && number != 7 {
                report.stored = StoredObject(bytes: number, sha256: "\(number)")
            }
            if number == 5 { report.failure = Failure("origin.http.404", "gone") }
            if number == 3 { report.adopted = true }
            results.append(report)
        }
        let request = ReportRequest(worker: "w", results: results)
        let back = try JSONDecoder().decode(
            ReportRequest.self, from: try JSONEncoder().encode(request))
        #expect(back.worker == "w")
        #expect(back.results.map(\.job) == results.map(\.job))
        #expect(back.results.map(\.lease) == results.map(\.lease))
        #expect(back.results.map(\.outcome) == results.map(\.outcome))
        #expect(back.results.map(\.stored) == results.map(\.stored))
        #expect(back.results.map { $0.adopted ?? false } == results.map { $0.adopted ?? false })
        #expect(back.results.map(\.failure) == results.map(\.failure))
    }

    @Test(arguments: [
        #"[{"lease":"l","adopted":false,"place":[0],"job":[1,2],"bytes":[1],"sha256":["a"]}]"#,
        #"[{"lease":"l","adopted":false,"place":[1],"job":[1],"bytes":[1],"sha256":["a"]}]"#,
        #"[{"lease":"l","adopted":false,"place":[-1],"job":[1],"bytes":[1],"sha256":["a"]}]"#,
        #"[{"lease":"l","adopted":false,"place":[0,0],"job":[1,2],"bytes":[1,2],"sha256":["a","b"]}]"#,
    ])
    func columnsThatDoNotFitAreRefused(done: String) {
        let body = #"{"worker":"w","results":[],"done":"# + done + "}"
        #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(ReportRequest.self, from: Data(body.utf8))
        }
    }
}
