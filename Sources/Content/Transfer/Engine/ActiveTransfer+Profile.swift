internal import Curl
internal import Model

/// Settings for a transfer at its present origin.
extension ActiveTransfer {
    var timeouts: TransferTimeouts { request.access.ownTimeouts ?? profile.timeouts }

    var maximumBytes: Int64 { min(request.expected.maximumBytes, profile.maximumBytes) }

    var curlProfile: CurlProfile {
        if isBounded { return profile.bounded }
        return origin.speaksHTTP1 ? profile.separate : profile.shared
    }

    /// Records the HTTP version of a response for the next requests to the origin.
    func learnVersion() {
        guard profile.learnsVersion, !isBounded else { return }
        origin.speaksHTTP1 = easy.httpVersion?.hasPrefix("1") == true
    }

    /// Checks a URL's host before libcurl gets the URL, and sets its resolution.
    func checkHost() throws(Failure) {
        let resolve = loop.options.resolve
        guard profile.usesProxy || resolve != nil, let parsed = try? CurlURL(url) else { return }
        var host = parsed.host
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        // The proxy resolves names; a literal address can be judged here.
        if profile.usesProxy, let address = PeerAddress(host),
            let rejection = loop.options.addressPolicy.rejection(of: address)
        {
            throw problem(rejection.code, rejection.message)
        }
        if let address = resolve?(host, parsed.port) {
            try asFailure { () throws(CurlError) in
                try easy.setResolution(host: host, port: parsed.port, address: address)
            }
        }
    }
}
