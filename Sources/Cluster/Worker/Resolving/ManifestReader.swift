import API
import FoundationEssentials
import Model
import Titles
import Transfer

/// Reads the manifests of titles.
struct ManifestReader: Sendable {
    let engine: TransferEngine
    let held: HeldWork
    /// The queue that names slow titles, which must return their slots.
    let titles: TitleQueue

    /// Returns the objects of a title's manifest, with rewritten manifests and the playlists'
    /// digests.
    func objects(of work: Leased<AssetSource>) async throws -> ResolvedSegments {
        let source = work.task
        var resolver = try TitleResolver(
            url: source.url, kind: source.kind, options: source.titles ?? TitleOptions(),
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

    /// - Parameter validator: validator of the stored manifest; only a changed one is fetched.
    func manifest(
        _ url: String, _ work: Leased<AssetSource>, unless validator: String? = nil
    ) async throws -> Fetched {
        let job = work.job
        guard !held.isCancelled(work.work) else {
            throw Failure(.workerCancelled, "the job was cancelled")
        }
        guard !titles.isOver(work) else {
            throw Failure(.workerCancelled, "the title was slow, and others waited for its slot")
        }
        var request = TransferRequest(
            url: url, group: work.lease.description, destination: .memory, role: .playlist)
        request.job = job.id
        request.site = work.site
        request.headers = work.work.originHeaders
        request.expected.maximumBytes = Int64(TitleResolver.maximumBytes)
        request.validator = validator
        if let cache = work.work.site.cache { request.go(through: cache) }
        let result = await engine.result(of: request)
        switch result.outcome {
        case .success(let fetched): return fetched
        case .failure(let failure):
            throw FetchFailure(
                failure: failure.ofManifest, retryAfterSeconds: result.retryAfterSeconds,
                origins: MirrorPlan([work.task.url], main: work.task.url).outcomes(
                    result.ending(failure)))
        }
    }
}

extension TransferEngine {
    /// Submits a request and waits for its result.
    func result(of request: TransferRequest) async -> TransferResult {
        await withCheckedContinuation { continuation in
            submit(request) { _, result in continuation.resume(returning: result) }
        }
    }
}

extension Failure {
    /// Maps a failure to its meaning for a manifest.
    fileprivate var ofManifest: Failure {
        switch code {
        case .contentUnexpectedType: Failure(.manifestHTML, message)
        case .originTooLarge: Failure(.manifestTooLarge, message)
        default: self
        }
    }
}

extension ManifestWarnings {
    /// The warnings that an asset keeps; nil for none.
    var ofAsset: ManifestWarnings? {
        isEmpty ? nil : bounded(to: WireLimits.warningsPerAsset)
    }
}
