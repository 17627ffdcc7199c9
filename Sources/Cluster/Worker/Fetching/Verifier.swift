import API
import CoordinatorClient
import Model
import Storage

/// Hashes multipart files whose parts are complete, and gives them their final keys.
struct Verifier: Sendable {
    let storages: SiteStorages
    let held: HeldWork
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    func verify(_ verification: Leased<Verification>) async {
        let (work, task) = (verification.work, verification.task)
        let stated = task.statedDigests
        let result = await blocking.run { () -> Result<StoredObject, Failure> in
            Result { () throws(Failure) in
                guard !self.held.isCancelled(work) else {
                    throw Failure(.workerCancelled, "The job was cancelled.")
                }
                let storage = try self.storages.storage(at: work.site.storageURL)
                return try storage.promoteMultipart(
                    task.multipart, key: task.key, expectedSHA256: task.sha256,
                    digests: task.furtherDigests, stated: stated
                ) { self.held.isWanted(work) }
            }
        }
        switch result {
        case .failure(let failure): reporter.fail(work, failure)
        case .success(let stored):
            let isVerified = task.sha256 != nil || task.digests != nil || !stated.isEmpty
            reporter.done(work, JobReport.Done(stored: stored, isVerified: isVerified))
        }
        pace.ended(1)
    }
}
