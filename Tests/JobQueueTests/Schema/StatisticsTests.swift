import API
import Model
import Postgres
import Testing

@testable import JobQueue

/// A queue that is empty when PostgreSQL takes its statistics is one of a single job to the planner, however many come
/// until it looks again.
@Suite struct StatisticsTests {
    typealias F = QueueFixture

    /// What takes jobs out by their numbers.
    private static let statements: [(name: String, statement: SQLStatement)] = [
        ("checksums", SQL.ChecksumFiles.settle.statement),
        ("refresh", SQL.Refreshing.settle.statement),
        ("mirrors", SQL.Mirrors.move.statement),
    ]

    /// The plan of a statement, whose parameters are `known`, or else empty arrays.
    private static func plan(
        of statement: SQLStatement, _ known: [String: PostgresValue], _ fixture: QueueFixture
    ) async throws -> [String] {
        let values = statement.parameters.map { known[$0] ?? .textArray([]) }
        return try await fixture.pool.query("EXPLAIN " + statement.text, values).rows.map {
            try $0.string(0)
        }
    }

    /// Submits 8,000 jobs while the statistics have one.
    private static func submit(_ fixture: F) async throws {
        let files = (0..<8_000).map { F.file("\($0)") }
        try await fixture.submit(files, catalog: "first")
        try await fixture.pool.withConnection { connection in
            _ = try await connection.simple("DELETE FROM job")
            _ = try await connection.simple("ANALYZE job")
        }
        try await fixture.submit(files, catalog: "second", site: "file:///srv/other")
    }

