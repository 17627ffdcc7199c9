internal import Curl
internal import Digest
internal import Model
internal import Storage

/// Parts that a request omits because the previous response was useless.
struct Omissions: Hashable, Sendable {
    /// Omits `If-Range`, because some CDNs ignore a range with a condition.
    var ifRange = false
    /// Omits the partial body of an earlier attempt.
    var partial = false
}

// Resumes a body, and leaves one to be resumed. A weak validator or a response that is not the rest
// starts over; nothing is ever appended on a guess.
extension ActiveTransfer {
    /// The partial body of an earlier attempt, if it can be resumed.
    var partial: PartialBody? { route.omissions.partial ? nil : transfer.partial }

    /// Header lines that request a range of the object.
    var rangeLines: [String] {
        let done = partial?.record.bytes ?? 0
        if let range = request.range {
            let last = range.offset + range.length - 1
            return lines("\(range.offset + done)-\(last)", range.validator)
        }
        guard let partial else { return [] }
        // The validator means nothing at another URL.
        let isElsewhere =
            request.isGuarded && SHA256Digest.source(of: url) != partial.record.source
        return lines("\(done)-", isElsewhere ? nil : partial.record.validator)
    }

    private func lines(_ range: String, _ validator: String?) -> [String] {
        let lines = ["Range: bytes=\(range)"]
        guard let validator, !route.omissions.ifRange else { return lines }
        return lines + ["If-Range: \(validator)"]
    }

    // MARK: Records

    /// Sets the record by which the body may later be resumed.
    func setResumable(_ receiving: inout Receiving, resuming partial: PartialBody?) {
        guard let resumption = request.delivery.resumption, receiving.body.hasDestination else {
            return
        }
        receiving.leaving = makeRecord(
            above: resumption.minimumBytes, receiving.terms, resuming: partial)
        guard let leaving = receiving.leaving else { return }
        let received = partial?.record.bytes ?? 0
        receiving.nextNote = nextNote(after: received)
        if leaving.totalBytes >= resumption.longBytes, received == 0 {
            receiving.nextNote = min(receiving.nextNote, resumption.minimumBytes)
        }
    }

    /// Returns the record by which a body can be resumed. Returns nil if it cannot be, or for a
    /// whole object of at most `minimum` bytes.
    private func makeRecord(
        above minimum: Int64, _ terms: BodyTerms, resuming partial: PartialBody?
    ) -> PartialRecord? {
        if var record = partial?.record, record.bytes > 0 {
            if terms.isMixed { record.source = .severalSources }
            return record
        }
        if let range = request.range {
            guard let validator = range.validator, let total = range.totalBytes else { return nil }
            return makeRecord(total, validator)
        }
        guard let total = easy.contentLength, total > minimum, easy.acceptsRanges,
            let validator = easy.strongValidator
        else { return nil }
        return makeRecord(total, validator)
    }

    private func makeRecord(_ total: Int64, _ validator: String) -> PartialRecord {
        PartialRecord(
            bytes: 0, sha256: SHA256Digest(hashing: []), totalBytes: total, validator: validator,
            source: .source(of: url), digests: request.range == nil ? easy.statedDigests : [])
    }

    private func nextNote(after bytes: Int64) -> Int64 {
        bytes + max(request.delivery.resumption?.noteBytes ?? .max >> 1, 1)
    }

    /// Returns `leaving` with the present progress; nil if that must not be resumed.
    private func recordNow(_ leaving: PartialRecord?, _ body: BodyWriter) -> PartialRecord? {
        guard var record = leaving,
            life.receivedBytes < (request.range?.length ?? record.totalBytes)
        else { return nil }
        record.bytes = life.receivedBytes
        record.sha256 = body.digests.sha256SoFar()
        return record
    }

    /// Records the object's progress.
    func note() {
        let next = nextNote(after: life.receivedBytes)
        life.updateReceiving { $0.nextNote = next }
        guard let receiving = life.receiving,
            let record = recordNow(receiving.leaving, receiving.body)
        else { return }
        request.delivery.resumption?.note(receiving.body.object, record)
    }

    // MARK: Stopping in favor of others

    /// Bytes that a stop would lose now.
    var bytesAtRisk: Int64 {
        guard life.isWanted, life.receivedBytes > 0 else { return 0 }
        return canResume ? 0 : life.receivedBytes
    }

    /// True if the received bytes can be kept while the transfer waits.
    private var canResume: Bool {
        guard life.receivedBytes > 0, let receiving = life.receiving,
            receiving.body.object != nil, !receiving.terms.isFirstPart
        else { return false }
        return recordToLeave(receiving) != nil
    }

    /// Returns the record for resuming the body after a stop, however short it is.
    private func recordToLeave(_ receiving: Receiving) -> PartialRecord? {
        if let leaving = receiving.leaving { return leaving }
        guard request.delivery.resumption != nil else { return nil }
        let resumed = life.resumedBytes > 0 ? partial : nil
        return makeRecord(above: 0, receiving.terms, resuming: resumed)
    }

    /// True if it can be stopped, even at the cost of its received bytes.
    var isStoppable: Bool { !life.isOpening && life.receiving?.body.sink == nil }

    /// True if it may be stopped for transfers that are not slow: at first always, later only if
    /// nothing is lost.
    var canStop: Bool { isStoppable && (route.losses == 0 || canResume) }

    /// Keeps the received bytes in the transfer for its next slot; returns false if nothing could
    /// be kept.
    func leaveUntilResumed() -> Bool {
        let receiving = life.receiving
        defer { receiving?.body.forget() }
        guard canResume, let receiving else {
            // Without a received byte, the old partial body is still valid.
            let isUntouched = receiving?.body.object == nil && partial != nil
            if !isUntouched {
                receiving?.body.object?.discard()
                transfer.partial = nil
            }
            transfer.begin(at: 0)
            return isUntouched
        }
        transfer.partial = takeReceived(receiving)
        return transfer.partial != nil
    }

    /// Removes and returns the received bytes with their record; discards them if they cannot be
    /// resumed.
    private func takeReceived(_ receiving: Receiving) -> PartialBody? {
        let body = receiving.body
        loop.giveBack(body.digests.hashCollected())
        guard let record = recordNow(recordToLeave(receiving), body) else {
            body.object?.discard()
            return nil
        }
        return PartialBody(object: body.object, record: record, digests: body.takeDigests())
    }

    /// Minimum received bytes that are kept after `failure`; what an earlier attempt has kept stays.
    private func minimumBytes(after failure: Failure) -> Int64 {
        guard let resumption = request.delivery.resumption else { return .max }
        if life.resumedBytes > 0 { return life.resumedBytes }
        return failure.code == .workerCancelled
            ? resumption.minimumCancelledBytes : resumption.minimumBytes
    }

    /// Returns the partial body for the next attempt after `failure`; discards the rest.
    func leave(after failure: Failure) -> PartialBody? {
        let body = life.receiving?.body
        defer { body?.forget() }
        guard failure.code.leavesBody else {
            // Another URL may have the rest.
            if request.isGuarded, request.range == nil, !life.isWanted,
                failure.code.family == "origin", let partial
            {
                return partial
            }
            body?.object?.discard()
            transfer.partial?.object?.discard()
            return nil
        }
        if let receiving = life.receiving, receiving.body.hasDestination {
            guard life.receivedBytes >= minimumBytes(after: failure) else {
                receiving.body.object?.discard()
                return nil
            }
            return takeReceived(receiving)
        }
        // Without a received byte, the old partial body is still valid.
        return partial
    }
}
