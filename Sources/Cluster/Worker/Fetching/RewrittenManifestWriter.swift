import API
import CoordinatorClient
import Digest
import Model
import Storage

/// Stores a file that the coordinator has for a job instead of its origin: a manifest rewritten for
/// the edge.
struct RewrittenManifestWriter: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let held: HeldWork
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    func write(_ work: Assignment) async {
        let (job, fetch, lease) = (work.job, work.fetch, work.lease)
        do throws(Failure) {
            let manifest = try await client.rewrittenManifest(
                RewrittenManifestRequest(worker: worker, job: job.id, lease: lease))
            guard let content = manifest.content, held.isWanted(work.leased) else {
                return reporter.giveBack(work.leased)
            }
            let bytes = Array(content.utf8)
            let digest = SHA256Digest(hashing: bytes).description
            guard digest == fetch.sha256 else {
                throw Failure(
                    .integrityDigestMismatch,
                    "\(Redaction.path(fetch.key)): the coordinator has another manifest "
                        + "than was resolved")
            }
            let written = await blocking.run { () -> Result<Void, Failure> in
                Result { () throws(Failure) in
                    try work.storage.writeGeneratedFile(
                        key: fetch.key, lease: lease, job: job.id, chunks: CollectionOfOne(bytes)
                    ) { self.held.isWanted(work.leased) }
                }
            }
            try written.get()
            let stored = StoredObject(bytes: Int64(bytes.count), sha256: digest)
            // The manifest was resolved to exactly these bytes.
            let done = JobReport.Done(stored: stored, isVerified: true)
            reporter.done(work.leased, done)
        } catch {
            reporter.fail(work.leased, error)
        }
        pace.ended(1)
    }
}
