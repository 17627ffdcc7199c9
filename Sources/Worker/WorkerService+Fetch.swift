import CoordinatorClient
import Digest
import FoundationEssentials
import Model
import Runtime
import Storage
import Synchronization
import Transfer

extension WorkerService {
    /// Starts fetches of one site: what lies there already is adopted, the rest is downloaded.
    func fetch(_ jobs: [Job], _ lease: LeaseID, storage: DirectoryStorage) async {
        let known = jobs.filter { Self.promised($0) != nil }
        let unknown = jobs.filter { Self.promised($0) == nil }
        await submit(unknown, lease, storage)
        guard !known.isEmpty else { return }
        // Hashing what is there is work for the disk and one core; transfers go on meanwhile.
        Task {
            for chunk in stride(from: 0, to: known.count, by: Self.adoptionBatch) {
                let batch = known[chunk..<min(chunk + Self.adoptionBatch, known.count)]
                await self.adopt(Array(batch), lease, storage)
            }
        }
    }

    private static let adoptionBatch = 64

    /// What would lie under the key if it were there: what was stored before, or what the list
    /// promises.
    private static func promised(_ job: Job) -> (bytes: Int64?, digests: [ExpectedDigest])? {
        if let known = job.known, let digest = SHA256Digest(hex: known.sha256) {
            return (known.bytes, [ExpectedDigest(digest)])
        }
        guard job.assembly == nil else { return nil }
        let sha256 = job.sha256.flatMap { SHA256Digest(hex: $0) }.map { [ExpectedDigest($0)] }
        let digests = (sha256 ?? []) + furtherDigests(of: job)
        return digests.isEmpty ? nil : (job.length, digests)
    }

    private func adopt(_ jobs: [Job], _ lease: LeaseID, _ storage: DirectoryStorage) async {
        let there = await blocking.run {
            jobs.map { job -> StoredObject? in
                guard self.held.isHeld(lease), let promised = Self.promised(job) else { return nil }
                return storage.adopt(
                    key: job.key, bytes: promised.bytes, digests: promised.digests)
            }
        }
        // What others stored, or this asset before other tracks were chosen, may be of an edition that is gone: the
        // origin says whether it is as it was.
        let isTold = { (job: Job) in job.knownValidator != nil && job.isDocument != true }
        let found = zip(jobs, there).filter { $0.1 != nil }
        let adopted = found.filter { !isTold($0.0) }.map { job, stored in
            held.downloaded(job.id, lease)
            return Self.report(job, lease, adopted: stored)
        }
        reports.push(contentsOf: adopted)
        pace.ended(adopted.count)
        start(found.map(\.0).filter(isTold).map { ($0, nil) }, lease, storage, areThere: true)
        let missing = zip(jobs, there).filter { $0.1 == nil }.map(\.0)
        for job in missing where job.isDocument == true { await write(job, lease, storage) }
        await submit(missing.filter { $0.isDocument != true }, lease, storage)
    }

    /// Of a job whose bytes lie under their key already.
    private static func report(
        _ job: Job, _ lease: LeaseID, adopted stored: StoredObject?
    ) -> JobReport {
        var report = JobReport(job: job.id, lease: lease, outcome: .done)
        report.stored = stored
        report.adopted = true
        report.validator = job.knownValidator
        if job.sha256 != nil || job.digests != nil || job.isKnownVerified == true {
            report.verified = true
        }
        return report
    }

    /// Starts the transfers of jobs, each from where an earlier attempt left it.
    ///
    /// - Parameter areThere: what the jobs know lies under their keys: they fetch nothing of which the origin says
    ///   that it is as it was.
    func start(
        _ jobs: [(job: Job, partial: PartialBody?)], _ lease: LeaseID, _ storage: DirectoryStorage,
        areThere: Bool = false
    ) {
        // A transfer that starts after its lease was dropped would be cancelled by nobody. The jobs
        // are given back all the same: a heartbeat under way may still save the lease.
        guard held.isHeld(lease) else {
            for (job, partial) in jobs { giveBack(job, lease, storage, partial) }
            return
        }
        for (job, partial) in jobs {
            guard !held.isCancelled(job.id, lease) else {
                giveBack(job, lease, storage, partial)
                continue
            }
            guard let course = course(of: job) else {
                giveBack(job, lease, storage, partial)
                continue
            }
            start(
                job, lease, storage, course, from: partial,
                // At a mirror another's validator is nothing.
                unless: areThere && course.isAtMain ? job.knownValidator : nil)
        }
        if isDraining { engine.cancelUnbegun(held.queuedTransfers()) }
    }

