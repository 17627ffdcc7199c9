import JSON
import Model
import Text
import Titles
import WebURL

/// A steering manifest: the server's list of pathways (RFC 8216bis, section 7.2; ETSI TS 103 998).
struct SteeringManifest: Sendable, Equatable {
    struct Clone: Sendable, Equatable {
        var base = ""
        var name = ""
        var replacement = URIReplacement()
    }

    /// Seconds until it is requested again, within `ttlSeconds`.
    var ttlSeconds = defaultTTLSeconds
    /// The URL as written; nil for the same URL.
    var reload: String?
    var priority: [String] = []
    var clones: [Clone] = []

    /// Maximum size in bytes.
    static let maxBytes = 64 << 10
    /// Maximum length of a URL and of a parameter's value in bytes.
    private static let textBytes = 8_192
    private static let maxParameters = 50
    private static let maxPlaylists = 1_000
    static let defaultTTLSeconds = 300.0
    /// A shorter or longer TTL counts as the nearest within.
    static let ttlRange = 1.0...86_400

    /// Parses a steering manifest; unknown fields are ignored.
    ///
    /// Throws `manifest.tooLarge`, `manifest.tooMany`, `manifest.malformed`, and
    /// `manifest.unsupported` for another version.
    init(_ body: [UInt8]) throws(Failure) {
        guard body.count <= Self.maxBytes else {
            throw Failure(
                .manifestTooLarge, "a steering manifest has at most \(Self.maxBytes) bytes")
        }
        do throws(Failure) {
            var cursor = JSONCursor(body)
            try read(&cursor)
            try cursor.finish()
        } catch {
            // Failures of fields are those of the manifest.
            guard error.code.family == "input" else { throw error }
            throw Failure(.manifestMalformed, "steering manifest: \(error.message)")
        }
        guard !priority.isEmpty else {
            throw Failure(.manifestMalformed, "the steering manifest has no PATHWAY-PRIORITY")
        }
    }

    private mutating func read(_ cursor: inout JSONCursor) throws(Failure) {
        var read = self
        var version: Double?
        try cursor.expect(.object, "steering manifest")
        try cursor.object { (cursor, name, _) throws(Failure) in
            switch name {
            case "VERSION": version = try cursor.decimalNumber(name, -1e9...1e9)
            case "TTL":
                let seconds = try cursor.decimalNumber(name, -1e18...1e18)
                read.ttlSeconds = min(
                    max(seconds, Self.ttlRange.lowerBound), Self.ttlRange.upperBound)
            case "RELOAD-URI": read.reload = try cursor.plainText(name, limit: Self.textBytes)
            // DASH called it so before its first edition.
            case "PATHWAY-PRIORITY", "SERVICE-LOCATION-PRIORITY":
                read.priority = try Self.names(&cursor, name)
            case "PATHWAY-CLONES": read.clones = try Self.clones(&cursor, name)
            default: try cursor.skip()
            }
        }
        guard version == 1 else {
            throw Failure(
                .manifestUnsupported, "the steering manifest's VERSION is not 1; it is ignored")
        }
        self = read
    }

    private static func name(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> String {
        let start = cursor.index
        let name = try cursor.plainText(path, limit: ContentSteering.nameBytes)
        guard ContentSteering.isName(name) else {
            throw cursor.fieldFailure(
                at: start, path, "cannot be used",
                allowed: "printable ASCII without quotes, commas and blanks")
        }
        return name
    }

    private static func names(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> [String] {
        try cursor.expect(.array, path)
        var names: [String] = []
        try cursor.array { (cursor) throws(Failure) in
            let name = try name(&cursor, path)
            guard !names.contains(name) else { return }
            try check(names.count, ContentSteering.maxPathways, path)
            names.append(name)
        }
        return names
    }

    private static func check(_ count: Int, _ most: Int, _ path: String) throws(Failure) {
        guard count < most else {
            throw Failure(.manifestTooMany, "steering manifest: more than \(most) in \(path)")
        }
    }

    private static func clones(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> [Clone] {
        try cursor.expect(.array, path)
        var clones: [Clone] = []
        try cursor.array { (cursor) throws(Failure) in
            try check(clones.count, ContentSteering.maxPathways, path)
            var clone = Clone()
            try cursor.expect(.object, path)
            try cursor.object { (cursor, field, _) throws(Failure) in
                switch field {
                case "BASE-ID": clone.base = try name(&cursor, field)
                case "ID": clone.name = try name(&cursor, field)
                case "URI-REPLACEMENT": clone.replacement = try replacement(&cursor, field)
                default: try cursor.skip()
                }
            }
            guard !clone.base.isEmpty, !clone.name.isEmpty else {
                throw Failure(
                    .manifestMalformed, "steering manifest: a clone has no ID or no BASE-ID")
            }
            clones.append(clone)
        }
        return clones
    }

    private static func replacement(
        _ cursor: inout JSONCursor, _ path: String
    ) throws(Failure) -> URIReplacement {
        var result = URIReplacement()
        try cursor.expect(.object, path)
        try cursor.object { (cursor, field, offset) throws(Failure) in
            switch field {
            case "HOST":
                let host = try cursor.plainText(field, limit: 300)
                let name = host.lowercased()
                guard let url = try? WebURL("http://\(name)/"),
                    name == url.authority || name == "\(url.authority):80"
                else {
                    throw cursor.fieldFailure(
                        at: offset, field, "cannot be used", allowed: "a host, or a host and port")
                }
                result.host = name
            case "PARAMS":
                let values = try texts(&cursor, field, most: maxParameters) { $0 }
                result.parameters = values.sorted { $0.key < $1.key }.map {
                    (SteeringQuery.encoded($0.key), SteeringQuery.encoded($0.value))
                }
            case "PER-VARIANT-URIS":
                result.variants = try texts(&cursor, field, most: maxPlaylists, url)
            case "PER-RENDITION-URIS":
                result.renditions = try texts(&cursor, field, most: maxPlaylists, url)
            default: try cursor.skip()
            }
        }
        return result
    }

    /// Returns an absolute URL as it is requested.
    private static func url(_ text: String) -> String? { (try? WebURL(text))?.text }

    private static func texts(
        _ cursor: inout JSONCursor, _ path: String, most: Int, _ take: (String) -> String?
    ) throws(Failure) -> [String: String] {
        try cursor.expect(.object, path)
        var texts: [String: String] = [:]
        try cursor.object { (cursor, name, offset) throws(Failure) in
            try check(texts.count, most, path)
            guard let text = take(try cursor.plainText(path, limit: textBytes)) else {
                throw cursor.fieldFailure(
                    at: offset, path, "has no URL", allowed: "absolute URLs of http and https")
            }
            texts[name] = text
        }
        return texts
    }
}

/// Query parameters of steering requests.
enum SteeringQuery {
    /// Percent-encodes all but unreserved characters (RFC 3986, section 2.3).
    static func encoded(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            let isPlain =
                ASCII.isDigit(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || "-._~".utf8.contains(byte)
            if isPlain {
                result.unicodeScalars.append(UnicodeScalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += digits.count < 2 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return result
    }
}
