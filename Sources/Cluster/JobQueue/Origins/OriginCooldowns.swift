import Model
import Postgres

/// Cooldowns and circuit breakers of origins: failures and `Retry-After` start them, successes end
/// them.
struct OriginCooldowns: Sendable {
    private let breaker: JobQueue.Breaker
    private let maxUnlisted: Int

    /// Maximum number of origins that one report adds. Outcomes of further ones are not recorded.
    private static let maxMetAtOnce: Int64 = 100

    init(_ settings: JobQueue.Settings) {
        breaker = settings.breaker
        maxUnlisted = settings.maxUnlistedOrigins
    }

    /// Records a report's outcomes of origins, each with its worker.
    ///
    /// Locks their rows first, in the order of their numbers, so that reports do not deadlock.
    func record(_ origins: ReportPlan.Origins, _ connection: PostgresConnection) async throws {
        let (well, failed, cooldowns) = (origins.well, origins.failed, origins.cooldowns)
        let met = failed.names + cooldowns.names
        // An unlisted origin has no row until an outcome must be recorded.
        let named = Set(met.compactMap(\.self)).sorted()
        if !named.isEmpty {
            _ = try await connection.query(
                SQL.Origins.note,
                [
                    "origins": .textArray(named),
                    "max_unlisted": .int(Int64(maxUnlisted)),
                    "limit": .int(Self.maxMetAtOnce),
                ])
        }
        let wells: SQLValues = [
            "well_lanes": .int64Array(well.lanes), "well_names": .optionalTextArray(well.names),
        ]
        _ = try await connection.query(
            SQL.Origins.lock,
            [
                "lanes": .int64Array(failed.lanes + cooldowns.lanes),
                "names": .optionalTextArray(met),
            ] + wells)
        if !well.lanes.isEmpty { _ = try await connection.query(SQL.Origins.succeed, wells) }
        if !failed.lanes.isEmpty {
            _ = try await connection.query(
                SQL.Origins.fail,
                [
                    "lanes": .int64Array(failed.lanes), "codes": .optionalTextArray(failed.codes),
                    "failures": .int(Int64(breaker.failures)),
                    "first_seconds": .double(breaker.firstSeconds),
                    "max_seconds": .double(breaker.longestSeconds),
                    "openings": .int(Int64(breaker.openings)),
                    "names": .optionalTextArray(failed.names),
                ])
        }
        if !cooldowns.lanes.isEmpty {
            _ = try await connection.query(
                SQL.Origins.coolDown,
                [
                    "lanes": .int64Array(cooldowns.lanes),
                    "names": .optionalTextArray(cooldowns.names),
                    "seconds": .doubleArray(cooldowns.seconds),
                    "reasons": .optionalTextArray(cooldowns.codes),
                ])
        }
    }
}
