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
            recordEnd(request, failure, now)
        case .failed(let code):
            failure = code
            recordEnd(request, failure, now)
        case .cutOff:
            // The generator stopped it: not a failure of the origin.
            failure = .workerCancelled
            record.recordUnfinished(request, atSeconds: now)
        }
        slots.free(request)
        switch owner {
        case .arrival: break
        case .user: userEnded(atSeconds: now)
        case .viewer(let slot, let lane):
            slot.ended(
                lane, failure, request, tookSeconds: now - request.sentSeconds, atSeconds: now)
        }
        if arrivals?.isBlocked == true || slots.waitingCount > 0 {
            slotIsFree(atSeconds: clock.seconds)
        }
        if life.phase == .draining, slots.active.isEmpty { self.end(life.ending) }
    }

    private func failure(ofAnswerTo request: LoadRequest) -> FailureCode? {
        if request.isTextTooLong { return .manifestTooLarge }
        let object = object(request.object)
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
        recordEnd(request, .originTimeout, clock.seconds)
    }

    /// Ends a request because the test stopped; its full duration is unknown.
    func leaveUnfinished(_ request: LoadRequest) {
        record.recordUnfinished(request, atSeconds: clock.seconds)
        drop(request)
    }

    private func recordEnd(_ request: LoadRequest, _ failure: FailureCode?, _ now: Double) {
        let isAfterLoad = life.isAfterLoad(now)
        let isMeasured = Double(record.interval.second) >= scenario.warmUpSeconds
        record.record(
            request, failure, countsAs: countedObject(request.object), atSeconds: now,
            isAfterLoad: isAfterLoad, isMeasured: isMeasured)
        guard isMeasured else { return }
        groups.record(
            request, of: object(request.object),
            total: LoopRecord.microseconds(now - request.plannedSeconds),
            firstByte: request.firstByteSeconds.map {
                LoopRecord.microseconds($0 - request.plannedSeconds)
            }, isFailure: failure != nil, isAfterLoad: isAfterLoad)
    }
}
