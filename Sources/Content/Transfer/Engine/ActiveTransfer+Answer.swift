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
        let limit = request.access.followsRedirects ? Self.maximumRedirects : 0
        do throws(Failure) {
            move(to: try route.redirected(to: location, atMost: limit), later: false)
        } catch {
            let next = limit > 0 ? nil : try? route.redirected(to: location, atMost: 1)
            finish(error, redirect: next?.url)
        }
    }

    private func statusFailure(_ status: Int) -> Failure {
        guard status >= 400 else {
            return problem(.originProtocol, "status \(status) instead of an object")
        }
        return problem(.origin(httpStatus: status), "status \(status)")
    }

    /// Returns the failure for libcurl's result of a request without a complete response.
    func transportFailure(_ code: CurlCode, addressRejection: Failure? = nil) -> Failure {
        TransportFailure(easy: easy, url: url, profile: profile)
            .failure(code, addressRejection: addressRejection)
    }
}
