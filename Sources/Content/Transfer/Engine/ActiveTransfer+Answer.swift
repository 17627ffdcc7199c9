internal import Curl
internal import Model

// Answers without a body that is wanted, and requests without an answer.
extension ActiveTransfer {
    /// Follows a redirect, or ends with the failure that the status means.
    func conclude() {
        let status = easy.status
        if status == 416, partial != nil {
            // It is shorter than what lies there, or another.
            route.omissions.partial = true
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
            move(to: try redirect(to: location), later: false)
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

    private func redirect(to location: String) throws(Failure) -> Route {
        guard request.followsRedirects else {
            throw problem("origin.redirected", "a redirect to \(Redaction.shown(location))")
        }
        guard route.redirects < Self.maximumRedirects else {
            throw problem("origin.redirectLimit", "more than \(Self.maximumRedirects) redirects")
        }
        var next = route
        do {
            let base = try CurlURL(url)
            let target = try base.joining(location)
            guard target.isHTTP else {
                throw problem("origin.redirectRefused", "a redirect to \(target.scheme):")
            }
            let isSameOrigin = target.origin == base.origin
            // Userinfo is the requester's, for one origin; a server has none to give.
            next.url = try target.withUserInfo(isSameOrigin ? base.userInfo : nil).string
            if !isSameOrigin { next.isAtOrigin = false }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw problem("origin.redirectRefused", "a redirect to no URL: \(error)")
        }
        next.redirects += 1
        return next
    }

    // MARK: Transport

    /// What libcurl's result means, for a request without a complete answer.
    func transportFailure(_ code: CurlCode, addressRefusal: Failure? = nil) -> Failure {
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
