package import API
package import Model
import Postgres

/// Audits of sites, as their clients see them.
package struct SiteAudits: Sendable {
    let database: QueueDatabase
    package let work: SiteAuditWork

    init(database: QueueDatabase, leaseSeconds: Double, pageRecords: Int) {
        self.database = database
        work = SiteAuditWork(
            database: database, leaseSeconds: leaseSeconds, pageRecords: pageRecords)
    }

    /// Creates an audit of a site and calls a worker for it.
    ///
    /// Throws `input.notFound` for an unknown site, and `input.auditRunning` while another audit of it
    /// has not ended.
    package func create(
        _ audit: SiteAuditSubmission, key: RequestKey? = nil
    ) async throws(Failure) -> SiteAuditStatus {
        try await database.once(key) { connection in
            guard
                let site = try await connection.query(
                    SQL.Audits.site, ["site": .text(audit.site)]
                ).firstRow
            else { throw Failure.unknownSite(audit.site) }
            guard try !site.bool("is_cache") else {
                throw Failure(.inputCacheSite, "The site \(try site.string("queue")) is a cache.")
            }
            let rate = audit.readBytesPerSecond ?? WireLimits.auditReadBytesPerSecond
            let created = try await connection.query(
                SQL.Audits.create,
                [
                    "site": .int(try site.int64("id")), "is_deep": .bool(audit.isDeep == true),
                    "repairs": .bool(audit.repairs == true),
                    "read_bytes_per_second": .optionalInt(rate == 0 ? nil : rate),
                    "files_per_second": .optionalInt(audit.filesPerSecond.map { Int64($0) }),
                ])
            guard let id = try created.firstRow?.int64("id") else {
                throw Failure(
                    .inputAuditRunning,
                    "Another audit of the site \(try site.string("queue")) has not ended.")
            }
            _ = try await connection.query(SQL.Audits.notify)
            return try await Self.read(SiteAuditID(id), connection)
        }
    }

    /// Returns a page of audits, the latest first, of one site or all; `after` is the previous
    /// page's `next`. Throws `input.notFound` for an unknown site.
    package func page(
        site: String?, after: Int64?, limit: Int
    ) async throws(Failure) -> SiteAuditPage {
        try await database.withConnection { connection in
            var id: Int64?
            if let site {
                guard
                    let row = try await connection.query(
                        SQL.Audits.site, ["site": .text(site)]
                    ).firstRow
                else { throw Failure.unknownSite(site) }
                id = try row.int64("id")
            }
            let audits = try await connection.query(
                SQL.Audits.status,
                [
                    "audit": .null, "site": .optionalInt(id), "before": .optionalInt(after),
                    "limit": .int(limit),
                ]
            ).rows.map { try SiteAuditStatus(row: $0) }
            return SiteAuditPage(
                audits: audits, next: audits.count < limit ? nil : audits.last.map { "\($0.id)" })
        }
    }

    /// Throws `input.notFound`.
    package func status(of id: SiteAuditID) async throws(Failure) -> SiteAuditStatus {
        try await database.withConnection { try await Self.read(id, $0) }
    }

    /// Returns a page of an audit's findings; `after` is the previous page's `next`. Throws
    /// `input.notFound`.
    package func findings(
        of id: SiteAuditID, kind: AuditFindingKind?, after: Int64?, limit: Int
    ) async throws(Failure) -> AuditFindingPage {
        try await database.withConnection { connection in
            _ = try await Self.read(id, connection)
            let rows = try await connection.query(
                SQL.Audits.findings,
                [
                    "audit": .int(id.rawValue), "after": .int(after ?? 0),
                    "kind": .optionalText(kind?.rawValue), "limit": .int(limit),
                ]
            ).rows
            return AuditFindingPage(
                findings: try rows.map { try AuditFinding(row: $0) },
                next: rows.count < limit ? nil : try rows.last.map { "\(try $0.int64("id"))" })
        }
    }

    /// Ends an audit; its worker stops at its next report. Throws `input.notFound`.
    package func cancel(_ id: SiteAuditID) async throws(Failure) -> SiteAuditStatus {
        try await database.transaction { connection in
            if try await connection.query(
                SQL.Audits.cancel, ["audit": .int(id.rawValue)]
            ).firstRow != nil {
                try await SiteAuditWork.end(id, .cancel, nil, connection)
            }
            return try await Self.read(id, connection)
        }
    }

    private static func read(
        _ id: SiteAuditID, _ connection: PostgresConnection
    ) async throws -> SiteAuditStatus {
        let row = try await connection.query(
            SQL.Audits.status,
            ["audit": .int(id.rawValue), "site": .null, "before": .null, "limit": .int(1)]
        ).firstRow
        guard let row else {
            throw Failure.notFound("There is no audit \(id).", listedBy: "dray audit list")
        }
        return try SiteAuditStatus(row: row)
    }

    // MARK: Housekeeping

    /// Attempts at an audit without progress, after which it has failed.
    private static let maxTries = 5
    /// Time without a worker, after which an audit has failed: the site's schedule makes another one.
    private static let maxIdleSeconds = 86_400.0

    /// Creates audits that are due, by schedules of sites and for lost workers' files; ends those
    /// that make no progress or that no worker takes; deletes old ones. Returns the number of new audits. Safe to
    /// run on all coordinators at once.
    @discardableResult
    package func reconcile() async throws(Failure) -> Int {
        try await database.transaction { connection in
            let stuck = try await connection.query(
                SQL.Audits.stuck,
                ["tries": .int(Self.maxTries), "idle_seconds": .double(Self.maxIdleSeconds)])
            for row in stuck.rows {
                let failure =
                    try row.bool("is_without_progress")
                    ? Failure(
                        .workerLost,
                        "\(Self.maxTries) tries in a row made no progress or lost their workers.")
                    : Failure(
                        .clusterNoWork,
                        "No worker has taken it for a day: see that one of the site's queue runs, "
                            + "and that the queue is not paused.")
                try await SiteAuditWork.end(
                    SiteAuditID(try row.int64("id")), .fail, failure, connection)
            }
            let created = try await connection.query(
                SQL.Audits.createDue,
                ["read_bytes_per_second": .int(WireLimits.auditReadBytesPerSecond)]
            ).rows.count
            if created > 0 { _ = try await connection.query(SQL.Audits.notify) }
            _ = try await connection.query(
                SQL.Audits.trim, ["keep": .int(WireLimits.auditsPerSite)])
            return created
        }
    }

    /// Returns the audits that need a worker.
    package func called() async throws(Failure) -> [SiteAuditCall] {
        try await database.withConnection { connection in
            try await connection.query(SQL.Audits.called).rows.map {
                SiteAuditCall(
                    id: SiteAuditID(try $0.int64("id")), queue: try $0.string("queue"))
            }
        }
    }
}

