internal import Curl
internal import Digest
internal import EventLoop
internal import Model
internal import Storage

/// Judges the header of an answer: whether its body is wanted, and what it must be.
///
/// Nothing is received or opened yet. Throws `.askAgain`, with `omissions` changed, where the same is
/// to be requested once more in another way.
struct AnswerJudge {
    let easy: CurlEasy
    let request: TransferRequest
    let url: String
    let maximumBytes: Int64
    /// What an earlier attempt left, while it is to be resumed.
    let partial: PartialBody?
    /// What the next request leaves out.
    var omissions: Omissions

    enum Verdict {
        /// The body starts at the beginning of what was requested.
        case begin(BodyTerms)
        /// The body is the rest of what an earlier attempt left.
        case resume(PartialBody, BodyTerms)
    }

    /// 200 for the whole object, 206 for a range. A 200 for a range is judged by `checkRange`.
    var isWantedStatus: Bool {
        switch easy.status {
        case 200, 203: true
        case 206: request.range != nil || partial != nil
        default: false
        }
    }

    /// Judges an answer with a wanted status.
    mutating func verdict() throws(Failure) -> Verdict {
        if PageRules(request).refuses(typed: easy.header("Content-Type")) {
            throw problem("content.unexpectedType", "an HTML page")
        }
        try checkEncoding()
        try checkLengthHeader()
        var terms = BodyTerms(expected: request.expectedDigests)
        if let range = request.range {
            try checkRange(range)
            terms.wantedBytes = range.length
            if let partial { return .resume(partial, terms) }
        } else if let partial, let isMixed = try judgeRest(of: partial) {
            terms.isMixed = isMixed
            terms.expected += partial.record.digests
            terms.wantedBytes = partial.record.totalBytes
            try checkRest(partial.record.totalBytes)
            return .resume(partial, terms)
        } else {
            terms.expected += easy.statedDigests
            try checkLength(&terms)
        }
        return .begin(terms)
    }

    /// A body comes as it is, in chunks at most: nothing else was asked for. What is packed for the
    /// transfer (RFC 9112, 7) libcurl would unpack, to whatever length.
    private func checkEncoding() throws(Failure) {
        for (name, allowed) in Self.encodings {
            for encoding in easy.headers(name) where !allowed.contains(encoding.lowercased()) {
                throw problem("origin.encoding", "\(name) is \(encoding.prefix(40))")
            }
        }
    }

    private static let encodings = [
        (name: "Content-Encoding", allowed: ["identity"]),
        (name: "Transfer-Encoding", allowed: ["chunked", "identity"]),
    ]

    /// libcurl takes the digits that a length begins with, and the last of several lengths; who
    /// guesses may cut a body short (RFC 9112, 6.3).
    private func checkLengthHeader() throws(Failure) {
        let lengths = easy.headers("Content-Length")
        let isOne = lengths.allSatisfy { length in
            length == lengths.first && length.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
                && Int64(length) != nil
        }
        guard isOne else {
            throw problem("origin.protocol", "a Content-Length that is no number, or several")
        }
    }

    // MARK: Whole objects

    /// The length that the list promises holds for an object that is resumed as well.
    private func checkRest(_ totalBytes: Int64) throws(Failure) {
        if let expected = request.expectedBytes, totalBytes != expected {
            throw problem("content.lengthMismatch", "\(totalBytes) bytes, expected \(expected)")
        }
        guard totalBytes <= request.maximumBytes else {
            throw problem(
                "origin.tooLarge", "\(totalBytes) bytes, more than \(request.maximumBytes)")
        }
    }

    private func checkLength(_ terms: inout BodyTerms) throws(Failure) {
        guard let length = easy.contentLength else {
            terms.wantedBytes = request.expectedBytes
            return
        }
        if let expected = request.expectedBytes, length != expected {
            throw problem("content.lengthMismatch", "\(length) bytes, expected \(expected)")
        }
        guard length <= maximumBytes else {
            throw problem("origin.tooLarge", "\(length) bytes, more than \(maximumBytes)")
        }
        terms.wantedBytes = length
        if let part = request.splitAbove, length > part, request.onLarge != nil,
            let validator = splitValidator()
        {
            let large = LargeObject(
                totalBytes: length, validator: validator, stated: easy.statedDigests)
            guard request.splitBelowBytesPerSecond.isInfinite else {
                terms.split = SplitCandidate(
                    partBytes: part, object: large, startedAt: MonotonicClock.nowSeconds)
                return
            }
            terms.isFirstPart = true
            terms.wantedBytes = part
            terms.announced = large
        }
    }

    /// What the parts of this object would have to share; nil when it cannot be fetched in parts.
    private func splitValidator() -> String? {
        guard easy.status == 200, easy.header("Accept-Ranges")?.lowercased() == "bytes" else {
            return nil
        }
        return easy.strongValidator
    }

