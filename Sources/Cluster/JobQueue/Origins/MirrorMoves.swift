package import Model
import Postgres
import Synchronization

/// Moves files whose own origin is in cooldown to mirrors that are not.
package final class MirrorMoves: Sendable {
    private let database: QueueDatabase
    private let search = Mutex(LaneSearch())

    init(database: QueueDatabase) { self.database = database }

    /// Maximum number of lanes to read in one pass.
    private static let lanesPerPass: Int64 = 32
    /// Maximum number of jobs to read in one pass, over all its lanes.
    private static let jobsPerPass = 5_000
    /// Number of jobs that keep a mirror's lane busy until the next pass: the rest stays with its
    /// own origin, which may work again by then.
    private static let jobsPerLane: Int64 = 5_000

    /// A job that waits for an origin in cooldown, and its best mirror.
    private struct Waiting {
        var lane: Int64
        var job: Int64
        /// The first working mirror; nil if there is none.
        var origin: String?
    }

    /// Moves jobs that wait for an origin in cooldown to the lane of a working mirror, enough to
    /// keep the mirror busy for about a second. Returns their number. Wakes workers that wait for
    /// jobs.
    ///
    /// Safe to run on all coordinators at once. It does not wait for locked lanes and jobs: the next pass
    /// moves those.
    @discardableResult
    package func move() async throws(Failure) -> Int {
        let lanes = try await lanesInCooldown()
        guard !lanes.isEmpty else { return 0 }
        let share = max(Self.jobsPerPass / lanes.count, 1)
        let waiting = try await waiting(in: lanes, most: share)
        let moved = try await move(waiting)
        search.withLock { search in
            for lane in lanes {
                let seen = waiting.filter { $0.lane == lane }
                let left = seen.first { $0.origin != nil && !moved.contains($0.job) }
                if let left {
                    search.set(left.job - 1, in: lane)
                } else {
                    // After the last job, those that arrived since are next.
                    search.set(seen.count < share ? 0 : seen.last?.job ?? 0, in: lane)
                }
            }
        }
        return moved.count
    }

    private func lanesInCooldown() async throws(Failure) -> [Int64] {
        let last = search.withLock { $0.lastLane }
        let lanes = try await database.withConnection { connection in
            try await connection.query(
                SQL.Mirrors.lanes, ["after": .int(last), "limit": .int(Self.lanesPerPass)]
            ).rows.map { try $0.int64("id") }
        }
        search.withLock { search in
            search.lastLane = lanes.count < Self.lanesPerPass ? 0 : lanes.last ?? 0
        }
        return lanes
    }

    /// Returns the next jobs of each lane, by lane and number.
    private func waiting(in lanes: [Int64], most: Int) async throws(Failure) -> [Waiting] {
        let positions = search.withLock { search in lanes.map { search.position(in: $0) } }
        return try await database.withConnection { connection in
            let rows = try await connection.query(
                SQL.Mirrors.jobs,
                [
                    "lanes": .int64Array(lanes), "after": .int64Array(positions),
                    "limit": .int(Int64(most)),
                ]
            ).rows
            let names = try rows.map { row in
                try row.optionalString("origins")?.split(separator: "\n").compactMap {
                    originName(of: String($0))
                } ?? []
            }
            let unwell = Set(
                try await connection.query(
                    SQL.Mirrors.unwell, ["origins": .textArray(Set(names.joined()).sorted())]
                ).rows.map { try $0.string("url") })
            return try zip(rows, names).map { row, names in
                Waiting(
                    lane: try row.int64("lane"), job: try row.int64("id"),
                    origin: names.first { !unwell.contains($0) })
            }
        }
    }

    /// Moves as many jobs as fit; returns their previous numbers.
    private func move(_ waiting: [Waiting]) async throws(Failure) -> Set<Int64> {
        var ways: [Way: Int] = [:]
        for job in waiting {
            if let origin = job.origin {
                ways[Way(lane: job.lane, origin: origin), default: 0] += 1
            }
        }
        guard !ways.isEmpty else { return [] }
        let all = ways.keys.sorted { ($0.lane, $0.origin) < ($1.lane, $1.origin) }
        let lanes = PostgresValue.int64Array(all.map(\.lane))
        let origins = PostgresValue.textArray(all.map(\.origin))
        let listed = PostgresValue.textArray(Set(all.map(\.origin)).sorted())
        do {
            return try await database.pool.withConnection { connection in
                // In its own transaction: transactions that lock origins have locked the lanes and
                // jobs before.
                _ = try await connection.query(SQL.Origins.list, ["origins": listed])
                return try await connection.transaction { connection in
                    _ = try await connection.query(SQL.Common.lockBriefly)
                    _ = try await connection.query(
                        SQL.Mirrors.makeLanes, ["lanes": lanes, "origins": origins])
                    let locked = try await connection.query(
                        SQL.Mirrors.lockLanes, ["lanes": lanes, "origins": origins]
                    ).rows.map { try $0.int64("id") }
                    let rooms = try await connection.query(
                        SQL.Mirrors.room,
                        [
                            "lanes": lanes, "origins": origins, "locked": .int64Array(locked),
                            "jobs_per_lane": .int(Self.jobsPerLane),
                        ]
                    ).rows.map { row in
                        (
                            Way(lane: try row.int64("lane"), origin: try row.string("url")),
                            Room(target: try row.int64("target"), jobs: try row.int64("room"))
                        )
                    }
                    return try await Self.move(
                        waiting, by: Dictionary(uniqueKeysWithValues: rooms), connection)
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

    private struct Way: Hashable {
        var lane: Int64
        var origin: String
    }

    private struct Room {
        var target: Int64
        var jobs: Int64
    }

    private static func move(
        _ waiting: [Waiting], by ways: [Way: Room], _ connection: PostgresConnection
    ) async throws -> Set<Int64> {
        // Several lanes may lead to one.
        var rooms: [Int64: Int64] = [:]
        for room in ways.values { rooms[room.target] = room.jobs }
        var chosen: [(lane: Int64, job: Int64, target: Int64)] = []
        for job in waiting {
            guard let origin = job.origin, let way = ways[Way(lane: job.lane, origin: origin)],
                rooms[way.target, default: 0] > 0
            else { continue }
            rooms[way.target, default: 0] -= 1
            chosen.append((job.lane, job.job, way.target))
        }
        guard !chosen.isEmpty else { return [] }
        let moved = try await connection.query(
            SQL.Mirrors.move,
            [
                "lanes": .int64Array(chosen.map(\.lane)), "jobs": .int64Array(chosen.map(\.job)),
                "targets": .int64Array(chosen.map(\.target)),
            ]
        ).rows.map { try $0.int64("id") }
        guard !moved.isEmpty else { return [] }
        _ = try await connection.query(
            SQL.Mirrors.emptied, ["lanes": .int64Array(Set(chosen.map(\.lane)).sorted())])
        _ = try await connection.query(SQL.Common.notifyWork)
        return Set(moved)
    }
}
