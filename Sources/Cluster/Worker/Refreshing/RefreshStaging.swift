import API
import Digest
import Model
import Services
import Storage
import Titles
import Transfer

/// The answer for one file; empty if it is unchanged.
struct RefreshAnswer: Sendable {
    var object: PendingObject?
    var stored: StoredObject?
    var validator: String?
    var isVerified = false
    /// Freshness of the response, as `Fetched` has it.
    var freshSeconds: Int?

    init() {}

    init(_ fetched: Fetched) {
        freshSeconds = fetched.response.freshSeconds
        guard !fetched.isUnchanged else { return }
        object = fetched.object
        stored = fetched.received
        validator = fetched.response.validator
        isVerified = fetched.isVerified
    }
}

/// Fetches the changed files of assets and makes them durable beside the old ones.
struct RefreshStaging: Sendable {
    let engine: TransferEngine
    let draining: ShutdownSignal
    let blocking: BlockingCalls

    /// Number of files of one asset that are requested at a time.
    private static let filesAtATime = 16

    /// Fetches the changed files and makes them durable beside the old ones. A failure removes all
    /// staged files.
    func stage(
        _ change: inout RefreshChange, _ attempt: RefreshAttempt
    ) async throws -> [(index: Int, object: StagedObject)] {
        var staged: [(index: Int, object: StagedObject)] = []
        let storage = attempt.storage
        do {
            let indexes = change.files.indices.filter { change.files[$0].isAsked }
            for start in stride(from: 0, to: indexes.count, by: Self.filesAtATime) {
                let turn = indexes[start..<min(start + Self.filesAtATime, indexes.count)]
                let answers = try await ask(turn, of: change.files, attempt)
                let objects = answers.compactMap { index, answer in
                    if change.files[index].segment.role == .file {
                        change.freshSeconds = answer.freshSeconds
                    }
                    let object = change.files[index].take(answer)
                    // An unchanged file needs no space.
                    attempt.begin(object == nil ? 0 : answer.stored?.bytes ?? 0, index)
                    return object.map { (index, $0) }
                }
                guard !objects.isEmpty else { continue }
                let owner = ObjectAttempt(
                    lease: attempt.lease, job: attempt.job.id, asset: AssetID(0))
                let made = await blocking.run { () -> Result<[StagedObject], Failure> in
                    Result { () throws(Failure) in
                        try storage.stage(objects.map(\.1), by: owner) {
                            attempt.isHeld
                        }
                    }
                }
                staged += zip(objects.map(\.0), try made.get()).map { ($0, $1) }
            }
            return staged
        } catch {
            let objects = staged.map(\.object)
            await blocking.run { storage.discard(objects) }
            throw error
        }
    }

    /// Returns those of the lost files that a title lists and that still cannot be fetched.
    func lost(
        _ known: [LeftOutRendition], of title: ResolvedSegments, _ attempt: RefreshAttempt
    ) async throws -> [LeftOutRendition] {
        let known = Dictionary(known.map { ($0.key, $0) }) { first, _ in first }
        var lost: [LeftOutRendition] = []
        for (index, segment) in title.enumerated() {
            guard let file = known[segment.key], segment.content == nil else { continue }
            do {
                let answer = try await ask(RefreshChange.File(segment, known: nil), index, attempt)
                answer.object?.discard()
                attempt.begin(0, index)
            } catch let error as FetchFailure where error.failure.code.mayBeOriginsAlone {
                var still = file
                (still.code, still.message) = (error.failure.code, error.failure.message)
                lost.append(still)
            }
        }
        return lost
    }

    private func ask(
        _ turn: ArraySlice<Int>, of files: [RefreshChange.File], _ attempt: RefreshAttempt
    ) async throws -> [(Int, RefreshAnswer)] {
        try await withThrowingTaskGroup(of: (Int, RefreshAnswer).self) { group in
            for index in turn {
                group.addTask { (index, try await self.ask(files[index], index, attempt)) }
            }
            var answers: [(Int, RefreshAnswer)] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
    }

    /// Requests one file, or writes it if it is a rewritten manifest.
    private func ask(
        _ file: RefreshChange.File, _ index: Int, _ attempt: RefreshAttempt
    ) async throws -> RefreshAnswer {
        guard attempt.isWanted, !draining.isDraining, !Task.isCancelled else {
            throw Failure(.workerCancelled, "the job was cancelled")
        }
        if let content = file.segment.content {
            return try await write(Array(content.utf8), file.segment.key, index, attempt)
        }
        let result = await engine.result(of: request(for: file, index, attempt))
        switch result.outcome {
        case .success(let fetched): return RefreshAnswer(fetched)
        case .failure(let failure):
            if file.isOptional, file.isThere, failure.code.mayBeOriginsAlone {
                return RefreshAnswer()
            }
            throw FetchFailure(
                failure: failure.ofSegment(role: file.segment.role),
                retryAfterSeconds: result.retryAfterSeconds,
                origins: MirrorPlan([attempt.source.url], main: attempt.source.url)
                    .outcomes(result.ending(failure)))
        }
    }

    private func request(
        for file: RefreshChange.File, _ index: Int, _ attempt: RefreshAttempt
    ) -> TransferRequest {
        let (job, lease, storage) = (attempt.job, attempt.lease, attempt.storage)
        let key = file.segment.key
        let destination = TransferRequest.Destination.object { (bytes) throws(Failure) in
            attempt.begin(bytes ?? 0, index)
            return try storage.receiving.createTemporary(
                lease: lease, job: job.id, key: key, number: index + 1, reservingBytes: bytes)
        }
        var request = TransferRequest(
            for: attempt.work.work, file.segment.url, to: destination, role: file.segment.role)
        request.access.headers = attempt.work.work.originHeaders
        request.isManifest = file.segment.role == .playlist
        request.delivery.opensInBackground = storage.receiving.isOnNetwork
        request.expect(
            bytes: file.segment.bytes, sha256: file.segment.sha256, digests: file.digests)
        // Without the stored file, an answer that it is unchanged has no use.
        if file.isThere { request.validator = file.validator }
        return request
    }

    private func write(
        _ bytes: [UInt8], _ key: String, _ index: Int, _ attempt: RefreshAttempt
    ) async throws -> RefreshAnswer {
        let (job, lease, storage) = (attempt.job, attempt.lease, attempt.storage)
        let written = await blocking.run { () -> Result<PendingObject, Failure> in
            Result { () throws(Failure) in
                let object = try storage.receiving.createTemporary(
                    lease: lease, job: job.id, key: key, number: index + 1)
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
