import API
import Model
import Transfer

/// Asks origins whether files that another tool has stored are what they have.
struct FoundFileCheck: Sendable {
    let engine: TransferEngine
    let held: HeldWork
    let pace: LeasePace
    let reporter: Reporter

    /// Asks for the length and the date of a job's object by HEAD. If both agree with the file under
    /// its key, completes the job; otherwise calls `fetch`.
    ///
    /// An object with the file's date is the one that was mirrored. One that is older was mirrored by a
    /// tool that leaves the time of the download.
    func confirm(_ work: Assignment, else fetch: @escaping @Sendable (Assignment) -> Void) {
        guard held.isWanted(work.leased) else { return reporter.giveBack(work.leased) }
        var request = TransferRequest(
            url: work.fetch.url, group: work.lease.description, destination: .memory,
            role: work.fetch.role)
        request.owner.job = work.job.id
        request.access.headers = work.leased.originHeaders
        request.isHead = true
        let transfer = engine.submit(request) { _, result in
            switch result.outcome {
            case .success(let answer):
                guard let stored = Self.confirmed(work.fetch, by: answer) else {
                    return fetch(work)
                }
                held.downloaded(work.leased)
                pace.ended(1)
                var done = JobReport.Done(
                    stored: stored, isReused: true, validator: answer.response.validator)
                if work.fetch.role == .file { done.freshSeconds = answer.response.freshSeconds }
                reporter.done(work.leased, done)
            case .failure(let failure) where failure.code == .workerCancelled:
                held.downloaded(work.leased)
                pace.wake()
                reporter.fail(work.leased, failure)
            // The origin may not answer HEAD; the fetch reports what is wrong.
            case .failure: fetch(work)
            }
        }
        held.setTransfer(transfer, of: work.job.id, work.lease)
        if held.isCancelled(work.leased) { engine.cancel(transfer) }
    }

    /// Returns the file if the answer describes it.
    private static func confirmed(_ fetch: Fetch, by answer: Fetched) -> StoredObject? {
        guard let previous = fetch.previous, let found = previous.foundModified,
            let described = answer.described, described.bytes == previous.stored.bytes,
            let modified = described.modifiedSeconds, modified <= found
        else { return nil }
        return previous.stored
    }
}
