package import API
package import Model
import Postgres
import Schedule
import Services

/// Sites, their queues and their schedules.
package struct Sites: Sendable {
    let database: QueueDatabase
    package let limits: KnownLimits
    package let closed: ClosedSites
    package let shared: SharedFiles
    package let quotas: Quotas
    package let checksums: ChecksumFiles
    package let volumes: SiteVolumes
    package let audits: SiteAudits

    // MARK: Queues

    /// Returns all queues, by name.
    package func queues() async throws(Failure) -> [ClusterStatus.QueueStatus] {
        try await database.withConnection { connection in
            try Self.queues(try await connection.query(SQL.Browsing.queues))
        }
    }

    /// Decodes rows of `Browsing.queues`.
    static func queues(_ result: PostgresResult) throws -> [ClusterStatus.QueueStatus] {
        try result.rows.map { row in
            ClusterStatus.QueueStatus(
                name: try row.string("name"), storageURL: try row.string("storage_url"),
                state: QueueState(rawValue: try row.string("state")) ?? .active,
                waiting: Int(try row.int64("waiting")), leased: Int(try row.int64("leased")),
                isSiteClosed: try row.bool("closed"),
                siteBytesPerSecond: try row.optionalInt64("bytes_per_second"),
                siteFault: try Failure(in: row, code: "fault_code", message: "fault_message"))
        }
    }

    /// Pauses, resumes or drains a queue. Throws `input.notFound`.
    package func set(
        _ state: QueueState, ofQueue name: String
    ) async throws(Failure) -> ClusterStatus.QueueStatus {
        try await database.transaction { connection in
            let changed = try await connection.query(
                SQL.Browsing.setQueueState, ["name": .text(name), "state": .text(state.rawValue)])
            guard !changed.rows.isEmpty else {
                throw try await Failure.unknownQueue(name, connection)
            }
            if state != .paused { _ = try await connection.query(SQL.Common.notifyWork) }
            let all = try Self.queues(try await connection.query(SQL.Browsing.queues))
            guard let status = all.first(where: { $0.name == name }) else {
                throw try await Failure.unknownQueue(name, connection)
            }
            return status
        }
    }

    // MARK: Sites

    /// Returns all sites, by the names of their queues.
    package func list() async throws(Failure) -> SiteList {
        try await database.withConnection { connection in
            let rows = try await connection.query(SQL.Sites.status, ["site": .null]).rows
            var shares: [SiteID: [SiteStatus.Share]] = [:]
            for row in try await connection.query(SQL.Quotas.ofSites).rows {
                shares[SiteID(try row.int64("site_id")), default: []].append(
                    SiteStatus.Share(
                        worker: try row.uuid("worker_id"), name: try row.string("name"),
                        bytesPerSecond: try row.int64("bytes_per_second")))
            }
            return SiteList(
                sites: try rows.map { row in
                    var site = try SiteStatus(row: row)
                    site.shares = shares[site.id] ?? []
                    return site
                },
                now: try rows.first?.double("now") ?? 0)
        }
    }

    /// Returns the storage URL of the site that a storage URL or the name of a queue means. Throws
    /// `input.notFound`.
    package func storageURL(of name: String) async throws(Failure) -> String {
        try await database.withConnection { connection in
            guard let url = try await Self.storageURL(of: name, connection) else {
                throw Failure.unknownSite(name)
            }
            return url
        }
    }

    /// Returns the same on a connection; nil for an unknown site.
    static func storageURL(
        of name: String, _ connection: PostgresConnection
    ) async throws -> String? {
        try await connection.query(SQL.Sites.named, ["site": .text(name)]).firstRow?
            .string("storage_url")
    }

    /// Changes a site's settings, effective at once. Throws `input.notFound`, and `input.field` for
    /// an invalid schedule.
    package func configure(_ settings: SiteSettings) async throws(Failure) -> SiteStatus {
        let schedule = try settings.schedule.map { text throws(Failure) in
            text.isEmpty ? "" : try TransferSchedule(text).description
        }
        defer { limits.changed() }
        return try await database.transaction { connection in
            let named: SQLValues = ["site": .text(settings.site)]
            var before = try await connection.query(SQL.Sites.status, named)
            // The row of a site that exists is locked last.
            if settings.adds == true, before.rows.isEmpty {
                _ = try await Submissions.site(
                    settings.site, named: settings.name, connection)
                before = try await connection.query(SQL.Sites.status, named)
            }
            guard let row = before.firstRow else {
                throw Failure.unknownSite(settings.site)
            }
            let queue = try row.string("queue")
            if let name = settings.name, name != queue {
                throw Failure(
                    .inputField,
                    "name: \(name) was given; the site is there already, with the name \(queue), "
                        + "which does not change.")
            }
            let maximum = try Self.bound(
                settings.maximumBytesPerSecond, row, "max_bytes_per_second")
            let text = try schedule ?? row.string("schedule")
            let site = try row.int64("id")
            if try StorageURL(try row.string("storage_url")).cache != nil {
                try settings.checkOfCache()
            }
            let (floor, quota) = (
                try Self.bound(settings.floorBytes, row, "floor_bytes"),
                try Self.bound(settings.quotaBytes, row, "quota_bytes")
            )
            let (notBefore, expiresAt) = (
                try Self.bound(settings.notBefore, row, "not_before"),
                try Self.bound(settings.expiresAt, row, "expires_at")
            )
            try Self.check(notBefore: notBefore, expiresAt: expiresAt)
            let fetches = settings.maxFetches
            let serves =
                try settings.serves.map { $0.isEmpty ? nil : $0 }
                ?? row.optionalString("serves_url")
            if let origin = serves.flatMap({ originName(of: $0) }) {
                _ = try await connection.query(
                    SQL.Origins.list, ["origins": .textArray([origin])])
            }
            // Before the site's own row is locked, which comes last.
            let resumes = settings.resumes == true || settings.acceptsVolume == true
            if settings.floorBytes != nil || settings.quotaBytes != nil || resumes {
                _ = try await connection.query(SQL.Sites.tryRoom, ["site": .int(site)])
            }
            _ = try await connection.query(
                SQL.Sites.set,
                [
                    "site": .int(site), "schedule": .text(text),
                    "max_bytes_per_second": .optionalInt(maximum),
                    "floor_bytes": .optionalInt(floor), "quota_bytes": .optionalInt(quota),
                    "not_before": .optionalDouble(notBefore),
                    "expires_at": .optionalDouble(expiresAt),
                    "keep_seconds": .optionalDouble(
                        try Self.bound(settings.keepSeconds, row, "keep_seconds")),
                    "evict": .optionalText(settings.evict?.rawValue),
                    "max_fetches": .optionalInt(
                        try fetches.map { $0.count == 0 ? nil : Int64($0.count) }
                            ?? row.optionalInt64("max_fetches")),
                    "fetch_seconds": .optionalDouble(
                        try fetches.map { $0.count == 0 ? nil : $0.periodSeconds }
                            ?? row.optionalDouble("fetch_seconds")),
                    "max_sites": .optionalInt(
                        try Self.bound(settings.maxSites.map { Int64($0) }, row, "max_sites")),
                    "audit_seconds": .optionalInt(
                        try Self.bound(
                            settings.auditSeconds.map { Int64($0) }, row, "audit_seconds")),
                    "audit_deep": settings.auditIsDeep.map { .bool($0) } ?? .null,
                    "audit_repairs": settings.auditRepairs.map { .bool($0) } ?? .null,
                    "serves_url": .optionalText(serves),
                    "serves_origin": .optionalText(serves.flatMap { originName(of: $0) }),
                ])
            if settings.acceptsVolume == true {
                _ = try await connection.query(SQL.Sites.forgetVolume, ["site": .int(site)])
            }
            if resumes { _ = try await connection.query(SQL.Sites.resume, ["site": .int(site)]) }
            // A site resumes at once if its quota leaves space again.
            _ = try await ClosedSites.checkQuotas(of: site, connection)
            _ = try await connection.query(SQL.Sites.notify)
            try await Self.apply(
                text, maximum, to: site, now: try row.double("now"), connection)
            return try SiteStatus(row: try await connection.query(SQL.Sites.status, named).only())
        }
    }

    /// Returns the given value, or else that of `row`; 0 removes it.
    private static func bound(
        _ given: Int64?, _ row: PostgresRow, _ column: PostgresColumn
    ) throws -> Int64? {
        guard let given else { return try row.optionalInt64(column) }
        return given == 0 ? nil : given
    }

    private static func bound(
        _ given: Double?, _ row: PostgresRow, _ column: PostgresColumn
    ) throws -> Double? {
        guard let given else { return try row.optionalDouble(column) }
        return given == 0 ? nil : given
    }

    /// Throws `input.rights` if the site's assets could begin only when their rights have expired.
    private static func check(notBefore: Double?, expiresAt: Double?) throws {
        // PostgreSQL's times have microseconds.
        guard let notBefore, let expiresAt, expiresAt - notBefore < 1e-5 else { return }
        throw Failure(
            .inputRights,
            "expiresAt: the site would have \(timestamp(ofSeconds: expiresAt)), and notBefore "
                + "\(timestamp(ofSeconds: notBefore)); allowed: expiresAt later than notBefore. Set both, or "
                + "0 for the one that the site has to lose.")
    }

    /// Applies the schedules of sites by the database's clock: those whose next change is due, or
    /// all. Safe to run on all coordinators at once.
    package func applySchedules(all: Bool) async throws(Failure) {
        try await database.withConnection { connection in
            for row in try await connection.query(SQL.Sites.due, ["all": .bool(all)]).rows {
                try await Self.apply(
                    try row.string("schedule"), try row.optionalInt64("max_bytes_per_second"),
                    to: try row.int64("id"), now: try row.double("now"), connection)
            }
        }
    }

    private static func apply(
        _ text: String, _ maximum: Int64?, to site: Int64, now: Double,
        _ connection: PostgresConnection
    ) async throws {
        var bandwidth = Bandwidth.unlimited
        var nextChange: Double?
        if !text.isEmpty {
            let schedule = try TransferSchedule(text)
            guard let rules = TimeZoneRules(schedule.timeZone) else {
                throw Failure(
                    .inputField,
                    "schedule: in \(schedule.timeZone) was given; allowed: a time zone that there is."
                )
            }
            bandwidth = schedule.bandwidth(at: now) { rules.offsetSeconds(at: $0) }
            nextChange = schedule.nextChange(after: now) { rules.offsetSeconds(at: $0) }
        }
        let inForce = bandwidth.capped(at: maximum)
        let rate = inForce == .off ? nil : inForce.limit
        let changed = try await connection.query(
            SQL.Sites.apply,
            [
                "site": .int(site), "schedule": .text(text),
                "max_bytes_per_second": .optionalInt(maximum), "closed": .bool(inForce == .off),
                "bytes_per_second": .optionalInt(rate), "next_change": .optionalDouble(nextChange),
            ])
        guard changed.firstRow != nil else { return }
        _ = try await connection.query(SQL.Sites.notify)
    }
}

