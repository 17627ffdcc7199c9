import Catalog
import CoordinatorClient
import Digest
import Model
import Storage
import Synchronization
import Transfer

/// A leased refresh of one asset.
struct Refresh: Sendable {
    var job: Job
    var lease: LeaseID
    var grant: LeaseGrant
    /// What had been stored when the grant was asked for.
    var ended: [SiteID: Int64]
}

// Assets that are at the edge are asked for again: what has changed is laid beside the old files, and takes
// their place when the last of it is there.
extension WorkerService {
    /// Works through refreshes, as many at a time as there may be transfers, until the worker ends.
    func refreshInTurn() async {
        await withTaskGroup(of: Void.self) { group in
            var underWay = 0
            while let refresh = await refreshes.next(1).first {
                if underWay >= configuration.connections {
                    await group.next()
                    underWay -= 1
                }
                underWay += 1
                group.addTask {
                    if self.isDraining || !self.isWanted(refresh.job, refresh.lease) {
                        self.giveBack(refresh.job, refresh.lease)
                    } else {
                        await self.refresh(refresh)
                    }
                    self.pace.ended(1)
                }
            }
        }
    }

    /// Asks for an asset's files, switches to those that have changed and ends the job.
    private func refresh(_ refresh: Refresh) async {
        let (job, lease, grant) = (refresh.job, refresh.lease, refresh.grant)
        do {
            let space = grant.siteSpace?.first { $0.site == job.site }
            let opened = await blocking.run { () -> Result<_, Failure> in
                Result { () throws(Failure) in
                    try self.open(
                        job.site, at: grant.sites[job.site.description] ?? "", space,
                        refresh.ended)
                }
            }
            let course = RefreshCourse(job: job, lease: lease, storage: try opened.get())
            let report = try await job.kind == .switchOver ? goOn(course) : refreshed(course)
            held.downloaded(job.id, lease)
            reports.push(report)
        } catch let failure as FetchFailure {
            fail(
                job, lease, failure.failure, retryAfter: failure.retryAfterSeconds,
                origins: failure.origins)
        } catch let failure as Failure {
            fail(job, lease, failure)
        } catch {
            fail(job, lease, Failure("worker.internal", "\(error)"))
        }
    }

    /// The whole of it: asks, stages what has changed, and switches to that.
    private func refreshed(_ course: RefreshCourse) async throws -> JobReport {
        var change = try await wanted(of: course.job, course.lease, course.storage)
        let staged = try await stage(&change, course)
        let told = change.told(staged: Set(staged.map(\.place)))
        var report = JobReport(job: course.job.id, lease: course.lease, outcome: .done)
        if staged.isEmpty {
            var batches = batches(of: told, course)
            if !batches.isEmpty { batches[batches.count - 1].warnings = change.warnings }
            for batch in batches { try await tell(batch) }
            report.refreshed = change.isRelisted ? .changed : .unchanged
            report.segments = change.isRelisted ? change.listed : nil
        } else {
            let files = staged.map {
                SwitchedFile(
                    segment: change.files[$0.place].segment, stored: change.files[$0.place].stored,
                    object: $0.object)
            }
            try await requestSwitch(files, told, of: change, course)
            try await switchOver(to: files, attempt: 1, course)
            report.refreshed = .changed
        }
        return report
    }

    // MARK: What is wanted

    /// All that the coordinator knows of an asset's files, and who staged them.
    func files(
        _ job: Job, _ lease: LeaseID
    ) async throws -> ([RefreshFile], RefreshFilesPage.Staging?) {
        var known: [RefreshFile] = []
        var after: Int?
        var staging: RefreshFilesPage.Staging?
        repeat {
            let page = try await client.refreshFiles(
                RefreshFilesRequest(worker: id, job: job.id, lease: lease, after: after))
            known += page.files
            staging = page.staging
            after = page.next
        } while after != nil
        return (known, staging)
    }

