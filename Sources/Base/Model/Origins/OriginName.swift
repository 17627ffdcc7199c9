// Beside `WebURL`, which is strict and lies above this target: a scheduler names the origin of each
// request, also of URLs that only libcurl accepts.

/// Returns the origin of an http or https URL: `scheme://host[:port]` in lower case, without
/// userinfo and without the default port. Returns nil for other text, and for userinfo unless it is
/// allowed.
package func originName(of url: String, allowsUserInfo: Bool = true) -> String? {
    let bytes = url.utf8
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = url[..<colon].lowercased()
    let rest = bytes[bytes.index(after: colon)...]
    guard scheme == "http" || scheme == "https", rest.starts(with: "//".utf8) else { return nil }
    var authority = rest.dropFirst(2).prefix {
        $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
    }
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
        guard allowsUserInfo else { return nil }
        authority = authority[authority.index(after: at)...]
    }
    for ending in [scheme == "http" ? ":80" : ":443", ":"]
    where authority.suffix(ending.utf8.count).elementsEqual(ending.utf8) {
        authority = authority.dropLast(ending.utf8.count)
    }
    // A name has at most 253 characters (RFC 1035, section 2.3.4), a port 5 digits.
    guard (1...300).contains(authority.count) else { return nil }
    return "\(scheme)://\(Substring(authority).lowercased())"
}
