package import API
package import Model
import Postgres

/// Limits of origins, and decisions about them.
package struct Origins: Sendable {
    let database: QueueDatabase
    let limits: KnownLimits
    package let mirrors: MirrorMoves
    package let neighbours: Neighbours

    /// Maximum number of origins on one page; each costs a look-up of its decisions.
    private static let originsPerPage = 500

    /// Sets or clears limits. Throws `input.notFound` if the origin to clear is unknown.
    package func setLimits(_ change: OriginLimitsChange) async throws(Failure) {
        let limits = change.limits ?? OriginLimits()
        let values: SQLValues = [
            "connections": .optionalInt(limits.connections.map { Int64($0) }),
            "requests_per_second": .optionalDouble(limits.requestsPerSecond),
            "bytes_per_second": .optionalInt(limits.bytesPerSecond),
        ]
        defer { self.limits.changed() }
        try await database.transaction { connection in
            switch (change.origin, change.limits) {
            case (nil, _):
                _ = try await connection.query(SQL.Origins.setDefaults, values)
            case (let origin?, .some):
                _ = try await connection.query(
                    SQL.Origins.setLimits, ["origin": .text(origin)] + values)
            case (let origin?, nil):
                let cleared = try await connection.query(
                    SQL.Origins.clearLimits, ["origin": .text(origin)])
                guard !cleared.rows.isEmpty else {
                    throw Failure.unknownOrigin(origin)
                }
            }
            // More jobs may be leasable now, and there may be limits to divide.
            _ = try await connection.query(SQL.Sites.notify)
        }
    }

    /// Returns the origins in cooldown; at most 1,000.
    package func cooldowns() async throws(Failure) -> [CurrentCooldown] {
        try await database.withConnection { connection in
            try await connection.query(SQL.Origins.cooldowns).rows.map { row in
                CurrentCooldown(
                    origin: try row.string("url"), seconds: try row.double("seconds"),
                    until: try row.int64("until"), isTried: try row.bool("is_tried"))
            }
        }
    }

    /// Returns a page of origins by name, after `after`, with at most `limit` or 500.
    package func page(after: String?, limit: Int) async throws(Failure) -> OriginPage {
        let most = min(limit, Self.originsPerPage)
        return try await database.transaction { connection in
            let base = try await connection.query(SQL.Origins.defaults).only()
            let rows = try await connection.query(
                SQL.Origins.page,
                [
                    "after": .text(after ?? ""), "limit": .int(most),
                    "counted": .int(Int64(OriginStatus.countedJobs)),
                ]
            ).rows
            let ids = try rows.map { try $0.int64("id") }
            var origins = try rows.map { try OriginStatus(row: $0) }
            let indexes = Dictionary(uniqueKeysWithValues: zip(ids, origins.indices))
            for row in try await connection.query(
                SQL.Origins.decisions, ["origins": .int64Array(ids)]
            ).rows {
                guard let index = indexes[try row.int64("origin_id")] else { continue }
                try origins[index].add(decision: row)
            }
            return OriginPage(
                defaults: try OriginLimits(row: base), origins: origins,
                next: origins.count == most ? origins.last?.origin : nil,
                now: try base.double("now"))
        }
    }
}

/// An origin in cooldown.
package struct CurrentCooldown: Sendable {
    package var origin: String
    package var seconds: Double
    /// End of the cooldown in microseconds since 1970, by the database's clock.
    package var until: Int64
    /// True if one job may try it nevertheless.
    package var isTried: Bool
}

extension OriginLimits {
    fileprivate init(row: PostgresRow) throws {
        self.init(
            connections: try row.optionalInt64("max_connections").map { Int($0) },
            requestsPerSecond: try row.optionalDouble("requests_per_second"),
            bytesPerSecond: try row.optionalInt64("bytes_per_second"))
    }
}

extension OriginStatus {
    /// Decodes a row of `Origins.page`.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            origin: try row.string("url"), limits: try OriginLimits(row: row),
            hasOwnLimits: try row.bool("has_own_limits"),
            cooldownUntil: try row.optionalDouble("cooldown_until"),
            breaker: OriginBreaker(rawValue: try row.string("breaker")) ?? .closed,
            reason: try row.optionalString("reason"),
            inUse: InUse(
                connections: Int(try row.int64("connections_in_use")),
                requestsPerSecond: try row.double("requests_in_use")),
            waiting: Int(try row.int64("waiting")), leased: Int(try row.int64("leased")))
        hasMoreWaiting = try row.bool("has_more_waiting") ? true : nil
    }

    /// Adds a row of `Origins.decisions`.
    fileprivate mutating func add(decision row: PostgresRow) throws {
        let at = try row.double("decided_at")
        guard let worker: WorkerID = try row.optionalUUID("worker_id") else {
            guard let decision = try OriginDecision(row: row) else { return }
            return decisions.append(
                Decision(at: at, decision: decision.kind.rawValue, reason: decision.reason))
        }
        workers.append(
            WorkerDecision(
                worker: worker, name: try row.optionalString("name") ?? "",
                concurrency: Int(try row.optionalInt64("concurrency") ?? 0),
                bytesPerSecond: try row.optionalInt64("bytes_per_second") ?? 0,
                decision: try row.string("decision"), reason: try row.string("reason"), at: at))
    }
}
