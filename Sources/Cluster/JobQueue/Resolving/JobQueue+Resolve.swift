package import Model
import Postgres

extension JobQueue {
    /// Stores segments that a leased resolve job found; they get no jobs before it is reported done.
    package func addSegments(
        _ batch: SegmentBatch
    ) async throws(Failure) -> ReportAnswer.Verdict {
        var names = OriginNames()
        let origins = try batch.segments.map { segment throws(Failure) in
            try names.name(of: segment.url)
        }
        return try await transaction { connection in
            guard
                let job = try await Self.held(
                    [batch.job], [batch.lease], batch.worker, connection)[batch.job]
            else {
                return .stale
            }
            guard job.kind == .resolve else { return .rejected }
            guard !job.isRenewal else {
                try await self.renew(batch.segments, origins, of: job.asset, connection)
                return .accepted
            }
            let ordinals = batch.segments.map(\.ordinal)
            guard let first = ordinals.min(), let last = ordinals.max() else { return .accepted }
            // The job is locked: nobody else lists segments of its asset.
            let isKnown = try await connection.query(
                SQL.Resolving.areKnown,
                ["asset": .int(job.asset), "first": .int(first), "last": .int(last)]
            ).only().bool("is_known")
            if isKnown {
                try await Self.merge(batch.segments, origins, into: job.asset, connection)
            } else {
                try await Self.copy(batch.segments, origins, into: job.asset, connection)
            }
            if first == 0 {
                try await Self.store(batch.warnings, of: job.asset, connection)
            }
            // Of those that were known before, some may have had one.
            let documents =
                isKnown ? batch.segments : batch.segments.filter { $0.content != nil }
            if !documents.isEmpty {
                _ = try await connection.query(
                    SQL.Resolving.storeDocuments,
                    [
                        "asset": .int(job.asset),
                        "ordinals": .int64Array(documents.map { Int64($0.ordinal) }),
                        "contents": .textArray(documents.map(\.content)),
                        "digests": .optionalTextArray(documents.map(\.servedSHA256)),
                    ])
            }
            return .accepted
        }
    }

    /// Stores what is to be known of a title's manifests.
    static func store(
        _ warnings: ManifestWarnings?, of asset: Int64, _ connection: PostgresConnection
    ) async throws {
        let text = try warnings.flatMap { try $0.isEmpty ? nil : WireJSON.encode($0) }
        _ = try await connection.query(
            SQL.Resolving.warnings,
            [
                "asset": .int(asset),
                "warnings": .optionalText(text.map { String(decoding: $0, as: UTF8.self) }),
            ])
    }

    /// Stores segments none of which was there before.
    private static func copy(
        _ segments: [ResolvedSegment], _ origins: [String], into asset: Int64,
        _ connection: PostgresConnection
    ) async throws {
        let urls = PostgresValue.textArray(Set(origins).sorted())
        // The second statement sees those that somebody else has just made.
        let results = try await connection.pipeline([
            PostgresStatement(SQL.Origins.list, ["origins": urls]),
            PostgresStatement(SQL.Origins.named, ["origins": urls]),
        ])
        var ids: [String: Int64] = [:]
        for row in results[1].rows { ids[try row.string("url")] = try row.int64("id") }
        let rows = try zip(segments, origins).map { segment, origin in
            guard let id = ids[origin] else {
                throw Failure(.workerInternal, "The origin \(origin) is gone.")
            }
            return (segment, id)
        }
        try await connection.copyIn(
            SQL.Resolving.copySegments.text,
            rows: rows.lazy.map { columns(of: $0) + [.int(asset), .int($1)] })
    }

    /// Stores segments some of which an earlier try of the job, or an earlier start, has stored.
    private static func merge(
        _ segments: [ResolvedSegment], _ origins: [String], into asset: Int64,
        _ connection: PostgresConnection
    ) async throws {
        try await stage(segments, origins, connection)
        _ = try await connection.query(SQL.Resolving.mergeSegments, ["asset": .int(asset)])
        _ = try await connection.query(SQL.Resolving.mergeMirrors, ["asset": .int(asset)])
    }

    /// Puts segments where statements find them, and makes the origins that they name.
    static func stage(
        _ segments: [ResolvedSegment], _ origins: [String], _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.simple(SQL.Resolving.stageSegments.text)
        try await connection.copyIn(
            SQL.Resolving.copyStaged.text,
            rows: zip(segments, origins).lazy.map { columns(of: $0) + [.text($1)] })
        _ = try await connection.query(SQL.Resolving.origins)
    }

    private static func columns(of segment: ResolvedSegment) -> [PostgresValue] {
        [
            .int(segment.ordinal), .text(segment.url), .text(segment.key),
            .text(segment.role.rawValue), .optionalInt(segment.bytes),
            .optionalText(segment.sha256),
            .optionalText(segment.mirrors?.joined(separator: "\n")),
        ]
    }

