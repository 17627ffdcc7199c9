import FoundationEssentials
package import Model
import Postgres
import Synchronization

extension JobQueue {
    /// Gives back all jobs of a lease that its worker has not heard of, and sees to it that it is not
    /// granted later. Changes nothing for another worker's lease.
    package func release(_ release: LeaseRelease) async throws(Failure) {
        let values: SQLValues = [
            "lease": .uuid(release.lease), "worker": .uuid(release.worker),
        ]
        let jobs = try await withConnection { connection in
            guard try await connection.query(SQL.Leasing.release, values).rows.isEmpty else {
                return [JobID]()
            }
            return try await connection.query(SQL.Leasing.jobsHeld, values).rows.map {
                JobID(try $0.int64("id"))
            }
        }
        guard !jobs.isEmpty else { return }
        _ = try await report(
            ReportRequest(
                worker: release.worker,
                results: jobs.map { JobReport(job: $0, lease: release.lease, outcome: .returned) }))
    }

    /// Extends a worker's leases and records what it is doing; leases that are missing from the
    /// answer are lost.
    package func heartbeat(_ heartbeat: Heartbeat) async throws(Failure) -> HeartbeatAnswer {
        let seconds = settings.leaseSeconds
        let progress = try Self.text(of: heartbeat.progress)
        let busy = Set(
            (heartbeat.origins ?? []).lazy.filter { $0.active + $0.waiting > 0 }.map(\.origin))
        let presence = PostgresStatement(
            SQL.Leasing.worker,
            [
                "worker": .uuid(heartbeat.worker), "name": .text(heartbeat.name),
                "active_transfers": .int(Int64(heartbeat.activeTransfers)),
                "progress": .text(progress),
                "trouble_code": .optionalText(heartbeat.trouble?.code.rawValue),
                "trouble_message": .optionalText(heartbeat.trouble?.message),
                "roots": heartbeat.roots.map { PostgresValue.textArray($0) } ?? .null,
                "refused_sites": .int64Array((heartbeat.refusedSites ?? []).map(\.rawValue)),
                "queues": heartbeat.queues.map { PostgresValue.textArray($0) } ?? .null,
            ])
        let done = heartbeat.done.map { Self.note($0, of: heartbeat.worker) }
        let isIdle =
            heartbeat.leases.isEmpty && busy.isEmpty && heartbeat.siteShares?.isEmpty != false
            && heartbeat.originShares?.isEmpty != false && heartbeat.sites?.isEmpty != false
        return try await withConnection { connection in
            if isIdle {
                // Nothing that has to be known after a crash, and nothing to be told of.
                _ = try await connection.pipeline(
                    [PostgresStatement(SQL.Common.commitLater), presence]
                        + [done].compactMap(\.self))
                return HeartbeatAnswer(leases: [], seconds: seconds)
            }
            var statements = [
                presence,
                PostgresStatement(
                    SQL.Leasing.extend,
                    [
                        "worker": .uuid(heartbeat.worker), "leases": .uuidArray(heartbeat.leases),
                        "seconds": .double(seconds),
                    ]
                ),
                PostgresStatement(
                    SQL.Leasing.cancelledJobs,
                    ["leases": .uuidArray(heartbeat.leases), "worker": .uuid(heartbeat.worker)]),
            ]
            if let origins = heartbeat.origins, !origins.isEmpty {
                statements.append(Self.decisions(origins, of: heartbeat.worker))
            }
            if let done { statements.append(done) }
            let results = try await connection.pipeline(statements)
            var answer = HeartbeatAnswer(
                leases: try results[1].rows.map { try $0.string("id") }, seconds: seconds)
            let cancelled = try results[2].rows.map { JobID(try $0.int64("job_id")) }
            answer.cancelled = cancelled.isEmpty ? nil : cancelled
            let uses = (heartbeat.originShares ?? [], heartbeat.siteShares ?? [])
            if self.areLimitsSet.load(ordering: .relaxed) || !uses.0.isEmpty || !uses.1.isEmpty {
                let quotas = try await self.quotas(
                    of: heartbeat.worker, after: .report, origins: uses.0, sites: uses.1,
                    busy: busy, connection)
                (answer.shares, answer.siteShares) = (quotas.origins, quotas.sites)
            }
            try await self.note(heartbeat.sites ?? [], connection)
            return answer
        }
    }

    private static func decisions(
        _ origins: [OriginReport], of worker: WorkerID
    ) -> PostgresStatement {
        PostgresStatement(
            SQL.Origins.decide,
            [
                "worker": .uuid(worker), "origins": .optionalTextArray(origins.map(\.origin)),
                "concurrency": .int64Array(origins.map { Int64($0.concurrency) }),
                "bytes_per_second": .int64Array(origins.map(\.bytesPerSecond)),
                "decisions": .optionalTextArray(origins.map(\.decision)),
                "reasons": .optionalTextArray(origins.map(\.reason)),
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
            try await connection.query(SQL.Origins.cooling).rows.map { row in
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
            throw Failure(.workerInternal, "A heartbeat cannot be encoded: \(error)")
        }
    }

    /// Whether some queue has a job that can be leased now.
    package func hasWork() async throws(Failure) -> Bool {
        try await withConnection { connection in
            try await !connection.query(SQL.Leasing.queuesWithWork, ["names": .textArray([])]).rows
                .isEmpty
        }
    }
}
