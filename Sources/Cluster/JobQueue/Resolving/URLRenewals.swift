import API
import Model
import Postgres
import Services

/// Fresh URLs for segments whose signatures have expired: their title's manifest is read again,
/// once for all of them.
struct URLRenewals: Sendable {
    /// Seconds after the reading of its manifest within which a rejected URL has not expired.
    let freshSeconds: Double

    /// Returns the records of rejected signed URLs, of those `results` that are held.
    func rejections(
        of results: [JobReport], _ held: [JobID: HeldJob], _ connection: PostgresConnection
    ) async throws -> [JobID: ReportPlan.Rejection] {
        let jobs = results.compactMap { result -> HeldJob? in
            guard result.failed?.failure.code.mayBeExpiredSignature == true,
                // Mirrors were requested instead of its own URL.
                let job = held[result.job], !job.isAtMirrors
            else { return nil }
            return [.fetch, .resolve].contains(job.kind) ? job : nil
        }
        guard !jobs.isEmpty else { return [:] }
        let rows = try await connection.query(
            SQL.Resolving.refusedJobs,
            [
                "jobs": .int64Array(jobs.map(\.id.rawValue)),
                "segments": .optionalIntArray(jobs.map(\.segment)),
                "assets": .int64Array(jobs.map(\.asset)),
            ]
        ).rows
        var rejections: [JobID: ReportPlan.Rejection] = [:]
        for row in rows {
            let url = Array(try row.string("url").utf8)
            let leavesOut = try row.bool("leaves_out")
            guard SignedQuery.isSigned(url: url) || leavesOut else { continue }
            let now = try row.double("now_seconds")
            let expiry = Self.expiry(of: url, at: now)
            let hasExpired = if case .passed = expiry { true } else { false }
            rejections[JobID(try row.int64("job"))] = ReportPlan.Rejection(
                asset: try row.int64("asset"), urlDigest: try row.string("url_digest"),
                isListed: try row.bool("is_listed"),
                isFresh: try !hasExpired
                    && row.double("url_seconds") < freshSeconds,
                expiry: expiry,
                hasToken: !leavesOut && SignedQuery.isSigned(url: SignedQuery.unsigned(url)),
                isRenewing: try row.bool("renewing"), renewals: Int(try row.int64("renewals")),
                stored: try row.int64("stored"), hasStored: try row.bool("has_stored"))
        }
        return rejections
    }

    /// - Parameter now: of the database's clock, in seconds since 1970.
    private static func expiry(
        of url: [UInt8], at now: Double
    ) -> ReportPlan.Rejection.Expiry {
        guard let seconds = SignedExpiry.seconds(of: url), (0..<253_402_300_800).contains(seconds)
        else { return .unknown }
        // Whole seconds, as the URL has them.
        let time = timestamp(ofSeconds: seconds).prefix(19) + "Z"
        return seconds <= now ? .passed(String(time)) : .ahead(String(time))
    }

    static func queue(
        _ renewals: ReportPlan.Renewals, _ connection: PostgresConnection
    ) async throws {
        _ = try await connection.query(
            SQL.Resolving.queueReads,
            [
                "assets": .int64Array(renewals.assets), "renewals": .int64Array(renewals.counts),
                "stored": .int64Array(renewals.stored),
            ])
    }

    /// Sets the URLs of a title's segments to those that its manifest lists now.
    func renew(
        _ segments: [ResolvedSegment], _ origins: [String], of asset: Int64,
        _ connection: PostgresConnection
    ) async throws {
        try await SegmentStore.stage(segments, origins, connection)
        let row = try await connection.query(SQL.Resolving.renewURLs, ["asset": .int(asset)]).only()
        if try row.int64("released") > 0 { _ = try await connection.query(SQL.Common.notifyWork) }
        let unchanged = try row.optionalInt64Array("unchanged") ?? []
        guard !unchanged.isEmpty else { return }
        try await failRefused(of: asset, unchanged, nil, connection)
    }

    /// Ends the job that read a manifest for fresh URLs, or could not. Segments that still wait are
    /// no longer listed, or fail as before; the rest of the title is not affected. Returns true if
    /// jobs became due.
    func end(
        _ job: HeldJob, _ failure: Failure?, _ connection: PostgresConnection
    ) async throws -> Bool {
        let ended = try await connection.query(
            SQL.Resolving.endRead,
            ["asset": .int(job.asset), "lane": .int(job.lane), "job": .int(job.id.rawValue)])
        try await failRefused(
            of: job.asset, nil,
            failure
                ?? Failure(
                    .manifestChanged,
                    "Its URL has expired, and the manifest, read again, does not list it any more."),
            connection)
        return try ended.firstRow.map { try $0.int64("released") > 0 } ?? false
    }

    /// - Parameters:
    ///   - segments: some of those that wait for fresh URLs; nil for all of them.
    ///   - failure: nil for the origin's answer to each.
    private func failRefused(
        of asset: Int64, _ segments: [Int64]?, _ failure: Failure?, _ connection: PostgresConnection
    ) async throws {
        let wholes = try await connection.query(
            SQL.Resolving.failRefused,
            [
                "asset": .int(asset), "segments": segments.map { .int64Array($0) } ?? .null,
                "code": .optionalText(failure?.code.rawValue),
                "message": .optionalText(failure?.message),
            ]
        ).rows
        for row in wholes {
            try await MultipartFiles.fail(
                try row.int64("whole_id"), of: asset,
                Failure(FailureCode(try row.string("code")), try row.string("message")),
                connection)
        }
    }
}
