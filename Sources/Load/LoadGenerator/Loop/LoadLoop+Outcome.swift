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
            switch redirect(of: request) {
            case .follow(let detour): return redirected(request, detour, now)
            case .refused(let code): failure = code
            case .none: failure = self.failure(ofAnswerTo: request)
            }
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
        case .steering(let slot): slot.steeringEnded(request, failure, atSeconds: now)
        case .viewer(let slot, let lane):
            slot.ended(
                lane, failure, request,
                tookSeconds: now - (request.detour?.firstSentSeconds ?? request.sentSeconds),
                atSeconds: now)
        }
        slotWasFreed()
    }

    private func slotWasFreed() {
        if source.isBlocked || slots.waitingCount > 0 {
            slotIsFree(atSeconds: clock.seconds)
        }
        if life.phase == .draining, slots.active.isEmpty { self.end(life.ending) }
    }

    /// Counts a redirect, and sends the request that it leads to.
    private func redirected(_ request: LoadRequest, _ detour: Detour, _ now: Double) {
        recordEnd(request, nil, now, isRedirect: true)
        let (object, owner) = (request.object, request.owner)
        slots.free(request)
        if life.isRunning {
            owner.slot?.hasConnected()
            if !owner.isOver { self.request(object, owner, detour, plannedSeconds: now) }
        }
        slotWasFreed()
    }

    private func failure(ofAnswerTo request: LoadRequest) -> FailureCode? {
        if request.text.isTooLong { return .manifestTooLarge }
        let object = object(request.object)
        if let failure = object.failure(ofStatus: request.response.status) { return failure }
        if case .steering(let slot) = request.owner {
            return slot.readSteering(request, atSeconds: clock.seconds)
        }
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

    private func recordEnd(
        _ request: LoadRequest, _ failure: FailureCode?, _ now: Double, isRedirect: Bool = false
    ) {
        let isAfterLoad = life.isAfterLoad(now)
        let isMeasured = Double(record.interval.second) >= scenario.warmUpSeconds
        record.record(
            request, failure, countsAs: request.object.countsAs, atSeconds: now,
            isAfterLoad: isAfterLoad, isMeasured: isMeasured)
        if isRedirect {
            record.interval.counts.requests.redirects += 1
            record.interval.record(
                LoopRecord.microseconds(now - request.plannedSeconds), .redirect)
        }
        guard isMeasured else { return }
        record.groups.record(
            request, of: object(request.object),
            total: LoopRecord.microseconds(now - request.plannedSeconds),
            firstByte: request.response.firstByteSeconds.map {
                LoopRecord.microseconds($0 - request.plannedSeconds)
            }, isFailure: failure != nil, isAfterLoad: isAfterLoad, isRedirect: isRedirect)
    }
}
