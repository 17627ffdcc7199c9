import CoordinatorClient
import Digest
import Model
import Storage

extension WorkerService {
    /// Stores what the coordinator has for a job in place of what its origin serves: a manifest that was
    /// changed for the edge.
    func write(_ job: Job, _ lease: LeaseID, _ storage: DirectoryStorage) async {
        do throws(Failure) {
            let document = try await client.document(
                DocumentRequest(worker: id, job: job.id, lease: lease))
            guard let content = document.content, isWanted(job, lease) else {
                return giveBack(job, lease)
            }
            let bytes = Array(content.utf8)
            let digest = SHA256Digest(hashing: bytes).description
            guard digest == job.sha256 else {
                throw Failure(
                    "integrity.digestMismatch",
                    "\(job.key): the coordinator's document is not the one that was resolved")
            }
            let written = await blocking.run { () -> Result<Void, Failure> in
                Result { () throws(Failure) in
                    try storage.writeDocument(
                        key: job.key, lease: lease, job: job.id, chunks: CollectionOfOne(bytes)
                    ) { self.isWanted(job, lease) }
                }
            }
            try written.get()
            var report = JobReport(job: job.id, lease: lease, outcome: .done)
            report.stored = StoredObject(bytes: Int64(bytes.count), sha256: digest)
            // It is what the manifest's resolution came to.
            report.verified = true
            held.downloaded(job.id, lease)
            reports.push(report)
        } catch {
            fail(job, lease, error)
        }
        pace.ended(1)
    }
}
