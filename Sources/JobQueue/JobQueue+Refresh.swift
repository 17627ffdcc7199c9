package import Model
import Postgres

/// Completed assets whose files are asked for anew: a job an asset, because what has changed of one changes at
/// once.
extension JobQueue {
    /// Gives what is selected of a catalog, whose lock is held, its refresh. What is under way is left alone.
    static func refresh(
        _ assets: [Int64]?, of catalog: CatalogID, _ row: PostgresRow,
        _ connection: PostgresConnection
    ) async throws -> SelectionAnswer {
        let generation = try row.int64("generation")
        let both: [PostgresValue] = [.int(catalog.rawValue), .int(generation)]
        guard try row.int64("opened_generation") == generation else {
            throw Failure(
                "input.field",
                "catalog: \(catalog) is just being submitted again, which checks what is stored.")
        }
        if try await connection.query(SQL.refreshLacking, both).only().bool(0) {
            throw Failure(
                "input.field",
                "catalog: \(catalog) was interrupted, or has assets that are not started yet: submit it "
                    + "again, then refresh it.")
        }
        _ = try await lockWork(both, connection)
        _ = try await connection.query(SQL.catalogFold, [.int(catalog.rawValue)])
        _ = try await connection.query(SQL.refreshDeadline, [.int(catalog.rawValue)])
        _ = try await connection.query(
            SQL.refreshLanes, both + [.int(try row.int64("queue_id"))])
        _ = try await connection.query(SQL.startLockLanes, [.int(catalog.rawValue)])
        let jobs = try await connection.query(
            SQL.refreshJobs, both + [assets.map { .int64Array($0) } ?? .null]
        ).only()
        _ = try await connection.query(SQL.startIsolate, [.int(catalog.rawValue)])
        var answer = SelectionAnswer(
            assets: Int(try jobs.int64("assets")), jobs: Int(try jobs.int64("jobs")))
        answer.catalog = catalog
        _ = try await connection.query(SQL.startTotals, both)
        _ = try await connection.query(SQL.notifyWork, [])
        return answer
    }

    /// A page of the files of an asset whose refresh or switch a lease holds: those that are stored, or staged. Throws
    /// `worker.leaseLost` where it does not.
    package func refreshFiles(
        _ request: RefreshFilesRequest
    ) async throws(Failure) -> RefreshFilesPage {
        try await transaction { connection in
            let held = try await Self.held(
                [request.job], [request.lease], request.worker, connection)[request.job]
            guard let job = held, job.kind == .refresh || job.kind == .switchOver else {
                throw Failure("worker.leaseLost", "The lease does not hold the job.")
            }
            if request.after == nil, job.kind == .refresh {
                _ = try await connection.query(
                    SQL.refreshForget, [.int(job.asset), .int(job.id.rawValue)])
            }
            let values: [PostgresValue] = [
                .int(job.asset), .int(Int64(request.after ?? -1)), .int(Int64(WireLimits.pageRows)),
            ]
            if job.kind == .switchOver {
                return try Self.staged(try await connection.query(SQL.switchFiles, values).rows)
            }
            let rows = try await connection.query(SQL.refreshFiles, values).rows
            return Self.page(try rows.map { try RefreshFile(row: $0) })
        }
    }

    private static func page(
        _ files: [RefreshFile], _ staging: RefreshFilesPage.Staging? = nil
    ) -> RefreshFilesPage {
        RefreshFilesPage(
            files: files,
            next: files.count == WireLimits.pageRows ? files.last?.segment.ordinal : nil,
            staging: staging)
    }

    /// Rows of `switch_files.sql`: one at least, which names no file where there are no more.
    private static func staged(_ rows: PostgresRows) throws -> RefreshFilesPage {
        guard let first = rows.first else {
            throw Failure("worker.leaseLost", "The asset is not in the midst of a switch.")
        }
        let files = try rows.filter { try $0.optionalInt64("ordinal") != nil }.map { row in
            var file = RefreshFile(
                segment: ResolvedSegment(
                    ordinal: Int(try row.int64("ordinal")), url: try row.string("url"),
                    key: try row.string("key"),
                    role: SegmentRole(rawValue: try row.string("role")) ?? .file),
                stored: StoredObject(
                    bytes: try row.int64("bytes"), sha256: try row.string("sha256")))
            file.staged = Int(try row.int64("staged"))
            return file
        }
        return page(
            files,
            RefreshFilesPage.Staging(
                lease: LeaseID(try first.string("lease_id")), job: JobID(try first.int64("job_id")))
        )
    }

