internal import Curl
internal import Digest
internal import Model
internal import Storage

/// What a request leaves out, because an answer to the one before was of no use.
struct Omissions: Hashable, Sendable {
    /// `If-Range`: some CDNs pay no regard to a range that has a condition.
    var ifRange = false
    /// What an earlier attempt left.
    var partial = false
}

// Resuming a body, and leaving one to be resumed. A validator that is not proof enough, an answer that
// is not the rest of what lies there: each starts over, none is appended.
extension ActiveTransfer {
    /// What an earlier attempt left, while it is to be resumed.
    var partial: PartialBody? { route.omissions.partial ? nil : transfer.partial }

    /// The header lines that ask for a range of the object.
    var rangeLines: [String] {
        let done = partial?.record.bytes ?? 0
        if let range = request.range {
            let last = range.offset + range.length - 1
            return lines("\(range.offset + done)-\(last)", range.validator)
        }
        guard let partial else { return [] }
        // Elsewhere its validator says nothing.
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

    /// Sets what the body may later be resumed by.
    func setResumable(_ receiving: inout Receiving, resuming partial: PartialBody?) {
        guard let resumption = request.resumption, receiving.body.hasDestination else { return }
        receiving.leaving = makeRecord(
            above: resumption.minimumBytes, receiving.terms, resuming: partial)
        guard let leaving = receiving.leaving else { return }
        let received = partial?.record.bytes ?? 0
        receiving.nextNote = nextNote(after: received)
        if leaving.totalBytes >= resumption.longBytes, received == 0 {
            receiving.nextNote = min(receiving.nextNote, resumption.minimumBytes)
        }
    }

    /// What a body can be resumed by; nil where it cannot, or is a whole object of no more than
    /// `minimum` bytes.
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
        bytes + max(request.resumption?.noteBytes ?? .max >> 1, 1)
    }

    /// `leaving` with what has come up to now; nil when that is not to be resumed.
    private func recordNow(_ leaving: PartialRecord?, _ body: BodyWriter) -> PartialRecord? {
        guard var record = leaving,
            life.receivedBytes < (request.range?.length ?? record.totalBytes)
        else { return nil }
        record.bytes = life.receivedBytes
        record.sha256 = body.digests.sha256SoFar()
        return record
    }

    /// Has written down how far the object is.
    func note() {
        let next = nextNote(after: life.receivedBytes)
        life.updateReceiving { $0.nextNote = next }
        guard let receiving = life.receiving,
            let record = recordNow(receiving.leaving, receiving.body)
        else { return }
        request.resumption?.note(receiving.body.object, record)
    }

    // MARK: Stopping for others

    /// Bytes that would be lost if the transfer were stopped now.
    var bytesAtRisk: Int64 {
        guard life.isWanted, life.receivedBytes > 0 else { return 0 }
        return canResume ? 0 : life.receivedBytes
    }

    /// What has come can be kept for as long as the transfer waits.
    private var canResume: Bool {
        guard life.receivedBytes > 0, let receiving = life.receiving,
            receiving.body.object != nil, !receiving.terms.isFirstPart
        else { return false }
        return recordToLeave(receiving) != nil
    }

    /// What the body can be resumed by after a stop, however short it is.
    private func recordToLeave(_ receiving: Receiving) -> PartialRecord? {
        if let leaving = receiving.leaving { return leaving }
        guard request.resumption != nil else { return nil }
        let resumed = life.resumedBytes > 0 ? partial : nil
        return makeRecord(above: 0, receiving.terms, resuming: resumed)
    }

    /// Whether it can be stopped, be it at the cost of what it received.
    var isStoppable: Bool { !life.isOpening && life.receiving?.body.sink == nil }

    /// Whether it may be stopped for transfers that are not slow: once in any case, and again when nothing is lost
    /// by it.
    var canStop: Bool { isStoppable && (route.losses == 0 || canResume) }

    /// Leaves what has come to the transfer, to be resumed when it has another slot; false where nothing could be
    /// kept.
    func leaveUntilResumed() -> Bool {
        let receiving = life.receiving
        defer { receiving?.body.forget() }
        guard canResume, let receiving else {
            // What lay there lies there still, where not a byte has come.
            let isUntouched = receiving?.body.object == nil && partial != nil
            if !isUntouched {
                receiving?.body.object?.discard()
                transfer.partial = nil
            }
            transfer.set(receivedBytes: 0)
            return isUntouched
        }
        let body = receiving.body
        loop.giveBack(body.digests.hashCollected())
        guard let record = recordNow(recordToLeave(receiving), body) else {
            body.object?.discard()
            transfer.partial = nil
            return false
        }
        transfer.partial = PartialBody(
            object: body.object, record: record, digests: body.takeDigests())
        return true
    }

    /// What the next attempt can resume after `failure`; the rest is discarded.
    func leave(after failure: Failure) -> PartialBody? {
        let body = life.receiving?.body
        defer { body?.forget() }
        guard failure.code.leavesBody else {
            // Another URL may have the rest that this one has not.
            if request.isGuarded, request.range == nil, !life.isWanted,
                failure.code.rawValue.hasPrefix("origin."), let partial
            {
                return partial
            }
            body?.object?.discard()
            transfer.partial?.object?.discard()
            return nil
        }
        if let body, body.hasDestination {
            let minimum = request.resumption?.minimumBytes ?? .max
            guard life.receivedBytes >= minimum,
                let record = recordNow(life.receiving?.leaving, body)
            else {
                body.object?.discard()
                return nil
            }
            return PartialBody(object: body.object, record: record, digests: body.takeDigests())
        }
        // Not a byte has come: what lay there lies there still.
        return partial
    }
}
