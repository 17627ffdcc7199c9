internal import Curl
internal import Digest
internal import EventLoop
internal import Glibc
internal import Model
internal import Storage

extension ActiveTransfer {
    /// Judges the header of an answer: whether its body is wanted, and where it goes.
    ///
    /// Called with the first byte of the body, or at the end of an answer without one: only in the
    /// first case the body can wait for its place, with `opening` set.
    func decide(mayWait: Bool) throws(Failure) {
        received = 0
        resumedBytes = 0
        if lane.isLimited { loop.answered(self) }
        learnVersion()
        guard isWantedStatus else {
            body = .discarded
            return
        }
        body = .wanted
        let contentType = easy.header("Content-Type")
        if refusesPage(typed: contentType) {
            throw problem("content.unexpectedType", "an HTML page")
        }
        try checkEncoding()
        try checkLengthHeader()
        expected = request.expectedDigests
        if let range = request.range {
            try checkRange(range)
            wantedBytes = range.length
            if let partial { try goOn(with: partial) } else { try begin(mayWait) }
        } else if let partial, try isRest(of: partial) {
            expected += partial.record.digests
            wantedBytes = partial.record.totalBytes
            try checkRest(partial.record.totalBytes)
            try goOn(with: partial)
        } else {
            expected += stated
            try checkLength()
            try begin(mayWait)
        }
        if opening == nil { receive() }
    }

    /// The body has its place, and comes.
    func receive() {
        pace.bytes = received
        if let wantedBytes, wantedBytes - received >= Self.hashedAsideBytes { digests.hashAside() }
        setResumable()
        collectShort()
        transfer.handle(.receive)
    }

    /// Has a short body hashed with others when it is whole.
    private func collectShort() {
        loop.giveBack(collected.take())
        guard let wantedBytes, wantedBytes <= CollectedBody.capacity, received == 0, leaving == nil,
            object != nil, !lane.isLimited,
            expected.allSatisfy({ $0.algorithm == .sha256 })
        else { return }
        collected = loop.unhashed?.take()
    }

    /// From this length on a body is hashed beside receiving it: some ten milliseconds' worth.
    private static let hashedAsideBytes: Int64 = 16 << 20

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

    /// The list's word holds for an object that is gone on with as well.
    private func checkRest(_ totalBytes: Int64) throws(Failure) {
        if let expected = request.expectedBytes, totalBytes != expected {
            throw problem("content.lengthMismatch", "\(totalBytes) bytes, expected \(expected)")
        }
        guard totalBytes <= request.maximumBytes else {
            throw problem(
                "origin.tooLarge", "\(totalBytes) bytes, more than \(request.maximumBytes)")
        }
    }

    /// Ends the transfer, or asks once more where that is what the failure means.
    func end(with failure: Failure) {
        guard failure == .askAgain else { return finish(failure) }
        do throws(Failure) {
            try loop.move(self, to: hop(to: url), later: false)
        } catch {
            finish(error)
        }
    }

    /// 200 for the whole object, 206 for a range. A 200 for a range is judged by `checkRange`.
    private var isWantedStatus: Bool {
        switch easy.status {
        case 200, 203: true
        case 206: request.range != nil || partial != nil
        default: false
        }
    }

