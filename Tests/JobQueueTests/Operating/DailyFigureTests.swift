import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Daily figures have each result once.
@Suite(.timeLimit(.minutes(2))) struct DailyFigureTests {
    typealias F = QueueFixture

    private func report(
        _ fixture: F, by grouping: DailyReport.Grouping = .day, limit: Int = 1_000,
        _ change: (inout DailyReportQuery) -> Void = { _ in }
    ) async throws -> DailyReport {
        var query = DailyReportQuery()
        query.grouping = grouping
        change(&query)
        return try await fixture.queue.figures.daily.report(query, limit: limit)
    }

    private static func file(_ name: String, at host: String) -> AssetSubmission {
        AssetSubmission(
            name: name, url: "http://\(host)/\(name)", kind: .file, key: "\(host)/\(name)")
    }

    /// Two origins: of one, both files are done and one was reused; of the other, one is gone, and
    /// one is tried again and done.
    private func work(_ fixture: F) async throws -> CatalogID {
        let catalog = try await fixture.submit([
            Self.file("a", at: "one.test"), Self.file("b", at: "one.test"),
            Self.file("c", at: "two.test"), Self.file("d", at: "two.test"),
        ])
        let grant = try await fixture.lease()
        let results = grant.jobs.map { job in
            switch job.key {
            case "one.test/a":
                var done = F.done(job, grant, bytes: 2_000)
                done.milliseconds = 500
                return done
            case "one.test/b":
                var done = F.done(job, grant, bytes: 70)
                done.isReused = true
                return done
            case "two.test/c": return F.failed(job, grant, .originHTTP404)
            default: return F.failed(job, grant, .originHTTP503)
            }
        }
        #expect(results.count == 4)
        #expect(try await fixture.report(results) == results.map { _ in .accepted })
        // A repeated report changes nothing.
        #expect(try await fixture.report(results) == results.map { _ in .stale })
        try await fixture.skipDelays()
        try await fixture.drain()
        return catalog
    }

    private static let total = DailyReport.Figures(
        done: 3, failed: 1, unaddressable: 1, retries: 1, bytes: 2_080, reusedBytes: 70,
        transferSeconds: 0.5, assets: DailyReport.Assets(completed: 3, failed: 1, cancelled: 0))

    @Test func eachResultCountsOnceWhereItBelongs() async throws {
        try await F.with { fixture in
            _ = try await work(fixture)
            // The same before and after they are moved, and moved again.
            for _ in 0..<3 {
                let days = try await report(fixture)
                #expect(days.total == Self.total)
                #expect(days.groups.map(\.figures) == [Self.total] && days.leftOff == 0)
                #expect(days.groups.map(\.name) == [days.until])
                #expect(days.total.successRate == 0.75 && days.total.addressableSuccessRate == 1)
                #expect(days.total.bytesPerSecond == 4_020)

                let origins = try await report(fixture, by: .origin).groups
                #expect(origins.map(\.name) == ["http://two.test", "http://one.test"])
                #expect(
                    origins.last?.figures
                        == DailyReport.Figures(
                            done: 2, failed: 0, unaddressable: 0, retries: 0, bytes: 2_070,
                            reusedBytes: 70, transferSeconds: 0.5))
                let codes = try await report(fixture, by: .code).groups
                #expect(codes.map(\.name) == ["origin.http.404", "origin.http.503"])
                #expect(codes.map(\.figures.failed) == [1, 0])
                #expect(codes.map(\.figures.retries) == [0, 1])
                #expect(codes.map(\.isAddressable) == [false, true])
                let catalogs = try await report(fixture, by: .catalog).groups
                #expect(catalogs.map(\.name) == ["movies"])
                #expect(catalogs.map(\.queue) == ["srv-edge"])
                let sites = try await report(fixture, by: .site).groups
                #expect(sites.map(\.storageURL) == [F.site] && sites.map(\.name) == ["srv-edge"])
                try await fixture.queue.figures.daily.fold()
                #expect(try await fixture.count("outcome") == 0)
            }
        }
    }

    @Test func aReportIsFiltered() async throws {
        try await F.with { fixture in
            _ = try await work(fixture)
            func total(_ change: (inout DailyReportQuery) -> Void) async throws
                -> DailyReport.Figures
            {
                try await report(fixture, change).total
            }
            // Known, and without a result.
            try await fixture.submit([F.file("later")], catalog: "films")
            let nothing = try await total { $0.catalog = "films" }
            #expect(nothing.done + nothing.failed + nothing.retries == 0)
            #expect(nothing.successRate == nil && nothing.bytesPerSecond == nil)
            await #expect(throws: Failure.self) { try await total { $0.catalog = "other" } }
            for site in ["srv-edge", F.site] {
                #expect(try await total { $0.site = site } == Self.total)
            }
            let two = try await total { $0.origin = "http://two.test" }
            #expect(two.done == 1 && two.failed == 1 && two.retries == 1 && two.assets == nil)
            let gone = try await total { $0.code = "origin.http.404" }
            #expect(gone.done == 0 && gone.failed == 1 && gone.unaddressable == 1)
            let first = try #require(UTCDay("2020-01-01"))
            let past = try await report(fixture) {
                $0.period = .from(first, until: UTCDay("2020-12-31"))
            }
            #expect(past.since == "2020-01-01" && past.until == "2020-12-31")
            #expect(past.groups.isEmpty && past.total.done == 0)
            let cut = try await report(fixture, by: .origin, limit: 1)
            #expect(cut.groups.count == 1 && cut.leftOff == 1 && cut.total.done == 3)
        }
    }

    @Test func manyCoordinatorsCountOnce() async throws {
        try await F.with { fixture in
            _ = try await fixture.submit([F.file("a")])
            for round in 0..<20 {
                try await fixture.pool.query(
                    """
                    INSERT INTO outcome (catalog_id, origin_id, done, bytes)
                    SELECT (SELECT max(id) FROM catalog), 1, 1, 10 FROM generate_series(1, 500)
                    """)
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask { _ = try? await fixture.queue.figures.daily.fold() }
                    }
                }
                let done = try await report(fixture).total.done
                #expect(done == Int64(500 * (round + 1)))
            }
            try await fixture.queue.figures.daily.fold()
            #expect(try await fixture.count("outcome") == 0)
            #expect(try await report(fixture).total.bytes == 100_000)
        }
    }

    @Test func aDayHasABoundedNumberOfRows() async throws {
        try await F.with { fixture in
            _ = try await fixture.submit([F.file("a")])
            try await fixture.pool.query(
                "INSERT INTO origin (url) SELECT 'http://h' || g FROM generate_series(1, 50) g")
            func note() async throws {
                // The later origins have more, the first has failures too.
                try await fixture.pool.query(
                    """
                    INSERT INTO outcome (catalog_id, origin_id, done, bytes)
                    SELECT (SELECT max(id) FROM catalog), id, id, 1 FROM origin
                    WHERE url LIKE 'http://h%'
                    """)
                try await fixture.pool.query(
                    """
                    INSERT INTO outcome (catalog_id, origin_id, code, failed)
                    SELECT (SELECT max(id) FROM catalog), id, c.code, 1
                    FROM origin, unnest(ARRAY['origin.timeout', 'no.such.code']) AS c(code)
                    WHERE url = 'http://h1'
                    """)
            }
            let sum = 50.0 * 25.5
            for round in 1...3 {
                try await note()
                try await fixture.queue.figures.daily.fold(maxRows: 10)
                #expect(try await fixture.count("daily_figure WHERE queue_id <> 0") == 10)
                // Done, one known code and one for all others.
                #expect(try await fixture.count("daily_figure WHERE queue_id = 0") == 3)
                let total = try await report(fixture).total
                let lowest = try await fixture.pool.query(
                    "SELECT min(id)::bigint FROM origin WHERE url LIKE 'http://h%'"
                ).firstRow?.int64(0)
                let offset = Int64((lowest ?? 1) - 1) * 50
                #expect(total.done == Int64(round) * (Int64(sum) + offset))
                #expect(total.failed == Int64(2 * round) && total.bytes == Int64(50 * round))
            }
            let origins = try await report(fixture, by: .origin).groups
            #expect(origins.count == 11 && origins.contains { $0.name == "other" })
            #expect(origins.contains { $0.name == "http://h50" })
            let codes = try await report(fixture, by: .code).groups.map(\.name)
            #expect(Set(codes) == ["origin.timeout", "other"])
        }
    }

    @Test func theyOutliveTheirCatalogAndEndAfterTheirTime() async throws {
        try await F.with { fixture in
            _ = try await work(fixture)
            try await fixture.queue.figures.daily.fold()
            try await fixture.pool.query(
                """
                UPDATE catalog SET ended_at = now() - interval '9 d',
                    opened_at = now() - interval '9 d'
                """)
            #expect(try await fixture.queue.housekeeping.retention.delete(olderThanDays: 1) == 1)
            #expect(try await fixture.count("catalog") == 0)
            let catalogs = try await report(fixture, by: .catalog).groups
            #expect(catalogs.map(\.name) == ["movies"])
            #expect(catalogs.map(\.figures) == [Self.total])
            // What comes later has no name.
            try await fixture.pool.query(
                "INSERT INTO outcome (catalog_id, origin_id, done) VALUES (999999, 1, 1)")
            #expect(
                Set(try await report(fixture, by: .catalog).groups.map(\.name))
                    == ["movies", "other"])

            try await fixture.pool.query("UPDATE daily_figure SET day = day - 400")
            try await fixture.queue.figures.daily.trim()
            #expect(try await fixture.count("daily_figure") > 0)
            try await fixture.pool.query("UPDATE daily_figure SET day = day - 1")
            try await fixture.queue.figures.daily.trim()
            #expect(try await fixture.count("daily_figure") == 0)
        }
    }

    @Test func titlesPartsAndLostWorkersCount() async throws {
        try await F.with { fixture in
            _ = try await fixture.submit([F.title("gone"), F.file("lost")])
            let grant = try await fixture.lease()
            let title = try #require(grant.jobs.first { $0.kind == .resolve })
            _ = try await fixture.report([F.failed(title, grant, .manifestEmpty)])
            try await fixture.expireLeases()
            try await fixture.drain()
            let total = try await report(fixture).total
            #expect(total.done == 1 && total.failed == 1 && total.retries == 1)
            #expect(
                total.assets == DailyReport.Assets(completed: 1, failed: 1, cancelled: 0))
            let codes = try await report(fixture, by: .code).groups.map(\.name)
            #expect(codes == ["manifest.empty", "worker.lost"])
        }
    }
}
