import Model
import Text

extension WebURL {
    /// Resolves `reference` in a document that was read from this URL (RFC 3986, section 5.2).
    package func resolve(_ reference: String) throws(WebURLError) -> WebURL {
        let bytes = [UInt8](reference.utf8)
        return try ReferenceBase(self).resolve(bytes, 0..<bytes.count)
    }
}

/// A base URL, prepared for resolving many references.
///
/// A reference that climbs up to two folders above its host's root ends at the root, as in the
/// RFC's own examples (RFC 3986, section 5.4.2); moved manifests have such references. One that
/// climbs further is not meant for the web, and is rejected.
///
/// Spaces, which packagers write into names unencoded, are percent-encoded as players do (as in
/// xs:anyURI and the URL Standard). Spaces around a reference are ignored.
package final class ReferenceBase: Sendable {
    /// Maximum folders above the root.
    private static let maxClimbed = 2

    package let url: WebURL
    /// The URL's text.
    package let bytes: [UInt8]
    /// The URL up to the last slash of its path, which precedes a relative path.
    package let folder: [UInt8]

    package init(_ url: WebURL) {
        self.url = url
        bytes = [UInt8](url.text.utf8)
        var end = url.queryStart
        while end > url.pathStart, bytes[end - 1] != ASCII.slash { end -= 1 }
        folder = Array(bytes[..<end])
    }

    /// Resolves the reference in `range` of `reference`.
    package func resolve(_ reference: [UInt8], _ range: Range<Int>) throws(WebURLError) -> WebURL {
        if let plain = resolvePlain(reference, range) { return plain }
        var range = range
        while range.last.map({ reference[$0] }) == ASCII.space { range = range.dropLast() }
        while range.first.map({ reference[$0] }) == ASCII.space { range = range.dropFirst() }
        if Self.hasScheme(reference, range) {
            return try WebURL.parse(reference, range, climbing: Self.maxClimbed)
        }
        guard ASCII.hasPrefix(reference, range, "//") else {
            var parser = WebURL.Parser(reference, range, climbing: Self.maxClimbed)
            return try parser.runReference(to: self)
        }
        let scheme = bytes[..<(url.isSecure ? 6 : 5)]
        let absolute = scheme + reference[range]
        do throws(WebURLError) {
            return try WebURL.parse(Array(absolute), absolute.indices, climbing: Self.maxClimbed)
        } catch {
            var error = error
            error.offset = max(0, error.offset - scheme.count)
            throw error
        }
    }

    /// Returns the start of the query in `reference` if `folder` plus the unchanged reference is
    /// the resolved URL; the range's end without a query. Nil if the reference must be parsed.
    ///
    /// The common case: a relative path without dot segments, of characters that need no encoding.
    package func plainQueryStart(_ reference: [UInt8], _ range: Range<Int>) -> Int? {
        guard let first = range.first,
            ASCII.isAlphanumeric(reference[first]) || reference[first] == ASCII.percent,
            folder.count + range.count <= WireLimits.urlBytes
        else { return nil }
        var queryStart = range.upperBound
        var index = range.lowerBound
        while index < range.upperBound {
            let byte = reference[index]
            if byte == ASCII.question {
                queryStart = index
                break
            }
            if byte == ASCII.percent {
                guard index + 2 < range.upperBound, ASCII.hexValue(reference[index + 1]) != nil,
                    ASCII.hexValue(reference[index + 2]) != nil
                else { return nil }
                index += 3
                continue
            }
            // A dot after a slash may start a dot segment; a colon may end a scheme.
            if !ASCII.isIn(.path, byte) || byte == ASCII.colon
                || byte == ASCII.dot && reference[index - 1] == ASCII.slash
            {
                return nil
            }
            index += 1
        }
        if queryStart + 1 == range.upperBound { return nil }
        while index < range.upperBound {
            if !ASCII.isIn(.query, reference[index]) { return nil }
            index += 1
        }
        return queryStart
    }

    private func resolvePlain(_ reference: [UInt8], _ range: Range<Int>) -> WebURL? {
        guard let queryStart = plainQueryStart(reference, range) else { return nil }
        let text = String(unsafeUninitializedCapacity: folder.count + range.count) { out in
            let index = out[..<folder.count].initialize(fromContentsOf: folder)
            return out[index...].initialize(fromContentsOf: reference[range])
        }
        return WebURL(
            text: text, pathStart: url.pathStart,
            queryStart: folder.count + queryStart - range.lowerBound)
    }

    /// Returns true if the reference starts with a scheme and so is absolute.
    package static func hasScheme(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        guard let first = range.first, ASCII.isLetter(bytes[first]) else { return false }
        for index in range {
            let byte = bytes[index]
            if byte == ASCII.colon { return true }
            guard
                ASCII.isAlphanumeric(byte) || byte == ASCII.minus || byte == ASCII.dot
                    || byte == 0x2B
            else { return false }
        }
        return false
    }
}
