package import API
package import Model
import Postgres

/// Running refreshes: the files that they check, and their results.
package struct Refreshes: Sendable {
    let database: QueueDatabase

    /// Returns a page of the files of an asset whose refresh a lease holds: stored ones, or staged
    /// ones. Throws `worker.leaseLost` if it does not.
    package func files(
        _ request: RefreshFilesRequest
    ) async throws(Failure) -> RefreshFilesPage {
        try await database.transaction { connection in
            let held = try await HeldJob.find(
                [request.job], [request.lease], request.worker, connection)[request.job]
            guard let job = held, job.kind == .refresh || job.kind == .publish else {
                throw Failure(.workerLeaseLost, "The lease does not hold the job.")
            }
            if request.after == nil, job.kind == .refresh {
                _ = try await connection.query(
                    SQL.Refreshing.forget, ["asset": .int(job.asset), "job": .int(job.id.rawValue)])
            }
            let values: SQLValues = [
                "asset": .int(job.asset), "after": .int(Int64(request.after ?? -1)),
                "limit": .int(Int64(WireLimits.pageRows)),
            ]
            if job.kind == .publish {
                return try Self.staged(
                    try await connection.query(SQL.Refreshing.stagedFiles, values).rows)
            }
            let rows = try await connection.query(SQL.Refreshing.files, values).rows
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

    /// Decodes rows of `Refreshing.stagedFiles`: at least one, which names no file if there are no
    /// more.
    private static func staged(_ rows: PostgresRows) throws -> RefreshFilesPage {
        guard let first = rows.first else {
            throw Failure(.workerLeaseLost, "The asset is not being published.")
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
                lease: try first.uuid("lease_id"), job: JobID(try first.int64("job_id")))
        )
    }

    /// Records the results of a refresh for some files; nothing of them counts before the job is
    /// reported done. Grants the publication on request.
    package func add(
        _ batch: RefreshBatch
    ) async throws(Failure) -> ReportAnswer.Verdict {
        let files = batch.files
        var names = OriginNames()
        let origins = try files.map { file throws(Failure) in
            try names.name(of: file.segment.url)
        }
        return try await database.transaction { connection in
            guard
                let job = try await HeldJob.find(
                    [batch.job], [batch.lease], batch.worker, connection)[batch.job]
            else { return .stale }
            if job.kind == .publish, batch.publication != nil {
                // A repeated request: the answer was lost.
                let granted = try await connection.query(
                    SQL.Refreshing.isGranted,
                    ["asset": .int(job.asset), "lease": .uuid(batch.lease)]
                ).only().bool("is_granted")
                return granted ? .accepted : .rejected
            }
            guard job.kind == .refresh, files.allSatisfy(\.stored.isPlausible) else {
                return .rejected
            }
            _ = try await connection.query(
                SQL.Origins.list, ["origins": .textArray(Set(origins).sorted())])
            _ = try await connection.query(
                SQL.Refreshing.store,
                [
                    "asset": .int(job.asset), "job": .int(job.id.rawValue),
                    "ordinals": .int64Array(files.map { Int64($0.segment.ordinal) }),
                    "origins": .textArray(origins), "urls": .textArray(files.map(\.segment.url)),
                    "keys": .textArray(files.map(\.segment.key)),
                    "roles": .textArray(files.map(\.segment.role.rawValue)),
                    "expected_bytes": .optionalIntArray(files.map(\.segment.bytes)),
                    "expected_sha256": .optionalTextArray(files.map(\.segment.sha256)),
                    "contents": .optionalTextArray(files.map(\.segment.content)),
                    "bytes": .int64Array(files.map(\.stored.bytes)),
                    "sha256": .textArray(files.map(\.stored.sha256)),
                    "validators": .optionalTextArray(files.map(\.validator)),
                    "verified": .boolArray(files.map { $0.verified ?? false }),
                    "staged": .optionalIntArray(files.map { $0.staged.map(Int64.init) }),
                    "mirrors": .optionalTextArray(
                        files.map { $0.segment.mirrors?.joined(separator: "\n") }),
                    "served_sha256": .optionalTextArray(files.map(\.segment.servedSHA256)),
                ])
            if let warnings = batch.warnings {
                try await SegmentStore.store(warnings, of: job.asset, connection)
            }
            guard let wanted = batch.publication else { return .accepted }
            let awaited = try await connection.pipeline([
                PurgeGuard.share(asset: job.asset), PurgeGuard.awaited(asset: job.asset),
            ])
            try PurgeGuard.check(awaited.last)
            let granted = try await connection.query(
                SQL.Refreshing.grantPublication,
                [
                    "asset": .int(job.asset), "lane": .int(job.lane), "job": .int(job.id.rawValue),
                    "lease": .uuid(batch.lease),
                    "segments": .optionalInt(wanted.segments.map(Int64.init)),
                ]
            ).only().bool("is_granted")
            if granted, let leftOut = wanted.leftOut {
                try await OptionalRenditions.note(leftOut, of: job.asset, connection)
            }
            return granted ? .accepted : .rejected
        }
    }

    /// Returns the results of a catalog's last refresh so far. Throws `input.notFound`.
    package func summary(of catalog: CatalogID) async throws(Failure) -> RefreshSummary {
        try await database.withConnection { connection in
            let id: SQLValues = ["catalog": .int(catalog.rawValue)]
            guard try await !connection.query(SQL.Catalogs.read, id).rows.isEmpty else {
                throw Failure.unknownCatalog(catalog)
            }
            let counts = try await connection.query(SQL.Refreshing.summary, id).only()
            let failed = Int(try counts.int64("failed"))
            func assets(_ statement: SQL.Refreshing) async throws -> [AssetStatus] {
                try await connection.query(statement, id).rows.map { try AssetStatus(row: $0) }
            }
            var summary = RefreshSummary(
                unchanged: Int(try counts.int64("unchanged")),
                changed: Int(try counts.int64("changed")), failed: failed,
                failures: try await failed == 0 ? [] : assets(SQL.Refreshing.failures))
            let lacking = Int(try counts.int64("lacking"))
            if lacking > 0 {
                summary.withoutRenditions = lacking
                summary.lacking = try await assets(SQL.Refreshing.lacking)
            }
            return summary
        }
    }
}

extension RefreshFile {
    /// Decodes a row of `Refreshing.files`.
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
        isRewritten = try row.bool("is_rewritten") ? true : nil
    }
}
