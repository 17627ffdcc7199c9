internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

/// What a request leaves out, because an answer to the one before was of no use.
struct Omissions: Hashable, Sendable {
    /// `If-Range`: some CDNs pay no regard to a range that has a condition.
    var ifRange = false
    /// What an earlier attempt left.
    var partial = false
}

// Going on with a body, and leaving one to be gone on with. A validator that is not proof enough, an
// answer that is not the rest of what lies there: each starts over, none is appended.
extension ActiveTransfer {
    /// What lies there, while it is to be gone on with.
    var partial: PartialBody? { omissions.partial ? nil : transfer.partial }

    /// The header lines that ask for a range of the object.
    var rangeLines: [String] {
        let done = partial?.record.bytes ?? 0
        if let range = request.range {
            let last = range.offset + range.length - 1
            return lines("\(range.offset + done)-\(last)", range.validator)
        }
        guard let partial else { return [] }
        // Elsewhere its validator says nothing.
        let isElsewhere = isGuarded && source != partial.record.source
        return lines("\(done)-", isElsewhere ? nil : partial.record.validator)
    }

    private var isGuarded: Bool { request.resumption?.isGuarded == true }

    private func lines(_ range: String, _ validator: String?) -> [String] {
        let lines = ["Range: bytes=\(range)"]
        guard let validator, !omissions.ifRange else { return lines }
        return lines + ["If-Range: \(validator)"]
    }

    // MARK: The answer

    /// Whether the answer is the rest of the whole object that lies there in part; false for one
    /// that begins anew. Throws `.askAgain` where neither is to be had of it.
    func isRest(of partial: PartialBody) throws(Failure) -> Bool {
        let record = partial.record
        let isHere = source == record.source
        guard easy.status == 206 else {
            // Unchanged, and yet not the rest: perhaps because of the condition.
            if isHere, isUnchanged(record.validator), !omissions.ifRange,
                easy.contentLength == record.totalBytes
            {
                omissions.ifRange = true
                throw .askAgain
            }
            omissions.partial = true
            return false
        }
        let given = easy.header("Content-Range").flatMap { ContentRange($0) }
        let isRest =
            given?.start == record.bytes && given?.end == record.totalBytes - 1
            && given?.total == record.totalBytes
            && easy.contentLength ?? record.restBytes == record.restBytes
        let contradicts = stated.contains { digest in
            record.digests.contains { $0.algorithm == digest.algorithm && $0 != digest }
        }
        let isSame = isHere ? isUnchanged(record.validator) : isGuarded
        guard isRest, isSame, !contradicts else {
            omissions.partial = true
            throw .askAgain
        }
        isMixed = !isHere
        return true
    }

    /// Begins anew with a body whose parts came from several URLs and do not make the whole.
    func askForWhole() {
        object?.discard()
        object = nil
        isMixed = false
        omissions.partial = true
        end(with: .askAgain)
    }

    /// Whether the answer says that it is of the object that had `validator`. A date may be missing
    /// where If-Range has asked for it (RFC 9110, 15.3.7) and the whole is hashed in the end anew.
    func isUnchanged(_ validator: String) -> Bool {
        let isETag = Validator.isStrongETag(validator)
        guard let given = easy.header(isETag ? "ETag" : "Last-Modified") else {
            return !isETag && easy.status == 206 && request.range != nil && !omissions.ifRange
        }
        return given == validator
    }

    /// Takes up what lies there.
    func goOn(with partial: PartialBody) throws(Failure) {
        guard let taken = partial.takeDigests() else {
            omissions.partial = true
            throw .askAgain
        }
        digests = taken
        object = partial.object
        if object == nil { sink = request.resumption?.sink }
        received = partial.record.bytes
        resumedBytes = received
        transfer.set(receivedBytes: received)
    }

    /// Begins a body at its start, with the digests that are to be compared.
    func begin(_ mayWait: Bool) throws(Failure) {
        transfer.set(receivedBytes: 0)
        // What lay there is of no use; its name is needed.
        if let left = transfer.partial?.object, object !== left { left.discard() }
        if !expected.isEmpty { digests = DigestSet(expected.map(\.algorithm)) }
        switch request.destination {
        case .object(let open):
            guard mayWait, isWorthAThread else {
                object = try open(wantedBytes)
                break
            }
            openAside(open)
        case .sink(let open): sink = try open(wantedBytes)
        case .memory: break
        }
        // Making room for a large file may take longer than its first bytes.
        splitCandidate?.startedAt = MonotonicClock.nowSeconds
        // Only now: opening a sink may empty it, and who hears of this begins with the other parts.
        if let large = announced {
            announced = nil
            _ = try request.onLarge?(large, nil)
        }
    }

    /// The answer's own digests of the whole object.
    var stated: [ExpectedDigest] {
        StatedDigests.of(isWhole: easy.status != 206) { easy.headers($0) }
    }

    /// Tells the URL of the answer, without what may be signed anew each time.
    var source: SHA256Digest {
        SHA256Digest(hashing: Array(url.utf8.prefix { $0 != UInt8(ascii: "?") }))
    }

    // MARK: Leaving

