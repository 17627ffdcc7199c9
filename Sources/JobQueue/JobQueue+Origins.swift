package import Model
import Postgres

/// Limits of origins, and what was decided about them.
extension JobQueue {
    /// Origins on one page at most; each costs a look at its decisions.
    private static let originsPerPage = 500
    /// Origins without a row that one report makes one for. Nothing is booked on the others.
    private static let mostMetAtOnce: Int64 = 100
    /// An origin that no list names is forgotten so long after it did something. Nothing is left alone for
    /// longer.
    private static let unlistedSeconds = 3_600.0

    /// Forgets origins that no list names, and about which there is nothing to remember any more.
    func forgetOrigins() async throws(Failure) {
        try await withConnection { connection in
            _ = try await connection.query(SQL.originsForget, [.double(Self.unlistedSeconds)])
        }
    }

    /// Sets or clears limits. Throws `input.notFound` for an origin to clear that is not known.
    package func setLimits(_ change: OriginLimitsChange) async throws(Failure) {
        let limits = change.limits ?? OriginLimits()
        let values: [PostgresValue] = [
            .optionalInt(limits.connections.map { Int64($0) }),
            .optionalDouble(limits.requestsPerSecond), .optionalInt(limits.bytesPerSecond),
        ]
        defer { sitesChanged() }
        try await transaction { connection in
            switch (change.origin, change.limits) {
            case (nil, _):
                _ = try await connection.query(SQL.originLimitsDefault, values)
            case (let origin?, .some):
                _ = try await connection.query(SQL.originLimitsSet, [.text(origin)] + values)
            case (let origin?, nil):
                let cleared = try await connection.query(SQL.originLimitsClear, [.text(origin)])
                guard !cleared.rows.isEmpty else {
                    throw Failure("input.notFound", "There is no origin \(origin.prefix(100)).")
                }
            }
            // There may be more to hand out now, and limits to divide.
            _ = try await connection.query(SQL.notifySites, [])
        }
    }

    /// Books what a report says of origins, each on the one that did it.
    ///
    /// Their rows are locked first, all in the order of their numbers, so that reports do not wait for
    /// each other in a circle.
    func book(_ origins: ReportPlan.Origins, _ connection: PostgresConnection) async throws {
        let (well, failed, cooling) = (origins.well, origins.failed, origins.cooling)
        let met = failed.names + cooling.names
        // One that no list names has no row until it does something that has to be remembered.
        let named = Set(met.compactMap(\.self)).sorted()
        if !named.isEmpty {
            _ = try await connection.query(
                SQL.originsMet,
                [
                    .textArray(named), .int(Int64(settings.mostUnlistedOrigins)),
                    .int(Self.mostMetAtOnce),
                ])
        }
        let wells: [PostgresValue] = [.int64Array(well.lanes), .optionalTextArray(well.names)]
        _ = try await connection.query(
            SQL.originsLock,
            [.int64Array(failed.lanes + cooling.lanes), .optionalTextArray(met)] + wells)
        if !well.lanes.isEmpty { _ = try await connection.query(SQL.originsWell, wells) }
        if !failed.lanes.isEmpty {
            let breaker = settings.breaker
            _ = try await connection.query(
                SQL.originsFailed,
                [
                    .int64Array(failed.lanes), .optionalTextArray(failed.codes),
                    .int(Int64(breaker.failures)), .double(breaker.firstSeconds),
                    .double(breaker.longestSeconds), .int(Int64(breaker.openings)),
                    .optionalTextArray(failed.names),
                ])
        }
        if !cooling.lanes.isEmpty {
            _ = try await connection.query(
                SQL.originsCooldown,
                [
                    .int64Array(cooling.lanes), .optionalTextArray(cooling.names),
                    .doubleArray(cooling.seconds), .optionalTextArray(cooling.codes),
                ])
        }
    }

    /// A page of origins by name, from the one after `after`, `limit` or 500 at most.
    package func origins(after: String?, limit: Int) async throws(Failure) -> OriginPage {
        let most = min(limit, Self.originsPerPage)
        return try await transaction { connection in
            _ = try await connection.query(SQL.planInBulk, [])
            let base = try await connection.query(SQL.originsDefault, []).only()
            let rows = try await connection.query(
                SQL.originsPage, [.text(after ?? ""), .int(most)]
            ).rows
            let ids = try rows.map { try $0.int64("id") }
            var origins = try rows.map { try OriginStatus(row: $0) }
            let places = Dictionary(uniqueKeysWithValues: zip(ids, origins.indices))
            for row in try await connection.query(SQL.originDecisions, [.int64Array(ids)]).rows {
                guard let place = places[try row.int64("origin_id")] else { continue }
                try origins[place].add(decision: row)
            }
            return OriginPage(
                defaults: try OriginLimits(row: base), origins: origins,
                next: origins.count == most ? origins.last?.origin : nil,
                now: try base.double("now"))
        }
    }
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
    /// A row of `origins_page.sql`.
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
    }

    /// Adds a row of `origin_decisions.sql`.
    fileprivate mutating func add(decision row: PostgresRow) throws {
        let at = try row.double("decided_at")
        let decision = try row.string("decision")
        let reason = try row.string("reason")
        guard let worker = try row.optionalString("worker_id") else {
            return decisions.append(Decision(at: at, decision: decision, reason: reason))
        }
        workers.append(
            WorkerDecision(
                worker: worker, name: try row.optionalString("name") ?? "",
                concurrency: Int(try row.optionalInt64("concurrency") ?? 0),
                bytesPerSecond: try row.optionalInt64("bytes_per_second") ?? 0,
                decision: decision, reason: reason, at: at))
    }
}
