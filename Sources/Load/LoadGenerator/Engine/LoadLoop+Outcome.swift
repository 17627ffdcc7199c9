internal import Digest
internal import LoadModel
internal import Model

/// Classifies and counts the outcome of requests.
extension LoadLoop {
    func ended(_ request: LoadRequest, _ end: LoadRequestEnd) {
        let now = clock.seconds
        let owner = request.owner
        var failure: FailureCode?
        switch end {
        case .answered:
            failure = self.failure(ofAnswerTo: request)
            record(request, failure, now)
        case .failed(let code):
            failure = code
            record(request, failure, now)
        case .cutOff:
            // The generator stopped it: not a failure of the origin.
            failure = .workerCancelled
            countUnfinished(request, now)
        }
        leave(request)
        switch owner {
        case .arrival: break
        case .user: userEnded(atSeconds: now)
        case .viewer(let slot):
            slot.ended(
                failure, bytes: request.bytes, tookSeconds: now - request.sentSeconds,
                atSeconds: now)
        }
        if isBlocked || waiting.count > 0 { placeIsFree(atSeconds: clock.seconds) }
        if phase == .draining, active.isEmpty { self.end(ending) }
    }

    private func failure(ofAnswerTo request: LoadRequest) -> FailureCode? {
        let object = plan.objects[request.object]
        if let failure = object.failure(ofStatus: request.status) { return failure }
        if let wanted = object.sha256, let digest = request.digest(),
            digest != SHA256Digest(hex: wanted)
        {
            return .integrityDigestMismatch
        }
        return nil
    }

    /// Ends a request whose timeout has passed while draining; it failed after at least that time.
    func expire(_ request: LoadRequest) {
        drop(request)
        record(request, .originTimeout, clock.seconds)
    }

    /// Ends a request because the test stopped; its full duration is unknown.
    func leaveUnfinished(_ request: LoadRequest) {
        countUnfinished(request, clock.seconds)
        drop(request)
    }

    private func countUnfinished(_ request: LoadRequest, _ now: Double) {
        interval.counts.unfinished += 1
        interval.counts.longestUnfinishedSeconds = max(
            interval.counts.longestUnfinishedSeconds, now - request.plannedSeconds)
    }

    private func record(_ request: LoadRequest, _ failure: FailureCode?, _ now: Double) {
        let delay = request.sentSeconds - request.plannedSeconds
        let total = microseconds(now - request.plannedSeconds)
        interval.record(total, .total)
        interval.record(microseconds(now - request.sentSeconds), .totalUncorrected)
        interval.record(microseconds(delay), .sendDelay)
        // A request that timed out without a byte waited for its first byte at least so long.
        if let firstByte = request.firstByteSeconds ?? (failure == .originTimeout ? now : nil) {
            interval.record(
                microseconds(firstByte - request.sentSeconds), .firstByteUncorrected)
            interval.record(microseconds(firstByte - request.plannedSeconds), .firstByte)
        }
        if request.openedConnection {
            interval.counts.connections += 1
            let connected = request.connectSeconds
            if connected > 0 { interval.record(microseconds(connected), .connect) }
        }
        let afterEnd: Int64 = now >= durationSeconds ? 1 : 0
        if let failure {
            interval.counts.failed += 1
            interval.counts.failedAfterEnd += afterEnd
            interval.counts.failedBytes += request.bytes
            interval.record(microseconds(now - request.sentSeconds), .failedUncorrected)
            interval.errors[failure.rawValue, default: 0] += 1
        } else {
            interval.counts.succeeded += 1
            interval.counts.succeededAfterEnd += afterEnd
        }
        guard Double(interval.second) >= scenario.warmUpSeconds else { return }
        tallies[Int32(request.object), default: LoadTally()].record(
            bytes: request.bytes, microseconds: total, isFailure: failure != nil)
    }

    private func microseconds(_ seconds: Double) -> Int64 { Int64(max(seconds, 0) * 1e6) }
}