    private func checkRange(_ range: TransferRequest.ByteRange) throws(Failure) {
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
    private func wholeForRange(_ range: TransferRequest.ByteRange) -> Failure {
        let isSame =
            range.validator.map(isUnchanged) == true && easy.contentLength == range.totalBytes
        guard isSame else {
            return problem("content.changed", "the whole object came where a range was asked for")
        }
        guard omissions.ifRange else {
            omissions.ifRange = true
            return .askAgain
        }
        return problem("origin.rangeIgnored", "the whole object comes whatever range is asked for")
    }

    private func checkLength() throws(Failure) {
        guard let length = easy.contentLength else {
            wantedBytes = request.expectedBytes
            return
        }
        if let expected = request.expectedBytes, length != expected {
            throw problem("content.lengthMismatch", "\(length) bytes, expected \(expected)")
        }
        guard length <= maximumBytes else {
            throw problem("origin.tooLarge", "\(length) bytes, more than \(maximumBytes)")
        }
        wantedBytes = length
        if let part = request.splitAbove, length > part, request.onLarge != nil,
            let validator = splitValidator()
        {
            let large = LargeObject(totalBytes: length, validator: validator, stated: stated)
            guard request.splitBelowBytesPerSecond.isInfinite else {
                splitCandidate = (part, large, MonotonicClock.nowSeconds)
                return
            }
            isFirstPart = true
            wantedBytes = part
            announced = large
        }
    }

    /// Splits a large object when its first bytes have come slowly; a fast connection has it whole,
    /// and needs no second reading for its digest. `count` bytes come next.
    func considerSplit(next count: Int) throws(Failure) {
        guard let (part, large, startedAt) = splitCandidate else { return }
        let seconds = MonotonicClock.nowSeconds - startedAt
        let isLast = received + Int64(count) >= part
        guard isLast || seconds >= Self.splitJudgingSeconds else { return }
        guard Double(received) < request.splitBelowBytesPerSecond * seconds else {
            if isLast { splitCandidate = nil }
            return
        }
        splitCandidate = nil
        isFirstPart = true
        wantedBytes = part
        if let moved = try request.onLarge?(large, object) { object = moved }
    }

    private static let splitJudgingSeconds = 0.25

    /// What the parts of this object would have to share; nil when it cannot be fetched in parts.
    private func splitValidator() -> String? {
        guard easy.status == 200, easy.header("Accept-Ranges")?.lowercased() == "bytes" else {
            return nil
        }
        return Validator.of(
            etag: easy.header("ETag"), lastModified: easy.header("Last-Modified"),
            date: easy.header("Date"))
    }

    // MARK: Answers without a body of use

    /// Follows a redirect, or ends with the failure that the status means.
    func conclude() {
        let status = easy.status
        if status == 416, partial != nil {
            // It is shorter than what lies there, or another.
            omissions.partial = true
            if request.range == nil { return end(with: .askAgain) }
        }
        if status == 304, request.validator != nil { return finishUnchanged() }
        let location = [301, 302, 303, 307, 308].contains(status) ? easy.header("Location") : nil
        guard let location else {
            let retryAfter = RetryAfter.seconds(
                easy.header("Retry-After"), date: easy.header("Date"))
            return finish(statusFailure(status), retryAfterSeconds: retryAfter)
        }
        do throws(Failure) {
            try follow(location)
        } catch {
            finish(error)
        }
    }

    private func statusFailure(_ status: Int) -> Failure {
        guard status >= 400 else {
            return problem("origin.protocol", "status \(status) where an object was asked for")
        }
        return problem(.origin(httpStatus: status), "status \(status)")
    }

    private func follow(_ location: String) throws(Failure) {
        guard request.followsRedirects else {
            throw problem("origin.redirected", "a redirect to \(Redaction.shown(location))")
        }
        guard redirects < Self.maximumRedirects else {
            throw problem("origin.redirectLimit", "more than \(Self.maximumRedirects) redirects")
        }
        let target: CurlURL
        do {
            let base = try CurlURL(url)
            var next = try base.joining(location)
            guard next.isHTTP else {
                throw problem("origin.redirectRefused", "a redirect to \(next.scheme):")
            }
            let isSameOrigin = next.origin == base.origin
            // Userinfo is the requester's, for one origin; a server has none to give.
            next = try next.withUserInfo(isSameOrigin ? base.userInfo : nil)
            if !isSameOrigin { isAtOrigin = false }
            target = next
        } catch let failure as Failure {
            throw failure
        } catch {
            throw problem("origin.redirectRefused", "a redirect to no URL: \(error)")
        }
        redirects += 1
        try loop.move(self, to: hop(to: target.string), later: false)
    }

    // MARK: Transport

    /// What libcurl's result means, for a request without a complete answer.
    func transportFailure(_ code: CurlCode) -> Failure {
        if let addressRefusal, code == .couldNotConnect {
            return problem(addressRefusal.code, addressRefusal.message)
        }
        if easy.hasTooLongHeader(code) {
            return problem(
                "origin.protocol",
                "a header of more than \(profile.maximumHeaderBytes) bytes")
        }
        if code == .outOfMemory, hasBegunAnswer {
            return problem("origin.protocol", "a header line that is too long")
        }
        if easy.proxyStatus >= 300 {
            return problem("origin.connect", "the proxy answers with status \(easy.proxyStatus)")
        }
        // libcurl quotes the proxy's URL, with what it may hold of a password.
        let detail = profile.usesProxy ? "" : easy.errorDetail
        return problem(
            easy.failureCode(of: code, url: url),
            detail.isEmpty ? code.message : detail)
    }

    /// A header line of over 100 KiB ends as what there is no memory for: libcurl's buffer is full.
    private var hasBegunAnswer: Bool { easy.status > 0 || easy.timings.firstByteSeconds > 0 }
}

extension FailureCode {
    /// What it says of an origin that has too much to do; nil for nothing.
    var trouble: AdaptiveConcurrency.Trouble? {
        switch self {
        case "origin.http.429": .tooManyRequests
        case "origin.http.503": .unavailable
        case "origin.http.504", "origin.http.522", "origin.http.524": .gatewayTimeout
        case "origin.timeout": .timeout
        case "origin.reset": .reset
        case "origin.connect": .refused
        default: nil
        }
    }
}
