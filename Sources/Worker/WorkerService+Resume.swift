import Digest
import Model
import Storage
import Synchronization
import Transfer

// Bodies that break off are kept at the site, and gone on with by whoever has the job next.
extension WorkerService {
    /// Starts the transfers of jobs: at once, or when what an earlier attempt left has been read.
    func submit(_ jobs: [Job], _ lease: LeaseID, _ storage: DirectoryStorage) async {
        guard !jobs.isEmpty else { return }
        let left = await blocking.run { (try? storage.partials()) ?? PartialIndex() }
        await removeFormerAssemblies(of: jobs, storage)
        let begun =
            left.isEmpty ? [] : jobs.filter { left.contains(identity(of: $0)) }
        let others =
            left.isEmpty ? jobs : jobs.filter { !left.contains(identity(of: $0)) }
        // What lies there in part needs room for its rest only.
        start(await withRoom(others, lease, storage).map { ($0, nil) }, lease, storage)
        guard !begun.isEmpty else { return }
        // Hashing what lies there is work for the disk and one core; transfers go on meanwhile.
        Task {
            for job in begun {
                let taken = await blocking.run {
                    Result { () throws(Failure) in
                        try self.isWanted(job, lease)
                            ? self.take(job, of: left, lease, storage) : nil
                    }.mapError { storage.judge($0, bytes: job.length ?? .max, isLengthKnown: true) }
                }
                switch taken {
                case .success(let partial): start([(job, partial)], lease, storage)
                case .failure(let failure): fail(job, lease, failure)
                }
            }
        }
    }

    /// What earlier tries of files in parts have left, which may be as long as the files.
    private func removeFormerAssemblies(of jobs: [Job], _ storage: DirectoryStorage) async {
        let former = jobs.compactMap(\.formerAssembly)
        guard !former.isEmpty else { return }
        await blocking.run {
            for assembly in former { storage.removeAssembly(id: assembly) }
        }
    }

    private func take(
        _ job: Job, of left: PartialIndex, _ lease: LeaseID, _ storage: DirectoryStorage
    ) throws(Failure) -> PartialBody? {
        var place = DirectoryStorage.PartialPlace.key(job.key)
        if let assembly = job.assembly, let offset = job.offset, let length = job.length {
            place = .range(
                assembly: assembly.id, offset: offset, length: length,
                totalBytes: assembly.totalBytes)
        }
        return try storage.takePartial(
            identity(of: job), of: left, for: Self.attempt(at: job, lease), place: place,
            digests: Self.furtherDigests(of: job).map(\.algorithm))
    }

    /// What the list names beside SHA-256.
    static func furtherDigests(of job: Job) -> [ExpectedDigest] {
        (job.digests ?? "").split(separator: ",").compactMap { ExpectedDigest($0) }
    }

    private static func attempt(at job: Job, _ lease: LeaseID) -> ObjectAttempt {
        ObjectAttempt(lease: lease, job: job.id, asset: job.asset)
    }

    /// What a job's bytes are the start of; of one that is being split, its first part's.
    func identity(of job: Job, split: Split? = nil) -> PartialIdentity {
        if let assembly = job.assembly, let offset = job.offset, let length = job.length {
            return PartialIdentity(assembly: assembly.id, offset: offset, length: length)
        }
        if let split, let assembly = split.assembly {
            return PartialIdentity(assembly: assembly, offset: 0, length: split.partBytes)
        }
        // With a fresh signature it is the same object.
        let url = SignedQuery.unsigned(Array(job.url.utf8))
        return PartialIdentity(
            url: String(decoding: url, as: UTF8.self), key: job.key,
            cluster: cluster.withLock(\.self),
            asset: job.role == .file ? job.asset : nil)
    }

    func resumption(
        of job: Job, _ lease: LeaseID, _ storage: DirectoryStorage, _ split: Split,
        from partial: PartialBody?
    ) -> Resumption {
        var resumption = Resumption(partial: partial) { object, record in
            guard let object else { return }
            let identity = self.identity(of: job, split: split)
            self.blocking.start {
                storage.note(record, of: object, as: identity, by: Self.attempt(at: job, lease))
            }
        }
        resumption.isGuarded =
            job.sha256 != nil || Self.furtherDigests(of: job).contains { !$0.algorithm.isChecksum }
        return resumption
    }

    /// Gives a job back with what an earlier attempt left of it.
    func giveBack(
        _ job: Job, _ lease: LeaseID, _ storage: DirectoryStorage, _ partial: PartialBody?
    ) {
        if let partial, let object = partial.object {
            storage.keep(
                partial.record, of: object, as: identity(of: job),
                by: Self.attempt(at: job, lease))
        }
        giveBack(job, lease)
    }

    /// Keeps what a transfer left, unless nobody wants it any more.
    func keep(
        _ left: PartialBody?, of job: Job, _ lease: LeaseID, _ storage: DirectoryStorage,
        _ split: Split
    ) async {
        guard let left, let object = left.object else { return }
        await blocking.run {
            guard !self.held.isCancelled(job.id, lease) else { return object.discard() }
            storage.keep(
                left.record, of: object, as: self.identity(of: job, split: split),
                by: Self.attempt(at: job, lease))
        }
    }
}
