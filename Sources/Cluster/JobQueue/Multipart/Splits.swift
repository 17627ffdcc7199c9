package import API
package import Model
import Postgres

/// Splits of large files into parts.
package struct Splits: Sendable {
    let database: QueueDatabase

    /// Splits a large file. The job keeps its lease and continues with the first part; a repeated
    /// request has the same answer.
    package func split(
        _ request: SplitRequest
    ) async throws(Failure) -> ReportAnswer.Verdict {
        let parts = PartSize(request.partBytes).count(of: request.totalBytes)
        return try await database.transaction { connection in
            guard
                let job = try await HeldJob.find(
                    [request.job], [request.lease], request.worker, connection)[request.job]
            else { return .stale }
            guard job.kind == .fetch, let segment = job.segment else { return .rejected }
            guard job.parent == nil else {
                let row = try await connection.query(
                    SQL.Multipart.isFirstPart,
                    ["segment": .int(segment), "multipart": .uuid(request.multipart)])
                return try row.only().bool("is_first") ? .accepted : .rejected
            }
            _ = try await connection.query(
                SQL.Multipart.divide,
                [
                    "multipart": .uuid(request.multipart), "segment": .int(segment),
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
            return .accepted
        }
    }
}
