package import Model
import Text

/// An absolute http or https URL, checked and normalised (RFC 3986, section 6.2.2).
///
/// Scheme and host are in lower case. The scheme's default port, an empty query and the fragment
/// are removed, an empty path is `/`, and dot segments are resolved. Bytes that RFC 3986 does not
/// allow (`"<>\^{|}` and all non-ASCII bytes) are percent-encoded in path and query; existing
/// percent-encodings stay. So `text` can be used on a request line, and two URLs are equal if their
/// texts are. At most `WireLimits.urlBytes` bytes.
package struct WebURL: Sendable {
    /// The whole URL, ASCII.
    package let text: String
    // A title has up to a million of these, so the offsets take two bytes each: `urlBytes` fits.
    private let pathOffset: UInt16
    private let queryOffset: UInt16

    /// Start of the path in `text`, in bytes.
    var pathStart: Int { Int(pathOffset) }
    /// Offset of the `?` in `text`, in bytes; the length of `text` without a query.
    package var queryStart: Int { Int(queryOffset) }

    init(text: String, pathStart: Int, queryStart: Int) {
        self.text = text
        pathOffset = UInt16(pathStart)
        queryOffset = UInt16(queryStart)
    }

    /// - Parameter text: Text of a URL that was parsed before.
    package init(normalised text: String, queryStart: Int) {
        var text = text
        let pathStart = text.withUTF8 { Self.pathStart($0) }
        self.init(text: text, pathStart: pathStart, queryStart: queryStart)
    }

    /// Returns the start of the path in a parsed URL: a host contains no slash.
    static func pathStart(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        let authority = authorityStart(text)
        return text[authority...].firstIndex(of: ASCII.slash) ?? text.count
    }

    /// Returns the index after `http://` or `https://`.
    static func authorityStart(_ text: UnsafeBufferPointer<UInt8>) -> Int {
        text[4] == ASCII.colon ? 7 : 8
    }

    /// Parses an absolute URL.
    package init(_ text: String) throws(WebURLError) {
        let bytes = [UInt8](text.utf8)
        self = try Self.parse(bytes, 0..<bytes.count)
    }

    package var isSecure: Bool { text.utf8.count > 4 && text.hasPrefix("https") }

    /// Host in lower case (IPv6 in brackets), with `:port` unless it is the scheme's default.
    package var authority: String { slice(isSecure ? 8 : 7, pathStart) }

    /// The path, percent-encoded, from its first `/`.
    package var path: String { slice(pathStart, queryStart) }

    /// The same URL without its query.
    package var withoutQuery: WebURL {
        WebURL(text: slice(0, queryStart), pathStart: pathStart, queryStart: queryStart)
    }

    /// The text after the `?`, or nil.
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
    /// The URL without the query, which may contain a signature.
    package var description: String { Redaction.shown(text) }
}

/// A reason why Dray rejects a URL.
package struct WebURLError: Error, Hashable, Sendable {
    package enum Reason: Hashable, Sendable {
        /// No scheme, or one that is not http or https.
        case scheme
        /// User name or password before the host.
        case userInformation
        /// A control character, or a space outside of a manifest's reference.
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
    /// One clause with the problem and the allowed form; without the URL itself.
    package var detail: String
    /// Bytes from the start of the input to the problem.
    package var offset: Int

    package init(reason: Reason, detail: String, offset: Int) {
        self.reason = reason
        self.detail = detail
        self.offset = offset
    }

    /// The failure of a URL in a list or on the command line.
    package func failure(given: String) -> Failure {
        Failure(.inputURL, "the URL \(detail), given \(Redaction.shown(given))")
    }
}
