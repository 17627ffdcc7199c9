internal import LoadModel
internal import Model

/// Follows redirects: each answer on the way counts as a request of its own.
extension LoadLoop {
    enum Redirect {
        case none
        case follow(Detour)
        case refused(FailureCode)
    }

    /// Returns where the answer of a request leads.
    func redirect(of request: LoadRequest) -> Redirect {
        guard request.isRedirect, let location = request.response.location else { return .none }
        let most = scenario.maxRedirects
        guard most > 0 else { return .none }
        var route = request.detour?.route ?? RedirectRoute(request.url, atMost: most)
        do throws(Failure) {
            let url = try route.follow(to: location)
            // Not even its name is looked up.
            guard transports.options.addresses.hasHost(of: url) else {
                return .refused(.originAddressNotOfTarget)
            }
            return .follow(
                Detour(
                    route, origin: transports.origin(ofURL: url),
                    pathway: request.detour?.pathway, isAllowed: true,
                    firstSentSeconds: request.detour?.firstSentSeconds ?? request.sentSeconds))
        } catch {
            return .refused(error.code)
        }
    }

    /// Returns where a viewer's request of an object goes, if not to the object's URL.
    ///
    /// - Parameter pathway: name of the pathway that it counts as; nil without one.
    func detour(to url: String, pathway: String? = nil) -> Detour {
        let isAllowed = transports.options.addresses.hasHost(of: url)
        return Detour(
            RedirectRoute(url, atMost: scenario.maxRedirects),
            origin: isAllowed ? transports.origin(ofURL: url) : -1, pathway: pathway,
            isAllowed: isAllowed)
    }
}