    private func start(
        _ job: Job, _ lease: LeaseID, _ storage: DirectoryStorage, _ course: MirrorCourse,
        from partial: PartialBody? = nil, unless validator: String? = nil
    ) {
        let split = Split(
            worker: id, job: job, lease: lease, partBytes: configuration.partBytes)
        var request = request(for: job, lease, storage, split)
        request.url = course.url
        request.validator = validator
        // Parts are asked for at the job's own URL, where another's validator is nothing. A file of a list
        // keeps its mirrors to its end; a title's may be many gigabytes, of which one connection makes hours.
        if !course.isAtMain || course.hasMirrors && (job.role ?? .file) == .file {
            request.splitAbove = nil
        }
        request.resumption = resumption(of: job, lease, storage, split, from: partial)
        if let partial {
            // An answer that is the rest of it opens nothing, and so says nothing of its length.
            let whole = job.assembly == nil ? partial.record.totalBytes : job.length
            held.setExpected(whole, of: job.id, lease)
            if job.assembly == nil {
                held.setBegun(partial.record.totalBytes, of: job.id, lease)
            }
        }
        let transfer = engine.submit(request) { transfer, result in
            var course = course
            self.note(result, course)
            // What is split already is another job.
            if split.assembly == nil, self.goesOn(job, lease, result, &course) {
                return self.start(job, lease, storage, course, from: result.left)
            }
            self.end(job, lease, storage, transfer, result, split, course)
        }
        held.setTransfer(transfer, of: job.id, lease)
        // While it was being submitted.
        if held.isCancelled(job.id, lease) { engine.cancel(transfer) }
    }

    private func request(
        for job: Job, _ lease: LeaseID, _ storage: DirectoryStorage, _ split: Split
    ) -> TransferRequest {
        let destination = TransferRequest.Destination.object { (bytes) throws(Failure) in
            self.held.setExpected(bytes, of: job.id, lease)
            // Of a file in parts all is taken at once, by whoever splits it.
            if job.assembly == nil, split.assembly == nil {
                self.held.setBegun(bytes, of: job.id, lease)
            }
            do throws(Failure) {
                return try Self.object(of: job, bytes, lease, storage, split)
            } catch {
                self.held.setBegun(0, of: job.id, lease)
                throw error
            }
        }
        var request = TransferRequest(
            url: job.url, group: lease, destination: destination, role: job.role ?? .file)
        request.job = job.id
        request.site = job.site
        request.isManifest = job.role == .playlist
        request.opensAside = storage.isOnNetwork
        if let assembly = job.assembly, let offset = job.offset, let length = job.length {
            request.range = TransferRequest.ByteRange(
                offset: offset, length: length, totalBytes: assembly.totalBytes,
                validator: assembly.validator)
        } else {
            request.expectedBytes = job.length
            request.expectedSHA256 = job.sha256
            request.furtherDigests = Self.furtherDigests(of: job)
            request.splitAbove = job.isWhole == true ? nil : configuration.partBytes
            request.splitBelowBytesPerSecond = configuration.splitBelowBytesPerSecond
            request.onLarge = { (large, object) throws(Failure) in
                try self.split(job, lease, into: split, large, object, storage)
            }
        }
        return request
    }

    /// Where the bytes of a job go.
    private static func object(
        of job: Job, _ bytes: Int64?, _ lease: LeaseID, _ storage: DirectoryStorage, _ split: Split
    ) throws(Failure) -> PendingObject {
        if let assembly = job.assembly, let offset = job.offset, let length = job.length {
            return try storage.openAssembly(
                id: assembly.id, offset: offset, length: length, of: assembly.totalBytes,
                isFirstTry: job.attempt == 1)
        }
        if let first = split.takeFirstPart() { return first }
        return try storage.createTemporary(
            lease: lease, job: job.id, key: job.key, reservingBytes: bytes)
    }

    /// Takes a transfer's result from its loop's thread; must not block.
    private func end(
        _ job: Job, _ lease: LeaseID, _ storage: DirectoryStorage, _ transfer: Transfer,
        _ result: TransferResult, _ split: Split, _ course: MirrorCourse
    ) {
        held.downloaded(job.id, lease)
        switch result.outcome {
        case .failure(let failure):
            // What is given back says nothing of how fast work is done.
            if failure.code == "worker.cancelled" { pace.wake() } else { pace.ended(1) }
            // A split that is on its way must not overtake the failure: the job changes under it.
            Task {
                if await self.isWithout(split, storage) {
                    result.left?.object?.discard()
                } else {
                    await self.keep(result.left, of: job, lease, storage, split)
                }
                let judged = await self.judged(failure, of: job, lease, storage, transfer)
                let last = result.ending(judged)
                let ending = course.result(last)
                self.fail(
                    job, lease, Self.ofSegment(ending.failure, role: job.role),
                    retryAfter: ending.retryAfterSeconds, origins: course.outcomes(last))
            }
        case .success(let fetched) where fetched.isUnchanged:
            pace.ended(1)
            reports.push(Self.report(job, lease, adopted: job.known))
        case .success(let fetched):
            defer { pace.ended(1) }
            tally.ended(seconds: result.totalSeconds, bytes: fetched.bytes)
            let end = Finished(
                job: job, lease: lease, storage: storage, fetched: fetched, transfer: transfer,
                origins: served(result, course))
            guard fetched.isFirstPart else {
                finished.push(end)
                return
            }
            Task {
                // Only as a part is what was received complete.
                guard await self.isWithout(split, storage) else { return self.finished.push(end) }
                fetched.object?.discard()
                if case .refused(let failure) = await split.answer() {
                    self.fail(job, lease, failure)
                } else {
                    self.giveBack(job, lease)
                }
            }
        }
    }

    /// Says what a failure means for a segment. A playlist's length and digest are those that were
    /// read when its title was resolved.
    static func ofSegment(_ failure: Failure, role: SegmentRole?) -> Failure {
        switch (role, failure.code) {
        case (.playlist, "integrity.digestMismatch"), (.playlist, "content.lengthMismatch"):
            Failure("manifest.changed", failure.message)
        default: failure
        }
    }
}
