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
        ("done", SQL.Reporting.settleDone.statement),
        ("fetches", SQL.Reporting.settleFetches.statement),
        ("retry", SQL.Reporting.retry.statement),
        ("sums", SQL.ChecksumFiles.settle.statement),
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

    @Test func jobsAreFoundByTheirNumbersWithAnyStatistics() async throws {
        try await F.with("statistics") { fixture in
            let files = (0..<8_000).map { F.file("\($0)") }
            try await fixture.submit(files, catalog: "first")
            try await fixture.pool.withConnection { connection in
                _ = try await connection.simple("DELETE FROM job")
                _ = try await connection.simple("ANALYZE job")
            }
            try await fixture.submit(files, catalog: "second", site: "file:///srv/other")
            for (name, statement) in Self.statements {
                let plan = try await Self.plan(of: statement, [:], fixture)
                let text = plan.joined(separator: "\n")
                #expect(text.contains("Tid Scan on job"), "\(name): \(text)")
                let isByNumber = plan.contains {
                    $0.contains("Index Cond: ((lane_id = ") && $0.contains("(id = ")
                }
                #expect(isByNumber, "\(name): \(text)")
                #expect(!text.contains("Seq Scan on job"), "\(name): \(text)")
                // Others lock jobs in the order of their numbers, and so does this.
                #expect(
                    name != "done" || text.contains("TID Cond: (ctid = f.tid)"), "\(text)"
                )
            }
        }
    }

    /// What is done with a choice of assets looks at each job once, and not at each asset for each.
    @Test func assetsAreNotLookedThroughForEachJob() async throws {
        let known: [String: PostgresValue] = ["catalog": .int(1), "priority": .int(5)]
        let statements: [(String, SQL.Selecting)] = [
            ("lockCancelled", .lockCancelled), ("cancelJobs", .cancelJobs),
            ("lockReprioritised", .lockReprioritised), ("reprioritise", .reprioritise),
        ]
        try await F.with("choice") { fixture in
            for (name, statement) in statements {
                let plan = try await Self.plan(of: statement.statement, known, fixture)
                let whole = plan.joined(separator: "\n")
                #expect(!whole.contains("Join Filter"), "\(name): \(whole)")
                #expect(whole.contains("hashed SubPlan"), "\(name): \(whole)")
            }
        }
    }
}
