import API
import CoordinatorClient
import Model
import Storage

/// A file of an asset whose new bytes are staged.
struct PublishedFile: Sendable {
    var segment: ResolvedSegment
    var stored: StoredObject?
    var object: StagedObject
}

/// Publishes the changed files of a refresh. The coordinator grants this once; from then on any
/// worker that holds the job completes it.
struct RefreshPublishing: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let blocking: BlockingCalls

    // MARK: What is known

    /// Returns all records of an asset's files, and the lease that staged them.
    func files(
        _ attempt: RefreshAttempt
    ) async throws -> ([RefreshFile], RefreshFilesPage.Staging?) {
        var known: [RefreshFile] = []
        var after: Int?
        var staging: RefreshFilesPage.Staging?
        repeat {
            let page = try await client.refreshFiles(
                RefreshFilesRequest(
                    worker: worker, job: attempt.job.id, lease: attempt.lease, after: after))
            known += page.files
            staging = page.staging
            after = page.next
        } while after != nil
        return (known, staging)
    }

    /// Requests permission to replace the old files with the staged ones. Until it is granted, no
    /// file of the asset changes.
    ///
    /// - Parameters:
    ///   - listed: the coordinator's records of the asset afterwards.
    ///   - change: the change that the files belong to.
    func request(
        _ files: [PublishedFile], _ listed: [RefreshedFile], of change: RefreshChange,
        _ attempt: RefreshAttempt
    ) async throws {
        let storage = attempt.storage
        var batches = batches(of: listed, attempt)
        guard var last = batches.popLast() else { return }
        do {
            let made = await blocking.run { () -> Result<Void, Failure> in
                Result { () throws(Failure) in try storage.makeWay(for: files.map(\.object)) }
            }
            try made.get()
            for batch in batches { try await send(batch) }
            guard attempt.isWanted else {
                throw Failure(.workerLeaseLost, "another worker has the refresh")
            }
        } catch {
            await blocking.run { storage.discard(files.map(\.object)) }
            throw error
        }
        last.publication = RefreshBatch.Publication(
            segments: change.isRelisted ? change.listed : nil, leftOut: change.leftOut)
        last.warnings = change.warnings
        // From here on it may be granted without an answer: the job's next worker needs the staged
        // files. The sweep removes unneeded ones.
        let verdict = try await whileClusterIsWell { try await self.client.refreshed(last).verdict }
        if verdict == .rejected { await blocking.run { storage.discard(files.map(\.object)) } }
        try Self.check(verdict)
    }

    /// Turns failures of an unavailable cluster into returned jobs, so that they use up no
    /// publishing attempt.
    private func whileClusterIsWell<Value: Sendable>(
        _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let failure as Failure where failure.code.isOfUnavailableCluster {
            throw Failure(.workerCancelled, failure.message)
        }
    }

    /// Replaces the old files with the new ones: files before the playlists that list them, the
    /// entry last. Running it twice, or in two workers at once, has the same result.
    ///
    /// - Parameter number: number of the publishing attempt, from 1.
    func publish(
        _ files: [PublishedFile], attempt number: Int, _ attempt: RefreshAttempt
    ) async throws {
        let (source, storage) = (attempt.source, attempt.storage)
        let ordered = files.sorted {
            $0.segment.rank(entry: source.key) < $1.segment.rank(entry: source.key)
        }
        let placed = await blocking.run { () -> Result<Void, Failure> in
            Result { () throws(Failure) in
                do throws(Failure) {
                    // Another worker published the missing files, or they are lost.
                    let missing = try storage.publish(ordered.map(\.object)) {
                        attempt.isHeld
                    }
                    for index in missing {
                        let file = ordered[index]
                        guard let stored = file.stored,
                            storage.reuse(key: file.segment.key, expected: stored)
                        else {
                            throw Failure(
                                .integrityDigestMismatch,
                                "\(Redaction.path(file.segment.key)) differs from the lost staged file"
                            )
                        }
                    }
                } catch {
                    // No worker continues after the last attempt.
                    if number >= WireLimits.publicationAttempts, !error.code.isOfSite,
                        attempt.isWanted
                    {
                        storage.discard(ordered.map(\.object))
                    }
                    throw error
                }
            }
        }
        try placed.get()
    }

    /// Completes a publication that was granted to a worker that died or stopped.
    func finish(_ attempt: RefreshAttempt) async throws -> JobReport.Done {
        let (known, staging) = try await whileClusterIsWell {
            try await self.files(attempt)
        }
        guard let staging else {
            throw Failure(.clusterProtocol, "The publication has no lease of staged files.")
        }
        let files = try known.map { file throws(Failure) in
            PublishedFile(
                segment: file.segment, stored: file.stored,
                object: try StagedObject(
                    lease: staging.lease, job: staging.job, number: file.staged ?? 0,
                    key: file.segment.key))
        }
        try await publish(files, attempt: attempt.job.attempt, attempt)
        return JobReport.Done(refreshed: .changed)
    }

    // MARK: Reporting

    /// Reports the current state of an asset's files if none has new bytes.
    func report(
        _ files: [RefreshedFile], of change: RefreshChange, _ attempt: RefreshAttempt
    ) async throws {
        var batches = batches(of: files, attempt)
        if !batches.isEmpty { batches[batches.count - 1].warnings = change.warnings }
        for batch in batches { try await send(batch) }
    }

    /// Splits files into requests within the wire limits.
    private func batches(of files: [RefreshedFile], _ attempt: RefreshAttempt) -> [RefreshBatch] {
        var batches: [[RefreshedFile]] = []
        var batch: [RefreshedFile] = []
        var bytes = 0
        for file in files {
            let more = Self.wireBytes(of: file)
            // At most as many values as a request with segments alone.
            if batch.count >= WireLimits.segmentsPerRequest / 2
                || bytes + more > WireLimits.rewrittenManifestBytes, !batch.isEmpty
            {
                batches.append(batch)
                (batch, bytes) = ([], 0)
            }
            batch.append(file)
            bytes += more
        }
        if !batch.isEmpty { batches.append(batch) }
        return batches.map {
            RefreshBatch(worker: worker, job: attempt.job.id, lease: attempt.lease, files: $0)
        }
    }

    /// Estimates the size of a file in a request in bytes.
    private static func wireBytes(of file: RefreshedFile) -> Int {
        let segment = file.segment
        return (segment.content?.utf8.count ?? 0) + segment.url.utf8.count
            + segment.key.utf8.count + (file.validator?.utf8.count ?? 0) + 300
            + (segment.mirrors ?? []).reduce(0) { $0 + $1.utf8.count + 3 }
    }

    private func send(_ batch: RefreshBatch) async throws {
        try Self.check(try await client.refreshed(batch).verdict)
    }

    private static func check(_ verdict: ReportAnswer.Verdict) throws {
        switch verdict {
        case .accepted: return
        case .stale: throw Failure(.workerLeaseLost, "another worker has the refresh")
        case .rejected:
            throw Failure(.clusterProtocol, "The coordinator rejected the result of a refresh.")
        }
    }
}

extension FailureCode {
    /// True if the site caused the failure, so that the job waits for the site.
    fileprivate var isOfSite: Bool {
        switch row.retry {
        case .siteFault, .waitsForSpace: true
        case .never, .attempts: false
        }
    }
}
