import Catalog
import CoordinatorClient
import Model
import Transfer

extension WorkerService {
    /// Titles whose manifests are read at a time: each may hold tens of megabytes of playlists.
    private static let titlesAtATime = 8

    /// Works through resolve jobs, a few at a time, until the worker ends.
    func resolveInTurn() async {
        while true {
            let batch = await resolves.next(Self.titlesAtATime)
            guard !batch.isEmpty else { return }
            await withTaskGroup { group in
                for (job, lease) in batch {
                    group.addTask {
                        if self.isDraining || !self.isWanted(job, lease) {
                            self.giveBack(job, lease)
                        } else {
                            await self.resolve(job, lease)
                        }
                    }
                }
            }
        }
    }

    /// Reads a title's manifest with all it names, hands in its segments and ends the job.
    func resolve(_ job: Job, _ lease: LeaseID) async {
        do {
            let segments = try await segments(of: job, lease)
            for start in stride(from: 0, to: segments.count, by: WireLimits.segmentsPerRequest) {
                let end = min(start + WireLimits.segmentsPerRequest, segments.count)
                let answer = try await client.segments(
                    SegmentBatch(
                        worker: id, job: job.id, lease: lease,
                        segments: Array(segments[start..<end])))
                guard answer.verdict == .accepted else {
                    held.remove([(job: job.id, lease: lease)])
                    return
                }
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

    /// A failure with what the origin said about trying again.
    private struct FetchFailure: Error {
        var failure: Failure
        var retryAfterSeconds: Double?
        /// Whose doing it is, where that is not the job's own origin.
        var origins: [OriginOutcome]?
    }

    private func segments(of job: Job, _ lease: LeaseID) async throws -> [ResolvedSegment] {
        var resolver = try TitleResolver(url: job.url, kind: job.assetKind ?? .hls)
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
                    sha256: fetched.sha256, contentType: fetched.contentType)
            }
        }
        return try resolver.segments()
    }

    /// Whether there is time for a job, and somebody who waits for it.
    func isWanted(_ job: Job, _ lease: LeaseID) -> Bool {
        held.isHeld(lease) && !held.isCancelled(job.id, lease)
    }

    private func manifest(_ url: String, _ job: Job, _ lease: LeaseID) async throws -> Fetched {
        guard !held.isCancelled(job.id, lease) else {
            throw Failure("worker.cancelled", "the job was cancelled")
        }
        var request = TransferRequest(
            url: url, group: lease, destination: .memory, role: .playlist)
        request.job = job.id
        request.site = job.site
        request.maximumBytes = Int64(TitleResolver.maximumBytes)
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
