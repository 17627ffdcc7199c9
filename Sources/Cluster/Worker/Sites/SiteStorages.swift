import Model
import Services
import Storage
import Synchronization

/// When each site is swept. A value.
struct SweepTurns {
    private var dueAt: [String: HeldWork.Instant] = [:]

    /// From one sweep of a site to the next: what a killed worker left goes soon after its lease has ended.
    private static let pause = Duration.seconds(60)

    /// The URLs of the sites whose turn it is. None of them is due again before `swept`.
    mutating func due(at now: HeldWork.Instant) -> [String] {
        let due = dueAt.filter { $0.value <= now }.map(\.key).sorted()
        for url in due { dueAt[url] = nil }
        return due
    }

    mutating func swept(_ url: String, at now: HeldWork.Instant) { dueAt[url] = now + Self.pause }
}

/// The storages of sites: each opened once, swept now and then, and closed while it is not in use. Safe from any
/// thread.
final class SiteStorages: Sendable {
    private struct State {
        var opened: [String: DirectoryStorage] = [:]
        var sweeps = SweepTurns()
    }

    private let durability: Durability
    private let roots: SiteRoots
    private let volumes: Shared<SiteVolumes>
    private let blocking: BlockingCalls
    private let log: Logger
    private let state = Mutex(State())

    init(
        durability: Durability, roots: SiteRoots, volumes: Shared<SiteVolumes>,
        blocking: BlockingCalls, log: Logger
    ) {
        self.durability = durability
        self.roots = roots
        self.volumes = volumes
        self.blocking = blocking
        self.log = log
    }

    /// Those that were opened before.
    var opened: [DirectoryStorage] { state.withLock { Array($0.opened.values) } }

    /// The storage of a site, on the volume that is recorded for it: looked at now, so that nothing is fetched for
    /// another one. Blocks.
    func storage(at url: String) throws(Failure) -> DirectoryStorage {
        let volume = volumes.withLock { $0.volume(at: url) }
        if let known = state.withLock({ $0.opened[url] }) {
            try known.require(volume: volume)
            return known
        }
        let made = try DirectoryStorage(
            try StorageURL(url), durability: durability, roots: roots, volume: volume)
        sweep(url, made, now: .now)
        return state.withLock { state in
            if let known = state.opened[url] { return known }
            state.opened[url] = made
            return made
        }
    }

    // MARK: Sweeping

    /// Age of abandoned files that may still be resumed: a week, because the parts of a large file
    /// wait here for the rest of it.
    private static let abandonedSeconds = 7.0 * 86_400
    /// Files of one directory that a sweep looks at: some tens of milliseconds of a local disk.
    private static let sweptFiles = 10_000

    /// Removes what attempts long dead have left at a site. Blocks.
    private func sweep(_ url: String, _ storage: DirectoryStorage, now: HeldWork.Instant) {
        let outcome = try? storage.sweepTemporaries(
            olderThanSeconds: Self.abandonedSeconds, most: Self.sweptFiles)
        if let outcome, outcome.removed > 0 {
            log.info("removed what was left behind", ["files": outcome.removed, "site": url])
        }
        state.withLock { $0.sweeps.swept(url, at: now) }
    }

    /// Sweeps the sites whose turn it is. Do not wait for the tasks: one may hang.
    @discardableResult
    func sweepDue(now: HeldWork.Instant = .now) -> [Task<Void, Never>] {
        let due = state.withLock { state in
            state.sweeps.due(at: now).compactMap { url in state.opened[url].map { (url, $0) } }
        }
        return due.map { url, storage in
            Task {
                await self.blocking.run {
                    let isInUse = storage.isOpen
                    self.sweep(url, storage, now: now)
                    // A file system that is not in use otherwise can be unmounted at once.
                    if !isInUse { storage.closeIdle(idleSeconds: 0) }
                }
            }
        }
    }

    /// Sweeps sites now and then, until the task is cancelled.
    func keepSweeping() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(60))
            if !Task.isCancelled { sweepDue() }
        }
    }

    /// Closes the directories of sites that are not in use, so that their file systems can be unmounted.
    func keepClosingIdle() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            for storage in opened { storage.closeIdle() }
        }
    }
}
