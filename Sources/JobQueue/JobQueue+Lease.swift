import FoundationEssentials
package import Model
import Postgres

extension JobQueue {
    /// Leases up to `request.maxJobs` jobs of one queue to a worker, without waiting.
    ///
    /// The grant has no lease when there is nothing to do. `lease` is the new lease's UUID, made by
    /// the caller.
    package func lease(
        _ request: LeaseRequest, as lease: LeaseID
    ) async throws(Failure) -> LeaseGrant {
        let seconds = settings.leaseSeconds
        return try await withConnection { connection in
            // One queue a lease, in random order, so that none waits for another to run dry.
            let queues = try await Self.queues(of: request, connection).shuffled()
            for (place, queue) in queues.enumerated() {
                let claim = PostgresStatement(
                    SQL.leaseClaim,
                    [
                        .int(queue), .uuid(lease), .uuid(request.worker), .double(seconds),
                        .int(Int64(request.maxJobs)),
                    ])
                // The claim before may have left the lease with nothing.
                let drop = PostgresStatement(SQL.leaseDrop, [.uuid(lease)])
                let rows: PostgresRows
                do {
                    let results = try await connection.pipeline(
                        place == 0 ? [claim] : [drop, claim])
                    rows = results[results.count - 1].rows
                } catch let error as PostgresError where error.sqlState == Self.uniqueViolation {
                    // It was released before it was granted.
                    break
                }
                guard !rows.isEmpty else { continue }
                var grant = try await Self.grant(lease, seconds, rows: rows, connection)
                if try rows.first?.bool(18) == true {
                    let shares = try await connection.query(
                        SQL.workerShares, [.uuid(request.worker), .optionalTextArray([])])
                    grant.shares = try shares.rows.map { try OriginShare(row: $0) }
                }
                grant.siteShares = try await self.siteShares(
                    of: request.worker, keepingTo: [], connection)
                return grant
            }
            return LeaseGrant(lease: nil, seconds: seconds, sites: [:], jobs: [])
        }
    }

    private static let uniqueViolation = "23505"

    /// Gives back all jobs of a lease that its worker has not heard of, and sees to it that it is not
    /// granted later. Changes nothing for another worker's lease.
    package func release(_ release: LeaseRelease) async throws(Failure) {
        let values: [PostgresValue] = [.uuid(release.lease), .uuid(release.worker)]
        let jobs = try await withConnection { connection in
            guard try await connection.query(SQL.leaseRelease, values).rows.isEmpty else {
                return [JobID]()
            }
            return try await connection.query(SQL.leaseJobsHeld, values).rows.map {
                JobID(try $0.int64(0))
            }
        }
        guard !jobs.isEmpty else { return }
        _ = try await report(
            ReportRequest(
                worker: release.worker,
                results: jobs.map { JobReport(job: $0, lease: release.lease, outcome: .returned) }))
    }

    /// The queues to try: the few there are, or of many those that have work.
    private static func queues(
        of request: LeaseRequest, _ connection: PostgresConnection
    ) async throws -> [Int64] {
        let few = 4
        let all = try await connection.query(
            SQL.queuesNamed, [.textArray(request.queues), .int(few + 1)]
        ).rows
        let rows =
            all.count <= few
            ? all
            : try await connection.query(SQL.queuesWithWork, [.textArray(request.queues)]).rows
        return try rows.map { try $0.int64("id") }
    }

    private static func grant(
        _ lease: LeaseID, _ seconds: Double, rows: PostgresRows, _ connection: PostgresConnection
    ) async throws -> LeaseGrant {
        var sites: [String: String] = [:]
        var jobs: [Job] = []
        jobs.reserveCapacity(rows.count)
        for row in rows {
            let job = try Job(row: row)
            let site = job.site.description
            if sites[site] == nil { sites[site] = try Job.storageURL(of: row) }
            jobs.append(job)
        }
        try await addParts(to: &jobs, connection)
        return LeaseGrant(
            lease: jobs.isEmpty ? nil : lease, seconds: seconds, sites: sites, jobs: jobs)
    }

    /// A verification needs to know every part of its file. One whose parts have gone was taken back
    /// since the claim, and is not handed out.
    private static func addParts(
        to jobs: inout [Job], _ connection: PostgresConnection
    ) async throws {
        let verified = jobs.indices.filter { jobs[$0].kind == .verify }
        guard !verified.isEmpty else { return }
        let rows = try await connection.query(
            SQL.assemblyParts, [.uuidArray(verified.compactMap { jobs[$0].assembly?.id })]
        ).rows
        var parts: [String: [Assembly.Part]] = [:]
        for row in rows {
            parts[try row.string("assembly"), default: []].append(
                Assembly.Part(
                    offset: try row.int64("range_offset"), length: try row.int64("range_length"),
                    sha256: try row.string("sha256")))
        }
        for index in verified {
            guard let id = jobs[index].assembly?.id else { continue }
            jobs[index].assembly?.parts = parts[id] ?? []
        }
        jobs.removeAll { job in
            guard job.kind == .verify, let assembly = job.assembly else { return false }
            return (assembly.parts ?? []).reduce(0) { $0 + $1.length } != assembly.totalBytes
        }
    }

