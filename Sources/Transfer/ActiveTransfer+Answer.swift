internal import Curl
internal import EventLoop
internal import Glibc
internal import Model

extension ActiveTransfer {
    /// Judges the header of an answer: whether its body is wanted, and where it goes.
    ///
    /// Called with the first byte of the body, or at the end of an answer without one.
    func decide() throws(Failure) {
        received = 0
        if lane.isLimited { loop.answered(self) }
        learnVersion()
        guard isWantedStatus else {
            body = .discarded
            return
        }
        transfer.handle(.receive)
        body = .wanted
        let contentType = easy.header("Content-Type")
        if refusesPage(typed: contentType) {
            throw problem("content.unexpectedType", "an HTML page")
        }
        if let encoding = easy.header("Content-Encoding"), encoding.lowercased() != "identity" {
            throw problem("origin.encoding", "Content-Encoding is \(encoding.prefix(40))")
        }
        if let range = request.range {
            try checkRange(range, contentType: contentType)
            wantedBytes = range.length
        } else {
            try checkLength()
        }
        switch request.destination {
        case .object(let open): object = try open(wantedBytes)
        case .sink(let open): sink = try open(wantedBytes)
        case .memory: break
        }
    }

    /// 200 for the whole object, 206 for a range. A 200 for a range is judged by `checkRange`.
    private var isWantedStatus: Bool {
        switch easy.status {
        case 200, 203: true
        case 206: request.range != nil
        default: false
        }
    }

    private func checkRange(
        _ range: TransferRequest.ByteRange, contentType: String?
    ) throws(Failure) {
        guard easy.status == 206 else {
            // With If-Range it says that the object is another one; without, that the origin does
            // not do ranges. The bytes are not those asked for in either case.
            throw problem("content.changed", "the whole object came where a range was asked for")
        }
        guard let text = easy.header("Content-Range"), let given = ContentRange(text) else {
            throw problem("origin.protocol", "a 206 without a Content-Range that can be used")
        }
        let end = range.offset + range.length - 1
        guard given.start == range.offset, given.end == end else {
            throw problem(
                "origin.protocol",
                "bytes \(given.start)-\(given.end) where \(range.offset)-\(end) were asked for")
        }
        if let total = range.totalBytes, given.total != total {
            throw problem("content.changed", "\(given.total) bytes in all, \(total) before")
        }
        if let length = easy.contentLength, length != range.length {
            throw problem("content.lengthMismatch", "\(length) bytes for \(range.length)")
        }
        try checkValidator(range)
    }

    /// Not every origin honours If-Range as it should, so what it answers is compared as well.
    private func checkValidator(_ range: TransferRequest.ByteRange) throws(Failure) {
        guard let validator = range.validator else { return }
        let isETag = Validator.isStrongETag(validator)
        let name = isETag ? "ETag" : "Last-Modified"
        if let given = easy.header(name), given != validator {
            throw problem("content.changed", "\(name) is another than before")
        }
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
        if let part = request.splitAbove, length > part, let onLarge = request.onLarge,
            let validator = splitValidator()
        {
            let large = LargeObject(totalBytes: length, validator: validator)
            guard request.splitBelowBytesPerSecond.isInfinite else {
                splitCandidate = (part, large, MonotonicClock.nowSeconds)
                return
            }
            isFirstPart = true
            wantedBytes = part
            _ = try onLarge(large, nil)
        }
    }

    /// Splits a large object when its first bytes have come slowly; a fast connection has it whole,
    /// and needs no second reading for its digest. `count` bytes come next.
    func considerSplit(next count: Int) throws(Failure) {
        guard let (part, large, startedAt) = splitCandidate else { return }
        let seconds = MonotonicClock.nowSeconds - startedAt
        guard seconds >= Self.splitJudgingSeconds || received + Int64(count) > part else { return }
        splitCandidate = nil
        guard Double(received) < request.splitBelowBytesPerSecond * seconds, received < part
        else { return }
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
        if deniedAddress, code == .couldNotConnect {
            return problem("origin.addressDenied", "the address policy does not admit it")
        }
        if easy.hasTooLongHeader {
            return problem(
                "origin.protocol",
                "a header of more than \(profile.maximumHeaderBytes) bytes")
        }
        let detail = easy.errorDetail
        return problem(failureCode(code), detail.isEmpty ? code.message : detail)
    }

    private var isHTTP: Bool {
        let start = url.prefix(8).lowercased()
        return start.hasPrefix("http://") || start == "https://"
    }

    private func failureCode(_ code: CurlCode) -> FailureCode {
        switch code {
        case .malformedURL: "input.url"
        // An http URL that is answered with something that is not HTTP is one as well.
        case .unsupportedProtocol: isHTTP ? "origin.protocol" : "input.url"
        case .couldNotResolveHost, .couldNotResolveProxy: "origin.dns"
        case .couldNotConnect: "origin.connect"
        case .timedOut: "origin.timeout"
        case .partialFile: "origin.truncated"
        case .gotNothing, .sendFailed, .receiveFailed: "origin.reset"
        case .badContentEncoding: "origin.encoding"
        // A header line of over 100 KiB ends so as well: libcurl's buffer for it is full.
        case .outOfMemory: easy.status > 0 ? "origin.protocol" : "worker.internal"
        case .failedInit: "worker.internal"
        // A handshake that the network broke may go well next time.
        case .tlsConnect where [ECONNRESET, EPIPE].contains(easy.systemError): "origin.reset"
        case let code where code.isTLS: "origin.tls"
        default: "origin.protocol"
        }
    }
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
