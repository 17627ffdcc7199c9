internal import Curl
internal import Model

extension Route {
    /// Returns the route after a redirect to `location`, which may be relative. Throws
    /// `origin.redirect…`; with a limit of 0 no redirect is followed.
    func redirected(to location: String, atMost limit: Int) throws(Failure) -> Route {
        guard limit > 0 else {
            throw problem(.originRedirected, "a redirect to \(Redaction.shown(location))")
        }
        guard redirects < limit else {
            throw problem(.originRedirectLimit, "more than \(limit) redirects")
        }
        var next = self
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

    private func problem(_ code: FailureCode, _ message: String) -> Failure {
        Failure(code, of: url, message)
    }
}
