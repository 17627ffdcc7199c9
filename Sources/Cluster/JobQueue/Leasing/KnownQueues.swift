import Model
import Postgres
import Synchronization

/// A queue, its site, and the cluster; none of them changes.
struct KnownQueue: Sendable {
    var id: Int64
    var site: SiteID
    var storageURL: String
    var cluster: ClusterID

    init(row: PostgresRow) throws {
        id = try row.int64("id")
        site = SiteID(try row.int64("site_id"))
        storageURL = try row.string("storage_url")
        cluster = try row.uuid("cluster")
    }
}

/// Queues that were looked up lately, and those with jobs that waited to be tried alone.
package final class KnownQueues: Sendable {
    private struct State {
        var byName: [String: KnownQueue] = [:]
        /// The queues with such jobs at the last claim.
        var awaitingTrial: Set<Int64> = []
    }

    private let database: QueueDatabase
    private let state = Mutex(State())

    /// Beyond this number of queues, each claim looks up those with work.
    private static let few = 4

    init(database: QueueDatabase) { self.database = database }

    /// Returns the queues to try, all of them without names: all if they are few, otherwise those
    /// with work.
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

    /// Returns true if jobs of these queues, of all without names, waited to be tried alone at the
    /// last claim.
    ///
    /// A worker without jobs asks again soon: the end of any job, also its own, may let it try one,
    /// and no notification reports that.
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

    /// Forgets all queues, because they are outdated, or to bound their number.
    func forget() { state.withLock { $0.byName = [:] } }
}