    /// Takes note of files as a refresh found them; nothing of it counts before the job is reported done. Grants
    /// the switch where it is asked for.
    package func addRefreshed(
        _ batch: RefreshBatch
    ) async throws(Failure) -> ReportAnswer.Verdict {
        let files = batch.files
        var names = OriginNames()
        let origins = try files.map { file throws(Failure) in
            try names.name(of: file.segment.url)
        }
        return try await transaction { connection in
            guard
                let job = try await Self.held(
                    [batch.job], [batch.lease], batch.worker, connection)[batch.job]
            else { return .stale }
            if job.kind == .switchOver, batch.switchOver != nil {
                // Asked once more: the answer was lost.
                let granted = try await connection.query(
                    SQL.switchGranted, [.int(job.asset), .uuid(batch.lease)]
                ).only().bool(0)
                return granted ? .accepted : .rejected
            }
            guard job.kind == .refresh, files.allSatisfy(\.stored.isPlausible) else {
                return .rejected
            }
            _ = try await connection.query(
                SQL.originsListed, [.textArray(Set(origins).sorted())])
            _ = try await connection.query(
                SQL.refreshedStore,
                [
                    .int(job.asset), .int(job.id.rawValue),
                    .int64Array(files.map { Int64($0.segment.ordinal) }),
                    .textArray(origins), .textArray(files.map(\.segment.url)),
                    .textArray(files.map(\.segment.key)),
                    .textArray(files.map(\.segment.role.rawValue)),
                    .optionalIntArray(files.map(\.segment.bytes)),
                    .optionalTextArray(files.map(\.segment.sha256)),
                    .optionalTextArray(files.map(\.segment.content)),
                    .int64Array(files.map(\.stored.bytes)),
                    .textArray(files.map(\.stored.sha256)),
                    .optionalTextArray(files.map(\.validator)),
                    .boolArray(files.map { $0.verified ?? false }),
                    .optionalIntArray(files.map { $0.staged.map(Int64.init) }),
                    .optionalTextArray(files.map { $0.segment.mirrors?.joined(separator: "\n") }),
                    .optionalTextArray(files.map(\.segment.servedSHA256)),
                ])
            if let warnings = batch.warnings {
                try await Self.store(warnings, of: job.asset, connection)
            }
            guard let wanted = batch.switchOver else { return .accepted }
            let granted = try await connection.query(
                SQL.switchGrant,
                [
                    .int(job.asset), .int(job.lane), .int(job.id.rawValue), .uuid(batch.lease),
                    .optionalInt(wanted.segments.map(Int64.init)),
                ]
            ).only().bool(0)
            return granted ? .accepted : .rejected
        }
    }

    /// Ends refreshes, whose jobs are locked.
    static func settle(
        _ refreshes: ReportPlan.Refreshes, _ connection: PostgresConnection
    ) async throws {
        var relisted = Set(refreshes.found.filter { $0.segments != nil }.map(\.job.id.rawValue))
        let handedIn = try await connection.query(
            SQL.refreshedFound, [.int64Array(refreshes.found.map(\.job.asset))]
        ).rows
        for (refresh, row) in zip(refreshes.found, handedIn) {
            let job = refresh.job
            let segments =
                try job.kind == .switchOver
                ? row.optionalInt64("segments") : refresh.segments.map(Int64.init)
            guard try segments != nil || row.bool("has_files") else { continue }
            let asset = PostgresValue.int(job.asset)
            if let segments {
                relisted.insert(job.id.rawValue)
                _ = try await connection.query(SQL.resolvedTrim, [asset, .int(segments)])
            }
            _ = try await connection.query(SQL.refreshedSegments, [asset])
            _ = try await connection.query(
                SQL.refreshedResults, [asset, .int(Int64(job.attempt))])
            guard let segments else { continue }
            let origins = try await connection.query(SQL.resolvedOrigins, [asset]).rows
            let stored = try origins.reduce(0) { $0 + (try $1.int64("segments")) }
            guard stored == segments else {
                throw Failure(
                    "cluster.protocol",
                    "A refresh reported \(segments) segments; \(stored) had arrived.")
            }
        }
        _ = try await connection.query(
            SQL.refreshSettle,
            [
                .int64Array(refreshes.lanes), .int64Array(refreshes.jobs),
                .textArray(refreshes.outcomes.map(\.rawValue)),
                .optionalTextArray(refreshes.codes), .optionalTextArray(refreshes.messages),
                .boolArray(refreshes.jobs.map { relisted.contains($0) }),
            ])
    }

    /// What the last refresh of a catalog came to, so far. Throws `input.notFound`.
    package func refreshSummary(of catalog: CatalogID) async throws(Failure) -> RefreshSummary {
        try await withConnection { connection in
            let id: [PostgresValue] = [.int(catalog.rawValue)]
            guard try await !connection.query(SQL.catalogRead, id).rows.isEmpty else {
                throw Self.unknown(catalog)
            }
            let counts = try await connection.query(SQL.refreshSummary, id).only()
            let failed = Int(try counts.int64("failed"))
            let failures =
                try failed == 0
                ? []
                : await connection.query(SQL.refreshFailures, id).rows.map {
                    try AssetStatus(row: $0)
                }
            return RefreshSummary(
                unchanged: Int(try counts.int64("unchanged")),
                changed: Int(try counts.int64("changed")), failed: failed,
                failures: failures)
        }
    }
}

extension RefreshFile {
    /// A row of `refresh_files.sql`.
    fileprivate init(row: PostgresRow) throws {
        var segment = ResolvedSegment(
            ordinal: Int(try row.int64("ordinal")), url: try row.string("url"),
            key: try row.string("key"),
            role: SegmentRole(rawValue: try row.string("role")) ?? .file)
        segment.bytes = try row.optionalInt64("expected_bytes")
        segment.sha256 = try row.optionalString("expected_sha256")
        segment.mirrors = try row.optionalString("mirrors")?.split(separator: "\n").map(String.init)
        self.init(
            segment: segment,
            stored: StoredObject(bytes: try row.int64("bytes"), sha256: try row.string("sha256")))
        digests = try row.optionalString("expected_digests")
        validator = try row.optionalString("validator")
        verified = try row.optionalBool("verified")
        isOptional = try row.bool("optional") ? true : nil
        isDocument = try row.bool("is_document") ? true : nil
    }
}
