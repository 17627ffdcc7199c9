import API
import CoordinatorClient
import Model
import TestSupport
import Testing

/// `GET /v1/report`, through the API.
@Suite struct ReportTests {
    @Test func aReportHasWhatWorkersReported() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a", "b"])
            let grant = try await fixture.lease()
            let results = grant.jobs.enumerated().map { index, job in
                let stored = StoredObject(
                    bytes: 1_000, sha256: String(repeating: "0a", count: 32))
                return JobReport(
                    job: job.id, lease: grant.lease ?? "",
                    outcome: index == 0
                        ? .done(JobReport.Done(stored: stored, milliseconds: 250))
                        : .failed(JobReport.Failed(Failure(.originHTTP404, "gone"))))
            }
            _ = try await fixture.client.report(
                ReportRequest(worker: Fixture.worker, results: results))
            var query = DailyReportQuery()
            query.grouping = .origin
            query.site = "srv-edge"
            let report = try await fixture.client.report(query)
            #expect(report.groups.map(\.name) == ["http://origin.test"])
            #expect(report.total.done == 1 && report.total.failed == 1)
            #expect(report.total.unaddressable == 1 && report.total.bytesPerSecond == 4_000)
            query.period = .from(try #require(UTCDay("2026-01-01")), until: nil)
            query.code = "origin.http.404"
            query.origin = "http://origin.test"
            query.catalog = "movies"
            #expect(try await fixture.client.report(query).total.failed == 1)
            let answer = try await fixture.send("GET", "/v1/report?by=code&days=1")
            #expect(answer.status == 200)
            #expect(answer.body.contains(#""isAddressable":false"#), "\(answer.body)")
        }
    }

    @Test func aWrongQueryIsRefused() async throws {
        try await Fixture.with { fixture in
            let long = String(repeating: "c", count: 201)
            for (query, text) in [
                ("by=worker", "code, origin, site, catalog, day"), ("days=0", "1 to 400"),
                ("days=401", "1 to 400"), ("days=x", "1 to 400"),
                ("since=2026-02-30", "a day in UTC"), ("until=2026-02-01", "since"),
                ("since=2026-02-02&until=2026-02-01", "a later day"),
                ("since=2026-02-02&days=3", "without since"), ("catalog=\(long)", "1 to 200"),
                ("code=", "1 to 100"), ("origin=%07", "control"), ("limit=3", "by, days"),
                ("code=origin.none", "a failure code such as"),
            ] {
                let answer = try await fixture.send("GET", "/v1/report?\(query)")
                #expect(answer.status == 400 && answer.code == "input.field", "\(query): \(answer)")
                #expect(answer.body.contains(text), "\(query): \(answer.body)")
            }
        }
    }

    /// As where it is named elsewhere; a catalog that is there and has no figures is none.
    @Test func whatIsUnknownIsNotFound() async throws {
        try await Fixture.with { fixture in
            try await fixture.submit(["a"])
            for query in [
                "catalog=none", "site=none", "site=file:///none", "origin=http://none.test",
                "catalog=none&by=code&days=1", "catalog=movies&site=none",
            ] {
                let answer = try await fixture.send("GET", "/v1/report?\(query)")
                #expect(
                    answer.status == 404 && answer.code == "input.notFound", "\(query): \(answer)")
            }
            for query in [
                "catalog=movies", "site=srv-edge", "site=file:///srv/edge",
                "origin=http://origin.test", "code=other", "code=origin.http.404",
            ] {
                let answer = try await fixture.send("GET", "/v1/report?\(query)")
                #expect(answer.status == 200, "\(query): \(answer)")
            }
            // Figures of a catalog that was forgotten.
            _ = try await fixture.execute(
                """
                INSERT INTO daily_figure SELECT current_date - 300, 1, 'old', 'http://old.test', '',
                    1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
                """)
            for query in ["catalog=old", "origin=http://old.test"] {
                #expect(try await fixture.send("GET", "/v1/report?\(query)").status == 200)
            }
        }
    }

    @Test func aRunningCatalogHasAnEndOrAReason() async throws {
        try await Fixture.with { fixture in
            let catalog = try await fixture.submit(["a"])
            func finish() async throws -> CatalogFinish? {
                let listed = try await fixture.client.clusterStatus().catalogs.first?.finish
                let shown = try await fixture.client.status(of: catalog).finish
                #expect(listed?.deadline == shown?.deadline)
                return shown
            }
            #expect(
                try await finish()
                    == CatalogFinish(
                        .unknown(.noWorker(queue: "srv-edge")), deadline: .noDeadline))
            _ = try await fixture.client.heartbeat(
                Heartbeat(
                    worker: Fixture.worker, leases: [], progress: [:], name: "w",
                    activeTransfers: 0))
            #expect(try await finish()?.estimate == .unknown(.noRate))
            // Four a second: one takes a quarter of it.
            try await fixture.client.setLimits(
                OriginLimitsChange(
                    origin: "http://origin.test",
                    limits: OriginLimits(
                        connections: nil, requestsPerSecond: 4, bytesPerSecond: nil)))
            guard case .finishes(_, let seconds, let bound) = try await finish()?.estimate else {
                Issue.record("\(String(describing: try await finish()))")
                return
            }
            #expect(abs(seconds - 0.25) < 0.001)
            #expect(bound == .originLimit(origin: "http://origin.test", origins: 1))
            try await fixture.client.interrupt(catalog)
            #expect(try await finish() == nil)
        }
    }
}
