import API
import Digest
import Model
import Storage
import Transfer

/// Keeps interrupted bodies at the site, so that the job's next worker resumes them.
struct PartialBodies: Sendable {
    /// The identity of the coordinators' database; nil until a coordinator reports it.
    let cluster: Shared<ClusterID?>
    let held: HeldWork
    let blocking: BlockingCalls

    /// Lists the partial bodies at a site.
    func index(of storage: SiteStorage) async -> PartialIndex {
        await blocking.run { (try? storage.receiving.partials()) ?? PartialIndex() }
    }

    /// Removes the multipart files of previous attempts, which may be as large as the files.
    func removeAbandoned(of work: [Assignment]) async {
        let abandoned = work.compactMap { work -> (SiteStorage, MultipartID)? in
            guard case .whole(_, let id?) = work.fetch.body else { return nil }
            return (work.storage, id)
        }
        guard !abandoned.isEmpty else { return }
        await blocking.run {
            for (storage, id) in abandoned { storage.receiving.removeMultipart(id: id) }
        }
    }

    /// Takes the partial body of a job. Returns nil if there is none or the job is not wanted any
    /// more.
    func take(_ work: Assignment, of left: PartialIndex) async -> Result<PartialBody?, Failure> {
        await blocking.run {
            Result { () throws(Failure) in
                try self.held.isWanted(work.leased) ? self.takeNow(work, of: left) : nil
            }.mapError {
                work.storage.receiving.judge(
                    $0, bytes: work.fetch.length ?? .max, isLengthKnown: true)
            }
        }
    }

    private func takeNow(
        _ work: Assignment, of left: PartialIndex
    ) throws(Failure) -> PartialBody? {
        var place = DirectoryStorage.PartialPlace.key(work.fetch.key)
        if let part = work.fetch.part {
            place = .range(
                multipart: part.file.id, offset: part.offset, length: part.length,
                totalBytes: part.file.totalBytes)
        }
        return try work.storage.receiving.takePartial(
            identity(of: work), of: left, for: Self.attempt(at: work), place: place,
            digests: work.fetch.furtherDigests.map(\.algorithm))
    }

    private static func attempt(at work: Assignment) -> ObjectAttempt {
        ObjectAttempt(lease: work.lease, job: work.job.id, asset: work.job.asset)
    }

    /// Returns the identity of a job's partial body; for a job that is being split, its first
    /// part's.
    func identity(of work: Assignment, split: Split? = nil) -> PartialIdentity {
        let fetch = work.fetch
        if let part = fetch.part {
            return PartialIdentity(
                multipart: part.file.id, offset: part.offset, length: part.length)
        }
        if let split, let multipart = split.multipart {
            return PartialIdentity(multipart: multipart, offset: 0, length: split.partBytes)
        }
        // A URL with a new signature is the same object.
        let url = SignedQuery.unsigned(Array(fetch.url.utf8))
        return PartialIdentity(
            url: String(decoding: url, as: UTF8.self), key: fetch.key,
            cluster: cluster.withLock { $0 },
            asset: fetch.role == .file ? work.job.asset : nil)
    }

    /// Returns the partial body that a transfer resumes, and the call that records its progress.
    func resumption(of work: Assignment, _ split: Split, from partial: PartialBody?) -> Resumption {
        var resumption = Resumption(partial: partial) { object, record in
            guard let object else { return }
            let identity = self.identity(of: work, split: split)
            self.blocking.start {
                work.storage.receiving.note(
                    record, of: object, as: identity, by: Self.attempt(at: work))
            }
        }
        resumption.isGuarded =
            work.fetch.sha256 != nil
            || work.fetch.furtherDigests.contains { !$0.algorithm.isChecksum }
        return resumption
    }

    /// Puts back a partial body that was taken and not used. Blocks for a rename at most.
    func putBack(_ partial: PartialBody?, of work: Assignment) {
        guard let partial, let object = partial.object else { return }
        work.storage.receiving.keep(
            partial.record, of: object, as: identity(of: work), by: Self.attempt(at: work))
    }

    /// Keeps a transfer's partial body, unless its job was cancelled.
    func keep(_ left: PartialBody?, of work: Assignment, _ split: Split) async {
        guard let left, let object = left.object else { return }
        await blocking.run {
            guard !self.held.isCancelled(work.leased) else { return object.discard() }
            work.storage.receiving.keep(
                left.record, of: object, as: self.identity(of: work, split: split),
                by: Self.attempt(at: work))
        }
    }
}
