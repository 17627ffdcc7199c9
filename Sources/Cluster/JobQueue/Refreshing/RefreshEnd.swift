import API
import Model
import Postgres

/// Ends refreshes, and their publications.
enum RefreshEnd {
    /// Ends refreshes, whose jobs are locked.
    static func settle(
        _ refreshes: ReportPlan.Refreshes, _ connection: PostgresConnection
    ) async throws {
        var relisted = Set(refreshes.found.filter { $0.segments != nil }.map(\.job.id.rawValue))
        let handedIn = try await connection.query(
            SQL.Refreshing.found, ["assets": .int64Array(refreshes.found.map(\.job.asset))]
        ).rows
        for (refresh, row) in zip(refreshes.found, handedIn) {
            let job = refresh.job
            let segments =
                try job.kind == .publish
                ? row.optionalInt64("segments") : refresh.segments.map(Int64.init)
            guard try segments != nil || row.bool("has_files") else { continue }
            let asset = PostgresValue.int(job.asset)
            if let segments {
                relisted.insert(job.id.rawValue)
                _ = try await connection.query(SQL.Removing.refreshed, ["asset": asset])
                _ = try await connection.query(
                    SQL.Resolving.trim, ["asset": asset, "segments": .int(segments)])
            }
            _ = try await connection.query(SQL.Refreshing.segments, ["asset": asset])
            _ = try await connection.query(
                SQL.Refreshing.results, ["asset": asset, "attempt": .int(Int64(job.attempt))])
            guard let segments else { continue }
            let origins = try await connection.query(SQL.Resolving.segmentOrigins, ["asset": asset])
                .rows
            let stored = try origins.reduce(0) { $0 + (try $1.int64("segments")) }
            guard stored == segments else {
                throw Failure(
                    .clusterProtocol,
                    "A refresh reported \(segments) segments; \(stored) had arrived.")
            }
        }
        _ = try await connection.query(
            SQL.Refreshing.settle,
            [
                "lanes": .int64Array(refreshes.lanes), "jobs": .int64Array(refreshes.jobs),
                "outcomes": .textArray(refreshes.outcomes.map(\.rawValue)),
                "codes": .optionalTextArray(refreshes.codes),
                "messages": .optionalTextArray(refreshes.messages),
                "relisted": .boolArray(refreshes.jobs.map { relisted.contains($0) }),
            ])
    }
}
