/// What stands for a removed secret.
package let redactionMark = "…"

/// `url` as it may be logged, stored and shown: userinfo, query and fragment are dropped.
///
/// Signed URLs carry their secret in the query, so nothing of it stays but the question mark, which
/// tells the reader that there was one. Text without `://` is treated as a path with a query. Works
/// on bytes: a combining character after a `?` would hide it from a comparison of characters.
package func redacted(url: String) -> String {
    var rest = Substring(url).utf8
    var result = ""
    if let authorityStart = rest.afterSchemeSeparator {
        result += String(Substring(rest[..<authorityStart]))
        rest = rest[authorityStart...]
        let end = rest.firstIndex { "/?#".utf8.contains($0) } ?? rest.endIndex
        var authority = rest[..<end]
        // The last @ ends the userinfo: a password may hold one itself (RFC 3986 wants it encoded).
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
            authority = authority[authority.index(after: at)...]
        }
        result += String(Substring(authority))
        rest = rest[end...]
    }
    let end = rest.firstIndex { "?#".utf8.contains($0) } ?? rest.endIndex
    result += String(Substring(rest[..<end]))
    if end != rest.endIndex, rest[end] == UInt8(ascii: "?") { result += "?" + redactionMark }
    return result
}

extension Substring.UTF8View {
    /// The index after the first `://`, nil when there is none.
    fileprivate var afterSchemeSeparator: Index? {
        var index = startIndex
        while let colon = self[index...].firstIndex(of: UInt8(ascii: ":")) {
            let after = self.index(after: colon)
            if self[after...].starts(with: "//".utf8) { return self.index(after, offsetBy: 2) }
            index = after
        }
        return nil
    }
}
