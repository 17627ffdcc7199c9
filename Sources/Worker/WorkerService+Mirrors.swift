import Model
import Synchronization
import Transfer

/// Files that several origins have.
extension WorkerService {
    /// The way through a job's URLs: only its own where it has no mirrors. Nil for a job that was handed out as a
    /// mirror's and has none of that origin any more.
    func course(of job: Job) -> MirrorCourse? {
        guard let others = job.mirrors, !others.isEmpty else {
            return job.mirrorOrigin == nil ? MirrorCourse([job.url], main: job.url) : nil
        }
        let cooling = engine.coolingOrigins
        if let origin = job.mirrorOrigin {
            // Of the limits of its own origin this worker may have no share.
            let own = originName(of: job.url)
            let urls = mirrors.withLock { table in
                table.order(
                    others.filter { originName(of: $0) != own }, first: origin, cooling: cooling,
                    now: Self.nowSeconds)
            }
            let isTheirs = urls.first.map { originName(of: $0) == origin } ?? false
            return isTheirs ? MirrorCourse(urls, main: job.url) : nil
        }
        let urls = mirrors.withLock { table in
            table.order([job.url] + others, cooling: cooling, now: Self.nowSeconds)
        }
        return MirrorCourse(urls, main: job.url)
    }

    /// Remembers how a mirrored file's origin did.
    func note(_ result: TransferResult, _ course: MirrorCourse) {
        guard course.hasMirrors || !course.isAtMain else { return }
        let now = Self.nowSeconds
        mirrors.withLock { table in
            switch result.outcome {
            case .success(let fetched):
                let seconds = max(result.totalSeconds, 0.001)
                table.succeeded(
                    course.url, bytesPerSecond: Double(fetched.bytes) / seconds, now: now)
            // Wrong or missing bytes are as good a reason to ask another one first as silence is.
            case .failure(let failure) where MirrorCourse.isOfTheOrigin(failure.code):
                table.failed(course.url, now: now)
            case .failure: break
            }
        }
    }

    /// Turns to a file's next mirror after a failure of the one before, while the job is wanted.
    func goesOn(
        _ job: Job, _ lease: LeaseID, _ result: TransferResult, _ course: inout MirrorCourse
    ) -> Bool {
        guard case .failure(let failure) = result.outcome, course.hasMirrors,
            course.advance(after: result.ending(failure), cooling: engine.coolingOrigins)
        else { return false }
        return !isDraining && held.isHeld(lease) && !held.isCancelled(job.id, lease)
    }

    /// Remembers origins that others have to hear of when they are well again.
    func suspect(_ origins: some Sequence<String>) {
        suspects.withLock { suspects in
            if suspects.count > Self.mostSuspects { suspects = [] }
            suspects.formUnion(origins)
        }
    }

    private static let mostSuspects = 1_000

    /// Whose doing a file is that came whole; nil when it is the job's own origin's alone.
    func served(_ result: TransferResult, _ course: MirrorCourse) -> [OriginOutcome]? {
        suspects.withLock { suspects in
            let outcomes = course.served(by: result.origin) { suspects.contains($0) }
            for outcome in outcomes ?? [] {
                if outcome.code == nil {
                    suspects.remove(outcome.origin)
                } else if suspects.count < Self.mostSuspects {
                    suspects.insert(outcome.origin)
                }
            }
            return outcomes
        }
    }

    private static var nowSeconds: Double {
        (ContinuousClock.now - mirrorEpoch) / .seconds(1)
    }
}

private let mirrorEpoch = ContinuousClock.now

extension TransferResult {
    func ending(_ failure: Failure) -> MirrorCourse.Ending {
        MirrorCourse.Ending(
            failure: failure, origin: origin, retryAfterSeconds: retryAfterSeconds)
    }
}
