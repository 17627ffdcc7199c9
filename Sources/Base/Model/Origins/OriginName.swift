// Beside `WebURL`, which is strict and lies above this target: a scheduler names the origin of each
// request, also of URLs that only libcurl accepts.

/// Returns the origin of an http or https URL: `scheme://host[:port]` in lower case, without
/// userinfo and without the default port. Returns nil for other text, and for userinfo unless it is
/// allowed.
package func originName(of url: String, allowsUserInfo: Bool = true) -> String? {
    var url = url
    return url.withUTF8 { bytes in originName(of: bytes, allowsUserInfo) }
}

/// Scans bytes: a worker names the origin of each request.
private func originName(of url: UnsafeBufferPointer<UInt8>, _ allowsUserInfo: Bool) -> String? {
    guard let colon = url.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let isHTTPS = url[..<colon].elementsEqual("https".utf8) { $0 | 0x20 == $1 }
    guard isHTTPS || url[..<colon].elementsEqual("http".utf8, by: { $0 | 0x20 == $1 }),
        url[(colon + 1)...].starts(with: "//".utf8)
    else { return nil }
    var authority = url[(colon + 3)...].prefix {
        $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
    }
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
        guard allowsUserInfo else { return nil }
        authority = authority[(at + 1)...]
    }
    for ending: StaticString in [isHTTPS ? ":443" : ":80", ":"] {
        ending.withUTF8Buffer { ending in
            guard authority.suffix(ending.count).elementsEqual(ending) else { return }
            authority = authority.dropLast(ending.count)
        }
    }
    // A name has at most 253 characters (RFC 1035, section 2.3.4), a port 5 digits.
    guard (1...300).contains(authority.count) else { return nil }
    let scheme = isHTTPS ? "https://" : "http://"
    let host = String(decoding: authority, as: UTF8.self)
    let isLowercase = authority.allSatisfy { $0 < 0x80 && !(0x41...0x5A).contains($0) }
    return scheme + (isLowercase ? host : host.lowercased())
}
