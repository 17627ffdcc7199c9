import FoundationEssentials
import Model
import Titles
import Transfer

/// Reads the manifests of titles.
struct ManifestReader: Sendable {
    let engine: TransferEngine
    let held: HeldWork
    /// Names the titles that are to give their turns back.
    let titles: TitleQueue

    /// What the manifest of a job's title lists, with rewritten manifests and what is known of playlists.
    func objects(of work: LeasedJob) async throws -> ResolvedSegments {
        let job = work.job
        var resolver = try TitleResolver(
            url: job.url, kind: job.assetKind ?? .hls, options: job.titles ?? TitleOptions(),
            snapshotSeconds: Date().timeIntervalSince1970)
        while !resolver.isComplete {
            let requests = resolver.next()
            let bodies = try await withThrowingTaskGroup(of: (ManifestRequest, Fetched).self) {
                group in
                for request in requests {
                    group.addTask { (request, try await self.manifest(request.url, work)) }
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

    /// - Parameter validator: asks only for what has changed since.
    func manifest(
        _ url: String, _ work: LeasedJob, unless validator: String? = nil
    ) async throws -> Fetched {
        let job = work.job
        guard !held.isCancelled(work) else {
            throw Failure("worker.cancelled", "the job was cancelled")
        }
        guard !titles.isOver(work) else {
            throw Failure("worker.cancelled", "the title was slow, and others waited for its place")
        }
        var request = TransferRequest(
            url: url, group: work.lease, destination: .memory, role: .playlist)
        request.job = job.id
        request.site = job.site
        request.maximumBytes = Int64(TitleResolver.maximumBytes)
        request.validator = validator
        let result = await engine.result(of: request)
        switch result.outcome {
        case .success(let fetched): return fetched
        case .failure(let failure):
            throw FetchFailure(
                failure: failure.ofManifest, retryAfterSeconds: result.retryAfterSeconds,
                origins: MirrorCourse([job.url], main: job.url).outcomes(result.ending(failure)))
        }
    }
}

extension TransferEngine {
    /// Sends a request and waits for its end.
    func result(of request: TransferRequest) async -> TransferResult {
        await withCheckedContinuation { continuation in
            submit(request) { _, result in continuation.resume(returning: result) }
        }
    }
}

extension Failure {
    /// What a failure means for a manifest.
    fileprivate var ofManifest: Failure {
        switch code {
        case "content.unexpectedType": Failure("manifest.html", message)
        case "origin.tooLarge": Failure("manifest.tooLarge", message)
        default: self
        }
    }
}

extension ManifestWarnings {
    /// As many as are kept of an asset; nil for none.
    var ofAsset: ManifestWarnings? {
        isEmpty ? nil : bounded(to: WireLimits.warningsPerAsset)
    }
}
