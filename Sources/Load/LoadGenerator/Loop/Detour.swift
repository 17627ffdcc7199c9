internal import LoadModel

/// The target of a request instead of its object's URL: after a redirect, because the viewer's
/// manifest was redirected, or on the viewer's pathway.
final class Detour {
    let url: String
    /// Index of its origin among the routes; -1 for libcurl.
    let origin: Int32
    /// The way here by redirects.
    let route: RedirectRoute
    /// Name of the pathway that it counts as; nil without one.
    let pathway: String?
    /// False if its host was not admitted before the test.
    let isAllowed: Bool
    /// Time on the test's clock at which the first request of the way was sent; nil for this one.
    let firstSentSeconds: Double?

    init(
        _ route: RedirectRoute, origin: Int32, pathway: String?, isAllowed: Bool,
        firstSentSeconds: Double? = nil
    ) {
        url = route.url
        self.origin = origin
        self.route = route
        self.pathway = pathway
        self.isAllowed = isAllowed
        self.firstSentSeconds = firstSentSeconds
    }

    /// Returns what a viewer adds to the request: a redirect's URL is requested as it is, and
    /// credentials do not follow to another origin.
    func addition(_ addition: ViewerAddition) -> ViewerAddition {
        guard route.isRedirected else { return addition }
        return route.isElsewhere ? addition.elsewhere : addition.redirected
    }
}
