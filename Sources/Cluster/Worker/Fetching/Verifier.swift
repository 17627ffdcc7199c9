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

    func verify(_ work: LeasedJob, _ grant: LeaseGrant) async {
        let job = work.job
        let stated = job.statedDigests
        let result = await blocking.run { () -> Result<StoredObject, Failure> in
            Result { () throws(Failure) in
                guard let assembly = job.assembly else {
                    throw Failure(.clusterProtocol, "A verify job has no multipart file.")
                }
                guard !self.held.isCancelled(work) else {
                    throw Failure(.workerCancelled, "The job was cancelled.")
                }
                let storage = try self.storages.storage(
                    at: grant.sites[job.site.description] ?? "")
                return try storage.promoteAssembly(
                    assembly, key: job.key, expectedSHA256: job.sha256,
                    digests: job.furtherDigests, stated: stated
                ) { self.held.isWanted(work) }
            }
        }
        switch result {
        case .failure(let failure): reporter.fail(work, failure)
        case .success(let stored):
            var report = JobReport(job: job.id, lease: work.lease, outcome: .done)
            report.stored = stored
            report.verified = job.sha256 != nil || job.digests != nil || !stated.isEmpty
            reporter.done(report)
        }
        pace.ended(1)
    }
}
