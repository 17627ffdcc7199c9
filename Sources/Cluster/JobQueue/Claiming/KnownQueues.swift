import Model
import Postgres
import Synchronization

/// A queue, the site that it feeds, and the cluster; none of them changes.
struct KnownQueue: Sendable {
    var id: Int64
    var site: SiteID
    var storageURL: String
    var cluster: ClusterID

    init(row: PostgresRow) throws {
        id = try row.int64("id")
        site = SiteID(try row.int64("site_id"))
        storageURL = try row.string("storage_url")
        cluster = try row.string("cluster")
    }
}

/// Queues that were looked up lately, and which of them had jobs that waited to be tried alone.
package final class KnownQueues: Sendable {
    private struct State {
        var byName: [String: KnownQueue] = [:]
        /// At the last claim.
        var awaitingTrial: Set<Int64> = []
    }

    private let database: QueueDatabase
    private let state = Mutex(State())

    /// More queues than these are looked up each time, for those that have work.
    private static let few = 4

    init(database: QueueDatabase) { self.database = database }

    /// The queues to try, all of them if there are no names: the few there are, or of many those that have work.
    func named(_ names: [String]) async throws(Failure) -> [KnownQueue] {
        let few = Self.few
        if (1...few).contains(names.count) {
            let known = state.withLock { state in names.compactMap { state.byName[$0] } }
            if known.count == names.count { return known }
        }
        let found = try await database.withConnection { connection in
            let all = try await connection.query(
                SQL.Leasing.queues, ["names": .textArray(names), "limit": .int(few + 1)]
            ).rows
            let rows =
                all.count <= few
                ? all
                : try await connection.query(
                    SQL.Leasing.queuesWithWork, ["names": .textArray(names)]
                ).rows
            return try rows.map { (name: try $0.string("name"), queue: try KnownQueue(row: $0)) }
        }
        state.withLock { state in
            for queue in found { state.byName[queue.name] = queue.queue }
        }
        return found.map(\.queue)
    }

    /// Whether jobs of these queues, of all if there are no names, waited to be tried alone at the last claim.
    ///
    /// A worker that got none asks again soon: the end of any job, its own too, may let it try one, and no
    /// notification reports that.
    package func awaitsTrial(in names: [String]) -> Bool {
        state.withLock { state in
            guard !state.awaitingTrial.isEmpty, !names.isEmpty else {
                return !state.awaitingTrial.isEmpty
            }
            return names.contains { name in
                state.byName[name].map { state.awaitingTrial.contains($0.id) } ?? true
            }
        }
    }

    func note(_ queue: Int64, awaitsTrial: Bool) {
        state.withLock { state in
            if awaitsTrial {
                state.awaitingTrial.insert(queue)
            } else {
                state.awaitingTrial.remove(queue)
            }
        }
    }

    /// Forgets all queues, because what is known of them is out of date, or to bound it.
    func forget() { state.withLock { $0.byName = [:] } }
}
