import API
import Model
import Services
import Storage
import Transfer

/// Requests objects through the POPs of a cache, and reports how each was served.
///
/// Bodies are hashed and discarded as they arrive. An object is requested whole, over one
/// connection, because ranges are other objects to many caches.
struct Warmer: Sendable {
    let engine: TransferEngine
    let held: HeldWork
    let draining: ShutdownSignal
    let tally: WorkTally
    let metrics: WorkerMetrics
    let pace: LeasePace
    let reporter: Reporter

    /// Starts the requests of a lease's fetches.
    func warm(_ jobs: [LeasedJob], through cache: CacheLocation) {
        for work in jobs {
            if case .fetch(let fetch) = work.job.task { start(Leased(work, fetch), cache) }
        }
    }

    private func start(_ work: Leased<Fetch>, _ cache: CacheLocation) {
        guard held.isWanted(work.work) else { return reporter.giveBack(work.work) }
        guard !work.task.isPart else {
            return reporter.fail(
                work.work, Failure(.workerInternal, "objects of a cache have no parts"))
        }
        let transfer = engine.submit(request(for: work, cache)) { transfer, result in
            self.end(work, transfer, result)
        }
        held.setTransfer(transfer, of: work.job.id, work.lease)
        // Those who cancel jobs or drain the worker did not see the transfer during the submission.
        if held.isCancelled(work.work) { engine.cancel(transfer) }
        if draining.isDraining { engine.cancelUnbegun([transfer]) }
    }

    private func request(for work: Leased<Fetch>, _ cache: CacheLocation) -> TransferRequest {
        let fetch = work.task
        let sink = TransferRequest.Destination.sink { bytes in
            held.setExpected(bytes, of: work.work)
            return DiscardingSink()
        }
        var request = TransferRequest(for: work.work, fetch.url, to: sink, role: fetch.role)
        request.isManifest = fetch.role == .playlist
        request.access.headers = work.work.originHeaders
        request.expect(bytes: fetch.length, sha256: fetch.sha256, digests: fetch.digests)
        request.go(through: cache)
        return request
    }

    /// Handles a result on its loop's thread; must not block.
    private func end(_ work: Leased<Fetch>, _ transfer: Transfer, _ result: TransferResult) {
        metrics.ended(transfer, result)
        tally.runs.used(work.job.run, seconds: result.totalSeconds)
        switch result.outcome {
        case .failure(let failure):
            if failure.code == .workerCancelled { pace.wake() } else { pace.ended(1) }
            reporter.fail(
                work.work, failure.ofSegment(role: work.task.role),
                retryAfter: result.retryAfterSeconds)
        case .success(let fetched):
            tally.ended(work.job.run, seconds: result.totalSeconds, bytes: fetched.bytes)
            var done = JobReport.Done(
                stored: fetched.received,
                isVerified: fetched.isVerified, validator: fetched.response.validator,
                milliseconds: FetchResults.milliseconds(result.totalSeconds))
            done.cache = fetched.response.cache?.text
            reporter.done(work.work, done)
            pace.ended(1)
        }
    }
}

/// A destination that keeps nothing.
private struct DiscardingSink: TransferSink {
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {}
}

extension TransferRequest {
    /// Makes it a request of the cache's edge. A redirect fails: its target is another object,
    /// which may be elsewhere.
    mutating func go(through cache: CacheLocation) {
        access.edge = cache.edge
        access.followsRedirects = false
    }
}

extension LeasedSite {
    /// The cache that the site is; nil for storage.
    var cache: CacheLocation? { (try? StorageURL(storageURL))?.cache }
}
