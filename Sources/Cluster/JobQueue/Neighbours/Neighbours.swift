package import Model
import Postgres
import Synchronization

/// Fills from neighbours: lets the jobs of assets begin once another site has stored these, and puts
/// them to the origin of that site's web server.
package final class Neighbours: Sendable {
    private let database: QueueDatabase
    /// Seconds after which a neighbour without workers is not waited for.
    private let patienceSeconds: Double
    private let search = Mutex(LaneSearch())

    init(database: QueueDatabase, patienceSeconds: Double) {
        self.database = database
        self.patienceSeconds = patienceSeconds
    }

    /// Maximum number of lanes to read in one pass.
    private static let lanesPerPass: Int64 = 32
    /// Maximum number of jobs to read in one pass, over all its lanes.
    private static let jobsPerPass = 2_000
    /// Maximum number of passes in a row, while each moves half of what it reads.
    private static let maxPasses = 10

    /// A job that waits, and the lane where it belongs.
    private struct Waiting {
        var lane: Int64
        var job: Int64
        /// Nil for one that still waits.
        var target: LaneKey?
    }

    private struct LaneKey: Hashable {
        var lane: Int64
        var origin: Int64
        var priority: Int64
    }

    /// Moves the jobs that need not wait any more to lanes that workers are served from. Returns
    /// their number. Wakes workers that wait for jobs.
    ///
    /// Safe to run on all coordinators at once. It does not wait for locked lanes, jobs and assets:
    /// the next pass takes those.
    @discardableResult
    package func release() async throws(Failure) -> Int {
        var moved = 0
        // Neighbours complete assets about in the order of the jobs; the others are looked through
        // page by page.
        for fromStart in [true, false] {
            for _ in 0..<Self.maxPasses {
                let jobs = try await pass(fromStart: fromStart)
                moved += jobs
                if jobs < Self.jobsPerPass / 2 { break }
            }
        }
        return moved
    }

    /// - Parameter fromStart: true for the first jobs of the lanes; false for those after the previous
    ///   pass.
    private func pass(fromStart: Bool) async throws(Failure) -> Int {
        let last = fromStart ? 0 : search.withLock { $0.lastLane }
        let lanes = try await database.withConnection { connection in
            try await connection.query(
                SQL.Neighbours.lanes, ["after": .int(last), "limit": .int(Self.lanesPerPass)]
            ).rows.map { try $0.int64("id") }
        }
        if !fromStart {
            search.withLock { search in
                search.lastLane = lanes.count < Self.lanesPerPass ? 0 : lanes.last ?? 0
            }
        }
        guard !lanes.isEmpty else { return 0 }
        let share = max(Self.jobsPerPass / lanes.count, 1)
        let positions = search.withLock { search in
            lanes.map { fromStart ? 0 : search.position(in: $0) }
        }
        let waiting = try await decide(lanes, after: positions, most: share)
        let moved = try await move(waiting.filter { $0.target != nil })
        guard !fromStart else { return moved.count }
        search.withLock { search in
            for lane in lanes {
                let seen = waiting.filter { $0.lane == lane }
                let left = seen.first { $0.target != nil && !moved.contains($0.job) }
                if let left {
                    search.set(left.job - 1, in: lane)
                } else {
                    // After the last job, the first ones are next again.
                    search.set(seen.count < share ? 0 : seen.last?.job ?? 0, in: lane)
                }
            }
        }
        return moved.count
    }

    /// Decides which of the lanes' next assets need not wait any more, and returns their next jobs.
    private func decide(
        _ lanes: [Int64], after positions: [Int64], most: Int
    ) async throws(Failure) -> [Waiting] {
        let page: SQLValues = [
            "lanes": .int64Array(lanes), "after": .int64Array(positions),
            "limit": .int(Int64(most)),
        ]
        let patience = patienceSeconds
        return try await database.withConnection { connection in
            _ = try await connection.query(SQL.Neighbours.noteActive)
            _ = try await connection.query(
                SQL.Neighbours.decide, page + ["patience_seconds": .double(patience)])
            return try await connection.query(SQL.Neighbours.targetLanes, page).rows.map { row in
                let lane = try row.int64("lane")
                let priority = try row.int64("own_priority")
                return Waiting(
                    lane: lane, job: try row.int64("id"),
                    target: try row.optionalInt64("origin_id").map {
                        LaneKey(lane: lane, origin: $0, priority: priority)
                    })
            }
        }
    }

    /// Returns the previous numbers of the jobs that were moved.
    private func move(_ jobs: [Waiting]) async throws(Failure) -> Set<Int64> {
        let all = Set(jobs.compactMap(\.target)).sorted {
            ($0.lane, $0.origin, $0.priority) < ($1.lane, $1.origin, $1.priority)
        }
        guard !all.isEmpty else { return [] }
        let wanted: SQLValues = [
            "lanes": .int64Array(all.map(\.lane)), "origins": .int64Array(all.map(\.origin)),
            "priorities": .int64Array(all.map(\.priority)),
        ]
        do {
            return try await database.pool.withConnection { connection in
                try await connection.transaction { connection in
                    _ = try await connection.query(SQL.Common.lockBriefly)
                    _ = try await connection.query(SQL.Neighbours.makeLanes, wanted)
                    let found = try await connection.query(SQL.Neighbours.targets, wanted).rows.map
                    {
                        (
                            LaneKey(
                                lane: try $0.int64("lane"), origin: try $0.int64("origin_id"),
                                priority: try $0.int64("own_priority")),
                            try $0.int64("target")
                        )
                    }
                    let targets = Dictionary(uniqueKeysWithValues: found)
                    let lanes = Set(targets.keys.map(\.lane)).union(targets.values)
                    let locked = Set(
                        try await connection.query(
                            SQL.Neighbours.lockLanes, ["lanes": .int64Array(lanes.sorted())]
                        ).rows.map { try $0.int64("id") })
                    return try await Self.move(
                        jobs, targets.filter { locked.isSuperset(of: [$0.key.lane, $0.value]) },
                        connection)
                }
            }
        } catch let error as PostgresError where error.isRetryableTransaction {
            return []
        } catch let error as PostgresError where error.sqlState == "55P03" {
            // A catalog is being started: the next pass continues.
            return []
        } catch let error as PostgresError {
            throw Failure(queue: error)
        } catch {
            throw Failure(.workerInternal, "The queue was interrupted: \(error)")
        }
    }

    private static func move(
        _ jobs: [Waiting], _ targets: [LaneKey: Int64], _ connection: PostgresConnection
    ) async throws -> Set<Int64> {
        let chosen = jobs.compactMap { job in
            job.target.flatMap { targets[$0] }.map { (lane: job.lane, job: job.job, target: $0) }
        }
        guard !chosen.isEmpty else { return [] }
        let moved = try await connection.query(
            SQL.Mirrors.move,
            [
                "lanes": .int64Array(chosen.map(\.lane)), "jobs": .int64Array(chosen.map(\.job)),
                "targets": .int64Array(chosen.map(\.target)),
            ]
        ).rows.map { try $0.int64("id") }
        _ = try await connection.query(SQL.Common.notifyWork)
        return Set(moved)
    }

    // MARK: Submissions

    /// Sets the neighbours of a submission that is opened; those of what runs stay until its start.
    ///
    /// - Parameter urls: storage URLs of sites, in the order in which they are asked.
    static func choose(
        _ urls: [String], of catalog: Int64, _ connection: PostgresConnection
    ) async throws {
        var sites: [Int64] = []
        if !urls.isEmpty {
            let found = try await connection.query(
                SQL.Neighbours.sites, ["urls": .textArray(urls)])
            sites = try found.rows.map { row in
                guard let site = try row.optionalInt64("id") else {
                    throw Failure.unknownSite(try row.string("url"))
                }
                return site
            }
        }
        _ = try await connection.query(
            SQL.Neighbours.choose, ["catalog": .int(catalog), "sites": .int64Array(sites)])
    }

    /// Returns the statements of a start that put the submission's neighbours into effect. The
    /// catalog's lock is held.
    static func putIntoEffect(_ catalog: SQLValues) -> [PostgresStatement] {
        [
            PostgresStatement(SQL.Neighbours.dropFormer, catalog),
            PostgresStatement(SQL.Neighbours.set, catalog),
        ]
    }
}
