package import API
package import Model
import Postgres

/// Segments of manifests, which workers add.
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
            if let update = batch.recording {
                try await Recording.add(batch, update, origins, of: job, connection)
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
                try await OptionalRenditions.note(batch.leftOut ?? [], of: job.asset, connection)
            }
            // Some of the previous ones may have had one.
            let manifests =
                isKnown ? batch.segments : batch.segments.filter { $0.content != nil }
            if !manifests.isEmpty {
                _ = try await connection.query(
                    SQL.Resolving.storeRewrittenManifests,
                    [
                        "asset": .int(job.asset),
                        "ordinals": .int64Array(manifests.map { Int64($0.ordinal) }),
                        "contents": .textArray(manifests.map(\.content)),
                        "digests": .optionalTextArray(manifests.map(\.servedSHA256)),
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
            let row = try await connection.query(
                SQL.Resolving.rewrittenManifest, ["segment": .int(segment)]
            ).firstRow
            return RewrittenManifest(content: try row?.string("content"))
        }
    }
}
