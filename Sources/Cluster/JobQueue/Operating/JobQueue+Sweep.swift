package import Model
import Postgres

extension JobQueue {
    /// Ends leases whose time is over: their jobs wait again, or fail with `worker.lost` after too
    /// many tries. One that a worker has died with is tried alone from then on, and fails with `worker.poison`
    /// when a second one does. A worker has died with its jobs only if coordinators swept leases, without a pause of
    /// half a lease, since it extended its lease: after an outage of all nothing is known. Returns how many jobs were
    /// taken back. Safe to run on all coordinators at once.
    @discardableResult
    package func sweep() async throws(Failure) -> Int {
        try await withConnection { connection in
            _ = try await connection.query(
                SQL.Leasing.served,
                [
                    "pause_seconds": .double(self.settings.leaseSeconds / 2),
                    "machine": .optionalText(self.settings.machine),
                ])
        }
        var jobs = 0
        while true {
            let ended = try await sweepSome()
            jobs += ended.jobs
            if ended.leases < Self.leasesPerSweep { return jobs }
        }
    }

    /// A lease holds up to `WireLimits.jobsPerLease` jobs, all of which one transaction reads.
    private static let leasesPerSweep = 50

    private func sweepSome() async throws(Failure) -> (leases: Int, jobs: Int) {
        try await transaction { connection in
            let ended = try await connection.query(
                SQL.Leasing.sweep,
                [
                    "limit": .int(Int64(Self.leasesPerSweep)),
                    "lease_seconds": .double(self.settings.leaseSeconds),
                ]
            ).rows
            guard !ended.isEmpty else { return (0, 0) }
            let leases = try ended.map { try $0.string("id") }
            let jobs = try await connection.query(
                SQL.Leasing.jobsOfLeases, ["leases": .uuidArray(leases)]
            ).rows
            guard !jobs.isEmpty else { return (leases.count, 0) }
            let held = try HeldJob.byID(
                try await connection.query(
                    SQL.Leasing.lostJobs,
                    [
                        "lanes": .int64Array(try jobs.map { try $0.int64("lane_id") }),
                        "jobs": .int64Array(try jobs.map { try $0.int64("id") }),
                    ]))
            var plan = ReportPlan(mostAttemptsAtMirrors: self.settings.mostAttemptsAtMirrors)
            let lost = Failure(.workerLost, "The worker's lease ran out.")
            let deaths = try await Self.record(ended, jobs, connection)
            for job in held.values.sorted(by: { $0.id < $1.id }) {
                guard let deaths = deaths[job.id] else {
                    // No delay: the fault was the worker's, not the origin's.
                    plan.fail(job, lost, retryAfter: nil) { _, _ in 0 }
                    continue
                }
                plan.died(with: job, lost, deaths)
            }
            try await self.carryOut(plan, connection)
            _ = try await connection.query(SQL.Common.notifyWork)
            return (leases.count, jobs.count)
        }
    }

    /// Notes what workers died with: of each such job what is known of that by now.
    private static func record(
        _ leases: PostgresRows, _ jobs: PostgresRows, _ connection: PostgresConnection
    ) async throws -> [JobID: WorkerDeaths] {
        var dead: [LeaseID: (worker: WorkerID, name: String?)] = [:]
        for row in leases where try row.bool("is_dead") {
            dead[try row.string("id")] = (
                try row.string("worker_id"), try row.optionalString("worker_name")
            )
        }
        guard !dead.isEmpty else { return [:] }
        var lanes: [Int64] = []
        var numbers: [Int64] = []
        var workers: [WorkerID] = []
        var names: [String?] = []
        for row in jobs {
            guard let (worker, name) = dead[try row.string("lease_id")] else { continue }
            lanes.append(try row.int64("lane_id"))
            numbers.append(try row.int64("id"))
            workers.append(worker)
            names.append(name)
        }
        guard !numbers.isEmpty else { return [:] }
        var deaths: [JobID: WorkerDeaths] = [:]
        let rows = try await connection.query(
            SQL.Leasing.recordLosses,
            [
                "lanes": .int64Array(lanes), "jobs": .int64Array(numbers),
                "workers": .uuidArray(workers), "names": .optionalTextArray(names),
            ]
        ).rows
        for row in rows {
            deaths[JobID(try row.int64("id"))] = WorkerDeaths(
                count: Int(try row.int64("deaths")),
                latest: zip(
                    try row.textArray("workers").compactMap(\.self),
                    try row.int64Array("lost_seconds")
                ).map { (worker: $0, seconds: $1) })
        }
        return deaths
    }

