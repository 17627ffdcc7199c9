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
            for (storage, id) in abandoned { storage.removeMultipart(id: id) }
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
        var location = DirectoryStorage.PartialLocation.key(work.fetch.key)
        if let part = work.fetch.part {
            location =
                work.storage.isBucket
                ? .uploadedPart(part.file.id, offset: part.offset, length: part.length)
                : .range(
                    multipart: part.file.id, offset: part.offset, length: part.length,
                    totalBytes: part.file.totalBytes)
        }
        return try work.storage.receiving.takePartial(
            identity(of: work), of: left, for: attempt(at: work), location: location,
            digests: work.fetch.furtherDigests.map(\.algorithm))
    }

    func attempt(at work: Assignment) -> ObjectAttempt {
        ObjectAttempt(
            lease: work.lease, job: work.job.id, asset: work.job.asset,
            cluster: cluster.withLock(\.self))
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
                    record, of: object, as: identity, by: self.attempt(at: work))
            }
        }
        resumption.isGuarded =
            work.fetch.sha256 != nil || work.fetch.neighbour != nil
            || work.fetch.furtherDigests.contains { !$0.algorithm.isChecksum }
        return resumption
    }

    /// Puts back a partial body that was taken and not used. Blocks for a rename at most.
    func putBack(_ partial: PartialBody?, of work: Assignment) {
        guard let partial, let object = partial.object else { return }
        work.storage.receiving.keep(
            partial.record, of: object, as: identity(of: work), by: attempt(at: work))
    }

    /// Keeps a whole body that could not be stored, so that the job's next attempt stores it.
    func keep(unstored end: FinishedTransfer) async {
        let done = end.done
        guard let stored = done.stored, let digest = SHA256Digest(hex: stored.sha256)
        else { return end.object.discard() }
        let part = end.work.fetch.part
        let record = PartialRecord(
            bytes: stored.bytes, sha256: digest,
            totalBytes: part?.file.totalBytes ?? stored.bytes,
            validator: done.validator ?? part?.file.validator ?? Self.noValidator,
            source: SHA256Digest(hashing: []))
        await blocking.run {
            guard stored.bytes > 0, !self.held.isCancelled(end.work.leased) else {
                return end.object.discard()
            }
            end.work.storage.receiving.keep(
                record, of: end.object, as: self.identity(of: end.work),
                by: self.attempt(at: end.work))
        }
    }

    /// Stands for the validator of a body whose origin states none.
    private static let noValidator = "none"

    /// Returns the result of a job whose whole body an earlier attempt has received; nil if it is
    /// not what the job wants now.
    func done(with partial: PartialBody, _ work: Assignment) -> JobReport.Done? {
        let (fetch, record) = (work.fetch, partial.record)
        guard let bytes = fetch.part?.length ?? .some(record.totalBytes), record.bytes == bytes,
            fetch.isPart || fetch.length.map({ $0 == bytes }) ?? true,
            fetch.sha256.map({ $0 == record.sha256.description }) ?? true,
            var digests = partial.takeDigests()
        else { return nil }
        let computed = digests.finish().others
        guard fetch.isPart || Set(computed).isSuperset(of: fetch.furtherDigests) else { return nil }
        var done = JobReport.Done(
            stored: StoredObject(bytes: bytes, sha256: record.sha256.description),
            isVerified: !fetch.isPart && (fetch.sha256 != nil || !fetch.furtherDigests.isEmpty))
        if !fetch.isPart, record.validator != Self.noValidator {
            done.validator = record.validator
        }
        return done
    }

    /// Keeps a transfer's partial body, unless its job was cancelled.
    func keep(_ left: PartialBody?, of work: Assignment, _ split: Split) async {
        guard let left, let object = left.object else { return }
        await blocking.run {
            guard !self.held.isCancelled(work.leased) else { return object.discard() }
            work.storage.receiving.keep(
                left.record, of: object, as: self.identity(of: work, split: split),
                by: self.attempt(at: work))
        }
    }
}
