import Model
import Rendering
import Services
import Storage
import Synchronization
import Text
import Transfer
import WebURL

// Retries requests as the failure table specifies, and resumes their bodies.
extension FetchSession {
    /// Creates the request for the whole file.
    func request(range: TransferRequest.ByteRange?) -> TransferRequest {
        let output = plan.output
        var request = TransferRequest(
            url: plan.url.text, group: Self.group,
            destination: .sink { (bytes) throws(Failure) in
                if range == nil {
                    try output.restart()
                    output.expectedBytes = bytes
                }
                return output
            }, role: .file)
        request.range = range
        var resumption = Resumption(sink: output) { _, record in
            // The received parts of a split file are not recorded.
            guard range == nil, self.state.withLock({ $0.large == nil }) else { return }
            output.kept?.note(record)
        }
        resumption.minimumBytes = 1
        request.delivery.resumption = resumption
        return request
    }

    /// Creates the request for the part that starts at `start`.
    func request(of large: LargeObject, from start: Int64) -> TransferRequest {
        request(
            range: .init(
                offset: start, length: Self.partSize.length(from: start, of: large.totalBytes),
                totalBytes: large.totalBytes, validator: large.validator))
    }

    /// Runs a request to its end, with retries where these may help. The first final failure ends
    /// the other requests.
    func transfer(
        _ request: TransferRequest, whenEnded: @escaping @Sendable () -> Void = {}
    ) async -> TransferResult {
        defer { whenEnded() }
        var request = request
        var attempt = 1
        let number = state.withLock { state in
            defer { state.nextRequest += 1 }
            return state.nextRequest
        }
        while true {
            let result = await once(request, number)
            guard case .failure(let failure) = result.outcome else { return result }
            if failure.code == .workerCancelled, firstFailure == nil,
                await !draining.wait(atMost: .seconds(1))
            {
                // Not started: the origin is in cooldown, as another part's request learned.
                request.delivery.resumption?.partial = result.left
                continue
            }
            let large = state.withLock { $0.large }
            if request.range == nil { note(failure, result.left, isWhole: large == nil) }
            // A failure of the whole file makes the bytes of other parts useless too.
            let isForAll = large != nil && failure.code.concernsWholeFile
            guard !isForAll,
                await waits(
                    after: failure, attempt: attempt, retryAfter: result.retryAfterSeconds),
                firstFailure == nil
            else {
                if draining.isDraining {
                    // Interrupted while it waited for a retry, whose result is unknown.
                    let interrupted = Failure(.workerCancelled, "interrupted")
                    end(interrupted)
                    return TransferResult(.failure(interrupted))
                }
                end(failure)
                return result
            }
            attempt += 1
            if request.range == nil, let large {
                // The other parts are running: only the first one is left to request.
                request = self.request(of: large, from: 0)
            } else {
                request.delivery.resumption?.partial = result.left
            }
        }
    }

    private func once(_ request: TransferRequest, _ number: Int) async -> TransferResult {
        // Otherwise its response could arrive before it is cancelled, and start a new file.
        guard !draining.isDraining else {
            return TransferResult(.failure(Failure(.workerCancelled, "interrupted")))
        }
        return await withCheckedContinuation { continuation in
            let transfer = engine.submit(request) { _, result in
                continuation.resume(returning: result)
            }
            state.withLock { $0.transfers[number] = transfer }
            // Draining may have started during the submission.
            if draining.isDraining || firstFailure != nil { engine.cancel(transfer) }
        }
    }

    private func end(_ failure: Failure) {
        let isFirst = state.withLock { state in
            defer { state.firstFailure = state.firstFailure ?? failure }
            return state.firstFailure == nil
        }
        if isFirst { engine.cancelAll(group: Self.group) }
    }

    /// Records the bytes that another run could resume from.
    private func note(_ failure: Failure, _ partial: PartialBody?, isWhole: Bool) {
        guard let kept = plan.output.kept else { return }
        if !isWhole || failure.code.spoilsBody {
            kept.forget()
        } else if let partial {
            kept.note(partial.record)
        }
    }

    // MARK: Waiting

    /// Waits before the retry after attempt number `attempt`, like a worker's job. Returns false if
    /// there must be no retry.
    func waits(after failure: Failure, attempt: Int, retryAfter: Double?) async -> Bool {
        guard case .attempts(let most) = failure.code.row.retry, !draining.isDraining,
            attempt < plan.retries.map({ $0 + 1 }) ?? most
        else { return false }
        let delay = delays.seconds(attempt: attempt, retryAfter: retryAfter)
        state.withLock { $0.retries += 1 }
        if plan.tellsRetries {
            if plan.progress != nil { FetchLine.clear() }
            let seconds = HumanFormat.fixed(delay, places: delay < 10 ? 1 : 0)
            Console.note(
                "\(printable(failure.message)) (\(failure.code)); retrying in \(seconds) s")
        }
        return await !draining.wait(atMost: .seconds(delay))
    }
}

extension FailureCode {
    /// True if the fetched bytes are not, or no longer, the object, or if its parts are
    /// unavailable.
    var concernsWholeFile: Bool {
        family == "content" || family == "integrity" || countsAgainstRanges
            || self == .originHTTP416
    }

    /// True if kept bytes cannot be resumed.
    var spoilsBody: Bool { concernsWholeFile || self == .originProtocol }
}
