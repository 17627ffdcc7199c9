internal import Model

// A cache's POP is an origin of its own, with limits, cooldowns and a circuit breaker, but is asked
// for objects of the edge's host.
extension ActiveTransfer {
    /// The URL on the wire: `url`, or the same path at the edge.
    var requestedURL: String { Self.requestedURL(url, edge: request.access.edge) }

    private static func requestedURL(_ url: String, edge: String?) -> String {
        guard let edge, let start = url.firstRange(of: "://") else { return url }
        let scheme = url[..<start.upperBound]
        let authority = url[start.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return "\(scheme)\(edge)\(url[authority.endIndex...])"
    }

    /// Returns the settings of the URL's origin; for a POP those of the edge, whose headers and
    /// authorities it needs.
    static func profile(
        of request: TransferRequest, _ origin: OriginState, _ url: String, _ loop: TransferLoop
    ) -> OriginProfile {
        let requested = requestedURL(url, edge: request.access.edge)
        let edge = request.access.edge == nil ? nil : originName(of: requested)
        return loop.profiles.profile(of: edge ?? origin.name, url: requested)
    }

    /// Host and port to connect to instead of those of `requestedURL`; nil for those.
    var connectTarget: String? {
        guard request.access.edge != nil, requestedURL != url, let pop = originName(of: url),
            let start = pop.firstRange(of: "://")
        else { return nil }
        let authority = pop[start.upperBound...]
        let hasPort = authority.lastIndex(of: ":").map { !authority[$0...].contains("]") } ?? false
        return hasPort ? String(authority) : "\(authority):\(pop.hasPrefix("https") ? 443 : 80)"
    }
}
