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
        var adopted: [JobReport] = []
        for (job, stored) in zip(jobs, there) where stored != nil {
            var report = JobReport(job: job.id, lease: lease, outcome: .done)
            report.stored = stored
            report.adopted = true
            if job.sha256 != nil || job.digests != nil { report.verified = true }
            adopted.append(report)
            held.downloaded(job.id, lease)
        }
        reports.push(contentsOf: adopted)
        pace.ended(adopted.count)
        let missing = zip(jobs, there).filter { $0.1 == nil }.map(\.0)
        for job in missing where job.isDocument == true { await write(job, lease, storage) }
        await submit(missing.filter { $0.isDocument != true }, lease, storage)
    }

    /// Starts the transfers of jobs, each from where an earlier attempt left it.
    func start(
        _ jobs: [(job: Job, partial: PartialBody?)], _ lease: LeaseID, _ storage: DirectoryStorage
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
            start(job, lease, storage, course, from: partial)
        }
        if isDraining { engine.cancelUnbegun(held.queuedTransfers()) }
    }

    private func start(
        _ job: Job, _ lease: LeaseID, _ storage: DirectoryStorage, _ course: MirrorCourse,
        from partial: PartialBody? = nil
    ) {
        let split = Split(
            worker: id, job: job, lease: lease, partBytes: configuration.partBytes)
        var request = request(for: job, lease, storage, split)
        request.url = course.url
        // Parts are asked for at the job's own URL, where another's validator is nothing. A file of a list
        // keeps its mirrors to its end; a title's may be many gigabytes, of which one connection makes hours.
        if !course.isAtMain || course.hasMirrors && (job.role ?? .file) == .file {
            request.splitAbove = nil
        }
        request.resumption = resumption(of: job, lease, storage, split, from: partial)
        if let partial, job.assembly == nil {
            held.setBegun(partial.record.totalBytes, of: job.id, lease)
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
        case .success(let fetched):
            defer { pace.ended(1) }
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

    // MARK: Reports

    func fail(
        _ job: Job, _ lease: LeaseID, _ failure: Failure, retryAfter: Double? = nil,
        origins: [OriginOutcome]? = nil
    ) {
        guard !["worker.cancelled", "worker.leaseLost"].contains(failure.code) else {
            return giveBack(job, lease)
        }
        held.setBegun(0, of: job.id, lease)
        let failure = ofSite(failure, job.site)
        noteSiteFault(failure, at: job.site)
        var report = JobReport(job: job.id, lease: lease, outcome: .failed)
        report.failure = failure
        report.retryAfterSeconds = retryAfter
        report.origins = origins
        if let origins { suspect(origins.map(\.origin)) }
        held.downloaded(job.id, lease)
        reports.push(report)
    }

    func giveBack(_ job: Job, _ lease: LeaseID) {
        held.downloaded(job.id, lease)
        reports.push(JobReport(job: job.id, lease: lease, outcome: .returned))
    }

    /// Makes finished transfers durable in batches, each with one barrier, and hands on their
    /// reports.
    func commitFinished() async {
        while true {
            let batch = await finished.next(WireLimits.resultsPerReport)
            guard !batch.isEmpty else { return }
            let results = await blocking.run { self.commit(batch) }
            reports.push(contentsOf: results)
        }
    }

    private func commit(_ batch: [Finished]) -> [JobReport] {
        var reports: [JobReport] = []
        reports.reserveCapacity(batch.count)
        // Whoever lost its lease must not put anything under a final key: somebody else may have.
        // The job is given back all the same: a heartbeat under way may still save the lease.
        var ours: [Finished] = []
        for end in batch {
            if held.isHeld(end.lease), !held.isCancelled(end.job.id, end.lease) {
                ours.append(end)
            } else {
                end.fetched.object?.discard()
                reports.append(JobReport(job: end.job.id, lease: end.lease, outcome: .returned))
            }
        }
        var sites: Set<SiteID> = []
        for (_, group) in Dictionary(grouping: ours, by: { ObjectIdentifier($0.storage) }) {
            guard let storage = group.first?.storage else { continue }
            let stored = group.compactMap { end in end.fetched.object.map { (end, $0) } }
            for (end, object) in stored { object.note(sha256: end.fetched.sha256) }
            // Asked once more at each rename: the barrier before it may take longer than the lease.
            let outcomes = storage.commit(stored.map(\.1)) { place in
                self.isWanted(stored[place].0.job, stored[place].0.lease)
            }
            for ((end, _), outcome) in zip(stored, outcomes) {
                if case .success = outcome { sites.insert(end.job.site) }
                reports.append(report(of: end, outcome))
            }
        }
        sitesInUse.withLock { table in for site in sites { table.stored(at: site) } }
        return reports
    }

    private func report(of end: Finished, _ outcome: Result<Void, Failure>) -> JobReport {
        var report = JobReport(job: end.job.id, lease: end.lease, outcome: .done)
        switch outcome {
        case .success:
            end.transfer.handle(.store)
            report.stored = StoredObject(bytes: end.fetched.bytes, sha256: end.fetched.sha256)
            report.verified = end.fetched.isVerified
            // Of a part, its assembly knows it; of a mirror, it says nothing to the file's own origin.
            if end.job.assembly == nil, end.transfer.request.url == end.job.url {
                report.validator = end.fetched.validator
            }
            report.digests = Self.text(of: end.fetched.stated)
            report.origins = end.origins
        case .failure(let failure) where failure.code == "worker.leaseLost":
            end.transfer.handle(.fail)
            report.outcome = .returned
        case .failure(let failure):
            end.transfer.handle(.fail)
            noteSiteFault(failure, at: end.job.site)
            report.outcome = .failed
            report.failure = failure
        }
        return report
    }

    /// Sends results in batches; those that came in during one request are the next.
    func sendReports() async {
        while true {
            var batch = await reports.next(WireLimits.resultsPerReport)
            guard !batch.isEmpty else { return }
            // While much is under way, a moment's patience makes one transaction of several. That an
            // origin wants to be left alone is for all to know.
            if batch.count < Self.fullReport && held.pendingCount > configuration.connections
                && !batch.contains(where: \.asksForTime)
            {
                await gatherReports()
                batch += reports.takeNow(WireLimits.resultsPerReport - batch.count)
            }
            batch = held.withoutCancelled(batch)
            await send(batch)
            held.remove(batch.lazy.map { (job: $0.job, lease: $0.lease) })
            pace.wake()
        }
    }

    /// Waits a moment for other results; not for longer than there is something to download.
    private func gatherReports() async {
        let end = ContinuousClock.now + .milliseconds(40)
        repeat {
            try? await Task.sleep(for: .milliseconds(5))
        } while held.pendingCount > 0 && ContinuousClock.now < end && !Task.isCancelled
    }

    /// Results that are worth a request of their own.
    private static let fullReport = 200

    /// Offers results for as long as they count: to coordinators that do not answer until the
    /// leases are over, and one half at a time where something in them is refused.
    private func send(_ batch: [JobReport]) async {
        var batch = batch
        while !batch.isEmpty {
            do {
                let answer = try await client.report(
                    ReportRequest(worker: id, results: batch), retrySeconds: Self.reportSeconds)
                log.debug("results were recorded", ["count": answer.answers.count])
                cool(answer.cooling)
                return note(answer.answers)
            } catch {
                // Where a result is lost, its lease runs out and the job goes to somebody else.
                log.error(
                    "results could not be reported", ["count": batch.count, "error": error])
                if Task.isCancelled { return }
                if Self.isOfTheMoment(error.code) {
                    batch.removeAll { !held.isHeld($0.lease) }
                } else if batch.count > 1 {
                    await send(Array(batch[..<(batch.count / 2)]))
                    batch.removeFirst(batch.count / 2)
                } else {
                    return
                }
            }
        }
    }

    /// How long a batch of results is offered before its leases are looked at again.
    private static let reportSeconds = 10.0

    /// Whether a coordinator may accept later what it has not accepted now.
    static func isOfTheMoment(_ code: FailureCode) -> Bool {
        let codes: [FailureCode] = [
            "cluster.coordinatorUnreachable", "cluster.databaseUnreachable", "cluster.busy",
        ]
        return codes.contains(code)
    }

    private func note(_ answers: [ReportAnswer.Verdict]) {
        let stale = answers.count { $0 == .stale }
        let rejected = answers.count { $0 == .rejected }
        if stale > 0 { log.info("results were stale", ["count": stale]) }
        if rejected > 0 { log.error("results were rejected", ["count": rejected]) }
    }
}

extension JobReport {
    /// Whether an origin wants to be left alone.
    fileprivate var asksForTime: Bool {
        retryAfterSeconds != nil || origins?.contains { $0.retryAfterSeconds != nil } == true
    }
}
