import CoordinatorClient
import Digest
import Model
import Storage

/// Reuses files that are stored under their keys already: what was stored before, or what a list promises.
struct StoredFiles: Sendable {
    let held: HeldWork
    let blocking: BlockingCalls
    let reporter: Reporter
    let pace: LeasePace

    /// Jobs whose files are hashed between two looks at the rest.
    static let batch = 64

    /// What would be under the key if it were there: what was stored before, or what the list promises.
    private static func promised(_ job: Job) -> (bytes: Int64?, digests: [ExpectedDigest])? {
        if let known = job.known, let digest = SHA256Digest(hex: known.sha256) {
            return (known.bytes, [ExpectedDigest(digest)])
        }
        guard job.assembly == nil else { return nil }
        let sha256 = job.sha256.flatMap { SHA256Digest(hex: $0) }.map { [ExpectedDigest($0)] }
        let digests = (sha256 ?? []) + job.furtherDigests
        return digests.isEmpty ? nil : (job.length, digests)
    }

    /// Whether it is known what to look for under a job's key.
    static func mayBeStored(_ job: Job) -> Bool { promised(job) != nil }

    /// What was found of some jobs.
    struct Found: Sendable {
        /// Stored, but perhaps of an edition that is gone: the origin is asked whether it is unchanged.
        var toConfirm: [Assignment]
        var missing: [Assignment]
    }

    /// Hashes what is stored under the keys of jobs, ends those that need no more, and answers the others.
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
        // What others stored, or this asset before other tracks were chosen, may be of an edition that is gone.
        let isToConfirm = { (job: Job) in job.knownValidator != nil && job.isDocument != true }
        let found = zip(work, stored).filter { $0.1 != nil }
        let reused = found.filter { !isToConfirm($0.0.job) }
        reporter.done(reused.map { Self.report($0.leased, reused: $1) })
        pace.ended(reused.count)
        return Found(
            toConfirm: found.map(\.0).filter { isToConfirm($0.job) },
            missing: zip(work, stored).filter { $0.1 == nil }.map(\.0))
    }

    /// Of a job whose bytes are stored under their key already.
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
