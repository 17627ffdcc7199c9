internal import CCurl

/// A URL as parsed by libcurl, so that checks apply to the actual destination.
package struct CurlURL: Sendable, Hashable {
    /// The whole URL, normalised by libcurl, without a fragment.
    package let string: String
    /// In lower case.
    package let scheme: String
    /// "user:password" as written, or nil.
    package let userInfo: String?
    /// The host as written; an IPv6 address keeps its brackets.
    package let host: String
    /// The scheme's default port if none is written; 0 if the scheme has none.
    package let port: Int
    /// Starts with "/"; percent-encoded as written.
    package let path: String
    /// Without the "?".
    package let query: String?

    /// Parses an absolute URL of any scheme. Rejects control characters.
    package init(_ string: String) throws(CurlURLError) {
        try self.init(base: nil, string)
    }

    /// Resolves `reference`, absolute or relative, against this URL (RFC 3986, 5).
    package func joining(_ reference: String) throws(CurlURLError) -> CurlURL {
        try CurlURL(base: self, reference)
    }

    /// Scheme, host and port, which credentials and limits are bound to.
    package var origin: String { "\(scheme)://\(host.lowercased()):\(port)" }

    package var isHTTP: Bool { scheme == "http" || scheme == "https" }

    /// Returns the same URL with another `userInfo`.
    package func withUserInfo(_ userInfo: String?) throws(CurlURLError) -> CurlURL {
        guard userInfo != self.userInfo else { return self }
        let credentials = userInfo.map { "\($0)@" } ?? ""
        let authority = string.range(ofAuthorityAfter: scheme)
        var text = string
        text.replaceSubrange(authority, with: "\(credentials)\(authorityWithoutUserInfo)")
        return try CurlURL(text)
    }

    private var authorityWithoutUserInfo: Substring {
        let authority = string[string.range(ofAuthorityAfter: scheme)]
        guard let at = authority.lastIndex(of: "@") else { return authority }
        return authority[authority.index(after: at)...]
    }

    private init(base: CurlURL?, _ text: String) throws(CurlURLError) {
        guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw CurlURLError(reason: "control characters in a URL")
        }
        guard let handle = curl_url() else { throw CurlURLError(reason: "out of memory") }
        defer { curl_url_cleanup(handle) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE)
        for part in [base?.string, text].compactMap({ $0 }) {
            let code = curl_url_set(handle, CURLUPART_URL, part, flags)
            guard code == CURLUE_OK else {
                throw CurlURLError(reason: String(cString: curl_url_strerror(code)))
            }
        }
        _ = curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
        guard let string = Self.part(handle, CURLUPART_URL),
            let scheme = Self.part(handle, CURLUPART_SCHEME)
        else { throw CurlURLError(reason: "no scheme") }
        self.string = string
        self.scheme = scheme.lowercased()
        host = Self.part(handle, CURLUPART_HOST) ?? ""
        let port = Self.part(handle, CURLUPART_PORT, flags: UInt32(CURLU_DEFAULT_PORT))
        self.port = port.flatMap { Int($0) } ?? 0
        path = Self.part(handle, CURLUPART_PATH) ?? "/"
        query = Self.part(handle, CURLUPART_QUERY)
        if let user = Self.part(handle, CURLUPART_USER) {
            let password = Self.part(handle, CURLUPART_PASSWORD)
            userInfo = password.map { "\(user):\($0)" } ?? user
        } else {
            userInfo = nil
        }
        guard !isHTTP || !host.isEmpty else { throw CurlURLError(reason: "no host") }
    }

    private static func part(
        _ handle: OpaquePointer, _ what: CURLUPart, flags: UInt32 = 0
    ) -> String? {
        var value: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, what, &value, flags) == CURLUE_OK, let value else { return nil }
        defer { curl_free(value) }
        return String(cString: value)
    }
}

/// A parse error without the URL itself, which may contain secrets.
package struct CurlURLError: Error, Sendable, CustomStringConvertible {
    package let reason: String

    package var description: String { reason }
}

extension String {
    fileprivate func range(ofAuthorityAfter scheme: String) -> Range<String.Index> {
        let start = index(startIndex, offsetBy: scheme.count + 3, limitedBy: endIndex) ?? endIndex
        let end = self[start...].firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? endIndex
        return start..<end
    }
}
