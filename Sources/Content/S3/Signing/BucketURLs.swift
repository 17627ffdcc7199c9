import Model

/// The URLs of a bucket's objects at its server.
struct BucketURLs: Sendable {
    /// The value of the `host` header, with a port other than the scheme's.
    let host: String
    /// `https://host` or `http://host:port`.
    let base: String
    private let pathStart: String

    init(_ bucket: BucketLocation) {
        let endpoint = bucket.endpointURL
        let scheme = endpoint.hasPrefix("https://") ? "https://" : "http://"
        var host = String(endpoint.dropFirst(scheme.count))
        let port = scheme == "https://" ? ":443" : ":80"
        if host.hasSuffix(port) { host.removeLast(port.count) }
        switch bucket.style {
        case .path: (self.host, pathStart) = (host, "/\(bucket.bucket)")
        case .host: (self.host, pathStart) = ("\(bucket.bucket).\(host)", "")
        }
        base = scheme + self.host
    }

    /// Returns the percent-encoded path of a key; of the bucket itself for an empty one.
    func path(ofKey key: String) -> String {
        guard key.isEmpty else {
            return "\(pathStart)/\(RequestSignature.encoded(key, keepsSlashes: true))"
        }
        return pathStart.isEmpty ? "/" : pathStart
    }
}