    /// The files of an asset as they are to be.
    private func wanted(
        of job: Job, _ lease: LeaseID, _ storage: DirectoryStorage
    ) async throws -> RefreshChange {
        let (stored, _) = try await files(job, lease)
        let there = await blocking.run {
            stored.map { storage.isStored(key: $0.segment.key, bytes: $0.stored.bytes) }
        }
        let files = zip(stored, there).map { RefreshChange.File($0, isThere: $1) }
        guard job.assetKind == .hls || job.assetKind == .dash else {
            return RefreshChange(files: files)
        }
        let hasChanged = try await hasOtherManifest(files, job, lease)
        guard hasChanged else { return RefreshChange(files: files, playlistsAreRight: true) }
        let objects = try await objects(of: job, lease)
        var change = RefreshChange(files: files, listing: objects.map(Self.checked))
        change.warnings = objects.warnings.ofAsset ?? ManifestWarnings()
        return change
    }

    /// Whether any playlist of a title is another one than is known. One that was changed for the edge cannot
    /// be compared.
    private func hasOtherManifest(
        _ files: [RefreshChange.File], _ job: Job, _ lease: LeaseID
    ) async throws -> Bool {
        for file in files where file.isManifest {
            guard !file.isDocument, let stored = file.stored, file.isThere else { return true }
            let fetched = try await manifest(
                file.segment.url, job, lease, unless: file.validator)
            if !fetched.isUnchanged, fetched.sha256 != stored.sha256 { return true }
        }
        return false
    }

    // MARK: Fetching

    /// Files of one asset that are asked for at a time.
    private static let filesAtATime = 16

    /// Fetches what has changed and makes it durable beside the old files. What had been staged before a
    /// failure is removed.
    private func stage(
        _ change: inout RefreshChange, _ course: RefreshCourse
    ) async throws -> [(place: Int, object: StagedObject)] {
        var staged: [(place: Int, object: StagedObject)] = []
        do {
            let places = change.files.indices.filter { change.files[$0].isAsked }
            for start in stride(from: 0, to: places.count, by: Self.filesAtATime) {
                let turn = places[start..<min(start + Self.filesAtATime, places.count)]
                let files = change.files
                let answers = try await withThrowingTaskGroup(of: (Int, RefreshAnswer).self) {
                    group in
                    for place in turn {
                        group.addTask { (place, try await self.ask(files[place], place, course)) }
                    }
                    var answers: [(Int, RefreshAnswer)] = []
                    for try await answer in group { answers.append(answer) }
                    return answers
                }
                let objects = answers.compactMap { place, answer in
                    let object = change.files[place].take(answer)
                    // What is as it was takes no room.
                    let bytes = object == nil ? 0 : answer.stored?.bytes ?? 0
                    course.begin(bytes, place) {
                        held.setBegun($0, of: course.job.id, course.lease)
                    }
                    return object.map { (place, $0) }
                }
                guard !objects.isEmpty else { continue }
                let storage = course.storage
                let made = await blocking.run { () -> Result<[StagedObject], Failure> in
                    Result { () throws(Failure) in try storage.stage(objects.map(\.1)) }
                }
                staged += zip(objects.map(\.0), try made.get()).map { ($0, $1) }
            }
            return staged
        } catch {
            let (storage, objects) = (course.storage, staged.map(\.object))
            await blocking.run { storage.discard(objects) }
            throw error
        }
    }

