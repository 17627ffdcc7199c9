package import Model
import Postgres
import Synchronization

/// Whether there are limits to divide, or bounds to a site's space to observe, as far as this process knows.
package final class KnownLimits: Sendable {
    private let database: QueueDatabase
    private let limits = Atomic<Bool>(true)
    private let spaces = Atomic<Bool>(true)
    /// Counts changes that this process made.
    private let changes = Atomic<Int>(0)

    init(database: QueueDatabase) { self.database = database }

    /// Any site may have a bandwidth in force, or any origin a limit.
    var haveLimits: Bool { limits.load(ordering: .relaxed) }
    /// Any site may have a bound to its space, or a failure.
    var boundSpace: Bool { spaces.load(ordering: .relaxed) }

    /// Finds out whether any site has a bandwidth in force, any origin a limit, and any site a bound to its room; as
    /// long as none has, claims and heartbeats do not ask for them.
    package func read() async throws(Failure) {
        let version = changes.load(ordering: .sequentiallyConsistent)
        let (isLimited, isNarrow) = try await database.withConnection { connection in
            let row = try await connection.query(SQL.Sites.bounded).only()
            return (try row.bool("is_limited"), try row.bool("is_narrow"))
        }
        limits.store(isLimited, ordering: .sequentiallyConsistent)
        spaces.store(isNarrow, ordering: .sequentiallyConsistent)
        // Somebody else knew better meanwhile.
        if changes.load(ordering: .sequentiallyConsistent) != version { changed() }
    }

    /// Has quotas and bounds asked for until it is known that there are none.
    func changed() {
        changes.wrappingAdd(1, ordering: .sequentiallyConsistent)
        limits.store(true, ordering: .sequentiallyConsistent)
        spaces.store(true, ordering: .sequentiallyConsistent)
    }
}
