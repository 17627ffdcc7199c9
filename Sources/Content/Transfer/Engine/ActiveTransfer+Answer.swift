internal import Curl
internal import Model

// Responses without a wanted body, and requests without a response.
extension ActiveTransfer {
    /// Follows a redirect, or ends with the failure for the status.
    func conclude() {
        let status = easy.status
        if status == 416, partial != nil {
            // The object is shorter than the partial body, or has changed.
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
            return problem(.originProtocol, "status \(status) instead of an object")
        }
        return problem(.origin(httpStatus: status), "status \(status)")
    }

    private func redirect(to location: String) throws(Failure) -> Route {
        guard request.followsRedirects else {
            throw problem(.originRedirected, "a redirect to \(Redaction.shown(location))")
        }
        guard route.redirects < Self.maximumRedirects else {
            throw problem(.originRedirectLimit, "more than \(Self.maximumRedirects) redirects")
        }
        var next = route
        do {
            let base = try CurlURL(url)
            let target = try base.joining(location)
            guard target.isHTTP else {
                throw problem(.originRedirectRefused, "a redirect to \(target.scheme):")
            }
            let isSameOrigin = target.origin == base.origin
            // Userinfo belongs to the requester and one origin; a server must not supply it.
            next.url = try target.withUserInfo(isSameOrigin ? base.userInfo : nil).string
            if !isSameOrigin { next.isAtOrigin = false }
        } catch let failure as Failure {
            throw failure
        } catch {
            throw problem(.originRedirectRefused, "a redirect to no URL: \(error)")
        }
        next.redirects += 1
        return next
    }

    // MARK: Transport

    /// Returns the failure for libcurl's result of a request without a complete response.
    func transportFailure(_ code: CurlCode, addressRefusal: Failure? = nil) -> Failure {
        if let addressRefusal, code == .couldNotConnect {
            return problem(addressRefusal.code, addressRefusal.message)
        }
        if easy.hasTooLongHeader(code) {
            return problem(
                .originProtocol,
                "a header of more than \(profile.maximumHeaderBytes) bytes")
        }
        if code == .outOfMemory, hasBegunAnswer {
            return problem(.originProtocol, "a header line that is too long")
        }
        if easy.proxyStatus >= 300 {
            return problem(.originConnect, "the proxy answers with status \(easy.proxyStatus)")
        }
        // libcurl quotes the proxy's URL, which may contain a password.
        let detail = profile.usesProxy ? "" : easy.errorDetail
        return problem(
            easy.failureCode(of: code, url: url),
            detail.isEmpty ? code.message : detail)
    }

    /// True if a response has begun. For a header line over 100 KiB, libcurl reports a lack of
    /// memory because its buffer is full.
    private var hasBegunAnswer: Bool { easy.status > 0 || easy.timings.firstByteSeconds > 0 }
}

extension FailureCode {
    /// The sign of overload that the failure shows; nil for none.
    var trouble: AdaptiveConcurrency.Trouble? {
        switch self {
        case .originHTTP429: .tooManyRequests
        case .originHTTP503: .unavailable
        case .originHTTP504, .originHTTP522, .originHTTP524: .gatewayTimeout
        case .originTimeout: .timeout
        case .originReset: .reset
        case .originConnect: .refused
        default: nil
        }
    }
}
