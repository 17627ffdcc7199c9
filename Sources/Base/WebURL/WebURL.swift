package import Model
import Text

/// An absolute http or https URL, checked and normalised (RFC 3986, section 6.2.2).
///
/// Scheme and host are in lower case, the scheme's default port, an empty query and the fragment are
/// gone, an empty path is `/`, dot segments are resolved, and bytes that RFC 3986 does not admit
/// (`"<>\^{|}` and everything beyond ASCII) are percent-encoded in path and query. Percent-encodings
/// that were given stay as they are. So `text` can be put on a request line, and two URLs are equal
/// when their texts are. At most `WireLimits.urlBytes` bytes.
package struct WebURL: Sendable {
    /// The whole URL, ASCII.
    package let text: String
    // A title has up to a million of these, so the places take two bytes each: `urlBytes` fits.
    private let pathPlace: UInt16
    private let queryPlace: UInt16

    /// Where the path starts in `text`, in bytes.
    var pathStart: Int { Int(pathPlace) }
    /// Where the `?` stands in `text`, in bytes; the length of `text` when there is no query.
    package var queryStart: Int { Int(queryPlace) }

    init(text: String, pathStart: Int, queryStart: Int) {
        self.text = text
        pathPlace = UInt16(pathStart)
        queryPlace = UInt16(queryStart)
    }

    /// - Parameter text: of a URL that was parsed before.
    package init(normalised text: String, queryStart: Int) {
        var text = text
        let pathStart = text.withUTF8 { Self.pathStart($0) }
        self.init(text: text, pathStart: pathStart, queryStart: queryStart)
    }

    /// Where the path starts in what was parsed before: no slash stands in a host.
    static func pathStart(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        let authority = authorityStart(text)
        return text[authority...].firstIndex(of: ASCII.slash) ?? text.count
    }

    /// Behind `http://` or `https://`.
    static func authorityStart(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        text[4] == ASCII.colon ? 7 : 8
    }

    /// Parses an absolute URL.
    package init(_ text: String) throws(WebURLError) {
        let bytes = [UInt8](text.utf8)
        self = try Self.parse(bytes, 0..<bytes.count)
    }

    package var isSecure: Bool { text.utf8.count > 4 && text.hasPrefix("https") }

    /// Host in lower case (IPv6 in brackets), with `:port` when it is not the scheme's default.
    package var authority: String { slice(isSecure ? 8 : 7, pathStart) }

    /// The path, percent-encoded, from its first `/`.
    package var path: String { slice(pathStart, queryStart) }

    /// What follows the `?`, or nil.
    package var query: String? {
        let end = text.utf8.count
        return queryStart < end ? slice(queryStart + 1, end) : nil
    }

    private func slice(_ from: Int, _ to: Int) -> String {
        let utf8 = text.utf8
        return String(
            text[
                utf8.index(
                    utf8.startIndex, offsetBy: from)..<utf8.index(
                        utf8.startIndex, offsetBy: to)])
    }
}

extension WebURL: Hashable {
    package static func == (left: WebURL, right: WebURL) -> Bool { left.text == right.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

extension WebURL: CustomStringConvertible {
    /// Without the query, which may hold a signature.
    package var description: String { Redaction.shown(text) }
}

/// Why a text is not a URL that Dray takes.
package struct WebURLError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// No scheme, or one that is not http or https.
        case scheme
        /// User name or password before the host.
        case userInformation
        /// A control character; in what is no reference of a manifest a space.
        case character
        case host
        case port
        /// A `%` in the path that is not followed by two hex digits.
        case escape
        case tooLong
        /// A reference of a manifest that climbs far above the root.
        case climb
    }

    package var reason: Reason
    /// One clause that says what is wrong and what is allowed; without the URL itself.
    package var detail: String
    /// Bytes from the start of what was parsed to where it is wrong.
    package var offset: Int

    package init(reason: Reason, detail: String, offset: Int) {
        self.reason = reason
        self.detail = detail
        self.offset = offset
    }

    /// The failure of a URL in a list or on the command line.
    package func failure(given: String) -> Failure {
        Failure("input.url", "the URL \(detail), given \(Redaction.shown(given))")
    }
}
