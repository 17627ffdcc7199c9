/// Reads an access log of a web server or a CDN, in pieces, and sums up what it says of the load.
///
/// nginx's and Apache's common and combined formats, with the request's time as a last field where
/// it was configured (`$request_time` in seconds, `%D` in microseconds, or `rt=0.123`); and
/// CloudFront's standard logs, by their `#Fields` line. Lines that are none of these are counted and
/// left out. Memory grows by some bytes for each minute that the log spans, and not with requests.
package struct AccessLog: Sendable {
    /// A line beyond this is left out.
    package static let longestLine = 64 << 10

    private var held: [UInt8] = []
    private var isSkipping = false
    private var fields: CloudFrontFields?
    private var load = AccessLogLoad()

    package init() {}

    /// Takes the next piece of the log. Throws when it spans more than four years.
    package mutating func read(_ piece: [UInt8]) throws(PlannerError) {
        var start = 0
        while let end = piece[start...].firstIndex(of: UInt8(ascii: "\n")) {
            if held.isEmpty, !isSkipping {
                try take(piece[start..<end])
            } else {
                if !isSkipping {
                    held += piece[start..<end]
                    try take(held[...])
                }
                held.removeAll(keepingCapacity: true)
                isSkipping = false
            }
            start = end + 1
        }
        if isSkipping { return }
        held += piece[start...]
        if held.count > Self.longestLine {
            held.removeAll(keepingCapacity: true)
            isSkipping = true
            load.countUnreadable()
        }
    }

    /// What the whole log says. Throws when it had no line of a known form.
    package mutating func finish() throws(PlannerError) -> AccessLogSummary {
        if !held.isEmpty { try take(held[...]) }
        held = []
        return try load.summary()
    }

    private mutating func take(_ line: ArraySlice<UInt8>) throws(PlannerError) {
        var line = line
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard let first = line.first, line.count <= Self.longestLine else {
            if !line.isEmpty { load.countUnreadable() }
            return
        }
        if first == UInt8(ascii: "#") {
            if let found = CloudFrontFields(line) { fields = found }
            return
        }
        let request = fields.map { $0.request(line) } ?? AccessLogRequest(combined: line)
        if let request { try load.add(request) } else { load.countUnreadable() }
    }
}

/// One line of an access log.
struct AccessLogRequest: Equatable {
    /// When it was logged, which is when it ended: seconds since 1970 in UTC.
    var time: Int
    /// How far the log's own clock is ahead of UTC, in seconds.
    var zoneSeconds = 0
    var bytes = 0.0
    /// Nil where the log does not say.
    var seconds: Double?
    /// Whether a cache answered; nil where the log does not say.
    var isHit: Bool?
}

// MARK: Common and combined

extension AccessLogRequest {
    /// `IP - USER [10/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" 200 2326 "REFERER" "AGENT" 0.123`;
    /// nil for anything else.
    init?(combined line: ArraySlice<UInt8>) {
        var cursor = ByteCursor(line)
        guard cursor.skip(past: "["), let (time, zone) = cursor.commonTime(),
            cursor.skip(past: "\""), cursor.skipQuoted(), cursor.number() != nil
        else { return nil }
        self.init(time: time, zoneSeconds: zone)
        // Apache writes a dash for no bytes.
        bytes = cursor.number() ?? 0
        // The first two in quotes are the referrer and the agent, which may hold anything.
        var quoted = 0
        while true {
            if cursor.isAtQuote { quoted += 1 }
            let isFree = !cursor.isAtQuote || quoted > 2
            guard let field = cursor.field() else { break }
            guard isFree, let value = Self.seconds(field) else { continue }
            seconds = value
            break
        }
    }

    /// `0.123` in seconds, `123456` in microseconds, each perhaps after a name and `=`.
    private static func seconds(_ field: ArraySlice<UInt8>) -> Double? {
        var digits = field
        if let sign = field.firstIndex(of: UInt8(ascii: "=")) { digits = field[(sign + 1)...] }
        guard let first = digits.first, isDigit(first) else { return nil }
        guard let value = Double(String(decoding: digits, as: UTF8.self)), value < 1e15 else {
            return nil
        }
        return digits.contains(UInt8(ascii: ".")) ? value : value / 1e6
    }
}

private func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

/// A place in a line.
private struct ByteCursor {
    private let line: ArraySlice<UInt8>
    private var place: Int

    init(_ line: ArraySlice<UInt8>) {
        self.line = line
        place = line.startIndex
    }

    mutating func skip(past byte: Unicode.Scalar) -> Bool {
        guard let found = line[place...].firstIndex(of: UInt8(ascii: byte)) else { return false }
        place = found + 1
        return true
    }

