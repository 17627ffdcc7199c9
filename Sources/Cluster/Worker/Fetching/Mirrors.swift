import API
import Model
import Synchronization
import Transfer

/// Chooses among a file's origins by their past results. Safe from any thread.
final class Mirrors: Sendable {
    private let engine: TransferEngine
    private let table = Mutex(MirrorTable())
    private let epoch = ContinuousClock.now

    init(engine: TransferEngine) { self.engine = engine }

    private var nowSeconds: Double { (ContinuousClock.now - epoch) / .seconds(1) }

    /// Returns the URLs to try for a job: only its own if it has no mirrors. Returns nil for a job
    /// that was leased for a mirror's origin but has no URL there any more.
    func plan(of fetch: Fetch) -> MirrorPlan? {
        // Its failures lead back to the job's own origin, as a job of its own.
        if let neighbour = fetch.neighbour {
            return MirrorPlan([neighbour.url(of: fetch.key)], main: fetch.url)
        }
        let others = fetch.mirrors
        guard !others.isEmpty else {
            return fetch.mirrorOrigin == nil ? MirrorPlan([fetch.url], main: fetch.url) : nil
        }
        let inCooldown = engine.originsInCooldown
        if let origin = fetch.mirrorOrigin {
            // This worker may have no quota of the job's own origin.
            let own = originName(of: fetch.url)
            let urls = table.withLock { table in
                table.order(
                    others.filter { originName(of: $0) != own }, first: origin,
                    inCooldown: inCooldown,
                    now: nowSeconds)
            }
            let isTheirs = urls.first.map { originName(of: $0) == origin } ?? false
            return isTheirs ? MirrorPlan(urls, main: fetch.url) : nil
        }
        let urls = table.withLock { table in
            table.order([fetch.url] + others, inCooldown: inCooldown, now: nowSeconds)
        }
        return MirrorPlan(urls, main: fetch.url)
    }

    /// Records the result of a mirrored file's origin.
    func note(_ result: TransferResult, _ plan: MirrorPlan) {
        guard plan.hasMirrors || !plan.isAtMain else { return }
        let now = nowSeconds
        table.withLock { table in
            switch result.outcome {
            case .success(let fetched):
                let seconds = max(result.totalSeconds, 0.001)
                table.succeeded(
                    plan.url, bytesPerSecond: Double(fetched.bytes) / seconds, now: now)
            // Wrong or missing bytes make another origin the better choice, like a timeout.
            case .failure(let failure) where failure.code.mayBeOriginsAlone:
                table.failed(plan.url, now: now)
            case .failure: break
            }
        }
    }

    /// Moves to a file's next mirror after a failure.
    func advance(_ plan: inout MirrorPlan, after result: TransferResult) -> Bool {
        guard case .failure(let failure) = result.outcome, plan.hasMirrors else { return false }
        return plan.advance(after: result.ending(failure), inCooldown: engine.originsInCooldown)
    }
}

extension TransferResult {
    func ending(_ failure: Failure) -> MirrorPlan.Ending {
        MirrorPlan.Ending(
            failure: failure, origin: origin, retryAfterSeconds: retryAfterSeconds)
    }
}
