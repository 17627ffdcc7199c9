package import API
package import Model
import Postgres
import Services

/// Claims of jobs, each under a new lease.
package struct Claims: Sendable {
    private let database: QueueDatabase
    package let queues: KnownQueues
    private let quotas: Quotas
    private let closedSites: ClosedSites
    private let reports: Reports
    private let leaseSeconds: Double
    private let log = Logger("queue")
    /// Concurrent claims of one queue share a statement. Claims do not wait for the disk: two at a time
    /// only share the processors, so that a second group begins later than one of reports.
    let groups = GroupedCalls<Int64, Claim, Result<LeaseGrant?, Failure>>(
        width: 2, maxWeight: 2_000, besideWeight: 1_000)

    init(
        database: QueueDatabase, queues: KnownQueues, quotas: Quotas, closedSites: ClosedSites,
        reports: Reports, leaseSeconds: Double
    ) {
        self.database = database
        self.queues = queues
        self.quotas = quotas
        self.closedSites = closedSites
        self.reports = reports
        self.leaseSeconds = leaseSeconds
    }

    /// One worker's claim of a queue.
    struct Claim: Sendable {
        var lease: LeaseID
        var request: LeaseRequest

        var worker: WorkerID { request.worker }
        var maxJobs: Int { request.maxJobs }
    }

    /// Leases up to `request.maxJobs` jobs of one queue to a worker, without waiting.
    ///
    /// The grant has no lease if there is no job. `lease` is the new lease's UUID, made by the
    /// caller. Concurrent claims of one queue go to PostgreSQL together.
    package func lease(
        _ request: LeaseRequest, as lease: LeaseID
    ) async throws(Failure) -> LeaseGrant {
        let claim = Claim(lease: lease, request: request)
        var tried: Set<Int64> = []
        var isTrue = false
        // Cached queues may be outdated: then they are looked up once more.
        while !isTrue {
            let found = try await queues.named(request.queues)
            isTrue = true
            // One queue per lease, in random order, so that none waits for another to be empty.
            for queue in found.shuffled()
            where request.mayWrite(to: queue) && tried.insert(queue.id).inserted {
                let grant = try await groups.answer(
                    to: claim, of: queue.id, weight: max(claim.maxJobs, minGroupedWeight)
                ) { claims in
                    await retryIndividually(claims) { (claims) async throws(Failure) in
                        try await self.grant(claims, of: queue)
                    }
                }.get()
                if let grant, grant.lease != nil { return grant }
                if grant == nil { isTrue = false }
            }
        }
        return LeaseGrant(lease: nil, seconds: leaseSeconds)
    }

    /// Returns true if some queue has a job that can be leased now.
    package func hasWork() async throws(Failure) -> Bool {
        try await database.withConnection { connection in
            try await !connection.query(SQL.Leasing.queuesWithWork, ["names": .textArray([])]).rows
                .isEmpty
        }
    }

    /// Executes some workers' claims together: one grant per claim, nil for an unknown queue.
    private func grant(
        _ claims: [Claim], of queue: KnownQueue
    ) async throws(Failure) -> [LeaseGrant?] {
        let (grants, isWorthAnother) = try await claimReadable(claims, of: queue)
        guard isWorthAnother else { return grants }
        var all = grants
        // Each one waits for the locked lanes separately.
        for index in claims.indices where all[index]?.lease == nil {
            all[index] = try await claimReadable([claims[index]], of: queue).grants[0]
            // After one has waited without success, the others need not wait.
            if all[index]?.lease == nil { break }
        }
        return all
    }

    /// Claims jobs, and again for leases that got only jobs that cannot be read: others may wait
    /// behind these.
    private func claimReadable(
        _ claims: [Claim], of queue: KnownQueue
    ) async throws(Failure) -> (grants: [LeaseGrant?], isWorthAnother: Bool) {
        let claimed = try await claim(claims, of: queue)
        var grants = claimed.grants
        for index in claims.indices {
            var jobs = claimed.unreadable[index]
            for _ in 0..<Self.maxUnreadableRounds where !jobs.isEmpty {
                guard await fail(jobs, of: claims[index]), grants[index]?.lease == nil,
                    !Task.isCancelled,
                    // Without an answer, the other claims keep what they have got.
                    let again = try? await claim([claims[index]], of: queue)
                else { break }
                grants[index] = again.grants[0]
                jobs = again.unreadable[0]
            }
        }
        return (grants, claimed.isWorthAnother)
    }

    /// Reports leased jobs that cannot be read as failed, as their worker would. Returns false if
    /// that is impossible now; then the end of the lease returns them.
    ///
    /// Without it, each claim of such a job would fail with all its other jobs, which would wait
    /// for the end of the lease and be claimed with it again. The schema's checks allow such rows:
    /// a later version may have written the text of a title's options, and people edit databases.
    /// The failure table retries them, because a coordinator of another version may read them, and
    /// then fails them for good, so that their catalog ends and names the field.
    private func fail(_ jobs: [UnreadableJob], of claim: Claim) async -> Bool {
        if let first = jobs.first {
            log.warning(
                "jobs cannot be read; they are retried, and then fail: submit their catalogs again",
                [
                    "jobs": jobs.count, "job": first.id, "field": first.row.field ?? "",
                    "error": first.row,
                ])
        }
        let results = jobs.map { job in
            let failure = Failure(
                .clusterJobUnreadable, "job \(job.id) cannot be read: \(job.row)")
            // Not its origin's failure: of no origin.
            return JobReport(
                job: job.id, lease: claim.lease,
                outcome: .failed(
                    JobReport.Failed(failure, retryAfterSeconds: Self.unreadableRetrySeconds)),
                origins: [])
        }
        do {
            _ = try await reports.record(ReportRequest(worker: claim.worker, results: results))
            // A lease that holds nothing else may be granted again.
            try await database.withConnection { connection in
                _ = try await connection.query(
                    SQL.Leasing.dropLease, ["lease": .uuid(claim.lease)])
            }
            return true
        } catch {
            log.warning("jobs that cannot be read stay leased", ["error": error])
            return false
        }
    }

    /// Five attempts then take minutes, as the update of all coordinators does.
    private static let unreadableRetrySeconds = 60.0

    /// Bounds the work of one request.
    private static let maxUnreadableRounds = 8

    /// A leased job that cannot be handed out.
    private struct UnreadableJob: Sendable {
        let id: JobID
        let row: UnreadableRow
    }

    /// The results of a statement for several claims, by claim.
    private struct Claimed: Sendable {
        var grants: [LeaseGrant?]
        var isWorthAnother = false
        var unreadable: [[UnreadableJob]]
    }

    private func claim(
        _ claims: [Claim], of queue: KnownQueue
    ) async throws(Failure) -> Claimed {
        let leases = PostgresValue.uuidArray(claims.map(\.lease))
        let workers = PostgresValue.uuidArray(claims.map(\.worker))
        return try await database.withConnection { connection in
            var statements = [
                PostgresStatement(
                    SQL.Leasing.claim,
                    [
                        "queue": .int(queue.id), "leases": leases, "workers": workers,
                        "max_jobs": .int64Array(claims.map { Int64($0.maxJobs) }),
                        "seconds": .double(leaseSeconds),
                    ] + Self.slowColumns(of: claims)),
                PostgresStatement(
                    SQL.Leasing.leasedJobs,
                    ["leases": leases, "workers": workers, "queue": .int(queue.id)]),
                PostgresStatement(SQL.Sites.volume, ["site": .int(queue.site.rawValue)]),
            ]
            let traced = claims.indices.filter { claims[$0].request.wantsTraces }
            if !traced.isEmpty {
                statements.append(
                    PostgresStatement(
                        SQL.Leasing.traces,
                        [
                            "leases": .uuidArray(traced.map { claims[$0].lease }),
                            "workers": .uuidArray(traced.map { claims[$0].worker }),
                        ]))
            }
            let results = try await connection.pipeline(statements)
            let volume: VolumeID? = try results[2].firstRow?.optionalUUID("volume_id")
            let outcome = try results[0].only()
            guard try outcome.bool("is_known") else {
                queues.forget()
                return Claimed(
                    grants: claims.map { _ in nil }, unreadable: claims.map { _ in [] })
            }
            let (jobs, unreadable) = try await Self.jobs(of: claims.count, results[1], connection)
            if jobs.count(where: { !$0.isEmpty }) < (try outcome.int("granted")) {
                // The lease's jobs were taken away since: it may be granted again.
                for (claim, jobs) in zip(claims, jobs) where jobs.isEmpty {
                    _ = try await connection.query(
                        SQL.Leasing.dropLease, ["lease": .uuid(claim.lease)])
                }
            }
            let isGuarded = try outcome.bool("is_guarded")
            let alone = try outcome.int64Array("alone")
            queues.note(queue.id, awaitsTrial: try outcome.bool("is_isolating"))
            var grants: [LeaseGrant?] = []
            for (index, (claim, jobs)) in zip(1..., zip(claims, jobs)) {
                var grant = try await self.grant(
                    jobs, to: claim, of: queue, on: volume, isGuarded: isGuarded, connection)
                if grant.lease != nil, alone.contains(Int64(index)) { grant.isAlone = true }
                grants.append(grant)
            }
            if !traced.isEmpty { try Self.addTraces(results[3], to: &grants, at: traced) }
            return Claimed(
                grants: grants,
                isWorthAnother: claims.count > 1 ? try outcome.bool("is_worth_another") : false,
                unreadable: unreadable)
        }
    }

    /// Returns, by claim, the jobs that its lease holds, from rows of `Leasing.leasedJobs`.
    private static func jobs(
        of claims: Int, _ leased: PostgresResult, _ connection: PostgresConnection
    ) async throws -> (jobs: [[Job]], unreadable: [[UnreadableJob]]) {
        var jobs = [[Job]](repeating: [], count: claims)
        var unreadable = [[UnreadableJob]](repeating: [], count: claims)
        let (number, id) = (try leased.column("place"), try leased.column("id"))
        let (kind, offset) = (try leased.column("kind"), try leased.column("range_offset"))
        let multipart = try leased.column("multipart")
        var decoder = try RowDecoder<Job>(leased, without: [.parts])
        for row in leased.rows {
            // A multipart file that was withdrawn since the claim has no record any more.
            let isOfMultipart =
                try !row.isNull(offset) || row.optionalString(kind) == JobKind.verify.rawValue
            if try isOfMultipart && row.isNull(multipart) { continue }
            let claim = try row.int(number) - 1
            do {
                jobs[claim].append(try decoder.row(row))
            } catch let error as UnreadableRow {
                unreadable[claim].append(
                    UnreadableJob(id: JobID(try row.int64(id)), row: error))
            }
        }
        for index in jobs.indices { try await addParts(to: &jobs[index], connection) }
        return (jobs, unreadable)
    }

    /// Returns the answer to one claim, with the limits and the site's space for its worker.
    private func grant(
        _ jobs: [Job], to claim: Claim, of queue: KnownQueue, on volume: VolumeID?,
        isGuarded: Bool, _ connection: PostgresConnection
    ) async throws -> LeaseGrant {
        var grant = LeaseGrant(lease: nil, seconds: leaseSeconds, jobs: jobs)
        if isGuarded || !jobs.isEmpty && quotas.areNeeded {
            let shares = try await quotas.divide(
                for: claim.worker, after: jobs.isEmpty ? .claimInVain : .claim, connection)
            grant.shares = shares.origins.flatMap { $0.isEmpty ? nil : $0 }
            grant.siteShares = shares.sites
        }
        guard !jobs.isEmpty else { return grant }
        grant.lease = claim.lease
        grant.cluster = queue.cluster
        grant.site = LeasedSite(
            id: queue.site, storageURL: queue.storageURL, volume: volume,
            space: try await closedSites.space(of: queue.site, for: claim.worker, connection))
        return grant
    }

    /// Adds rows of `Leasing.traces` to the grants of the claims that want them.
    ///
    /// - Parameter indices: indices of these claims, by the numbers of the rows.
    private static func addTraces(
        _ traces: PostgresResult, to grants: inout [LeaseGrant?], at indices: [Int]
    ) throws {
        for row in traces.rows {
            let index = indices[try row.int("place") - 1]
            guard var grant = grants[index], grant.lease != nil else { continue }
            let trace = LeasedTrace(
                traceparent: try row.string("traceparent"),
                jobs: try row.int64Array("jobs").map { JobID($0) })
            grant.traces = (grant.traces ?? []) + [trace]
            grants[index] = grant
        }
    }

    /// Returns pairs of a claim's index and an origin of which it takes few jobs, and the number
    /// for each by claim.
    private static func slowColumns(of claims: [Claim]) -> SQLValues {
        var (numbers, origins): ([Int64], [String]) = ([], [])
        for (index, claim) in zip(1..., claims) {
            for origin in claim.request.slow?.origins ?? [] {
                numbers.append(Int64(index))
                origins.append(origin)
            }
        }
        let most = claims.map { Int64($0.request.slow?.maxJobs ?? 0) }
        return [
            "slow_leases": .int64Array(numbers), "slow_origins": .textArray(origins),
            "slow_max_jobs": .int64Array(origins.isEmpty ? [] : most),
        ]
    }

    /// Adds the parts of their files to verifications. One whose parts are gone was withdrawn since
    /// the claim, and is not leased.
    private static func addParts(
        to jobs: inout [Job], _ connection: PostgresConnection
    ) async throws {
        let ids = jobs.compactMap { job in
            if case .verify(let verification) = job.task { verification.multipart.id } else { nil }
        }
        guard !ids.isEmpty else { return }
        let rows = try await connection.query(
            SQL.Leasing.parts, ["ids": .uuidArray(ids)]
        ).rows
        var parts: [MultipartID: [MultipartFile.Part]] = [:]
        for row in rows {
            parts[try row.uuid("multipart_id"), default: []].append(
                MultipartFile.Part(
                    offset: try row.int64("range_offset"), length: try row.int64("range_length"),
                    sha256: try row.string("sha256")))
        }
        jobs = jobs.compactMap { job in
            guard case .verify(var verification) = job.task else { return job }
            verification.multipart.parts = parts[verification.multipart.id] ?? []
            let bytes = verification.multipart.parts.reduce(0) { $0 + $1.length }
            guard bytes == verification.multipart.totalBytes else { return nil }
            var job = job
            job.task = .verify(verification)
            return job
        }
    }
}

extension LeaseRequest {
    /// Returns true if the worker may write to a queue's site.
    fileprivate func mayWrite(to queue: KnownQueue) -> Bool {
        mayWrite(to: queue.site, at: queue.storageURL)
    }

    /// Returns true if the worker may write to a site.
    func mayWrite(to site: SiteID, at storageURL: String) -> Bool {
        if let refusedSites, refusedSites.contains(site) { return false }
        guard let roots else { return true }
        return roots.contains { StorageURL.isSite(storageURL, within: $0) }
    }
}
