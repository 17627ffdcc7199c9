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
        guard let stated = fetched.response.freshSeconds else { return }
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
    ///
    /// - Parameter lost: files that cannot be fetched; nil for those of the job.
    func reading(
        of work: Leased<AssetSource>, lost: [LeftOutRendition]? = nil
    ) async throws -> TitleReading {
        let cursor = work.task.recording?.cursor
        do {
            return try await reading(of: work, lost: lost, after: cursor, from: cursor)
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
    ///   - after: the position up to which it is recorded; nil at its beginning.
    ///   - from: the cursor whose media playlists, or MPD, are read; nil to read the manifest.
    private func reading(
        of work: Leased<AssetSource>, lost: [LeftOutRendition]? = nil,
        after cursor: RecordingCursor?, from: RecordingCursor?
    ) async throws -> TitleReading {
        let source = work.task
        var freshness = ManifestFreshness()
        var resolver = try TitleResolver(
            url: source.url, kind: source.kind, options: source.titles ?? TitleOptions(),
            lost: lost ?? source.leftOut ?? [], following: from,
            snapshotSeconds: Date().timeIntervalSince1970,
            pausedClocks: failedClocks.withLock { $0.paused(at: now()) })
        try await read(&resolver, &freshness, of: work)
        if let pass = try resolver.recordingPass(after: cursor) { return .recording(pass) }
        if try resolver.addPlaylistsLeftOut() { try await read(&resolver, &freshness, of: work) }
        while try leaveOut(&resolver) { try await read(&resolver, &freshness, of: work) }
        return .whole(try resolver.segments(), freshness)
    }

    /// Leaves out renditions that list a lost file; true if others are to be read instead.
    private func leaveOut(_ resolver: inout TitleResolver) throws -> Bool {
        do throws(Failure) {
            return try resolver.leaveOut()
        } catch {
            // No origin has failed now.
            throw FetchFailure(failure: error, origins: [])
        }
    }

    /// Fetches what a resolver requests.
    private func read(
        _ resolver: inout TitleResolver, _ freshness: inout ManifestFreshness,
        of work: Leased<AssetSource>
    ) async throws {
        while !resolver.isComplete {
            let requests = resolver.next().map { ($0, resolver.mayLack($0)) }
            let answers = try await withThrowingTaskGroup(of: (ManifestRequest, Answer).self) {
                group in
                for (request, mayLack) in requests {
                    group.addTask {
                        (request, try await self.answer(to: request, work, mayLack: mayLack))
                    }
                }
                var answers: [(ManifestRequest, Answer)] = []
                for try await answer in group { answers.append(answer) }
                return answers.sorted { $0.0.number < $1.0.number }
            }
            for (request, answer) in answers {
                try take(answer, to: request, &resolver, &freshness)
            }
        }
    }

    /// The answer to the request of a manifest.
    private enum Answer {
        case fetched(Fetched)
        /// An optional one that cannot be read in time.
        case missing
        /// The title may lack it.
        case unavailable(Failure)
    }

    private func take(
        _ answer: Answer, to request: ManifestRequest, _ resolver: inout TitleResolver,
        _ freshness: inout ManifestFreshness
    ) throws(Failure) {
        if request.isOptional, resolver.kind == .dash {
            let isRead = if case .fetched = answer { true } else { false }
            noteClock(request.url, isRead: isRead)
        }
        switch answer {
        case .missing: resolver.receiveOptional(request, nil)
        case .unavailable(let failure): resolver.receive(request, unavailable: failure)
        case .fetched(let fetched):
            freshness.add(fetched)
            try resolver.receive(
                request, finalURL: fetched.response.finalURL, body: fetched.body ?? [],
                sha256: fetched.sha256, contentType: fetched.response.contentType,
                answeredSeconds: fetched.response.answeredSeconds)
        }
    }

    private func noteClock(_ url: String, isRead: Bool) {
        let now = now()
        failedClocks.withLock { clocks in
            if isRead { clocks.succeed(url) } else { clocks.fail(url, at: now) }
        }
    }

    private func answer(
        to request: ManifestRequest, _ work: Leased<AssetSource>, mayLack: Bool
    ) async throws -> Answer {
        guard request.isOptional else {
            do {
                return .fetched(try await manifest(request.url, work))
            } catch let error as FetchFailure
                where mayLack && Self.isFinal(error.failure.code, request.url, work.job)
            {
                return .unavailable(error.failure)
            }
        }
        let answer = try await result(within: Self.optionalLimit, clock: clock) { () -> Fetched? in
            do {
                return try await manifest(request.url, work)
            } catch is FetchFailure {
                return nil
            }
        }
        return answer.flatMap { $0 }.map { .fetched($0) } ?? .missing
    }

    /// True if the origin does not serve a manifest, and another attempt is of no use: the last one, or
    /// a fresh URL would not help.
    private static func isFinal(_ code: FailureCode, _ url: String, _ job: Job) -> Bool {
        guard code.mayBeOriginsAlone || code == .manifestHTML else { return false }
        if code.mayBeExpiredSignature, SignedQuery.isSigned(url: Array(url.utf8)) { return false }
        return switch code.row.retry {
        case .never: true
        case .attempts(let most): job.attempt >= most
        case .siteFault, .waitsForSpace: false
        }
    }

    /// - Parameter validator: validator of the stored manifest; only a changed one is fetched.
    func manifest(
        _ url: String, _ work: Leased<AssetSource>, unless validator: String? = nil
    ) async throws -> Fetched {
        guard !held.isCancelled(work.work) else {
            throw Failure(.workerCancelled, "the job was cancelled")
        }
        guard !titles.isOver(work) else {
            throw Failure(.workerCancelled, "the title was slow, and others waited for its slot")
        }
        var request = TransferRequest(for: work.work, url, to: .memory, role: .playlist)
        request.access.headers = work.work.originHeaders
        request.expected.maximumBytes = Int64(TitleResolver.maximumBytes)
        request.validator = validator
        if let cache = work.work.site.cache { request.go(through: cache) }
        let result = await engine.result(of: request) { titles.isOver(work) }
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
    ///
    /// - Parameter isOver: true if the transfer must end now: its group may have been cancelled just
    ///   before it joined it.
    func result(
        of request: TransferRequest, unless isOver: () -> Bool = { false }
    ) async -> TransferResult {
        let submitted = Mutex<Transfer?>(nil)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let transfer = submit(request) { _, result in
                    continuation.resume(returning: result)
                }
                submitted.withLock { $0 = transfer }
                // The handler may have come before it.
                if Task.isCancelled || isOver() { cancel(transfer) }
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
