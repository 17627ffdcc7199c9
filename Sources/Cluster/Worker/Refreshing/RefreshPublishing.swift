import CoordinatorClient
import Model
import Storage

/// A file of an asset whose new bytes are staged.
struct PublishedFile: Sendable {
    var segment: ResolvedSegment
    var stored: StoredObject?
    var object: StagedObject
}

/// Publishes the changed files of a refresh: the coordinator grants it once, and from then on whoever holds the job
/// carries it through.
struct RefreshPublishing: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let blocking: BlockingCalls

    // MARK: What is known

    /// All that the coordinator knows of an asset's files, and who staged them.
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

    /// Asks that staged files may take the place of the old ones. Unless it is granted nothing of the asset was
    /// touched.
    ///
    /// - Parameters:
    ///   - listed: what the coordinator is to know of the asset afterwards.
    ///   - change: what the files are of.
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
                throw Failure("worker.leaseLost", "the refresh is somebody else's")
            }
        } catch {
            await blocking.run { storage.discard(files.map(\.object)) }
            throw error
        }
        last.switchOver = RefreshBatch.Switch(segments: change.isRelisted ? change.listed : nil)
        last.warnings = change.warnings
        // From here on it may be granted though no answer says so: whoever gets the job needs what is staged.
        // What nobody needs is swept.
        let verdict = try await whileClusterIsWell { try await self.client.refreshed(last).verdict }
        if verdict == .rejected { await blocking.run { storage.discard(files.map(\.object)) } }
        try Self.check(verdict)
    }

    /// What fails of the cluster, and may be well again in a moment, uses up no try of a switch: the job is given
    /// back.
    private func whileClusterIsWell<Value: Sendable>(
        _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let failure as Failure where failure.code.isOfUnavailableCluster {
            throw Failure("worker.cancelled", failure.message)
        }
    }

    /// Lets the new files take the place of the old ones: those that playlists name first, the one to play last.
    /// Done a second time, or by two at once, it does the same.
    ///
    /// - Parameter number: of the try to publish, from 1.
    func publish(
        _ files: [PublishedFile], attempt number: Int, _ attempt: RefreshAttempt
    ) async throws {
        let (job, storage) = (attempt.job, attempt.storage)
        let ordered = files.sorted {
            $0.segment.rank(entry: job.key) < $1.segment.rank(entry: job.key)
        }
        let placed = await blocking.run { () -> Result<Void, Failure> in
            Result { () throws(Failure) in
                do throws(Failure) {
                    // Of those that were gone, somebody else has done it, or nobody ever will.
                    let missing = try storage.place(ordered.map(\.object)) {
                        attempt.isHeld
                    }
                    for index in missing {
                        let file = ordered[index]
                        guard let stored = file.stored,
                            storage.adopt(key: file.segment.key, expected: stored)
                        else {
                            throw Failure(
                                "integrity.digestMismatch",
                                "\(withoutQuery(file.segment.key)) is not what was staged, and that is gone"
                            )
                        }
                    }
                } catch {
                    // Nobody goes on with it after the last try.
                    if number >= WireLimits.switchAttempts, !error.code.isOfSite,
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

    /// Carries through a publication that was granted to a worker which is gone, or stopped.
    func finish(_ attempt: RefreshAttempt) async throws -> JobReport {
        let (known, staging) = try await whileClusterIsWell {
            try await self.files(attempt)
        }
        guard let staging else {
            throw Failure("cluster.protocol", "The switch does not say who has staged the files.")
        }
        let files = try known.map { file throws(Failure) in
            PublishedFile(
                segment: file.segment, stored: file.stored,
                object: try StagedObject(
                    lease: staging.lease, job: staging.job, number: file.staged ?? 0,
                    key: file.segment.key))
        }
        try await publish(files, attempt: attempt.job.attempt, attempt)
        var report = JobReport(job: attempt.job.id, lease: attempt.lease, outcome: .done)
        report.refreshed = .changed
        return report
    }

    // MARK: Reporting

    /// Reports what is known of an asset's files by now, where none has new bytes.
    func report(
        _ files: [RefreshedFile], of change: RefreshChange, _ attempt: RefreshAttempt
    ) async throws {
        var batches = batches(of: files, attempt)
        if !batches.isEmpty { batches[batches.count - 1].warnings = change.warnings }
        for batch in batches { try await send(batch) }
    }

    /// Requests that the coordinator takes.
    private func batches(of files: [RefreshedFile], _ attempt: RefreshAttempt) -> [RefreshBatch] {
        var batches: [[RefreshedFile]] = []
        var batch: [RefreshedFile] = []
        var bytes = 0
        for file in files {
            let more = Self.wireBytes(of: file)
            // As many values as in a request of segments alone.
            if batch.count >= WireLimits.segmentsPerRequest / 2
                || bytes + more > WireLimits.documentBytes, !batch.isEmpty
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

    /// About what a file takes of a request, in bytes.
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
        case .stale: throw Failure("worker.leaseLost", "the refresh is somebody else's")
        case .rejected:
            throw Failure("cluster.protocol", "The coordinator rejects what a refresh found.")
        }
    }
}

extension FailureCode {
    /// It is the site that is to blame, and the work waits for it.
    fileprivate var isOfSite: Bool {
        switch row.retry {
        case .siteFault, .waitsForRoom: true
        case .never, .attempts: false
        }
    }
}
