package import API
package import Model
import Postgres

/// Changes of the load of running tests.
extension LoadTests {
    /// Changes the load of a running test, from `LoadTestTimes.changeSeconds` on to its planned end, and
    /// returns the change. The level that was set last is no other change.
    ///
    /// Throws `input.notFound`, `input.field` for a level out of the test's range, and `input.loadFixed`
    /// for a test that cannot change its load, or not now.
    package func change(
        _ id: LoadTestID, to level: Double
    ) async throws(Failure) -> LoadTestChange {
        try await database.transaction { connection in
            guard let test = try await supervision.lock(id, connection) else {
                throw Failure.unknownLoadTest(id)
            }
            // After the lock: a change that was made meanwhile is seen.
            let row = try await connection.query(
                SQL.LoadTests.changeable,
                [
                    "test": .uuid(id),
                    "lead_seconds": .double(supervision.times.changeSeconds),
                ]
            ).only()
            guard let range = try LoadRange(in: row) else {
                throw Self.fixed(id, "it is a replay, or a step of --search or --scale")
            }
            try range.check(level)
            switch LoadTestState(rawValue: try test.string("state")) {
            case .running: break
            case .waiting: throw Self.fixed(id, "it has not started yet")
            case .stopping: throw Self.fixed(id, "it is being stopped")
            case .ended, nil: throw Self.fixed(id, "it has ended")
            }
            let latest = try LoadTestChange(in: row)
            if let latest, latest.level == level { return latest }
            let change = LoadTestChange(
                revision: (latest?.revision ?? 0) + 1,
                seconds: max(try row.double("next_seconds"), latest?.seconds ?? 0), level: level)
            guard change.seconds < range.seconds else { throw Self.fixed(id, "it ends now") }
            guard change.revision <= WireLimits.loadChanges else {
                throw Self.fixed(id, "it has changed \(WireLimits.loadChanges) times, the maximum")
            }
            _ = try await connection.pipeline([
                PostgresStatement(
                    SQL.LoadTests.change,
                    [
                        "test": .uuid(id), "revision": .int(change.revision),
                        "at_seconds": .double(change.seconds), "level": .double(change.level),
                    ]),
                PostgresStatement(SQL.LoadTests.notify),
            ])
            return change
        }
    }

    private static func fixed(_ id: LoadTestID, _ reason: String) -> Failure {
        Failure(.inputLoadFixed, "The load of load test \(id) cannot change: \(reason).")
    }
}

extension LoadTestChange {
    /// Returns the changes of a test after the first `known`, by revision; nil for none.
    static func read(
        _ id: LoadTestID, after known: Int, _ connection: PostgresConnection
    ) async throws -> [LoadTestChange]? {
        let rows = try await connection.query(
            SQL.LoadTests.changes, ["test": .uuid(id), "known": .int(known)]
        ).rows
        return rows.isEmpty ? nil : try rows.compactMap { try LoadTestChange(in: $0) }
    }

    /// Decodes `revision`, `at_seconds` and `level`; nil without a change.
    init?(in row: PostgresRow) throws {
        guard let revision = try row.optionalInt64("revision") else { return nil }
        self.init(
            revision: Int(revision), seconds: try row.double("at_seconds"),
            level: try row.double("level"))
    }
}

extension LoadRange {
    /// Decodes `load_unit`, `load_most` and `load_seconds`; nil for a load that cannot change.
    init?(in row: PostgresRow) throws {
        guard let unit = try row.optionalString("load_unit").flatMap({ Unit(rawValue: $0) })
        else { return nil }
        self.init(
            unit: unit, most: try row.double("load_most"), seconds: try row.double("load_seconds"))
    }
}
