import Model
import Postgres

/// A job as the fence found it: held by the lease that was named, its row and asset locked.
struct HeldJob {
    var id: JobID
    var lane: Int64
    var kind: JobKind
    var attempt: Int
    var asset: Int64
    var segment: Int64?
    /// The segment of the whole file, when this one is a part.
    var parent: Int64?
    /// Bytes of a part.
    var partBytes: Int64?
    /// The try of the whole file that a part or a verification belongs to.
    var wholeAttempt: Int?
    /// Its origin has failed so often that nothing of it is tried twice.
    var originIsFailing = false
    /// It is in the lane of a neighbour, or of a mirror because its own origin is in cooldown.
    var isAtMirrors = false
    /// It reads the manifest of a title, whose segments are known, for fresh URLs.
    var isRenewal = false
}

extension HeldJob {
    /// Those of `jobs` that the lease beside each holds for this worker; locked with their assets.
    static func find(
        _ jobs: [JobID], _ leases: [LeaseID], _ worker: WorkerID, _ connection: PostgresConnection
    ) async throws -> [JobID: HeldJob] {
        let values: SQLValues = [
            "jobs": .int64Array(jobs.map(\.rawValue)), "leases": .uuidArray(leases),
            "worker": .uuid(worker),
        ]
        var result = try await connection.query(SQL.Reporting.reportedJobs, values)
        // A split that came first is seen by the next statement, under the locks of this one.
        let isUnseen = try result.column("is_unseen")
        if try result.rows.contains(where: { try $0.bool(isUnseen) }) {
            result = try await connection.query(SQL.Reporting.reportedJobs, values)
        }
        return try HeldJob.byID(result)
    }

    /// Rows of `Reporting.reportedJobs` or `Leasing.lostJobs`, whose columns are looked up once.
    static func byID(_ result: PostgresResult) throws -> [JobID: HeldJob] {
        let id = try result.column("id")
        let lane = try result.column("lane_id")
        let kind = try result.column("kind")
        let attempt = try result.column("attempt")
        let asset = try result.column("asset_id")
        let segment = try result.column("segment_id")
        let parent = try result.column("parent_id")
        let partBytes = try result.column("range_length")
        let wholeAttempt = try result.column("whole_attempt")
        let isGivenUp = try result.column("is_given_up")
        let isAtMirrors = try result.column("is_at_mirrors")
        let isRenewal = try result.column("is_renewal")
        var held: [JobID: HeldJob] = [:]
        held.reserveCapacity(result.rowCount)
        for row in result.rows {
            let job = HeldJob(
                id: JobID(try row.int64(id)), lane: try row.int64(lane),
                kind: JobKind(rawValue: try row.string(kind)) ?? .fetch,
                attempt: try row.int(attempt), asset: try row.int64(asset),
                segment: try row.optionalInt64(segment), parent: try row.optionalInt64(parent),
                partBytes: try row.optionalInt64(partBytes),
                wholeAttempt: try row.optionalInt64(wholeAttempt).map { Int($0) },
                originIsFailing: try row.bool(isGivenUp), isAtMirrors: try row.bool(isAtMirrors),
                isRenewal: try row.bool(isRenewal))
            held[job.id] = job
        }
        return held
    }
}