    /// Ends a resolve job: its asset has `segments` segments, all sent before, and each gets a job.
    func resolved(
        _ job: HeldJob, segments: Int, _ connection: PostgresConnection
    ) async throws -> Bool {
        let asset: SQLValues = ["asset": .int(job.asset)]
        let found = try await connection.pipeline([
            PostgresStatement(SQL.Resolving.trim, asset + ["segments": .int(Int64(segments))]),
            PostgresStatement(SQL.Resolving.sidecars, asset),
            PostgresStatement(SQL.Resolving.segmentOrigins, asset),
            PostgresStatement(SQL.KnownFiles.sources, asset),
        ])
        let origins = found[2].rows
        let stored = try origins.reduce(0) { $0 + (try $1.int64("segments")) }
        guard stored == Int64(segments) else {
            throw Failure(
                .clusterProtocol,
                "A resolve job reported \(segments) segments; \(stored) had arrived.")
        }
        if let taken = try await connection.query(SQL.KeyConflicts.resolvedHolder, asset).firstRow {
            return try await refuse(job, taken, connection)
        }
        let sources = try found[3].rows.map { try $0.int64("id") }
        if !sources.isEmpty { try await Self.noteKnown(job.asset, from: sources, connection) }
        let lanes: SQLValues = [
            "lane": .int(job.lane), "asset": .int(job.asset),
            "origins": .int64Array(try origins.map { try $0.int64("origin_id") }),
        ]
        _ = try await connection.pipeline([
            PostgresStatement(SQL.Resolving.lanes, lanes),
            PostgresStatement(SQL.Resolving.lockLanes, lanes),
            PostgresStatement(
                SQL.Resolving.jobs,
                ["lane": .int(job.lane), "job": .int(job.id.rawValue), "asset": .int(job.asset)]),
        ])
        return true
    }

    /// Ends a title one of whose keys holds another object, a row of `KeyConflicts.resolvedHolder`.
    private func refuse(
        _ job: HeldJob, _ taken: PostgresRow, _ connection: PostgresConnection
    ) async throws -> Bool {
        let holder = redacted(url: try taken.string("holder")).prefix(300)
        let catalog = try taken.string("holder_catalog")
        let remedy =
            try taken.bool("is_other_catalog")
            ? "; submit under the name \(catalog) to replace it" : ""
        let failure = Failure(
            .storagePathConflict,
            "\(SignedQuery.redacted(key: try taken.string("key")).prefix(300)): \(holder) of catalog \(catalog) is stored there"
                + remedy)
        _ = try await connection.query(
            SQL.Reporting.deleteJob, ["lane": .int(job.lane), "job": .int(job.id.rawValue)])
        try await settleAsset(job.asset, failure, resolveFailed: true, connection)
        return false
    }

    /// Notes with the segments of a title what is known of them from before it was resolved, unless they were begun:
    /// then what is known of them is their own, or was forgotten with intent.
    private static func noteKnown(
        _ asset: Int64, from sources: [Int64], _ connection: PostgresConnection
    ) async throws {
        let isBegun = try await connection.query(
            SQL.KnownFiles.haveResults, ["asset": .int(asset)]
        ).only().bool("have_results")
        guard !isBegun else { return }
        _ = try await connection.simple(SQL.KnownFiles.stage.text)
        _ = try await connection.pipeline([
            PostgresStatement(
                SQL.KnownFiles.storedByTitles,
                ["asset": .int(asset), "sources": .int64Array(sources)]),
            PostgresStatement(SQL.KnownFiles.noteTitle, ["asset": .int(asset)]),
        ])
    }

    /// What a leased job is to store in place of what its origin serves; nil where the lease does not hold
    /// it, or it has none.
    package func document(_ request: DocumentRequest) async throws(Failure) -> Document {
        try await transaction { connection in
            let job = try await Self.held(
                [request.job], [request.lease], request.worker, connection)[request.job]
            guard let segment = job?.segment else { return Document(content: nil) }
            let row = try await connection.query(SQL.Resolving.document, ["segment": .int(segment)])
                .firstRow
            return Document(content: try row?.string("content"))
        }
    }

    /// Makes parts of a file that turned out large. The job goes on with the first part under the
    /// lease it has; a repeated request has the same answer.
    package func split(
        _ request: SplitRequest
    ) async throws(Failure) -> SplitAnswer {
        let (quotient, remainder) = request.totalBytes.quotientAndRemainder(
            dividingBy: request.partBytes)
        let parts = quotient + (remainder > 0 ? 1 : 0)
        return try await transaction { connection in
            guard
                let job = try await Self.held(
                    [request.job], [request.lease], request.worker, connection)[request.job]
            else { return SplitAnswer(verdict: .stale) }
            guard job.kind == .fetch, let segment = job.segment else {
                return SplitAnswer(verdict: .rejected)
            }
            if job.parent == nil {
                _ = try await connection.query(
                    SQL.Multipart.divide,
                    [
                        "assembly": .uuid(request.assembly), "segment": .int(segment),
                        "total_bytes": .int(request.totalBytes),
                        "validator": .text(request.validator), "parts": .int(parts),
                        "attempt": .int(job.attempt), "digests": .text(request.digests ?? ""),
                    ])
                _ = try await connection.query(
                    SQL.Multipart.makeParts,
                    [
                        "segment": .int(segment), "part_bytes": .int(request.partBytes),
                        "total_bytes": .int(request.totalBytes), "parts": .int(parts),
                        "lane": .int(job.lane), "job": .int(job.id.rawValue),
                    ])
                _ = try await connection.query(SQL.Common.notifyWork)
            }
            let place = try await connection.query(SQL.Multipart.laneSite, ["lane": .int(job.lane)])
                .only()
            let site = SiteID(try place.int64("site_id"))
            let leased = try await connection.query(
                SQL.Leasing.leasedJobs,
                [
                    "leases": .uuidArray([request.lease]), "workers": .uuidArray([request.worker]),
                    "queue": .int(try place.int64("id")),
                ])
            let columns = try JobColumns(leased)
            let jobs = try leased.rows.map { try Job(row: $0, columns, site: site) }
            guard let first = jobs.first(where: { $0.id == request.job }), first.offset == 0 else {
                return SplitAnswer(verdict: .rejected)
            }
            return SplitAnswer(verdict: .accepted, job: first)
        }
    }
}
