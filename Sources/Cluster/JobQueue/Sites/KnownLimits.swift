package import Model
import Postgres
import Synchronization

/// True if there are limits to divide, or limits of a site's space to observe, as far as this
/// process knows.
package final class KnownLimits: Sendable {
    private let database: QueueDatabase
    private let limits = Atomic<Bool>(true)
    private let spaces = Atomic<Bool>(true)
    /// Number of changes that this process made.
    private let changes = Atomic<Int>(0)

    init(database: QueueDatabase) { self.database = database }

    /// True if any site may have a bandwidth in force, or any origin a limit.
    var anyQuota: Bool { limits.load(ordering: .relaxed) }
    /// True if any site may have a limit of its space, or a failure.
    var anySpaceLimit: Bool { spaces.load(ordering: .relaxed) }

    /// Reads whether any site has a bandwidth in force, any origin a limit, and any site a limit of
    /// its space. While none has, claims and heartbeats do not query them.
    package func read() async throws(Failure) {
        let version = changes.load(ordering: .sequentiallyConsistent)
        let (isLimited, isNarrow) = try await database.withConnection { connection in
            let row = try await connection.query(SQL.Sites.bounded).only()
            return (try row.bool("is_limited"), try row.bool("is_narrow"))
        }
        limits.store(isLimited, ordering: .sequentiallyConsistent)
        spaces.store(isNarrow, ordering: .sequentiallyConsistent)
        // A newer change was made meanwhile.
        if changes.load(ordering: .sequentiallyConsistent) != version { changed() }
    }

    /// Lets quotas and limits be queried until it is known that there are none.
    func changed() {
        changes.wrappingAdd(1, ordering: .sequentiallyConsistent)
        limits.store(true, ordering: .sequentiallyConsistent)
        spaces.store(true, ordering: .sequentiallyConsistent)
    }
}
