import JSON
import Model

/// A line of an access log, for the file that it requests.
struct LoggedFile {
    /// Seconds since 1970.
    var time: Double
    /// Path, and perhaps a query.
    var target: ArraySlice<UInt8>
    /// Bytes that were sent.
    var bytes: Double
    /// A GET that was answered with the file, a part of it, or that it is unchanged.
    var isServed: Bool
    /// True if a cache answered; nil if the log does not show it.
    var isHit: Bool?

    static let servedStatuses: Set<Int> = [200, 206, 304]

    init(
        time: Double, target: ArraySlice<UInt8>, bytes: Double, isServed: Bool, isHit: Bool? = nil
    ) {
        self.time = time
        self.target = target
        self.bytes = bytes
        self.isServed = isServed
        self.isHit = isHit
    }

    /// Parses a line in the common or combined format; nil for any other line.
    init?(combined line: ArraySlice<UInt8>) {
        var cursor = ByteCursor(line)
        guard cursor.skip(past: "["), let (time, _) = cursor.commonTime(), cursor.skip(past: "]"),
            cursor.isAtQuote, let request = cursor.field(), let status = cursor.number()
        else { return nil }
        guard let (method, target) = Self.request(request) else { return nil }
        self.init(
            time: Double(time), target: target, bytes: cursor.number() ?? 0,
            isServed: method.elementsEqual("GET".utf8)
                && Self.servedStatuses.contains(Int(status)))
    }

    /// Splits `GET /path HTTP/1.1`.
    private static func request(
        _ text: ArraySlice<UInt8>
    ) -> (method: ArraySlice<UInt8>, target: ArraySlice<UInt8>)? {
        let words = text.split(separator: UInt8(ascii: " "), maxSplits: 2)
        return words.count >= 2 ? (words[0], words[1]) : nil
    }

    // MARK: JSON

    /// Parses an object of a line, with the names that nginx, Caddy, Traefik and Envoy give their
    /// values; nil for any other line.
    init?(json line: ArraySlice<UInt8>) {
        var fields = JSONLine()
        var cursor = JSONCursor(Array(line))
        guard (try? fields.read(&cursor)) != nil, let time = fields.time else { return nil }
        var method = fields.method.map { ArraySlice($0.utf8) }
        var target = fields.target.map { ArraySlice($0.utf8) }
        if target == nil, let request = fields.request.map({ ArraySlice($0.utf8) }),
            let parts = Self.request(request)
        {
            (method, target) = (parts.method, parts.target)
        }
        guard let target else { return nil }
        self.init(
            time: time, target: target, bytes: max(fields.bytes ?? 0, 0),
            isServed: method.map { $0.elementsEqual("GET".utf8) } ?? true
                && Self.servedStatuses.contains(fields.status ?? 200),
            isHit: fields.cache.flatMap(Self.isHit))
    }

    /// Returns what nginx and others log as a cache's status; nil for other words.
    private static func isHit(_ word: String) -> Bool? {
        switch word.lowercased() {
        case "hit", "stale", "updating", "revalidated": true
        case "miss", "expired", "bypass": false
        default: nil
        }
    }
}

/// The used values of a line in JSON.
private struct JSONLine {
    var time: Double?
    var target: String?
    var request: String?
    var method: String?
    var bytes: Double?
    var status: Int?
    var cache: String?

    mutating func read(_ cursor: inout JSONCursor) throws(Failure) {
        try cursor.object { (cursor, name, _) throws(Failure) in
            switch (name, try cursor.peek()) {
            case ("request", .object): try read(&cursor)
            case ("request", .string): request = try cursor.string()
            case ("uri", .string), ("request_uri", .string), ("path", .string),
                ("RequestPath", .string):
                target = try cursor.string()
            case ("method", .string), ("request_method", .string), ("RequestMethod", .string):
                method = try cursor.string()
            case ("status", _), ("response_code", _), ("DownstreamStatus", _):
                status = try Self.number(&cursor).flatMap { Int(exactly: $0) }
            case ("upstream_cache_status", .string), ("cache_status", .string),
                ("CacheCacheStatus", .string):
                cache = try cursor.string()
            case ("body_bytes_sent", _), ("bytes_sent", _), ("size", _),
                ("DownstreamContentSize", _):
                bytes = try Self.number(&cursor)
            case ("time_iso8601", _), ("time", _), ("timestamp", _), ("@timestamp", _),
                ("ts", _), ("msec", _), ("time_local", _), ("start_time", _), ("StartUTC", _):
                time = try Self.time(&cursor) ?? time
            default: try cursor.skip()
            }
        }
    }

    /// Reads a number, or one in quotes; nil for any other value.
    private static func number(_ cursor: inout JSONCursor) throws(Failure) -> Double? {
        switch try cursor.peek() {
        case .number: try cursor.decimalNumber("number", -1e18...1e18)
        case .string: Double(try cursor.string()).flatMap { abs($0) <= 1e18 ? $0 : nil }
        default: try skipped(&cursor)
        }
    }

    private static func skipped(_ cursor: inout JSONCursor) throws(Failure) -> Double? {
        try cursor.skip()
        return nil
    }

    /// Reads a time: seconds since 1970, `2026-10-10T13:55:36.5+02:00` or `10/Oct/2026:13:55:36
    /// +0200`.
    private static func time(_ cursor: inout JSONCursor) throws(Failure) -> Double? {
        guard try cursor.peek() == .string else { return try number(&cursor) }
        let text = try cursor.string()
        if let number = Double(text) { return number }
        let bytes = ArraySlice(text.utf8)
        var common = ByteCursor(bytes)
        if let (time, _) = common.commonTime() { return Double(time) }
        return LoggedFile.iso(bytes)
    }
}

extension LoggedFile {
    /// Reads `2026-10-10T13:55:36.5+02:00`, to the second.
    fileprivate static func iso(_ text: ArraySlice<UInt8>) -> Double? {
        let start = text.startIndex
        guard let year = wholeNumber(text, start, 4), let month = wholeNumber(text, start + 5, 2),
            let day = wholeNumber(text, start + 8, 2), let hour = wholeNumber(text, start + 11, 2),
            let minute = wholeNumber(text, start + 14, 2),
            let second = wholeNumber(text, start + 17, 2),
            let time = secondsSince1970(year, month, day, hour, minute, second)
        else { return nil }
        var rest = text[(start + 19)...]
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst().drop { isDigit($0) }
        }
        guard let sign = rest.first, sign != UInt8(ascii: "Z") else { return Double(time) }
        guard let hours = wholeNumber(rest, rest.startIndex + 1, 2) else { return nil }
        // `+02:00`, `+0200` or `+02`.
        let minutes = rest.count >= 5 ? wholeNumber(rest, rest.endIndex - 2, 2) ?? 0 : 0
        let offset = hours * 3_600 + minutes * 60
        return Double(sign == UInt8(ascii: "-") ? time + offset : time - offset)
    }
}
