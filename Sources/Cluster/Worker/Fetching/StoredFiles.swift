import CoordinatorClient
import Digest
import Model
import Storage

/// Reuses files that are already stored under their keys: a previous version, or the list's digest.
struct StoredFiles: Sendable {
    let held: HeldWork
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    /// Maximum number of jobs whose files are hashed in one batch.
    static let batch = 64

    /// Returns the expected size and digests of the file under the key: the previous version's or
    /// the list's.
    private static func promised(_ job: Job) -> (bytes: Int64?, digests: [ExpectedDigest])? {
        if let known = job.known, let digest = SHA256Digest(hex: known.sha256) {
            return (known.bytes, [ExpectedDigest(digest)])
        }
        guard job.assembly == nil else { return nil }
        let sha256 = job.sha256.flatMap { SHA256Digest(hex: $0) }.map { [ExpectedDigest($0)] }
        let digests = (sha256 ?? []) + job.furtherDigests
        return digests.isEmpty ? nil : (job.length, digests)
    }

    /// Returns true if the file under a job's key can be checked.
    static func mayBeStored(_ job: Job) -> Bool { promised(job) != nil }

    /// The result of a search for stored files.
    struct Found: Sendable {
        /// Stored, but maybe of an old edition: the origin must confirm that it is unchanged.
        var toConfirm: [Assignment]
        var missing: [Assignment]
    }

    /// Hashes the files under the jobs' keys, completes the jobs that need no more, and returns the
    /// rest.
    func take(_ work: [Assignment]) async -> Found {
        let stored = await blocking.run {
            work.map { work -> StoredObject? in
                guard self.held.isHeld(work.lease), let promised = Self.promised(work.job) else {
                    return nil
                }
                return work.storage.adopt(
                    key: work.job.key, bytes: promised.bytes, digests: promised.digests)
            }
        }
        // Files of other assets, or of a previous track selection, may be of an old edition.
        let isToConfirm = { (job: Job) in job.knownValidator != nil && job.isDocument != true }
        let found = zip(work, stored).filter { $0.1 != nil }
        let reused = found.filter { !isToConfirm($0.0.job) }
        reporter.done(reused.map { Self.report($0.leased, reused: $1) })
        pace.ended(reused.count)
        return Found(
            toConfirm: found.map(\.0).filter { isToConfirm($0.job) },
            missing: zip(work, stored).filter { $0.1 == nil }.map(\.0))
    }

    /// Creates the report of a job whose bytes are already stored under their key.
    static func report(_ work: LeasedJob, reused stored: StoredObject?) -> JobReport {
        let job = work.job
        var report = JobReport(job: job.id, lease: work.lease, outcome: .done)
        report.stored = stored
        report.adopted = true
        report.validator = job.knownValidator
        if job.sha256 != nil || job.digests != nil || job.isKnownVerified == true {
            report.verified = true
        }
        return report
    }
}
