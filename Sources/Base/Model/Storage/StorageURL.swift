/// The location of a site's objects: `file:///absolute/path`, a [bucket](BucketLocation), or a
/// [cache](CacheLocation), which stores none.
///
/// Canonical: each location has one form (no doubled or trailing slash), so that equal sites
/// compare equal. Source: RFC 8089.
package struct StorageURL: Hashable, Sendable {
    package enum Location: Hashable, Sendable {
        /// A directory: absolute, without `.` or `..`.
        case directory(String)
        case bucket(BucketLocation)
        case cache(CacheLocation)
    }

    package let location: Location

    /// The path of a directory; for a bucket or cache its URL without fields, for people alone.
    package var path: String {
        switch location {
        case .directory(let path): path
        case .bucket(let bucket): bucket.urlWithoutFields
        case .cache(let cache): cache.urlWithoutFields
        }
    }

    /// The bucket; nil for a directory.
    package var bucket: BucketLocation? {
        if case .bucket(let bucket) = location { bucket } else { nil }
    }

    /// The cache; nil for storage.
    package var cache: CacheLocation? {
        if case .cache(let cache) = location { cache } else { nil }
    }

    /// True for text that can be the name of a site's queue: it is neither a URL nor a path.
    package static func isQueueName(_ text: String) -> Bool {
        !text.contains(":") && !text.contains("/")
    }

    /// Parses a site's stored URL.
    ///
    /// Throws `storage.unreachable` for another scheme or form than the three above, and
    /// `storage.pathRefused` for a path that is not absolute and plain.
    package init(_ text: String) throws(Failure) {
        guard let colon = text.firstIndex(of: ":") else { throw Self.otherScheme }
        var rest = text[text.index(after: colon)...]
        switch text[..<colon].lowercased() {
        case "file": break
        case "s3":
            self.init(bucket: try BucketLocation(afterScheme: rest))
            return
        case "cache":
            self.init(cache: try CacheLocation(afterScheme: rest))
            return
        default: throw Self.otherScheme
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let host = rest.prefix { $0 != "/" }
            guard host.isEmpty || host.lowercased() == "localhost" else {
                throw Self.unreachable("a file URL names no host: file:///absolute/path")
            }
            rest = rest.dropFirst(host.count)
        }
        guard !rest.contains(where: { $0 == "?" || $0 == "#" }) else {
            throw Self.unreachable("a file URL has no query or fragment")
        }
        guard let decoded = Self.decodePercents(rest) else {
            throw Failure(.storagePathRefused, "a storage URL's path is percent-encoded UTF-8")
        }
        try self.init(directory: decoded)
    }

    private init(bucket: BucketLocation) { location = .bucket(bucket) }

    private init(cache: CacheLocation) { location = .cache(cache) }

    private static var otherScheme: Failure {
        unreachable(
            "workers store to file:///absolute/path and s3://bucket/prefix, and warm "
                + "cache:https://host, only")
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
        location = .directory("/" + components.joined(separator: "/"))
    }

    private static func unreachable(_ message: String) -> Failure {
        Failure(.storageUnreachable, message)
    }

    /// Returns nil if an escape is malformed or the bytes are not UTF-8.
    static func decodePercents(_ text: Substring) -> String? {
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
    /// `file://` and the path, percent-encoded as RFC 3986 requires, or the bucket's or cache's URL.
    package var description: String {
        switch location {
        case .directory(let path): "file://" + Self.percentEncoded(path)
        case .bucket(let bucket): bucket.description
        case .cache(let cache): cache.description
        }
    }

    /// Returns a path whose bytes are unreserved characters, slashes or escapes.
    package static func percentEncoded(_ path: String) -> String {
        var text = ""
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
    /// Returns true if this is the location of `root` or lies below it, by the components of their
    /// paths. A bucket's fields must be those of the root.
    package func isWithin(_ root: StorageURL) -> Bool {
        Self.isSite(description, within: root.description)
    }

    /// Does the same for two URLs in their canonical text, by bytes, like `outside_roots` in the
    /// queue's schema.
    package static func isSite(_ site: String, within root: String) -> Bool {
        let (site, root) = (split(site), split(root))
        guard site.query.elementsEqual(root.query), site.path.starts(with: root.path) else {
            return false
        }
        return site.path.count == root.path.count
            || site.path.dropFirst(root.path.count).first == UInt8(ascii: "/")
    }

    private static func split(
        _ text: String
    ) -> (path: Substring.UTF8View, query: Substring.UTF8View) {
        let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) ?? text.utf8.endIndex
        return (text[..<mark].utf8, text[mark...].utf8)
    }
}
