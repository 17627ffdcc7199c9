import CoordinatorClient
import Digest
import Model
import Storage

/// Stores a file that the coordinator has for a job instead of its origin: a manifest rewritten for
/// the edge.
struct DocumentWriter: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let held: HeldWork
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    func write(_ work: Assignment) async {
        let (job, lease) = (work.job, work.lease)
        do throws(Failure) {
            let document = try await client.document(
                DocumentRequest(worker: worker, job: job.id, lease: lease))
            guard let content = document.content, held.isWanted(work.leased) else {
                return reporter.giveBack(work.leased)
            }
            let bytes = Array(content.utf8)
            let digest = SHA256Digest(hashing: bytes).description
            guard digest == job.sha256 else {
                throw Failure(
                    .integrityDigestMismatch,
                    "\(job.key): the coordinator has another manifest than was resolved")
            }
            let written = await blocking.run { () -> Result<Void, Failure> in
                Result { () throws(Failure) in
                    try work.storage.writeDocument(
                        key: job.key, lease: lease, job: job.id, chunks: CollectionOfOne(bytes)
                    ) { self.held.isWanted(work.leased) }
                }
            }
            try written.get()
            var report = JobReport(job: job.id, lease: lease, outcome: .done)
            report.stored = StoredObject(bytes: Int64(bytes.count), sha256: digest)
            // The manifest was resolved to exactly these bytes.
            report.verified = true
            reporter.done(report)
        } catch {
            reporter.fail(work.leased, error)
        }
        pace.ended(1)
    }
}
