internal import Curl
internal import Digest
internal import Model
internal import Storage

/// Judges the header of a response: whether its body is wanted, and what the body must be.
///
/// Nothing is received or opened yet. Throws `.askAgain`, with changed `omissions`, if the request
/// must be repeated in another form.
struct AnswerJudge {
    let easy: CurlEasy
    let request: TransferRequest
    let url: String
    let maximumBytes: Int64
    /// The partial body of an earlier attempt, if it can be resumed.
    let partial: PartialBody?
    /// Parts that the next request omits.
    var omissions: Omissions

    enum Verdict {
        /// The body starts at the beginning of the requested bytes.
        case begin(BodyTerms)
        /// The body is the rest of an earlier attempt's partial body.
        case resume(PartialBody, BodyTerms)
    }

    /// True for 200 (the whole object) and 206 (a range). `checkRange` judges a 200 for a range.
    var isWantedStatus: Bool {
        switch easy.status {
        case 200, 203: true
        case 206: request.range != nil || partial != nil
        default: false
        }
    }

    /// Judges a response with a wanted status.
    mutating func verdict() throws(Failure) -> Verdict {
        if PageRules(request).refuses(typed: easy.header("Content-Type")) {
            throw problem(.contentUnexpectedType, "an HTML page")
        }
        try checkEncoding()
        try checkLengthHeader()
        var terms = BodyTerms(expected: request.expected.digests)
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

    /// Rejects encoded bodies; only chunks are allowed, because nothing else was requested. libcurl
    /// would unpack transfer codings (RFC 9112, 7) to any length.
    private func checkEncoding() throws(Failure) {
        for (name, allowed) in Self.encodings {
            for encoding in easy.headers(name) where !allowed.contains(encoding.lowercased()) {
                throw problem(.originEncoding, "\(name) is \(encoding.prefix(40))")
            }
        }
    }

    private static let encodings = [
        (name: "Content-Encoding", allowed: ["identity"]),
        (name: "Transfer-Encoding", allowed: ["chunked", "identity"]),
    ]

    /// Rejects invalid lengths. libcurl takes the leading digits of a length, and the last of
    /// several lengths; guessing may truncate a body (RFC 9112, 6.3).
    private func checkLengthHeader() throws(Failure) {
        let lengths = easy.headers("Content-Length")
        let isOne = lengths.allSatisfy { length in
            length == lengths.first && length.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
                && Int64(length) != nil
        }
        guard isOne else {
            throw problem(.originProtocol, "an invalid Content-Length, or several")
        }
    }

    // MARK: Whole objects

    /// Checks the expected and the maximum length; both also hold for a resumed object.
    private func checkRest(_ totalBytes: Int64) throws(Failure) {
        if let expected = request.expected.bytes, totalBytes != expected {
            throw problem(.contentLengthMismatch, "\(totalBytes) bytes, expected \(expected)")
        }
        try checkMaximum(totalBytes)
    }

    private func checkMaximum(_ bytes: Int64) throws(Failure) {
        guard bytes <= maximumBytes else {
            throw problem(.originTooLarge, "\(bytes) bytes, more than \(maximumBytes)")
        }
    }

    private func checkLength(_ terms: inout BodyTerms) throws(Failure) {
        guard let length = easy.contentLength else {
            terms.wantedBytes = request.expected.bytes
            return
        }
        if let expected = request.expected.bytes, length != expected {
            throw problem(.contentLengthMismatch, "\(length) bytes, expected \(expected)")
        }
        try checkMaximum(length)
        terms.wantedBytes = length
        offerSplit(&terms, of: length)
    }

    // MARK: Ranges

    private mutating func checkRange(_ range: TransferRequest.ByteRange) throws(Failure) {
        guard easy.status == 206 else { throw wholeForRange(range) }
        guard let text = easy.header("Content-Range"),
            let given = ContentRange(text, mayGrow: range.totalBytes == nil)
        else {
            throw problem(.originRangeMismatch, "a 206 without a Content-Range that can be used")
        }
        let done = partial?.record.bytes ?? 0
        let (start, end) = (range.offset + done, range.offset + range.length - 1)
        guard given.start == start, given.end == end else {
            throw problem(
                .originRangeMismatch,
                "bytes \(given.start)-\(given.end) instead of \(start)-\(end)")
        }
        if let before = range.totalBytes, given.total != before {
            let now = given.total.map { "\($0)" } ?? "an unknown number of"
            throw problem(.contentChanged, "\(now) bytes in total, \(before) before")
        }
        if let length = easy.contentLength, length != range.length - done {
            throw problem(.originRangeMismatch, "\(length) bytes for \(range.length - done)")
        }
        // Not every origin honours If-Range correctly, so the response is compared as well.
        if let validator = range.validator, !isUnchanged(validator) {
            throw problem(.contentChanged, "the validator has changed")
        }
        // Before space is reserved for it.
        try checkMaximum(range.length)
    }

    /// Returns the failure for a 200 to a range request, which never carries the requested bytes.
    private mutating func wholeForRange(_ range: TransferRequest.ByteRange) -> Failure {
        guard range.validator != nil else {
            return problem(
                .originRangeIgnored, "the response to a range request is the whole object")
        }
        let isSame =
            range.validator.map { isUnchanged($0) } == true
            && easy.contentLength == range.totalBytes
        guard isSame else {
            return problem(.contentChanged, "the response to a range request is the whole object")
        }
        guard omissions.ifRange else {
            omissions.ifRange = true
            return .askAgain
        }
        return problem(.originRangeIgnored, "the origin always sends the whole object")
    }

    /// Judges the response to a request that resumes the whole object. Returns true for the rest
    /// from another URL, false for the rest from the same one, and nil for a whole object from its
    /// start. Throws `.askAgain` for anything else.
    private mutating func judgeRest(of partial: PartialBody) throws(Failure) -> Bool? {
        let record = partial.record
        let isHere = SHA256Digest.source(of: url) == record.source
        guard easy.status == 206 else {
            // Unchanged, yet not the rest: the condition may be the reason.
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

    /// Returns true if the response belongs to the object with `validator`. A date may be missing
    /// after If-Range (RFC 9110, 15.3.7), where the whole is hashed in the end.
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
    /// Creates a failure of a request with its redacted URL and the reason.
    init(_ code: FailureCode, of url: String, _ message: String) {
        self.init(code, "\(Redaction.shown(url, limit: 2_000)): \(message)")
    }

    /// Never leaves the transfer: the request is repeated in another form.
    static let askAgain = Failure(.workerInternal, "asked again")
}

/// Rules for responses where a web page can only be an error or a login form.
struct PageRules {
    let request: TransferRequest

    init(_ request: TransferRequest) { self.request = request }

    /// True if a body that begins like a page must be rejected.
    var refusesPages: Bool {
        guard !request.isManifest else { return true }
        let isStart = (request.range?.offset ?? 0) == 0
        switch request.role {
        case .media, .`init`, .subtitles, .playlist, .image, .key, .index: return isStart
        case .file: return isStart && WebPage.isMedia(at: request.url)
        case .data: return false
        }
    }

    /// Returns true for a response typed as a page where none is wanted.
    func refuses(typed contentType: String?) -> Bool {
        guard WebPage.isType(contentType) else { return false }
        return refusesPages || request.role == .file && !WebPage.isExpected(at: request.url)
    }
}
