import Model
import Synchronization
import Transfer

/// Which of a file's origins to ask, by how they did. Safe from any thread.
final class Mirrors: Sendable {
    private let engine: TransferEngine
    private let table = Mutex(MirrorTable())
    private let epoch = ContinuousClock.now

    init(engine: TransferEngine) { self.engine = engine }

    private var nowSeconds: Double { (ContinuousClock.now - epoch) / .seconds(1) }

    /// The way through a job's URLs: only its own where it has no mirrors. Nil for a job that was handed out as a
    /// mirror's and has none of that origin any more.
    func course(of job: Job) -> MirrorCourse? {
        guard let others = job.mirrors, !others.isEmpty else {
            return job.mirrorOrigin == nil ? MirrorCourse([job.url], main: job.url) : nil
        }
        let cooling = engine.coolingOrigins
        if let origin = job.mirrorOrigin {
            // Of the limits of its own origin this worker may have no quota.
            let own = originName(of: job.url)
            let urls = table.withLock { table in
                table.order(
                    others.filter { originName(of: $0) != own }, first: origin, cooling: cooling,
                    now: nowSeconds)
            }
            let isTheirs = urls.first.map { originName(of: $0) == origin } ?? false
            return isTheirs ? MirrorCourse(urls, main: job.url) : nil
        }
        let urls = table.withLock { table in
            table.order([job.url] + others, cooling: cooling, now: nowSeconds)
        }
        return MirrorCourse(urls, main: job.url)
    }

    /// Remembers how a mirrored file's origin did.
    func note(_ result: TransferResult, _ course: MirrorCourse) {
        guard course.hasMirrors || !course.isAtMain else { return }
        let now = nowSeconds
        table.withLock { table in
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

    /// Turns to a file's next mirror after a failure of the one before.
    func advance(_ course: inout MirrorCourse, after result: TransferResult) -> Bool {
        guard case .failure(let failure) = result.outcome, course.hasMirrors else { return false }
        return course.advance(after: result.ending(failure), cooling: engine.coolingOrigins)
    }
}

extension TransferResult {
    func ending(_ failure: Failure) -> MirrorCourse.Ending {
        MirrorCourse.Ending(
            failure: failure, origin: origin, retryAfterSeconds: retryAfterSeconds)
    }
}
