import Model
import Services
import Storage
import Synchronization

/// The times at which sites are swept. A value.
struct SweepTurns {
    private var dueAt: [String: HeldWork.Instant] = [:]

    /// Time between sweeps of a site: a killed worker's files are removed soon after its lease
    /// expires.
    private static let pause = Duration.seconds(60)

    /// Returns the URLs of the sites that are due. None is due again before `swept(_:at:)`.
    mutating func due(at now: HeldWork.Instant) -> [String] {
        let due = dueAt.filter { $0.value <= now }.map(\.key).sorted()
        for url in due { dueAt[url] = nil }
        return due
    }

    mutating func swept(_ url: String, at now: HeldWork.Instant) { dueAt[url] = now + Self.pause }
}

/// The storages of sites: opened once, swept regularly, and closed while not in use. Safe from any
/// thread.
final class SiteStorages: Sendable {
    private struct State {
        var opened: [String: SiteStorage] = [:]
        var sweeps = SweepTurns()
        /// Made for the first site in a bucket.
        var bucketAccess: BucketAccess?
    }

    private let durability: Durability
    private let roots: SiteRoots
    private let volumes: Shared<SiteVolumes>
    private let buckets: BucketOptions
    private let blocking: BlockingCalls
    private let log: Logger
    private let state = Mutex(State())

    init(
        durability: Durability, roots: SiteRoots, buckets: BucketOptions,
        volumes: Shared<SiteVolumes>, blocking: BlockingCalls, log: Logger
    ) {
        self.durability = durability
        self.roots = roots
        self.buckets = buckets
        self.volumes = volumes
        self.blocking = blocking
        self.log = log
    }

    /// The storages opened so far.
    var opened: [SiteStorage] { state.withLock { Array($0.opened.values) } }

    /// Returns the storage of a site on its recorded volume. The volume is checked now, so that
    /// nothing is fetched for another one. Blocks.
    func storage(at url: String) throws(Failure) -> SiteStorage {
        let volume = volumes.withLock { $0.volume(at: url) }
        if let known = state.withLock({ $0.opened[url] }) {
            try known.require(volume: volume)
            return known
        }
        let made = try SiteStorage.open(
            try StorageURL(url), durability: durability, roots: roots, volume: volume
        ) { () throws(Failure) in try bucketAccess() }
        sweep(url, made, now: .now)
        return state.withLock { state in
            if let known = state.opened[url] { return known }
            state.opened[url] = made
            return made
        }
    }

    private func bucketAccess() throws(Failure) -> BucketAccess {
        if let known = state.withLock({ $0.bucketAccess }) { return known }
        let made = try BucketAccess(buckets)
        return state.withLock { state in
            if let known = state.bucketAccess { return known }
            state.bucketAccess = made
            return made
        }
    }

    // MARK: Sweeping

    /// Minimum age of abandoned files that may be resumed: a week, because the parts of a large
    /// file wait for its rest.
    private static let abandonedSeconds = 7.0 * 86_400
    /// Maximum number of a directory's files that one sweep checks: some tens of milliseconds on a
    /// local disk.
    private static let sweptFiles = 10_000

    /// Removes the files of dead attempts at a site. Blocks.
    private func sweep(_ url: String, _ storage: SiteStorage, now: HeldWork.Instant) {
        let outcome = try? storage.sweepTemporaries(
            olderThanSeconds: Self.abandonedSeconds, most: Self.sweptFiles)
        if let outcome, outcome.removed > 0 {
            log.info("removed abandoned files", ["files": outcome.removed, "site": url])
        }
        state.withLock { $0.sweeps.swept(url, at: now) }
    }

    /// Sweeps the sites that are due. Do not wait for the tasks: one may hang.
    @discardableResult
    func sweepDue(now: HeldWork.Instant = .now) -> [Task<Void, Never>] {
        let due = state.withLock { state in
            state.sweeps.due(at: now).compactMap { url in state.opened[url].map { (url, $0) } }
        }
        return due.map { url, storage in
            Task {
                await self.blocking.run {
                    let isInUse = storage.receiving.isOpen
                    self.sweep(url, storage, now: now)
                    // Allows unmounting a file system that is not in use otherwise.
                    if !isInUse { storage.receiving.closeIdle(idleSeconds: 0) }
                }
            }
        }
    }

    /// Closes the directories of idle sites, so that their file systems can be unmounted.
    func closeIdle() {
        for storage in opened { storage.receiving.closeIdle() }
    }
}
