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
        let both: SQLValues = [
            "catalog": .int(catalog.rawValue), "generation": .int(generation),
        ]
        guard try row.int64("opened_generation") == generation else {
            throw Failure(
                .inputField,
                "catalog: \(catalog) is just being submitted again, which checks what is stored.")
        }
        if try await connection.query(SQL.Refreshing.isLacking, both).only().bool("is_lacking") {
            throw Failure(
                .inputField,
                "catalog: \(catalog) was interrupted, or has assets that are not started yet: submit it "
                    + "again, then refresh it.")
        }
        _ = try await lockWork(both, connection)
        let number: SQLValues = ["catalog": .int(catalog.rawValue)]
        _ = try await connection.query(SQL.Catalogs.fold, number)
        _ = try await connection.query(SQL.Refreshing.dropDeadline, number)
        _ = try await connection.query(
            SQL.Refreshing.lanes, both + ["queue": .int(try row.int64("queue_id"))])
        _ = try await connection.query(SQL.Starting.lockLanes, ["catalog": .int(catalog.rawValue)])
        let jobs = try await connection.query(
            SQL.Refreshing.jobs, both + ["assets": assets.map { .int64Array($0) } ?? .null]
        ).only()
        _ = try await connection.query(SQL.Starting.isolate, ["catalog": .int(catalog.rawValue)])
        var answer = SelectionAnswer(
            assets: Int(try jobs.int64("assets")), jobs: Int(try jobs.int64("jobs")))
        answer.catalog = catalog
        _ = try await connection.query(SQL.Starting.totals, both)
        _ = try await connection.query(SQL.Common.notifyWork)
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
            if job.kind == .switchOver {
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

    /// Rows of `Refreshing.stagedFiles`: one at least, which names no file where there are no more.
    private static func staged(_ rows: PostgresRows) throws -> RefreshFilesPage {
        guard let first = rows.first else {
            throw Failure(.workerLeaseLost, "The asset is not in the midst of a switch.")
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
                try await Self.store(warnings, of: job.asset, connection)
            }
            guard let wanted = batch.switchOver else { return .accepted }
            let granted = try await connection.query(
                SQL.Refreshing.grantSwitch,
                [
                    "asset": .int(job.asset), "lane": .int(job.lane), "job": .int(job.id.rawValue),
                    "lease": .uuid(batch.lease),
                    "segments": .optionalInt(wanted.segments.map(Int64.init)),
                ]
            ).only().bool("is_granted")
            return granted ? .accepted : .rejected
        }
    }

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
                try job.kind == .switchOver
                ? row.optionalInt64("segments") : refresh.segments.map(Int64.init)
            guard try segments != nil || row.bool("has_files") else { continue }
            let asset = PostgresValue.int(job.asset)
            if let segments {
                relisted.insert(job.id.rawValue)
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

    /// What the last refresh of a catalog came to, so far. Throws `input.notFound`.
    package func refreshSummary(of catalog: CatalogID) async throws(Failure) -> RefreshSummary {
        try await withConnection { connection in
            let id: SQLValues = ["catalog": .int(catalog.rawValue)]
            guard try await !connection.query(SQL.Catalogs.read, id).rows.isEmpty else {
                throw Self.unknown(catalog)
            }
            let counts = try await connection.query(SQL.Refreshing.summary, id).only()
            let failed = Int(try counts.int64("failed"))
            let failures =
                try failed == 0
                ? []
                : await connection.query(SQL.Refreshing.failures, id).rows.map {
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
    /// A row of `Refreshing.files`.
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
