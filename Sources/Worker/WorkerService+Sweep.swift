import Model
import Runtime
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

// What attempts long dead have left behind is removed by whoever works at the site.
extension WorkerService {
    /// Age of abandoned files that may still be resumed: a week, because the parts of a large file
    /// wait here for the rest of it.
    private static let abandonedSeconds = 7.0 * 86_400
    /// Files of one directory that a sweep looks at: some tens of milliseconds of a local disk.
    private static let sweptFiles = 10_000

    /// Sweeps a site that was just opened, or whose turn it is. Blocks.
    func sweep(_ url: String, _ storage: DirectoryStorage, now: HeldWork.Instant = .now) {
        let outcome = try? storage.sweepTemporaries(
            olderThanSeconds: Self.abandonedSeconds, most: Self.sweptFiles)
        if let outcome, outcome.removed > 0 {
            log.info("removed what was left behind", ["files": outcome.removed, "site": url])
        }
        sweeps.withLock { $0.swept(url, at: now) }
    }

    /// Sweeps the sites whose turn it is. Do not wait for the tasks: one may hang.
    @discardableResult
    func sweepDue(now: HeldWork.Instant = .now) -> [Task<Void, Never>] {
        sweeps.withLock { $0.due(at: now) }.compactMap { url in
            guard let storage = openedStorage(at: url) else { return nil }
            return Task {
                await self.blocking.run {
                    let isInUse = storage.isOpen
                    self.sweep(url, storage, now: now)
                    // A file system that is not in use otherwise can be unmounted at once.
                    if !isInUse { storage.closeIdle(idleSeconds: 0) }
                }
            }
        }
    }

    /// Sweeps sites now and then, for as long as the worker runs.
    func keepSweeping() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(60))
            if !Task.isCancelled { sweepDue() }
        }
    }
}
