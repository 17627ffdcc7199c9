internal import Curl
internal import Model

/// What holds for a transfer at the origin that it is at.
extension ActiveTransfer {
    var timeouts: TransferTimeouts { request.ownTimeouts ?? profile.timeouts }

    var maximumBytes: Int64 { min(request.maximumBytes, profile.maximumBytes) }

    var curlProfile: CurlProfile {
        if isBounded { return profile.bounded }
        return lane.speaksHTTP1 ? profile.separate : profile.shared
    }

    /// Remembers of an answer what the next requests to the origin need to know.
    func learnVersion() {
        guard profile.learnsVersion, !isBounded else { return }
        lane.speaksHTTP1 = easy.httpVersion?.hasPrefix("1") == true
    }

    /// Judges what can be judged of a URL before libcurl has it, and says where its host leads to.
    func checkHost() throws(Failure) {
        let resolve = loop.options.resolve
        guard profile.usesProxy || resolve != nil, let parsed = try? CurlURL(url) else { return }
        var host = parsed.host
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        // A name is the proxy's to resolve; an address that is written out can be judged here.
        if profile.usesProxy, let address = PeerAddress(host),
            let refusal = loop.options.addressPolicy.refusal(of: address)
        {
            throw problem(refusal.code, refusal.message)
        }
        if let address = resolve?(host, parsed.port) {
            try asFailure { () throws(CurlError) in
                try easy.setResolution(host: host, port: parsed.port, address: address)
            }
        }
    }
}
