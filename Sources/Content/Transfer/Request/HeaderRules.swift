internal import Curl
internal import Model

/// The byte range of a 206 response: `bytes 0-99/200` (RFC 9110, 14.4).
struct ContentRange: Equatable {
    var start: Int64
    var end: Int64
    /// Nil if the origin does not know it, as of an object that grows.
    var total: Int64?

    /// Returns nil for another unit, an unsatisfied range, malformed text, and an unknown total
    /// unless `mayGrow`.
    init?(_ text: String, mayGrow: Bool = false) {
        let words = text.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let total = Self.number(halves[1])
        guard total != nil || mayGrow && halves[1] == "*" else { return nil }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let start = Self.number(ends[0]), let end = Self.number(ends[1]),
            start <= end, end < total ?? .max
        else { return nil }
        self.start = start
        self.end = end
        self.total = total
    }

    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        return Int64(text)
    }
}

/// The time at which a response was made.
enum AnswerTime {
    /// Returns the origin's time, plus the age in a cache (RFC 9110, 6.6.1; RFC 9111, 5.1), in
    /// seconds since 1970.
    static func seconds(date: String?, age: String?) -> Double? {
        guard let date, let made = HTTPDate.seconds(date) else { return nil }
        let seconds = age.flatMap { UInt32($0) } ?? 0
        return Double(made) + Double(seconds)
    }
}

/// A value for `If-Range`: proof that two responses have the same bytes.
enum Validator {
    /// Returns the strong ETag, else the Last-Modified date if it is certainly older than the
    /// response (RFC 9110, 8.8.2.2). Nil if neither is reliable.
    static func of(etag: String?, lastModified: String?, date: String?) -> String? {
        if let etag, isStrongETag(etag) { return etag }
        guard let lastModified, let modified = HTTPDate.seconds(lastModified), let date,
            let now = HTTPDate.seconds(date), now - modified >= 1
        else { return nil }
        return lastModified
    }

    /// Returns the validator for `If-None-Match` or `If-Modified-Since`: any ETag, else the date as
    /// above. A weak ETag suffices, because it means no relevant change (RFC 9110, 13.1.2). Nil for
    /// an invalid ETag, or one too long to store.
    static func kept(etag: String?, lastModified: String?, date: String?) -> String? {
        let validator =
            etag.flatMap { isETag($0) ? $0 : nil }
            ?? of(etag: nil, lastModified: lastModified, date: date)
        guard let validator, (1...WireLimits.validatorCharacters).contains(validator.utf8.count),
            validator.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { return nil }
        return validator
    }

    /// Returns the header line that requests an object only if it differs from `validator`.
    static func condition(_ validator: String) -> String {
        isETag(validator) ? "If-None-Match: \(validator)" : "If-Modified-Since: \(validator)"
    }

    private static func isETag(_ text: String) -> Bool {
        let opaque = text.utf8.dropFirst(text.hasPrefix("W/") ? 2 : 0)
        // A quote inside would make it several ETags.
        return isQuoted(opaque) && !opaque.dropFirst().dropLast().contains(quote)
    }

    static func isStrongETag(_ text: String) -> Bool { isQuoted(text.utf8[...]) }

    private static func isQuoted(_ text: Substring.UTF8View) -> Bool {
        text.first == quote && text.dropFirst().last == quote
    }

    private static let quote = UInt8(ascii: "\"")
}

/// Detects web pages in place of the requested object: error pages, login forms.
enum WebPage {
    /// Bytes of the body that suffice for detection.
    static let sniffBytes = 512

    static func isType(_ contentType: String?) -> Bool {
        guard
            let type = contentType?.utf8.prefix(while: {
                $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: " ")
            })
        else { return false }
        return ["text/html", "application/xhtml+xml"].contains {
            type.elementsEqual($0.utf8) { $0 == $1 || $0 | 0x20 == $1 && $1 >= 0x61 }
        }
    }

    /// Returns true for a body that starts like an HTML document, after a byte order mark, white
    /// space, comments and an XML declaration.
    static func isStart(_ bytes: some Sequence<UInt8>) -> Bool {
        var text = bytes.prefix(sniffBytes).map { $0 >= 0x41 && $0 <= 0x5A ? $0 + 0x20 : $0 }[...]
        if text.starts(with: [0xEF, 0xBB, 0xBF]) { text = text.dropFirst(3) }
        while true {
            text = text.drop { $0 == 0x20 || ($0 >= 0x09 && $0 <= 0x0D) }
            guard text.first == UInt8(ascii: "<") else { return false }
            if text.starts(with: "<!--".utf8) {
                guard let end = text.firstRange(of: "-->".utf8) else { return false }
                text = text[end.upperBound...]
            } else if text.starts(with: "<?xml".utf8) {
                guard let end = text.firstRange(of: "?>".utf8) else { return false }
                text = text[end.upperBound...]
            } else {
                return ["<!doctype html", "<html", "<head>", "<head "].contains {
                    text.starts(with: $0.utf8)
                }
            }
        }
    }

    /// Returns true if a URL's object may be a web page: its path has a page's extension or none.
    static func isExpected(at url: String) -> Bool {
        guard let ending = ending(of: url) else { return false }
        return ending.isEmpty
            || ["html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "cgi"].contains(
                ending)
    }

    /// Returns true if a URL names media, an image, subtitles or a manifest. Such an object is no
    /// page, whatever its content type.
    static func isMedia(at url: String) -> Bool { ending(of: url).map(media.contains) ?? false }

    private static let media: Set<String> = [
        "3gp", "aac", "ac3", "avi", "avif", "cmfa", "cmft", "cmfv", "dash", "ec3", "eac3", "flac",
        "flv", "gif",
        "heic", "ismv", "jpeg", "jpg", "key", "m2ts", "m3u8", "m4a", "m4f", "m4s", "m4v", "mkv",
        "mov", "mp3",
        "mp4", "mpd", "mpeg", "mpg", "mts", "mxf", "oga", "ogg", "ogv", "opus", "png", "srt", "ssa",
        "ass",
        "sub", "ts", "ttml", "dfxp", "vtt", "wav", "weba", "webm", "webp", "webvtt", "wmv",
    ]

    /// Returns the lower-case text after the last dot of a URL's last path component. Empty without
    /// a dot, nil for text that is no URL of a web server.
    private static func ending(of url: String) -> String? {
        var url = url
        return url.withUTF8 { bytes in
            guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
                bytes[(colon + 1)...].starts(with: "//".utf8)
            else { return nil }
            let rest = bytes[(colon + 3)...].prefix {
                $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
            }
            guard let slash = rest.lastIndex(of: UInt8(ascii: "/")),
                let dot = rest[slash...].lastIndex(of: UInt8(ascii: "."))
            else { return "" }
            return String(decoding: rest[(dot + 1)...], as: UTF8.self).lowercased()
        }
    }
}