    /// Sets what the body under way may later be gone on with by.
    func setResumable() {
        nextNote = .max
        leaving = nil
        guard let resumption = request.resumption, object != nil || sink != nil else { return }
        leaving = makeRecord(above: resumption.minimumBytes)
        guard let leaving else { return }
        scheduleNote()
        if leaving.totalBytes >= resumption.longBytes, resumedBytes == 0 {
            nextNote = min(nextNote, resumption.minimumBytes)
        }
    }

    /// What the body under way can be resumed by; nil where it cannot, or is a whole object of no more than
    /// `minimum` bytes.
    private func makeRecord(above minimum: Int64) -> PartialRecord? {
        if resumedBytes > 0, var record = partial?.record {
            if isMixed { record.source = .severalSources }
            return record
        }
        if let range = request.range {
            guard let validator = range.validator, let total = range.totalBytes else { return nil }
            return makeRecord(total, validator)
        }
        guard let total = easy.contentLength, total > minimum, acceptsRanges,
            let validator = Validator.of(
                etag: easy.header("ETag"), lastModified: easy.header("Last-Modified"),
                date: easy.header("Date"))
        else { return nil }
        return makeRecord(total, validator)
    }

    private var acceptsRanges: Bool {
        easy.status == 200 && easy.header("Accept-Ranges")?.lowercased() != "none"
    }

    private func makeRecord(_ total: Int64, _ validator: String) -> PartialRecord {
        PartialRecord(
            bytes: 0, sha256: SHA256Digest(hashing: []), totalBytes: total, validator: validator,
            source: source, digests: request.range == nil ? stated : [])
    }

    private func scheduleNote() {
        nextNote = received + max(request.resumption?.noteBytes ?? .max >> 1, 1)
    }

    /// What has come up to now; nil when it is not to be gone on with.
    private func recordNow() -> PartialRecord? {
        guard var record = leaving, received < (request.range?.length ?? record.totalBytes) else {
            return nil
        }
        record.bytes = received
        record.sha256 = digests.sha256SoFar()
        return record
    }

    /// Has written down how far the object is.
    func note() {
        scheduleNote()
        guard let record = recordNow() else { return }
        request.resumption?.note(object, record)
    }

    // MARK: Stopping for others

    /// Bytes that would be lost if the transfer were stopped now.
    var bytesAtRisk: Int64 {
        guard body == .wanted, received > 0 else { return 0 }
        return canResume ? 0 : received
    }

    /// What has come can be kept for as long as the transfer waits.
    private var canResume: Bool {
        guard body == .wanted, received > 0, object != nil, !isFirstPart else { return false }
        return leaving != nil || request.resumption != nil && makeRecord(above: 0) != nil
    }

    /// Whether it can be stopped, be it at the cost of what it received.
    var isStoppable: Bool { opening == nil && sink == nil }

    /// Whether it may be stopped for transfers that are not slow: once in any case, and again when nothing is lost
    /// by it.
    var canStop: Bool { isStoppable && (losses == 0 || canResume) }

    /// Leaves what has come to the transfer, to be resumed when it has another slot; false where nothing could be
    /// kept.
    func leaveUntilResumed() -> Bool {
        defer { object = nil }
        guard canResume else {
            // What lay there lies there still, where not a byte has come.
            let isUntouched = object == nil && transfer.partial != nil && !omissions.partial
            if !isUntouched {
                object?.discard()
                transfer.partial = nil
            }
            transfer.set(receivedBytes: 0)
            return isUntouched
        }
        if leaving == nil { leaving = makeRecord(above: 0) }
        if let body = collected.take() {
            digests.update(body.bytes)
            loop.giveBack(body)
        }
        guard let record = recordNow() else {
            object?.discard()
            transfer.partial = nil
            return false
        }
        var left = DigestSet()
        swap(&digests, &left)
        transfer.partial = PartialBody(object: object, record: record, digests: left)
        return true
    }

    /// What the next attempt can go on with after `failure`; the rest is discarded.
    func leave(after failure: Failure) -> PartialBody? {
        let minimum = request.resumption?.minimumBytes ?? .max
        defer { (object, sink) = (nil, nil) }
        guard failure.code.leavesBody else {
            // Another URL may have the rest that this one has not.
            if isGuarded, request.range == nil, body != .wanted,
                failure.code.rawValue.hasPrefix("origin."), let partial
            {
                return partial
            }
            object?.discard()
            transfer.partial?.object?.discard()
            return nil
        }
        if object != nil || sink != nil, body == .wanted {
            guard received >= minimum, let record = recordNow() else {
                object?.discard()
                return nil
            }
            var left = DigestSet()
            swap(&digests, &left)
            return PartialBody(object: object, record: record, digests: left)
        }
        // Not a byte has come: what lay there lies there still.
        return partial
    }
}

extension SHA256Digest {
    /// Of a body whose bytes came from several URLs: no URL's.
    static let severalSources = SHA256Digest(hashing: Array("several".utf8))
}

extension Failure {
    /// Never leaves the transfer: the same is asked for once more, in another way.
    static let askAgain = Failure("worker.internal", "asked again")
}