    /// To behind the quote that ends what is quoted; one after a backslash does not.
    mutating func skipQuoted() -> Bool {
        while place < line.endIndex {
            let byte = line[place]
            place += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return true }
        }
        place = line.endIndex
        return false
    }

    /// The digits after blanks; nil, and behind the word, where there are none.
    mutating func number() -> Double? {
        guard let field = field(), !field.isEmpty, field.count < 19, field.allSatisfy(isDigit)
        else { return nil }
        return field.reduce(0.0) { $0 * 10 + Double($1 - 0x30) }
    }

    /// Whether what comes next, behind blanks, is in quotes.
    var isAtQuote: Bool {
        line[place...].first { $0 != UInt8(ascii: " ") } == UInt8(ascii: "\"")
    }

    /// What stands between blanks, or between quotes (then without them, and never nil).
    mutating func field() -> ArraySlice<UInt8>? {
        while place < line.endIndex, line[place] == UInt8(ascii: " ") { place += 1 }
        guard place < line.endIndex else { return nil }
        let start = place
        if line[place] == UInt8(ascii: "\"") {
            place += 1
            _ = skipQuoted()
            // A quoted request time is still one.
            let end = max(start + 1, min(place, line.endIndex) - 1)
            return line[(start + 1)..<end]
        }
        while place < line.endIndex, line[place] != UInt8(ascii: " ") { place += 1 }
        return line[start..<place]
    }

    /// `10/Oct/2026:13:55:36 +0200`, to behind it.
    mutating func commonTime() -> (time: Int, zone: Int)? {
        guard line.endIndex - place >= 26 else { return nil }
        let month = (0..<12).first { line[(place + 3)..<(place + 6)].elementsEqual(monthNames[$0]) }
        guard let month, let day = whole(line, place, 2), let year = whole(line, place + 7, 4),
            let hour = whole(line, place + 12, 2), let minute = whole(line, place + 15, 2),
            let second = whole(line, place + 18, 2), let zoneHours = whole(line, place + 22, 2),
            let zoneMinutes = whole(line, place + 24, 2), yearsAllowed.contains(year)
        else { return nil }
        let isBehind = line[place + 21] == UInt8(ascii: "-")
        place += 26
        let size = zoneHours * 3_600 + zoneMinutes * 60
        let zone = isBehind ? -size : size
        let local = secondsSince1970(year, month + 1, day, hour, minute, second)
        return (local - zone, zone)
    }
}

private let monthNames = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
].map { Array($0.utf8) }
private let yearsAllowed = 1_990...2_199

/// The decimal number in `count` bytes from index `start`.
private func whole(_ text: ArraySlice<UInt8>, _ start: Int, _ count: Int) -> Int? {
    guard start + count <= text.endIndex else { return nil }
    var value = 0
    for byte in text[start..<(start + count)] {
        guard isDigit(byte) else { return nil }
        value = value * 10 + Int(byte - 0x30)
    }
    return value
}

/// Seconds of a date of the Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms").
private func secondsSince1970(
    _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int
) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let ofEra = shifted - era * 400
    let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let days = era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    return days * 86_400 + hour * 3_600 + minute * 60 + second
}

// MARK: CloudFront

/// Where the fields stand that matter in a CloudFront log.
struct CloudFrontFields: Sendable {
    private var date = -1
    private var time = -1
    private var bytes = -1
    private var seconds = -1
    private var result = -1

    /// Of `#Fields: date time x-edge-location sc-bytes …`; nil for another line.
    init?(_ line: ArraySlice<UInt8>) {
        let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.first == "#Fields:" else { return nil }
        for (index, word) in words.dropFirst().enumerated() {
            switch word {
            case "date": date = index
            case "time": time = index
            case "sc-bytes": bytes = index
            case "time-taken": seconds = index
            case "x-edge-result-type": result = index
            default: break
            }
        }
        guard date >= 0, time >= 0 else { return nil }
    }

    func request(_ line: ArraySlice<UInt8>) -> AccessLogRequest? {
        let values = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
        func text(_ index: Int) -> ArraySlice<UInt8>? {
            index >= 0 && index < values.count ? values[index] : nil
        }
        guard let day = text(date), let clock = text(time), day.count == 10, clock.count == 8,
            let year = whole(day, day.startIndex, 4), yearsAllowed.contains(year),
            let month = whole(day, day.startIndex + 5, 2), (1...12).contains(month),
            let date = whole(day, day.startIndex + 8, 2),
            let hour = whole(clock, clock.startIndex, 2),
            let minute = whole(clock, clock.startIndex + 3, 2),
            let second = whole(clock, clock.startIndex + 6, 2)
        else { return nil }
        var request = AccessLogRequest(
            time: secondsSince1970(year, month, date, hour, minute, second))
        func number(_ index: Int) -> Double? {
            text(index).flatMap { Double(String(decoding: $0, as: UTF8.self)) }
                .flatMap { $0 >= 0 && $0 < 1e15 ? $0 : nil }
        }
        request.bytes = number(bytes) ?? 0
        request.seconds = number(seconds)
        if let type = text(result).map({ String(decoding: $0, as: UTF8.self) }) {
            switch type {
            case "Hit", "RefreshHit", "OriginShieldHit": request.isHit = true
            case "Miss": request.isHit = false
            default: break
            }
        }
        return request
    }
}