    @Test func jobsAreFoundByTheirNumbersWithAnyStatistics() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture)
            for (name, statement) in Self.statements {
                let plan = try await Self.plan(of: statement, [:], fixture)
                let text = plan.joined(separator: "\n")
                #expect(text.contains("Tid Scan on job"), "\(name): \(text)")
                let isByNumber = plan.contains {
                    $0.contains("Index Cond: ((lane_id = ") && $0.contains("(id = ")
                }
                #expect(isByNumber, "\(name): \(text)")
                #expect(!text.contains("Seq Scan on job"), "\(name): \(text)")
            }
        }
    }

    /// Of a title with thousands of segments the statistics may say that it has one: a removal joins no segments that it
    /// deletes with their results.
    @Test func removalsDoNotCompareEachSegmentWithEachResult() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            try await fixture.drain()
            for table in ["asset", "segment", "result"] {
                try await fixture.pool.query("ANALYZE \(table)")
            }
            let assets = try await fixture.assets(of: catalog).map(\.id.rawValue)
            let plan = try await Self.plan(
                of: SQL.Removing.remove.statement,
                [
                    "catalog": .int(catalog.rawValue), "assets": .int64Array(assets),
                    "state": .text("removing"), "is_storing": .bool(false),
                    "grace_seconds": .double(35),
                ], fixture)
            func depth(_ line: String) -> Int { line.prefix { $0 == " " }.count }
            let scans = plan.indices.filter { plan[$0].contains("CTE Scan on results") }
            #expect(!scans.isEmpty)
            for scan in scans {
                let parent = plan[..<scan].last {
                    $0.contains("->") && depth($0) < depth(plan[scan])
                }
                #expect(parent?.contains("Append") == true, "\(plan.joined(separator: "\n"))")
            }
        }
    }

    /// The functions that run for every batch read the jobs of the batch: also those that a session planned while there
    /// were none, and whatever statistics say since.
    @Test(arguments: [false, true]) func functionsReadNoOtherJobs(arePlannedBefore: Bool)
        async throws
    {
        try await F.with { fixture in
            if arePlannedBefore {
                // Of each connection of the pool.
                try await fixture.submit((0..<100).map { F.file("\($0)") }, catalog: "zeroth")
                for _ in 0..<80 {
                    let grant = try await fixture.lease(1)
                    _ = try await Self.jobsRead(grant, fixture)
                    _ = try await fixture.report(grant.jobs.map { F.done($0, grant) })
                }
            }
            try await Self.submit(fixture)
            let grant = try await fixture.lease(1_000)
            #expect(grant.jobs.count == 1_000)
            for (name, read) in try await Self.jobsRead(grant, fixture) {
                #expect((1_000...2_000).contains(read.byIndex), "\(name): \(read)")
                #expect(read.inSequence == 0, "\(name): \(read)")
            }
        }
    }

    @Test func aReportReadsOnlyItsPartOfALease() async throws {
        try await F.with { fixture in
            try await Self.submit(fixture)
            var grant = try await fixture.lease(1_000)
            grant.jobs = Array(grant.jobs.sorted { $0.id < $1.id }[400..<410])
            for (name, read) in try await Self.jobsRead(grant, fixture) where name == "settleDone" {
                #expect((10...20).contains(read.byIndex), "\(read)")
            }
        }
    }

    private struct JobsRead {
        var inSequence: Int64
        var byIndex: Int64
    }

    /// By function, the rows of `job` that a call for a grant reads. Nothing is changed.
    private static func jobsRead(
        _ grant: LeaseGrant, _ fixture: F
    ) async throws -> [(name: String, JobsRead)] {
        let lease = try #require(grant.lease)
        let jobs = grant.jobs.map(\.id.rawValue).sorted()
        let count = jobs.count
        let one = PostgresValue.int64Array(jobs.map { _ in 1 })
        let none = PostgresValue.optionalTextArray(jobs.map { _ in nil })
        let no = PostgresValue.boolArray(jobs.map { _ in false })
        let yes = PostgresValue.boolArray(jobs.map { _ in true })
        let digests = PostgresValue.textArray(jobs.map { _ in String(repeating: "a", count: 64) })
        let numbers = PostgresValue.int64Array(jobs)
        let row = try await fixture.pool.query(
            "SELECT array_agg(lane_id ORDER BY id), min((SELECT queue_id FROM lane WHERE id = lane_id)) FROM job WHERE id = ANY($1)",
            [numbers]
        ).only()
        let lanes = PostgresValue.int64Array(try row.int64Array(0))
        let held: SQLValues = [
            "leases": .uuidArray([lease]), "workers": .uuidArray([fixture.worker]),
        ]
        let calls: [(String, PostgresStatement)] = [
            (
                "leasedJobs",
                PostgresStatement(
                    SQL.Leasing.leasedJobs, held + ["queue": .int(try row.int64(1))])
            ),
            (
                "reportedJobs",
                PostgresStatement(
                    SQL.Reporting.reportedJobs,
                    [
                        "jobs": numbers, "worker": .uuid(fixture.worker),
                        "leases": .uuidArray([LeaseID](repeating: lease, count: count)),
                    ])
            ),
            (
                "settleDone",
                PostgresStatement(
                    SQL.Reporting.settleDone,
                    held + [
                        "first_jobs": .int64Array([jobs[0]]),
                        "last_jobs": .int64Array([jobs[count - 1]]),
                        "jobs": numbers, "lease_numbers": one, "bytes": one, "sha256": digests,
                        "adopted": no, "verified": no, "validators": none,
                        "transfer_ms": one, "served_numbers": .int64Array([]),
                        "served_origins": .textArray([]),
                        "refresh_seconds": .optionalIntArray(jobs.map { _ in nil }),
                    ])
            ),
            (
                "settleFetches",
                PostgresStatement(
                    SQL.Reporting.settleFetches,
                    [
                        "lanes": lanes, "jobs": numbers, "done": yes, "bytes": one,
                        "sha256": digests, "adopted": no, "codes": none, "messages": none,
                        "verified": no, "validators": none,
                    ])
            ),
            (
                "retry",
                PostgresStatement(
                    SQL.Reporting.retry,
                    [
                        "lanes": lanes, "jobs": numbers,
                        "seconds": .doubleArray(jobs.map { _ in 1 }), "attempts": one,
                        "counts": yes,
                        "codes": none, "messages": none, "await_own_origins": no, "isolate": no,
                        "reasons": none, "refused_codes": none, "refused_messages": none,
                    ])
            ),
        ]
        let counters =
            "SELECT seq_tup_read, idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relid = 'job'::regclass"
        var all: [(String, JobsRead)] = []
        for (name, call) in calls {
            let read = try await fixture.pool.withConnection { connection in
                try await connection.simple("BEGIN")
                let before = try await connection.query(counters).only()
                _ = try await connection.query(call)
                let after = try await connection.query(counters).only()
                try await connection.simple("ROLLBACK")
                return JobsRead(
                    inSequence: try after.int64(0) - before.int64(0),
                    byIndex: try after.int64(1) - before.int64(1))
            }
            all.append((name, read))
        }
        return all
    }

    /// What is done with a choice of assets looks at each job once, and not at each asset for each.
    @Test func assetsAreNotLookedThroughForEachJob() async throws {
        let known: [String: PostgresValue] = ["catalog": .int(1), "priority": .int(5)]
        let statements: [(String, SQL.Selecting)] = [
            ("lockJobs", .lockJobs), ("cancelJobs", .cancelJobs),
            ("lockDelayed", .lockDelayed), ("moveJobs", .moveJobs),
        ]
        try await F.with { fixture in
            for (name, statement) in statements {
                let plan = try await Self.plan(of: statement.statement, known, fixture)
                let whole = plan.joined(separator: "\n")
                // Spans and numbers of jobs meet in one.
                let filters = plan.filter { $0.contains("Join Filter") }
                #expect(!filters.contains { !$0.contains("last_id") }, "\(name): \(whole)")
                #expect(whole.contains("hashed SubPlan"), "\(name): \(whole)")
            }
        }
    }
}
