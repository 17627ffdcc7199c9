import CoordinatorClient
import Digest
import Model
import Services
import Titles
import Transfer
import WebURL

/// Resolves titles: reads their manifests with all they name, and submits their segments.
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

    /// Works through resolve jobs, a few at a time, until the queue is closed. One that takes long holds up no other.
    func run() async {
        await withDiscardingTaskGroup { group in
            while let (turn, title) = await titles.next() {
                group.addTask {
                    if self.draining.isDraining || !self.held.isWanted(title) {
                        self.reporter.giveBack(title)
                    } else {
                        await self.resolve(title)
                    }
                    self.titles.end(turn, title)
                }
            }
        }
    }

    /// Has titles that are slow give their turns to others, until the task is cancelled: their jobs are returned to
    /// the queue.
    func keepStoppingSlowTitles() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: LeaseKeeper.tick)
            // Looked up each time: a title's next playlist may just have been asked for.
            for title in titles.titlesThatAreOver() {
                engine.cancelAll(group: title.lease, jobs: [title.job.id])
            }
        }
    }

    private func resolve(_ work: LeasedJob) async {
        do {
            let segments = try await manifests.objects(of: work)
            guard try await submit(segments, of: work) else {
                held.remove([(job: work.job.id, lease: work.lease)])
                return
            }
            var report = JobReport(job: work.job.id, lease: work.lease, outcome: .done)
            report.segments = segments.count
            reporter.done(report)
        } catch {
            reporter.fail(work, any: error)
        }
        pace.ended(1)
    }

    /// Submits segments in requests within the bounds of the wire format; false once the job is not
    /// held any more.
    private func submit(
        _ segments: ResolvedSegments, of work: LeasedJob
    ) async throws(Failure) -> Bool {
        var batch: [ResolvedSegment] = []
        var bytes = 0
        var warnings = segments.warnings.ofAsset
        for segment in segments.lazy.map(\.checked) {
            let more = (segment.mirrors ?? []).reduce(segment.content?.utf8.count ?? 0) {
                $0 + $1.utf8.count
            }
            let isFull =
                batch.count >= WireLimits.segmentsPerRequest
                || bytes + more > WireLimits.documentBytes
            if isFull, !batch.isEmpty {
                guard try await submit(batch, warnings, of: work) else { return false }
                warnings = nil
                batch.removeAll(keepingCapacity: true)
                bytes = 0
            }
            batch.append(segment)
            bytes += more
        }
        return try await submit(batch, warnings, of: work)
    }

    /// - Parameter warnings: with the first batch.
    private func submit(
        _ batch: [ResolvedSegment], _ warnings: ManifestWarnings?, of work: LeasedJob
    ) async throws(Failure) -> Bool {
        var request = SegmentBatch(
            worker: worker, job: work.job.id, lease: work.lease, segments: batch)
        request.warnings = warnings
        return try await client.segments(request).verdict == .accepted
    }
}

extension ResolvedSegment {
    /// A rewritten manifest is checked by what it is, not by what it was made from.
    var checked: ResolvedSegment {
        guard let content else { return self }
        var segment = self
        segment.servedSHA256 = segment.sha256
        segment.bytes = Int64(content.utf8.count)
        segment.sha256 = SHA256Digest(hashing: Array(content.utf8)).description
        return segment
    }
}