    /// Asks for one file, or writes it, where it is a document.
    private func ask(
        _ file: RefreshChange.File, _ place: Int, _ course: RefreshCourse
    ) async throws -> RefreshAnswer {
        guard isWanted(course.job, course.lease), !isDraining else {
            throw Failure("worker.cancelled", "the job was cancelled")
        }
        if let content = file.segment.content {
            return try await write(Array(content.utf8), file.segment.key, place, course)
        }
        let ready = request(for: file, place, course)
        let result = await withCheckedContinuation { continuation in
            engine.submit(ready) { _, result in continuation.resume(returning: result) }
        }
        switch result.outcome {
        case .success(let fetched): return RefreshAnswer(fetched)
        case .failure(let failure):
            if file.isOptional, file.isThere, MirrorCourse.isOfTheOrigin(failure.code) {
                return RefreshAnswer()
            }
            throw FetchFailure(
                failure: Self.ofSegment(failure, role: file.segment.role),
                retryAfterSeconds: result.retryAfterSeconds,
                origins: MirrorCourse([course.job.url], main: course.job.url)
                    .outcomes(result.ending(failure)))
        }
    }

    private func request(
        for file: RefreshChange.File, _ place: Int, _ course: RefreshCourse
    ) -> TransferRequest {
        let (job, lease, storage) = (course.job, course.lease, course.storage)
        let key = file.segment.key
        let destination = TransferRequest.Destination.object { (bytes) throws(Failure) in
            course.begin(bytes ?? 0, place) { self.held.setBegun($0, of: job.id, lease) }
            return try storage.createTemporary(
                lease: lease, job: job.id, key: key, number: place + 1, reservingBytes: bytes)
        }
        var request = TransferRequest(
            url: file.segment.url, group: lease, destination: destination,
            role: file.segment.role)
        request.job = job.id
        request.site = job.site
        request.isManifest = file.segment.role == .playlist
        request.opensAside = storage.isOnNetwork
        request.expectedBytes = file.segment.bytes
        request.expectedSHA256 = file.segment.sha256
        request.furtherDigests = (file.digests ?? "").split(separator: ",").compactMap {
            ExpectedDigest($0)
        }
        // Without the file, what is still right is of no use.
        if file.isThere { request.validator = file.validator }
        return request
    }

    private func write(
        _ bytes: [UInt8], _ key: String, _ place: Int, _ course: RefreshCourse
    ) async throws -> RefreshAnswer {
        let (job, lease, storage) = (course.job, course.lease, course.storage)
        let written = await blocking.run { () -> Result<PendingObject, Failure> in
            Result { () throws(Failure) in
                let object = try storage.createTemporary(
                    lease: lease, job: job.id, key: key, number: place + 1)
                try bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
                    try object.write(UnsafeRawBufferPointer(bytes), at: 0)
                }
                return object
            }
        }
        var answer = RefreshAnswer()
        answer.object = try written.get()
        answer.stored = StoredObject(
            bytes: Int64(bytes.count), sha256: SHA256Digest(hashing: bytes).description)
        answer.isVerified = true
        return answer
    }
}

/// Where the files of one refresh go.
final class RefreshCourse: Sendable {
    let job: Job
    let lease: LeaseID
    let storage: DirectoryStorage
    /// By the place of the file.
    private let begun = Mutex<(files: [Int: Int64], sum: Int64)>(([:], 0))

    init(job: Job, lease: LeaseID, storage: DirectoryStorage) {
        self.job = job
        self.lease = lease
        self.storage = storage
    }

    /// Takes note of how long a file is, and tells what all of them come to.
    func begin(_ bytes: Int64, _ place: Int, tell: (Int64) -> Void) {
        begun.withLock { begun in
            begun.sum += bytes - (begun.files.updateValue(bytes, forKey: place) ?? 0)
            tell(begun.sum)
        }
    }
}

/// What came of asking for one file. Empty for one that stays as it is.
struct RefreshAnswer: Sendable {
    var object: PendingObject?
    var stored: StoredObject?
    var validator: String?
    var isVerified = false

    init() {}

    init(_ fetched: Fetched) {
        guard !fetched.isUnchanged else { return }
        object = fetched.object
        stored = StoredObject(bytes: fetched.bytes, sha256: fetched.sha256)
        validator = fetched.validator
        isVerified = fetched.isVerified
    }
}