    /// Forgets what nobody asks for any more: leases that hold nothing, workers long gone.
    package func tidy() async throws(Failure) {
        forgetQueues()
        try await withConnection { connection in
            _ = try await connection.query(SQL.Housekeeping.leases)
            let chores: [SQL.Housekeeping] = [
                .checksumWriters, .spans, .lanes, .cancelled,
                // Before the workers: one that came back did not die with what it had.
                .losses, .workers,
                .tidyOrigins, .documents, .assemblies, .loadTests,
            ]
            for statement in chores {
                _ = try await connection.query(statement)
            }
            _ = try await connection.query(
                SQL.Housekeeping.workerMinutes,
                ["seconds": .double(Double(WorkersHistory.keptSeconds))])
        }
        try await forgetOrigins()
        try await giveUpAssemblies()
    }

    /// Gives up files in parts that were cancelled, or failed and were not tried again for an hour: a
    /// worker removes them, and the room that they have goes to others.
    private func giveUpAssemblies() async throws(Failure) {
        let catalogs = try await withConnection { connection in
            try await connection.query(
                SQL.Multipart.givenUp, ["seconds": .double(Self.keptAssemblySeconds)]
            ).rows.map { try $0.int64("id") }
        }
        for catalog in catalogs {
            try await transaction { connection in
                // Nobody starts its assets meanwhile.
                guard
                    try await connection.query(
                        SQL.Catalogs.tryLock, ["catalog": .int(catalog)]
                    ).only().bool("locked")
                else { return }
                _ = try await connection.query(SQL.Catalogs.fold, ["catalog": .int(catalog)])
                _ = try await connection.query(
                    SQL.Multipart.release,
                    ["catalog": .int(catalog), "seconds": .double(Self.keptAssemblySeconds)])
            }
        }
    }

    private static let keptAssemblySeconds = 3_600.0

    /// Forgets catalogs that ended, or were left open, more than `days` days ago, with their assets and
    /// all that is known of these; what is stored stays. At most `transactions` bounded transactions
    /// a call. Returns how many catalogs are gone. Safe to run on all coordinators at once.
    @discardableResult
    package func forget(olderThanDays days: Int, transactions: Int = 50) async throws(Failure)
        -> Int
    {
        let old = try await withConnection { connection in
            try await connection.query(SQL.Housekeeping.oldCatalogs, ["days": .int(Int64(days))])
                .rows.map {
                    try $0.int64("id")
                }
        }
        var left = transactions
        var forgotten = 0
        for catalog in old {
            var isPending = true
            while isPending {
                guard left > 0 else { return forgotten }
                left -= 1
                isPending = try await forgetSome(of: catalog, days)
            }
            if try await forget(catalog, days) { forgotten += 1 }
        }
        return forgotten
    }

    /// False when there is nothing more to forget, or somebody else is at work on the catalog.
    private func forgetSome(of catalog: Int64, _ days: Int) async throws(Failure) -> Bool {
        try await transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            return try await connection.query(
                SQL.Housekeeping.forgetAssets, id + ["days": .int(Int64(days))]
            ).only().int64("assets") > 0
        }
    }

    private func forget(_ catalog: Int64, _ days: Int) async throws(Failure) -> Bool {
        try await transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            return try await connection.query(
                SQL.Housekeeping.forgetCatalog, id + ["days": .int(Int64(days))]
            ).only().int64("catalogs") > 0
        }
    }

    /// Adds what reports left to the counts of catalogs and directories, which ends those that are
    /// whole; true when some catalog's lock was taken, and it has to be asked again soon.
    ///
    /// Safe to run on all coordinators at once.
    @discardableResult
    package func fold() async throws(Failure) -> Bool {
        let catalogs = try await withConnection { connection in
            try await connection.query(SQL.Catalogs.tallied).rows.map { try $0.int64("id") }
        }
        var isPending = false
        for catalog in catalogs {
            if try await !fold(catalog) { isPending = true }
        }
        return isPending
    }

    private func fold(_ catalog: Int64) async throws(Failure) -> Bool {
        try await transaction { connection in
            let id: SQLValues = ["catalog": .int(catalog)]
            guard try await connection.query(SQL.Catalogs.tryLock, id).only().bool("locked") else {
                return false
            }
            let sums = try await connection.query(SQL.Catalogs.fold, id).only().int64("sums_jobs")
            if sums > 0 { _ = try await connection.query(SQL.Common.notifyWork) }
            return true
        }
    }
}
