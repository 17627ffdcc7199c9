import Model
import Postgres
import Testing

@testable import JobQueue

/// A queue that is empty when PostgreSQL takes its statistics is one of a single job to the planner, however many come
/// until it looks again.
@Suite struct StatisticsTests {
    typealias F = QueueFixture

    /// What takes jobs out by their numbers, with as many parameters as it has.
    private static let statements: [(name: String, text: String, values: [PostgresValue])] = [
        (
            "done", SQL.settleDone,
            [
                .int64Array([]), .int64Array([]), .int64Array([]), .textArray([]), .boolArray([]),
                .uuidArray([]), .uuidArray([]), .boolArray([]), .int64Array([]), .textArray([]),
                .optionalTextArray([]),
            ]
        ),
        (
            "fetches", SQL.settleFetches,
            [
                .int64Array([]), .int64Array([]), .boolArray([]), .int64Array([]), .textArray([]),
                .boolArray([]), .textArray([]), .textArray([]), .boolArray([]), .textArray([]),
            ]
        ),
        (
            "retry", SQL.jobsRetry,
            [
                .int64Array([]), .int64Array([]), .doubleArray([]), .int64Array([]), .boolArray([]),
                .textArray([]), .textArray([]), .boolArray([]), .boolArray([]), .textArray([]),
                .textArray([]), .textArray([]),
            ]
        ),
        ("sums", SQL.settleSums, [.int64Array([]), .int64Array([]), .int64Array([])]),
        (
            "refresh", SQL.refreshSettle,
            [
                .int64Array([]), .int64Array([]), .textArray([]), .textArray([]), .textArray([]),
                .boolArray([]),
            ]
        ),
        ("mirrors", SQL.mirrorsMove, [.int64Array([]), .int64Array([]), .int64Array([])]),
    ]

    @Test func jobsAreFoundByTheirNumbersWhateverTheStatisticsSay() async throws {
        try await F.with("statistics") { fixture in
            let files = (0..<8_000).map { F.file("\($0)") }
            try await fixture.submit(files, catalog: "first")
            try await fixture.pool.withConnection { connection in
                _ = try await connection.simple("DELETE FROM job")
                _ = try await connection.simple("ANALYZE job")
            }
            try await fixture.submit(files, catalog: "second", site: "file:///srv/other")
            for statement in Self.statements {
                let plan = try await fixture.pool.withConnection { connection in
                    try await connection.query("EXPLAIN " + statement.text, statement.values).rows
                        .map { try $0.string(0) }
                }
                let text = plan.joined(separator: "\n")
                #expect(text.contains("Tid Scan on job"), "\(statement.name): \(text)")
                let isByNumber = plan.contains {
                    $0.contains("Index Cond: ((lane_id = ") && $0.contains("(id = ")
                }
                #expect(isByNumber, "\(statement.name): \(text)")
                #expect(!text.contains("Seq Scan on job"), "\(statement.name): \(text)")
                // Others lock jobs in the order of their numbers, and so does this.
                #expect(
                    statement.name != "done" || text.contains("TID Cond: (ctid = f.tid)"), "\(text)"
                )
            }
        }
    }

    /// What is done with a choice of assets looks at each job once, and not at each asset for each.
    @Test func assetsAreNotLookedThroughForEachJob() async throws {
        let both: [PostgresValue] = [.int(1), .int64Array([])]
        let statements: [(String, String, [PostgresValue])] = [
            ("cancel_lock", SQL.cancelLock, both), ("cancel_jobs", SQL.cancelJobs, both),
            ("reprioritise_lock", SQL.reprioritiseLock, both),
            ("reprioritise_assets", SQL.reprioritiseAssets, both + [.int(5)]),
        ]
        try await F.with("choice") { fixture in
            for (name, text, values) in statements {
                let plan = try await fixture.pool.withConnection { connection in
                    try await connection.query("EXPLAIN " + text, values).rows.map {
                        try $0.string(0)
                    }
                }
                let whole = plan.joined(separator: "\n")
                #expect(!whole.contains("Join Filter"), "\(name): \(whole)")
                #expect(whole.contains("hashed SubPlan"), "\(name): \(whole)")
            }
        }
    }
}
