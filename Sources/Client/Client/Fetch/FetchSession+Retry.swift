import Model
import Rendering
import Services
import Storage
import Synchronization
import Text
import Transfer
import WebURL

// Requests that are tried again as the failure table says, from where they broke off.
extension FetchSession {
    /// For the whole file.
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
            // Of a file in parts nobody knows which are there.
            guard range == nil, self.state.withLock({ $0.large == nil }) else { return }
            output.kept?.note(record)
        }
        resumption.minimumBytes = 1
        request.resumption = resumption
        return request
    }

    /// For the part of a file that starts at `start`.
    func request(of large: LargeObject, from start: Int64) -> TransferRequest {
        request(
            range: .init(
                offset: start, length: min(Self.partBytes, large.totalBytes - start),
                totalBytes: large.totalBytes, validator: large.validator))
    }

    /// One request to its end, tried again where that may help; the first that fails for good ends
    /// the others.
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
            if failure.code == "worker.cancelled", firstFailure == nil,
                await !draining.wait(atMost: .seconds(1))
            {
                // Not begun: the origin wants to be left alone, as another part was told.
                request.resumption?.partial = result.left
                continue
            }
            let large = state.withLock { $0.large }
            if request.range == nil { note(failure, result.left, isWhole: large == nil) }
            // Of a file in parts, the others' bytes are of no use either.
            let isForAll = large != nil && failure.code.isOfTheWhole
            guard !isForAll,
                await waits(
                    after: failure, attempt: attempt, retryAfter: result.retryAfterSeconds),
                firstFailure == nil
            else {
                if draining.isDraining {
                    // While it waited for another try: what it would have been told then is not known.
                    let interrupted = Failure("worker.cancelled", "interrupted")
                    end(interrupted)
                    return TransferResult(.failure(interrupted))
                }
                end(failure)
                return result
            }
            attempt += 1
            if request.range == nil, let large {
                // Its other parts are under way: the first one is all that is left to ask for.
                request = self.request(of: large, from: 0)
            } else {
                request.resumption?.partial = result.left
            }
        }
    }

    private func once(_ request: TransferRequest, _ number: Int) async -> TransferResult {
        // Its answer would otherwise come before it is cancelled, and begin a file anew.
        guard !draining.isDraining else {
            return TransferResult(.failure(Failure("worker.cancelled", "interrupted")))
        }
        return await withCheckedContinuation { continuation in
            let transfer = engine.submit(request) { _, result in
                continuation.resume(returning: result)
            }
            state.withLock { $0.transfers[number] = transfer }
            // While it was being submitted.
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

    /// Notes what another run could go on with.
    private func note(_ failure: Failure, _ partial: PartialBody?, isWhole: Bool) {
        guard let kept = plan.output.kept else { return }
        if !isWhole || failure.code.spoilsBody {
            kept.forget()
        } else if let partial {
            kept.note(partial.record)
        }
    }

    // MARK: Waiting

    /// Waits before a try after number `attempt`, as a worker's job does; false where there is to be
    /// none.
    func waits(after failure: Failure, attempt: Int, retryAfter: Double?) async -> Bool {
        guard case .attempts(let most) = failure.code.row.retry, !draining.isDraining,
            attempt < plan.retries.map({ $0 + 1 }) ?? most
        else { return false }
        var random = SystemRandomNumberGenerator()
        let delay = RetryPolicy().delaySeconds(
            attempt: attempt, retryAfter: retryAfter, using: &random)
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
    /// What was fetched is not, or is no longer, the object, or its parts cannot be had.
    var isOfTheWhole: Bool {
        rawValue.hasPrefix("content.") || rawValue.hasPrefix("integrity.") || speaksAgainstRanges
            || rawValue == "origin.http.416"
    }

    /// The kept bytes cannot be resumed.
    var spoilsBody: Bool { isOfTheWhole || rawValue == "origin.protocol" }
}
