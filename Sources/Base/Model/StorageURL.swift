/// The location of a site's objects: `file:///absolute/path`.
///
/// Canonical: each directory has one form (no doubled or trailing slash), so that equal sites
/// compare equal. Source: RFC 8089.
package struct StorageURL: Hashable, Sendable {
    /// The directory: absolute, without `.` or `..`.
    package let path: String

    /// Parses a site's stored URL.
    ///
    /// Throws `storage.unreachable` for another scheme or form than the one above, and
    /// `storage.pathRefused` for a path that is not absolute and plain.
    package init(_ text: String) throws(Failure) {
        guard let colon = text.firstIndex(of: ":"),
            text[..<colon].lowercased() == "file"
        else { throw Self.unreachable("this worker stores to file:///absolute/path only") }
        var rest = text[text.index(after: colon)...]
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let host = rest.prefix { $0 != "/" }
            guard host.isEmpty || host.lowercased() == "localhost" else {
                throw Self.unreachable("a file URL names no host: file:///absolute/path")
            }
            rest = rest.dropFirst(host.count)
        }
        guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
            throw Self.unreachable("a storage URL has no query or fragment")
        }
        guard let decoded = Self.decodePercents(rest) else {
            throw Failure(.storagePathRefused, "a storage URL's path is percent-encoded UTF-8")
        }
        try self.init(directory: decoded)
    }

    /// Creates the URL of a directory from its absolute path.
    package init(directory: String) throws(Failure) {
        guard directory.hasPrefix("/"), !directory.utf8.contains(0) else {
            throw Failure(.storagePathRefused, "a site's directory is an absolute path")
        }
        let components = pathComponents(of: directory)
        guard !components.contains(where: { $0 == "." || $0 == ".." }) else {
            throw Failure(.storagePathRefused, "a site's directory has no . or .. in its path")
        }
        path = "/" + components.joined(separator: "/")
    }

    private static func unreachable(_ message: String) -> Failure {
        Failure(.storageUnreachable, message)
    }

    /// Returns nil if an escape is malformed or the bytes are not UTF-8.
    private static func decodePercents(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            if byte != UInt8(ascii: "%") {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue),
                let low = rest.popFirst().flatMap(hexValue)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        Character(UnicodeScalar(digit)).hexDigitValue.map(UInt8.init)
    }
}

extension StorageURL: CustomStringConvertible {
    /// `file://` and the path, percent-encoded as RFC 3986 requires.
    package var description: String {
        var text = "file://"
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "-"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.unicodeScalars.append(UnicodeScalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                text += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return text
    }
}

extension StorageURL {
    /// Returns true if this is the directory of `root` or lies below it, by the components of their
    /// paths.
    package func isWithin(_ root: StorageURL) -> Bool {
        Self.isSite(description, within: root.description)
    }

    /// Does the same for two URLs in their canonical text, by bytes, like `outside_roots` in the
    /// queue's schema.
    package static func isSite(_ site: String, within root: String) -> Bool {
        let (site, root) = (site.utf8, root.utf8)
        guard site.starts(with: root) else { return false }
        return site.count == root.count
            || site.dropFirst(root.count).first == UInt8(ascii: "/")
    }
}
