import Model

/// Returns the origin of an http or https URL, which must not carry credentials.
func originURL(of url: String) throws(Failure) -> String {
    guard let name = originName(of: url, allowsUserInfo: false) else { throw notWeb(url) }
    return name
}

private func notWeb(_ url: String) -> Failure {
    Failure(
        .inputURL,
        "url: \(redacted(url: url).prefix(80)) is not an http or https URL without credentials.")
}

/// The origins of the URLs of one batch; most have the same few.
struct OriginNames {
    /// Origins by the text before a URL's path.
    private var known: [Substring: String] = [:]

    /// Returns the same as `originURL(of:)`.
    mutating func name(of url: String) throws(Failure) -> String {
        var slashes = 0
        let end = url.utf8.firstIndex { byte in
            if byte == UInt8(ascii: "/") { slashes += 1 }
            return slashes == 3 || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
        }
        let start = url[..<(end ?? url.endIndex)]
        if let name = known[start] { return name }
        let name = try originURL(of: url)
        // A whole list may have as many origins as URLs.
        if known.count < 1_000 { known[start] = name }
        return name
    }
}
