import Catalog
import CoordinatorClient
import Digest
import FoundationEssentials
import Model
import Transfer

extension WorkerService {
    /// Works through resolve jobs, a few at a time, until the worker ends. One that takes long holds up no other.
    func resolveInTurn() async {
        await withDiscardingTaskGroup { group in
            while let (turn, title) = await resolves.next() {
                group.addTask {
                    if self.isDraining || !self.isWanted(title.job, title.lease) {
                        self.giveBack(title.job, title.lease)
                    } else {
                        await self.resolve(title.job, title.lease)
                    }
                    self.resolves.end(turn, title)
                }
            }
        }
    }

    /// Has titles that are slow give their places to others: their jobs are returned to the queue.
    func stopSlowTitles() {
        // Looked up each time: a title's next playlist may just have been asked for.
        for title in resolves.titlesThatAreOver() {
            engine.cancelAll(group: title.lease, jobs: [title.job.id])
        }
    }

    /// Reads a title's manifest with all it names, hands in its segments and ends the job.
    func resolve(_ job: Job, _ lease: LeaseID) async {
        do {
            let segments = try await objects(of: job, lease)
            guard try await handIn(segments, of: job, lease) else {
                held.remove([(job: job.id, lease: lease)])
                return
            }
            var report = JobReport(job: job.id, lease: lease, outcome: .done)
            report.segments = segments.count
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
        pace.ended(1)
    }

    /// Hands in segments in requests within the bounds of the wire format; false once the job is not
    /// held any more.
    private func handIn(
        _ segments: ResolvedSegments, of job: Job, _ lease: LeaseID
    ) async throws(Failure) -> Bool {
        var batch: [ResolvedSegment] = []
        var bytes = 0
        var warnings = segments.warnings.ofAsset
        for segment in segments.lazy.map(Self.checked) {
            let more = (segment.mirrors ?? []).reduce(segment.content?.utf8.count ?? 0) {
                $0 + $1.utf8.count
            }
            let isFull =
                batch.count >= WireLimits.segmentsPerRequest
                || bytes + more > WireLimits.documentBytes
            if isFull, !batch.isEmpty {
                guard try await handIn(batch, warnings, of: job, lease) else { return false }
                warnings = nil
                batch.removeAll(keepingCapacity: true)
                bytes = 0
            }
            batch.append(segment)
            bytes += more
        }
        return try await handIn(batch, warnings, of: job, lease)
    }

    /// - Parameter warnings: with the first batch.
    private func handIn(
        _ batch: [ResolvedSegment], _ warnings: ManifestWarnings?, of job: Job, _ lease: LeaseID
    ) async throws(Failure) -> Bool {
        var request = SegmentBatch(worker: id, job: job.id, lease: lease, segments: batch)
        request.warnings = warnings
        return try await client.segments(request).verdict == .accepted
    }

    /// A document is checked by what it is, not by what it was made from.
    static func checked(_ segment: ResolvedSegment) -> ResolvedSegment {
        guard let content = segment.content else { return segment }
        var segment = segment
        segment.servedSHA256 = segment.sha256
        segment.bytes = Int64(content.utf8.count)
        segment.sha256 = SHA256Digest(hashing: Array(content.utf8)).description
        return segment
    }

    /// A failure with what the origin said about trying again.
    struct FetchFailure: Error {
        var failure: Failure
        var retryAfterSeconds: Double?
        /// Whose doing it is, where that is not the job's own origin.
        var origins: [OriginOutcome]?
    }

    /// What the manifest of a job's title lists, with documents and what is known of playlists.
    func objects(of job: Job, _ lease: LeaseID) async throws -> ResolvedSegments {
        var resolver = try TitleResolver(
            url: job.url, kind: job.assetKind ?? .hls, options: job.titles ?? TitleOptions(),
            snapshotSeconds: Date().timeIntervalSince1970)
        while !resolver.isComplete {
            let requests = resolver.next()
            let bodies = try await withThrowingTaskGroup(of: (ManifestRequest, Fetched).self) {
                group in
                for request in requests {
                    group.addTask { (request, try await self.manifest(request.url, job, lease)) }
                }
                var bodies: [(ManifestRequest, Fetched)] = []
                for try await body in group { bodies.append(body) }
                return bodies.sorted { $0.0.number < $1.0.number }
            }
            for (request, fetched) in bodies {
                try resolver.receive(
                    request, finalURL: fetched.finalURL, body: fetched.body ?? [],
                    sha256: fetched.sha256, contentType: fetched.contentType,
                    answeredSeconds: fetched.answeredSeconds)
            }
        }
        return try resolver.segments()
    }

    /// Whether there is time for a job, and somebody who waits for it.
    func isWanted(_ job: Job, _ lease: LeaseID) -> Bool {
        held.isHeld(lease) && !held.isCancelled(job.id, lease)
    }

    /// - Parameter validator: asks only for what has changed since.
    func manifest(
        _ url: String, _ job: Job, _ lease: LeaseID, unless validator: String? = nil
    ) async throws -> Fetched {
        guard !held.isCancelled(job.id, lease) else {
            throw Failure("worker.cancelled", "the job was cancelled")
        }
        guard !resolves.isOver(job, lease) else {
            throw Failure("worker.cancelled", "the title was slow, and others waited for its place")
        }
        var request = TransferRequest(
            url: url, group: lease, destination: .memory, role: .playlist)
        request.job = job.id
        request.site = job.site
        request.maximumBytes = Int64(TitleResolver.maximumBytes)
        request.validator = validator
        let ready = request
        let result = await withCheckedContinuation { continuation in
            engine.submit(ready) { _, result in continuation.resume(returning: result) }
        }
        switch result.outcome {
        case .success(let fetched): return fetched
        case .failure(let failure):
            throw FetchFailure(
                failure: Self.ofManifest(failure), retryAfterSeconds: result.retryAfterSeconds,
                origins: MirrorCourse([job.url], main: job.url).outcomes(result.ending(failure)))
        }
    }

    /// Says what a failure means for a manifest.
    private static func ofManifest(_ failure: Failure) -> Failure {
        switch failure.code {
        case "content.unexpectedType": Failure("manifest.html", failure.message)
        case "origin.tooLarge": Failure("manifest.tooLarge", failure.message)
        default: failure
        }
    }
}

extension ManifestWarnings {
    /// As many as are kept of an asset; nil for none.
    var ofAsset: ManifestWarnings? {
        isEmpty ? nil : bounded(to: WireLimits.warningsPerAsset)
    }
}
