import API
import CoordinatorClient
import Digest
import Model
import Services
import Titles
import Transfer
import WebURL

/// Resolves titles: reads their manifests and playlists, and submits their segments.
struct Resolver: Sendable {
    let worker: WorkerID
    let client: CoordinatorClient
    let engine: TransferEngine
    let held: HeldWork
    let draining: ShutdownSignal
    let titles: TitleQueue
    let manifests: ManifestReader
    let reporter: Reporter
    let pace: LeasePace

    /// Runs resolve jobs, a few at a time, until the queue is closed. A slow one does not block the
    /// others.
    func run() async {
        await withDiscardingTaskGroup { group in
            while let (turn, title) = await titles.next() {
                group.addTask {
                    if self.draining.isDraining || !self.held.isWanted(title.work) {
                        self.reporter.giveBack(title.work)
                    } else {
                        await self.resolve(title)
                    }
                    self.titles.end(turn, title)
                }
            }
        }
    }

    /// Stops slow titles that must return their slots, until the task is cancelled. Their jobs are
    /// returned to the queue. `ManifestReader` makes no more requests for them.
    func keepStoppingSlowTitles() async {
        while !Task.isCancelled {
            for title in await titles.nextOver() {
                engine.cancelAll(group: title.lease.description, jobs: [title.job.id])
            }
        }
    }

    private func resolve(_ work: Leased<AssetSource>) async {
        do {
            guard let done = try await submitted(of: work) else {
                held.remove([(job: work.job.id, lease: work.lease)])
                return
            }
            reporter.done(work.work, done)
        } catch {
            reporter.fail(work.work, any: error)
        }
        pace.ended(1)
    }

    /// Reads a title and submits what it lists; returns the result, or nil once the lease is lost.
    private func submitted(of work: Leased<AssetSource>) async throws -> JobReport.Done? {
        if let recording = work.task.recording, recording.isOver {
            return JobReport.Done(segments: max(recording.cursor.entries, 1))
        }
        switch try await manifests.reading(of: work) {
        case .whole(let segments, let freshness):
            guard try await submit(segments, of: work, WarmedTitle(of: work)) else { return nil }
            var done = JobReport.Done(segments: segments.count)
            done.freshSeconds = freshness.seconds
            return done
        case .recording(let pass):
            var request = SegmentBatch(
                worker: worker, job: work.job.id, lease: work.lease, segments: pass.objects)
            request.warnings = pass.warnings.ofAsset
            request.recording = pass.update
            let isSent = try await client.segments(request).verdict == .accepted
            return isSent ? JobReport.Done(segments: max(pass.update.cursor.entries, 1)) : nil
        }
    }

    /// Submits segments in requests within the wire limits; returns false once the lease is lost.
    private func submit(
        _ segments: ResolvedSegments, of work: Leased<AssetSource>, _ title: WarmedTitle?
    ) async throws(Failure) -> Bool {
        var batch: [ResolvedSegment] = []
        var bytes = 0
        var warnings = segments.warnings.ofAsset
        var leftOut = segments.leftOut.isEmpty ? nil : segments.leftOut
        for resolved in segments {
            let segment = try title?.requested(resolved) ?? resolved.checked
            let more = (segment.mirrors ?? []).reduce(segment.content?.utf8.count ?? 0) {
                $0 + $1.utf8.count
            }
            let isFull =
                batch.count >= WireLimits.segmentsPerRequest
                || bytes + more > WireLimits.rewrittenManifestBytes
            if isFull, !batch.isEmpty {
                guard try await submit(batch, warnings, leftOut, of: work) else { return false }
                (warnings, leftOut) = (nil, nil)
                batch.removeAll(keepingCapacity: true)
                bytes = 0
            }
            batch.append(segment)
            bytes += more
        }
        return try await submit(batch, warnings, leftOut, of: work)
    }

    /// - Parameters:
    ///   - warnings: warnings of the first batch; nil for later ones.
    ///   - leftOut: what the title lacks, of the first batch.
    private func submit(
        _ batch: [ResolvedSegment], _ warnings: ManifestWarnings?, _ leftOut: [LeftOutRendition]?,
        of work: Leased<AssetSource>
    ) async throws(Failure) -> Bool {
        var request = SegmentBatch(
            worker: worker, job: work.job.id, lease: work.lease, segments: batch)
        request.warnings = warnings
        request.leftOut = leftOut
        return try await client.segments(request).verdict == .accepted
    }
}

extension ResolvedSegment {
    /// The segment with the size and digest of its rewritten manifest instead of the source's.
    var checked: ResolvedSegment {
        guard let content else { return self }
        var segment = self
        segment.servedSHA256 = segment.sha256
        segment.bytes = Int64(content.utf8.count)
        segment.sha256 = SHA256Digest(hashing: Array(content.utf8)).description
        return segment
    }
}
