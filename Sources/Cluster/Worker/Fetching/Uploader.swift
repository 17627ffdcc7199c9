import API
import Model
import Storage

/// Stores finished transfers of buckets, several at a time, and passes on their results.
struct Uploader: Sendable {
    let finished: Mailbox<FinishedTransfer>
    /// Maximum number of objects that are sent at a time.
    let connections: Int
    let held: HeldWork
    let sites: SitesInUse
    let failures: SiteFailures
    let metrics: WorkerMetrics
    let partials: PartialBodies
    let results: Mailbox<JobReport>

    /// Runs until the mailbox is closed and empty.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            while let end = await finished.next(1).first {
                if running >= connections {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await self.upload(end) }
            }
        }
    }

    private func upload(_ end: FinishedTransfer) async {
        let leased = end.work.leased
        guard held.isWanted(leased), case .bucket(let storage) = end.work.storage,
            let stored = end.done.stored
        else {
            end.object.discard()
            return results.push(leased.report(.returned()))
        }
        let outcome = await storage.upload(
            end.object, stored, by: partials.attempt(at: end.work)
        ) {
            self.held.isWanted(leased)
        }
        switch outcome {
        case .success:
            sites.stored(at: [end.work.site])
            metrics.stored(1, stored.bytes, at: storage.url.description)
        case .failure(let failure) where failure.code.leavesReceivedBody:
            await partials.keep(unstored: end)
        case .failure: end.object.discard()
        }
        // Until now, so that no more bodies are received than can be sent.
        held.downloaded(leased)
        results.push(failures.report(of: end, outcome, metrics))
    }
}

extension FailureCode {
    /// True if a body that could not be stored is as good as before.
    fileprivate var leavesReceivedBody: Bool {
        switch self {
        case .workerLeaseLost, .workerCancelled: true
        // The bytes in the spool, or their parts in the bucket, are not those that were received.
        case .storageIO, .storageBadDigest, .integrityMultipartMismatch: false
        // For good.
        case .storageRefused: false
        default: family == "storage"
        }
    }
}