    /// Extends a worker's leases and records what it is doing; leases that are missing from the
    /// answer are lost.
    package func heartbeat(_ heartbeat: Heartbeat) async throws(Failure) -> HeartbeatAnswer {
        let seconds = settings.leaseSeconds
        let progress = try Self.text(of: heartbeat.progress)
        let busy = (heartbeat.origins ?? []).filter { $0.active + $0.waiting > 0 }
        let origins = PostgresValue.optionalTextArray(busy.map(\.origin))
        return try await withConnection { connection in
            var statements = [
                PostgresStatement(
                    SQL.heartbeatWorker,
                    [
                        .uuid(heartbeat.worker), .text(heartbeat.name),
                        .int(Int64(heartbeat.activeTransfers)), .text(progress),
                    ]
                ),
                PostgresStatement(
                    SQL.heartbeatLeases,
                    [.uuid(heartbeat.worker), .uuidArray(heartbeat.leases), .double(seconds)]
                ),
                PostgresStatement(
                    SQL.cancelledJobs, [.uuidArray(heartbeat.leases), .uuid(heartbeat.worker)]),
                PostgresStatement(
                    SQL.workerSharesRenew, [.uuid(heartbeat.worker), .double(seconds), origins]),
                PostgresStatement(SQL.workerShares, [.uuid(heartbeat.worker), origins]),
            ]
            if let origins = heartbeat.origins, !origins.isEmpty {
                statements.append(Self.decisions(origins, of: heartbeat.worker))
            }
            let results = try await connection.pipeline(statements)
            var answer = HeartbeatAnswer(
                leases: try results[1].rows.map { try $0.string("id") }, seconds: seconds)
            let cancelled = try results[2].rows.map { JobID(try $0.int64(0)) }
            answer.cancelled = cancelled.isEmpty ? nil : cancelled
            // Where there are no limits any more, there may still be shares.
            let lifted = try results[3].rows.filter { try $0.optionalInt64("most") == nil }
                .map { OriginShare(origin: try $0.string("url"), seconds: seconds) }
            let names = Set(lifted.map(\.origin))
            let shares =
                try results[4].rows.map { try OriginShare(row: $0) }
                .filter { !names.contains($0.origin) } + lifted
            answer.shares = shares.isEmpty ? nil : shares
            answer.siteShares = try await self.siteShares(
                of: heartbeat.worker, keepingTo: heartbeat.siteShares ?? [], connection)
            return answer
        }
    }

    private static func decisions(
        _ origins: [OriginReport], of worker: WorkerID
    ) -> PostgresStatement {
        PostgresStatement(
            SQL.workerDecisions,
            [
                .uuid(worker), .optionalTextArray(origins.map(\.origin)),
                .int64Array(origins.map { Int64($0.concurrency) }),
                .int64Array(origins.map(\.bytesPerSecond)),
                .optionalTextArray(origins.map(\.decision)),
                .optionalTextArray(origins.map(\.reason)),
            ])
    }

    /// An origin that nothing may be asked of now.
    package struct CoolingOrigin: Sendable {
        package var origin: String
        package var seconds: Double
        /// In microseconds since 1970, by the database's clock.
        package var until: Int64
        /// But for one job, which tries whether it is well again.
        package var isTried: Bool
    }

    /// Origins that nothing may be asked of now; at most 1,000.
    package func coolingOrigins() async throws(Failure) -> [CoolingOrigin] {
        try await withConnection { connection in
            try await connection.query(SQL.originsCooling, []).rows.map { row in
                CoolingOrigin(
                    origin: try row.string("url"), seconds: try row.double("seconds"),
                    until: try row.int64("until"), isTried: try row.bool("is_tried"))
            }
        }
    }

    private static func text(
        of progress: [String: TransferProgress]
    ) throws(Failure) -> String {
        do {
            return String(decoding: try JSONEncoder().encode(progress), as: UTF8.self)
        } catch {
            throw Failure("worker.internal", "A heartbeat cannot be encoded: \(error)")
        }
    }

    /// Whether some queue has a job that can be leased now.
    package func hasWork() async throws(Failure) -> Bool {
        try await withConnection { connection in
            try await !connection.query(SQL.queuesWithWork, [.textArray([])]).rows.isEmpty
        }
    }
}

extension OriginShare {
    /// A row of `worker_shares.sql`.
    init(row: PostgresRow) throws {
        self.init(
            origin: try row.string(0), connections: try row.optionalInt64(1).map { Int($0) },
            requestsPerSecond: try row.optionalDouble(2), bytesPerSecond: try row.optionalInt64(3),
            seconds: max(try row.double(4), 0))
    }
}

extension Job {
    /// A row of `lease_jobs.sql`. Columns by position: this is read for every job there is.
    init(row: PostgresRow) throws {
        self.init(
            id: JobID(try row.int64(0)), kind: JobKind(rawValue: try row.string(1)) ?? .fetch,
            site: SiteID(try row.int64(4)), asset: AssetID(try row.int64(3)),
            attempt: Int(try row.int64(2)), url: try row.optionalString(7) ?? "",
            key: try row.string(8))
        role = try row.optionalString(9).flatMap(SegmentRole.init(rawValue:))
        if kind == .resolve {
            assetKind = try row.optionalString(6).flatMap(AssetKind.init(rawValue:))
        }
        offset = try row.optionalInt64(10)
        length = try row.optionalInt64(11)
        sha256 = try row.optionalString(12)
        if let id = try row.optionalString(13) {
            assembly = Assembly(
                id: id, totalBytes: try row.int64(14), validator: try row.string(15))
        }
        if let bytes = try row.optionalInt64(16), let digest = try row.optionalString(17) {
            known = StoredObject(bytes: bytes, sha256: digest)
        }
    }

    /// The site's URL in the same row.
    static func storageURL(of row: PostgresRow) throws -> String { try row.string(5) }
}
