package import API
package import Model
import Postgres

/// Segments that workers add: those of a manifest, and the parts of a large file.
package struct Segments: Sendable {
    let database: QueueDatabase
    let renewals: URLRenewals

    /// Stores the segments of a leased resolve job; they get no jobs before it is reported done.
    package func add(
        _ batch: SegmentBatch
    ) async throws(Failure) -> ReportAnswer.Verdict {
        var names = OriginNames()
        let origins = try batch.segments.map { segment throws(Failure) in
            try names.name(of: segment.url)
        }
        return try await database.transaction { connection in
            guard
                let job = try await HeldJob.find(
                    [batch.job], [batch.lease], batch.worker, connection)[batch.job]
            else {
                return .stale
            }
            guard job.kind == .resolve else { return .rejected }
            guard !job.isRenewal else {
                try await renewals.renew(batch.segments, origins, of: job.asset, connection)
                return .accepted
            }
            let ordinals = batch.segments.map(\.ordinal)
            guard let first = ordinals.min(), let last = ordinals.max() else { return .accepted }
            // The job is locked: no other request adds segments of its asset.
            let isKnown = try await connection.query(
                SQL.Resolving.areKnown,
                ["asset": .int(job.asset), "first": .int(first), "last": .int(last)]
            ).only().bool("is_known")
            if isKnown {
                try await SegmentStore.merge(batch.segments, origins, into: job.asset, connection)
            } else {
                try await SegmentStore.copy(batch.segments, origins, into: job.asset, connection)
            }
            if first == 0 {
                try await SegmentStore.store(batch.warnings, of: job.asset, connection)
            }
            // Some of the previous ones may have had one.
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

    /// Returns the rewritten manifest that a leased job stores; nil if the lease does not hold the
    /// job, or it has none.
    package func rewrittenManifest(
        _ request: RewrittenManifestRequest
    ) async throws(Failure) -> RewrittenManifest {
        try await database.transaction { connection in
            let job = try await HeldJob.find(
                [request.job], [request.lease], request.worker, connection)[request.job]
            guard let segment = job?.segment else { return RewrittenManifest(content: nil) }
            let row = try await connection.query(SQL.Resolving.document, ["segment": .int(segment)])
                .firstRow
            return RewrittenManifest(content: try row?.string("content"))
        }
    }

    /// Splits a large file into parts. The job keeps its lease and continues with the first part; a
    /// repeated request has the same answer.
    package func split(
        _ request: SplitRequest
    ) async throws(Failure) -> VerdictAnswer {
        let parts = PartSize(request.partBytes).count(of: request.totalBytes)
        return try await database.transaction { connection in
            guard
                let job = try await HeldJob.find(
                    [request.job], [request.lease], request.worker, connection)[request.job]
            else { return VerdictAnswer(verdict: .stale) }
            guard job.kind == .fetch, let segment = job.segment else {
                return VerdictAnswer(verdict: .rejected)
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
            let queue = try await connection.query(SQL.Multipart.laneSite, ["lane": .int(job.lane)])
                .only()
            let leased = try await connection.query(
                SQL.Leasing.leasedJobs,
                [
                    "leases": .uuidArray([request.lease]), "workers": .uuidArray([request.worker]),
                    "queue": .int(try queue.int64("id")),
                ])
            var decoder = try RowDecoder<Job>(leased, without: [.parts])
            let jobs = try leased.rows.map { try decoder.row($0) }
            guard let first = jobs.first(where: { $0.id == request.job }),
                case .fetch(let fetch) = first.task, case .part(_, offset: 0, _) = fetch.body
            else { return VerdictAnswer(verdict: .rejected) }
            return VerdictAnswer(verdict: .accepted, job: first)
        }
    }
}