    // MARK: Ranges

    private mutating func checkRange(_ range: TransferRequest.ByteRange) throws(Failure) {
        guard easy.status == 206 else { throw wholeForRange(range) }
        guard let text = easy.header("Content-Range"), let given = ContentRange(text) else {
            throw problem("origin.rangeMismatch", "a 206 without a Content-Range that can be used")
        }
        let done = partial?.record.bytes ?? 0
        let (start, end) = (range.offset + done, range.offset + range.length - 1)
        guard given.start == start, given.end == end else {
            throw problem(
                "origin.rangeMismatch",
                "bytes \(given.start)-\(given.end) where \(start)-\(end) were asked for")
        }
        if let total = range.totalBytes, given.total != total {
            throw problem("content.changed", "\(given.total) bytes in all, \(total) before")
        }
        if let length = easy.contentLength, length != range.length - done {
            throw problem("origin.rangeMismatch", "\(length) bytes for \(range.length - done)")
        }
        // Not every origin honours If-Range as it should, so what it answers is compared as well.
        if let validator = range.validator, !isUnchanged(validator) {
            throw problem("content.changed", "the validator is another than before")
        }
    }

    /// What a 200 means where a range was asked for: the bytes are not those, in any case.
    private mutating func wholeForRange(_ range: TransferRequest.ByteRange) -> Failure {
        let isSame =
            range.validator.map { isUnchanged($0) } == true
            && easy.contentLength == range.totalBytes
        guard isSame else {
            return problem("content.changed", "the whole object came where a range was asked for")
        }
        guard omissions.ifRange else {
            omissions.ifRange = true
            return .askAgain
        }
        return problem("origin.rangeIgnored", "the whole object comes whatever range is asked for")
    }

    /// Judges an answer where an earlier attempt left the start of the whole object: true for the rest
    /// from another URL than the start, false for the rest from the same one, nil for a whole that
    /// begins anew. Throws `.askAgain` where the answer is neither.
    private mutating func judgeRest(of partial: PartialBody) throws(Failure) -> Bool? {
        let record = partial.record
        let isHere = SHA256Digest.source(of: url) == record.source
        guard easy.status == 206 else {
            // Unchanged, and yet not the rest: perhaps because of the condition.
            if isHere, isUnchanged(record.validator), !omissions.ifRange,
                easy.contentLength == record.totalBytes
            {
                omissions.ifRange = true
                throw .askAgain
            }
            omissions.partial = true
            return nil
        }
        let given = easy.header("Content-Range").flatMap { ContentRange($0) }
        let isRest =
            given?.start == record.bytes && given?.end == record.totalBytes - 1
            && given?.total == record.totalBytes
            && easy.contentLength ?? record.restBytes == record.restBytes
        let contradicts = easy.statedDigests.contains { digest in
            record.digests.contains { $0.algorithm == digest.algorithm && $0 != digest }
        }
        let isSame = isHere ? isUnchanged(record.validator) : request.isGuarded
        guard isRest, isSame, !contradicts else {
            omissions.partial = true
            throw .askAgain
        }
        return !isHere
    }

    /// Whether the answer says that it is of the object that had `validator`. A date may be missing
    /// where If-Range has asked for it (RFC 9110, 15.3.7) and the whole is hashed in the end anew.
    private func isUnchanged(_ validator: String) -> Bool {
        let isETag = Validator.isStrongETag(validator)
        guard let given = easy.header(isETag ? "ETag" : "Last-Modified") else {
            return !isETag && easy.status == 206 && request.range != nil && !omissions.ifRange
        }
        return given == validator
    }

    private func problem(_ code: FailureCode, _ message: String) -> Failure {
        Failure(code, of: url, message)
    }
}

extension Failure {
    /// A failure of a request: what was requested, redacted, and what is wrong with it.
    init(_ code: FailureCode, of url: String, _ message: String) {
        self.init(code, "\(Redaction.shown(url, limit: 2_000)): \(message)")
    }

    /// Never leaves the transfer: the same is asked for once more, in another way.
    static let askAgain = Failure("worker.internal", "asked again")
}

/// Where a web page can only be an error or a login form.
struct PageRules {
    let request: TransferRequest

    init(_ request: TransferRequest) { self.request = request }

    /// A body that begins like a page is not what was requested.
    var refusesPages: Bool {
        guard !request.isManifest else { return true }
        let isStart = (request.range?.offset ?? 0) == 0
        switch request.role {
        case .media, .`init`, .subtitles, .playlist, .image, .key, .index: return isStart
        case .file: return isStart && WebPage.isMedia(at: request.url)
        case .data: return false
        }
    }

    /// True for an answer typed as a page where none is wanted.
    func refuses(typed contentType: String?) -> Bool {
        guard WebPage.isType(contentType) else { return false }
        return refusesPages || request.role == .file && !WebPage.isExpected(at: request.url)
    }
}
