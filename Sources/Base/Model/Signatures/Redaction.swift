/// Hides possible secrets of URLs and keys, for logs, messages, columns, reports and tables. All
/// texts for people pass here; what counts as a secret in a URL's query or path is decided by
/// `SignedNames` and `SignedPath`.
///
/// User information becomes `…@`, a query `?…` and a fragment `#…`, with or without a scheme; a
/// token in the path becomes `…`. It works on UTF-8 bytes: a combining mark or joiner after `?`,
/// `@` or `#` forms one `Character` with it, which would evade a comparison of characters. Text
/// that is no URL is hidden too much rather than too little.
package enum Redaction {
    /// Stands for removed text.
    package static let mark = "…"

    /// Maximum characters of shown user input.
    private static let shownCharacters = 200

    /// Returns `text` for a message: redacted, with control and format characters as `\u{…}`, and
    /// cut.
    package static func shown(_ text: String, limit: Int = shownCharacters) -> String {
        let out = escaped(Model.redacted(url: text))
        return out.count > limit ? out.prefix(limit - 1) + mark : out
    }

    /// Does the same for bytes that need not be UTF-8.
    package static func shown(_ bytes: [UInt8], _ range: Range<Int>) -> String {
        let end = min(range.upperBound, range.lowerBound + 1_024)
        return shown(String(decoding: bytes[range.lowerBound..<end], as: UTF8.self))
    }

    /// Removes possible secrets from each URL in `text`, from its scheme to the next blank. For
    /// messages that contain user input, such as an operand or a name.
    package static func message(_ text: String) -> String {
        let bytes = Array(text.utf8)
        guard bytes.contains(colon) else { return text }
        var out: [UInt8] = []
        var rest = bytes[...]
        while let index = schemeEnd(rest) {
            let start =
                rest[..<index].lastIndex { !isOfScheme($0) }.map { $0 + 1 } ?? rest.startIndex
            let blank =
                rest[index...].firstIndex { [0x20, 0x09, 0x0A].contains($0) } ?? rest.endIndex
            // Punctuation at the end of a clause or a quotation is no part of the URL.
            let end = rest[index..<blank].lastIndex { !".,:;)'\"".utf8.contains($0) } ?? index
            out += rest[..<start]
            out += withoutSecrets(Array(rest[start...end]))
            rest = rest[(end + 1)...]
        }
        return String(decoding: out + rest, as: UTF8.self)
    }

    /// Returns the index of the colon of the next `://`.
    private static func schemeEnd(_ text: ArraySlice<UInt8>) -> Int? {
        text.indices.first { text[$0] == colon && text[$0...].starts(with: "://".utf8) }
    }

    private static func isOfScheme(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
            || "+-.".utf8.contains(byte)
    }

    /// Returns an asset's name for display: a name derived from a URL with a query contains its
    /// secrets too.
    package static func name(_ name: String, ofURL url: String) -> String {
        let isOfQuery = url.utf8.contains(question) && name.utf8.contains(question)
        return isOfQuery ? Model.redacted(url: name) : name
    }

    /// Returns a key for display: without parameters that may be secrets, and without tokens in
    /// its path. Other parameters stay, because they distinguish files.
    package static func key(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let end = bytes.firstIndex(of: question) ?? bytes.count
        let path = SignedPath.replacingTokens(bytes[..<end], with: Array(mark.utf8))
        let query = bytes[end...].dropFirst()
        let kept = SignedQuery.withoutSecrets(query)
        guard path != nil || kept != nil else { return text }
        let shown =
            kept.map { $0 + ($0.isEmpty ? [] : [0x26]) + Array(mark.utf8) } ?? Array(query)
        return String(
            decoding: (path ?? Array(bytes[..<end]))
                + (end < bytes.count ? [question] + shown : []),
            as: UTF8.self)
    }

    /// Returns a key, or text that ends with one, for a failure's message: without its query, and
    /// without tokens in its path.
    package static func path(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let end = bytes.firstIndex(of: question) ?? bytes.count
        let path = SignedPath.replacingTokens(bytes[..<end], with: Array(mark.utf8))
        guard path != nil || end < bytes.count else { return text }
        let query = end < bytes.count ? [question] + Array(mark.utf8) : []
        return String(decoding: (path ?? Array(bytes[..<end])) + query, as: UTF8.self)
    }

    private static func escaped(_ text: String) -> String {
        var out = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                out += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default:
                out.unicodeScalars.append(scalar)
            }
        }
        return out
    }

    /// Returns the bytes of `url` without possible secrets.
    fileprivate static func withoutSecrets(_ url: [UInt8]) -> [UInt8] {
        let end = url.firstIndex { $0 == question || $0 == hash } ?? url.count
        var out: [UInt8] = []
        out.reserveCapacity(url.count)
        var index = 0
        var authority: Int? = firstAuthority(url[..<end])
        while let start = authority {
            out += url[index..<start]
            index = start
            if let at = userInfoEnd(url, from: start, to: end) {
                out += mark.utf8
                index = at
            }
            authority = nextAuthority(url[index..<end])
        }
        // An @ after the ? may end a password that contains one.
        out += url[index..<end]
        out = SignedPath.replacingTokens(out[...], with: Array(mark.utf8)) ?? out
        if end < url.count { out += [url[end]] + mark.utf8 }
        return out
    }

    private static let question = UInt8(ascii: "?")
    private static let hash = UInt8(ascii: "#")
    private static let slash = UInt8(ascii: "/")
    private static let colon = UInt8(ascii: ":")

    /// Returns the start of the authority: after a scheme's colon and slashes of either kind, or
    /// after leading slashes without a scheme. Otherwise the text's start.
    private static func firstAuthority(_ text: ArraySlice<UInt8>) -> Int {
        let scheme = text.prefix(while: isOfScheme)
        var index = scheme.endIndex
        if index < text.endIndex, text[index] == colon {
            index += 1
        } else {
            index = text.startIndex
        }
        var slashes = text[index...].prefix { $0 == slash || $0 == UInt8(ascii: "\\") }
        if slashes.isEmpty { return text.startIndex }
        // A file URL has an authority between two slashes and the third, usually an empty one.
        if scheme.elementsEqual("file".utf8) { slashes = slashes.prefix(2) }
        // A path that begins with one slash has no authority.
        return index == text.startIndex && slashes.count == 1 ? index : slashes.endIndex
    }

    /// Returns the index after the next `://`, of a URL within the path of another.
    private static func nextAuthority(_ text: ArraySlice<UInt8>) -> Int? {
        var rest = text
        while let index = rest.firstIndex(of: colon) {
            rest = rest[(index + 1)...]
            if rest.starts(with: "//".utf8) { return index + 3 }
        }
        return nil
    }

    /// Returns the index of the `@` that ends the user information of the authority at `start`; nil
    /// for none.
    private static func userInfoEnd(_ url: [UInt8], from start: Int, to end: Int) -> Int? {
        let at = UInt8(ascii: "@")
        let authorityEnd = url[start..<end].firstIndex(of: slash) ?? end
        // The last @: a password may contain one (RFC 3986 requires it encoded).
        if let index = url[start..<authorityEnd].lastIndex(of: at) { return index }
        // Other text than digits after the colon is the start of a password that contains /, ? or
        // #.
        guard let colon = url[start..<authorityEnd].lastIndex(of: colon), url[start] != 0x5B,
            !url[(colon + 1)..<authorityEnd].allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        if let index = url[authorityEnd..<end].lastIndex(of: at) { return index }
        return authorityEnd == end && url[end...].contains(at) ? end : nil
    }
}

/// Returns `url` for logs, stored messages and display: see `Redaction`. Control characters stay.
package func redacted(url: String) -> String {
    String(decoding: Redaction.withoutSecrets(Array(url.utf8)), as: UTF8.self)
}
