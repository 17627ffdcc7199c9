import API
import EventLoop
import FoundationEssentials
import Model
import Synchronization
import Titles
import Transfer

/// Result of reading for a resolve job.
enum TitleReading: Sendable {
    /// Every object of a title, with rewritten manifests and the playlists' digests.
    case whole(ResolvedSegments, ManifestFreshness)
    /// The additions of a live title to its recording.
    case recording(RecordingPass)
}

/// For how long the responses to several manifests are fresh: until the first one is no longer.
struct ManifestFreshness {
    /// Nil if none states it.
    private(set) var seconds: Int?

    mutating func add(_ fetched: Fetched) {
        guard let stated = fetched.freshSeconds else { return }
        seconds = min(seconds ?? stated, stated)
    }
}

/// Reads the manifests of titles.
struct ManifestReader: Sendable {
    let engine: TransferEngine
    let held: HeldWork
    /// The queue that names slow titles, which must return their slots.
    let titles: TitleQueue
    /// Measures `optionalLimit`.
    var clock: any Clock<Duration> = ContinuousClock()
    /// Shared by all titles that this worker reads.
    var failedClocks = Shared(FailedClocks())
    /// The time for `failedClocks`.
    var now: @Sendable () -> ContinuousClock.Instant = { .now }

    /// Time in which an optional request has to be answered: segments leave the window meanwhile.
    static let optionalLimit = Duration.seconds(3)

    /// Returns the objects of a title's manifest, with rewritten manifests and the playlists'
    /// digests; of a live title that is recorded, what its recording lacks.
    func reading(of work: Leased<AssetSource>) async throws -> TitleReading {
        let cursor = work.task.recording?.cursor
        do {
            return try await reading(of: work, after: cursor, from: cursor)
        } catch let error as FetchFailure {
            guard let cursor, error.failure.code.mayBeExpiredSignature else { throw error }
            // The URLs of its media playlists, or that of its MPD, may have expired: the manifest
            // has others.
            if cursor.isMultivariant {
                return try await reading(of: work, after: cursor, from: nil)
            }
            guard cursor.mpd?.location != nil else { throw error }
            var again = cursor
            again.mpd?.location = nil
            return try await reading(of: work, after: cursor, from: again)
        }
    }

    /// - Parameters:
    ///   - after: the place up to which it is recorded; nil at its beginning.
    ///   - from: the cursor whose media playlists, or MPD, are read; nil to read the manifest.
    private func reading(
        of work: Leased<AssetSource>, after cursor: RecordingCursor?, from: RecordingCursor?
    ) async throws -> TitleReading {
        let source = work.task
        var freshness = ManifestFreshness()
        var resolver = try TitleResolver(
            url: source.url, kind: source.kind, options: source.titles ?? TitleOptions(),
            following: from, snapshotSeconds: Date().timeIntervalSince1970,
            pausedClocks: failedClocks.withLock { $0.paused(at: now()) })
        try await read(&resolver, &freshness, of: work)
        if let pass = try resolver.recordingPass(after: cursor) { return .recording(pass) }
        if try resolver.addPlaylistsLeftOut() { try await read(&resolver, &freshness, of: work) }
        return .whole(try resolver.segments(), freshness)
    }

    /// Fetches what a resolver requests.
    private func read(
        _ resolver: inout TitleResolver, _ freshness: inout ManifestFreshness,
        of work: Leased<AssetSource>
    ) async throws {
        while !resolver.isComplete {
            let requests = resolver.next()
            let bodies = try await withThrowingTaskGroup(of: (ManifestRequest, Fetched?).self) {
                group in
                for request in requests {
                    group.addTask { (request, try await self.answer(to: request, work)) }
                }
                var bodies: [(ManifestRequest, Fetched?)] = []
                for try await body in group { bodies.append(body) }
                return bodies.sorted { $0.0.number < $1.0.number }
            }
            for (request, fetched) in bodies {
                if request.isOptional, resolver.kind == .dash {
                    noteClock(request.url, isRead: fetched != nil)
                }
                guard let fetched else {
                    resolver.receiveOptional(request, nil)
                    continue
                }
                freshness.add(fetched)
                try resolver.receive(
                    request, finalURL: fetched.finalURL, body: fetched.body ?? [],
                    sha256: fetched.sha256, contentType: fetched.contentType,
                    answeredSeconds: fetched.answeredSeconds)
            }
        }
    }

    private func noteClock(_ url: String, isRead: Bool) {
        let now = now()
        failedClocks.withLock { clocks in
            if isRead { clocks.succeed(url) } else { clocks.fail(url, at: now) }
        }
    }

    /// Returns nil for an optional one that cannot be read in time.
    private func answer(
        to request: ManifestRequest, _ work: Leased<AssetSource>
    ) async throws -> Fetched? {
        guard request.isOptional else { return try await manifest(request.url, work) }
        let answer = try await result(within: Self.optionalLimit, clock: clock) { () -> Fetched? in
            do {
                return try await manifest(request.url, work)
            } catch is FetchFailure {
                return nil
            }
        }
        return answer ?? nil
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
    /// Submits a request and waits for its result. When the task is cancelled, the transfer ends
    /// with `worker.cancelled`.
    func result(of request: TransferRequest) async -> TransferResult {
        let submitted = Mutex<Transfer?>(nil)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let transfer = submit(request) { _, result in
                    continuation.resume(returning: result)
                }
                submitted.withLock { $0 = transfer }
                // The handler may have come before it.
                if Task.isCancelled { cancel(transfer) }
            }
        } onCancel: {
            if let transfer = submitted.withLock({ $0 }) { cancel(transfer) }
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