extension SiteAuditStatus {
    /// Decodes a row of `Audits.status`.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            id: SiteAuditID(try row.int64("id")), site: SiteID(try row.int64("site_id")),
            queue: try row.string("queue"), storageURL: try row.string("storage_url"),
            isDeep: try row.bool("is_deep"), repairs: try row.bool("repairs"),
            isScheduled: try row.bool("is_scheduled"),
            state: SiteAuditState(rawValue: try row.string("state")) ?? .failed,
            created: try row.double("created"), now: try row.double("now"))
        started = try row.optionalDouble("started")
        ended = try row.optionalDouble("ended")
        worker = try row.optionalString("worker_name")
        expectedFiles = try row.optionalInt64("expected_files")
        expectedBytes = try row.optionalInt64("expected_bytes")
        checkedFiles = try row.int64("checked_files")
        files = try row.int64("files")
        bytes = try row.int64("bytes")
        readBytes = try row.int64("read_bytes")
        let uncompared = try row.int64("uncompared_files")
        if uncompared > 0 {
            (uncomparedFiles, uncomparedBytes) = (uncompared, try row.int64("uncompared_bytes"))
        }
        failure = try Failure(in: row)
        findings = (try row.optionalString("findings") ?? "").split(separator: ",").compactMap {
            let fields = $0.split(separator: " ")
            guard fields.count == 4, let kind = AuditFindingKind(rawValue: String(fields[0])),
                let found = Int64(fields[1]), let repaired = Int64(fields[2])
            else { return nil }
            let bytes = Int64(fields[3]) ?? 0
            return Count(
                kind: kind, found: found, repaired: repaired, bytes: bytes > 0 ? bytes : nil)
        }
        findings.sort { AuditFindingKind.order($0.kind) < AuditFindingKind.order($1.kind) }
        secondsLeft = estimate(since: try row.optionalDouble("listed"))
    }

    /// Estimates the rest by the rate since the records were listed: of bytes in a deep audit, of
    /// files in another.
    private func estimate(since listed: Double?) -> Double? {
        guard state == .running, let listed, let expectedFiles, let expectedBytes else {
            return nil
        }
        let (done, all) =
            isDeep ? (readBytes, expectedBytes) : (checkedFiles, expectedFiles)
        guard done > 0, now > listed else { return nil }
        return Double(max(all - done, 0)) * (now - listed) / Double(done)
    }
}

extension AuditFindingKind {
    fileprivate static func order(_ kind: Self) -> Int { allCases.firstIndex(of: kind) ?? 0 }
}

extension AuditFinding {
    /// Decodes a row of `Audits.findings`.
    fileprivate init(row: PostgresRow) throws {
        self.init(
            kind: AuditFindingKind(rawValue: try row.string("kind")) ?? .foreign,
            path: try row.string("path"), bytes: try row.optionalInt64("bytes"),
            expectedBytes: try row.optionalInt64("expected_bytes"),
            repair: AuditRepair(rawValue: try row.string("repair")) ?? .none)
    }
}
