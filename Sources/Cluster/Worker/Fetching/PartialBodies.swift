import Digest
import Model
import Storage
import Transfer

/// Keeps interrupted bodies at the site, so that the job's next worker resumes them.
struct PartialBodies: Sendable {
    /// The identity of the coordinators' database; empty until a coordinator reports it.
    let cluster: Shared<ClusterID>
    let held: HeldWork
    let blocking: BlockingCalls

    /// Lists the partial bodies at a site.
    func index(of storage: DirectoryStorage) async -> PartialIndex {
        await blocking.run { (try? storage.partials()) ?? PartialIndex() }
    }

    /// Removes the multipart files of previous attempts, which may be as large as the files.
    func removeFormerAssemblies(of work: [Assignment]) async {
        let former = work.compactMap { work in
            work.job.formerAssembly.map { (work.storage, $0) }
        }
        guard !former.isEmpty else { return }
        await blocking.run {
            for (storage, assembly) in former { storage.removeAssembly(id: assembly) }
        }
    }

    /// Takes the partial body of a job. Returns nil if there is none or the job is not wanted any
    /// more.
    func take(_ work: Assignment, of left: PartialIndex) async -> Result<PartialBody?, Failure> {
        await blocking.run {
            Result { () throws(Failure) in
                try self.held.isWanted(work.leased) ? self.takeNow(work, of: left) : nil
            }.mapError {
                work.storage.judge($0, bytes: work.job.length ?? .max, isLengthKnown: true)
            }
        }
    }

    private func takeNow(
        _ work: Assignment, of left: PartialIndex
    ) throws(Failure) -> PartialBody? {
        let job = work.job
        var place = DirectoryStorage.PartialPlace.key(job.key)
        if let assembly = job.assembly, let offset = job.offset, let length = job.length {
            place = .range(
                assembly: assembly.id, offset: offset, length: length,
                totalBytes: assembly.totalBytes)
        }
        return try work.storage.takePartial(
            identity(of: job), of: left, for: Self.attempt(at: work), place: place,
            digests: job.furtherDigests.map(\.algorithm))
    }

    private static func attempt(at work: Assignment) -> ObjectAttempt {
        ObjectAttempt(lease: work.lease, job: work.job.id, asset: work.job.asset)
    }

    /// Returns the identity of a job's partial body; for a job that is being split, its first
    /// part's.
    func identity(of job: Job, split: Split? = nil) -> PartialIdentity {
        if let assembly = job.assembly, let offset = job.offset, let length = job.length {
            return PartialIdentity(assembly: assembly.id, offset: offset, length: length)
        }
        if let split, let assembly = split.assembly {
            return PartialIdentity(assembly: assembly, offset: 0, length: split.partBytes)
        }
        // A URL with a new signature is the same object.
        let url = SignedQuery.unsigned(Array(job.url.utf8))
        return PartialIdentity(
            url: String(decoding: url, as: UTF8.self), key: job.key,
            cluster: cluster.withLock { $0 },
            asset: job.role == .file ? job.asset : nil)
    }

    /// Returns the partial body that a transfer resumes, and the call that records its progress.
    func resumption(of work: Assignment, _ split: Split, from partial: PartialBody?) -> Resumption {
        var resumption = Resumption(partial: partial) { object, record in
            guard let object else { return }
            let identity = self.identity(of: work.job, split: split)
            self.blocking.start {
                work.storage.note(record, of: object, as: identity, by: Self.attempt(at: work))
            }
        }
        resumption.isGuarded =
            work.job.sha256 != nil || work.job.furtherDigests.contains { !$0.algorithm.isChecksum }
        return resumption
    }

    /// Puts back a partial body that was taken and not used. Blocks for a rename at most.
    func putBack(_ partial: PartialBody?, of work: Assignment) {
        guard let partial, let object = partial.object else { return }
        work.storage.keep(
            partial.record, of: object, as: identity(of: work.job), by: Self.attempt(at: work))
    }

    /// Keeps a transfer's partial body, unless its job was cancelled.
    func keep(_ left: PartialBody?, of work: Assignment, _ split: Split) async {
        guard let left, let object = left.object else { return }
        await blocking.run {
            guard !self.held.isCancelled(work.leased) else { return object.discard() }
            work.storage.keep(
                left.record, of: object, as: self.identity(of: work.job, split: split),
                by: Self.attempt(at: work))
        }
    }
}