extension SiteStatus {
    /// Decodes a row of `Sites.status`.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: SiteID(try row.int64("id")), queue: try row.string("queue"),
            storageURL: try row.string("storage_url"), schedule: try row.string("schedule"),
            maximumBytesPerSecond: try row.optionalInt64("max_bytes_per_second"),
            isClosed: try row.bool("closed"),
            bytesPerSecond: try row.optionalInt64("bytes_per_second"),
            nextChange: try row.optionalDouble("next_change"))
        floorBytes = try row.optionalInt64("floor_bytes")
        quotaBytes = try row.optionalInt64("quota_bytes")
        notBefore = try row.optionalDouble("not_before")
        expiresAt = try row.optionalDouble("expires_at")
        keepSeconds = try row.optionalDouble("keep_seconds")
        evict = EvictionOrder(rawValue: try row.string("evict")) ?? .off
        if let count = try row.optionalInt64("max_fetches"),
            let seconds = try row.optionalDouble("fetch_seconds")
        {
            maxFetches = FetchLimit(count: Int(count), periodSeconds: seconds)
        }
        maxSites = try row.optionalInt64("max_sites").map { Int($0) }
        catalogs = Int(try row.int64("catalogs"))
        usedBytes = try StorageURL(storageURL).cache == nil ? row.int64("used_bytes") : nil
        auditSeconds = try row.optionalInt64("audit_seconds").map { Int($0) }
        auditIsDeep = try row.bool("audit_deep")
        auditRepairs = try row.bool("audit_repairs")
        serves = try row.optionalString("serves_url")
        availableBytes = try row.optionalInt64("available_bytes")
        volume = try row.optionalUUID("volume_id")
        fault = try Failure(in: row, code: "fault_code", message: "fault_message")
        faultSince = try row.optionalDouble("fault_since")
    }
}
