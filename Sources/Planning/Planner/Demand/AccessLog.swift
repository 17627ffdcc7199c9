/// Reads an access log of a web server or a CDN, in chunks, and summarizes its load.
///
/// It reads the common and combined formats of nginx and Apache, with an optional request time at
/// the end (`LoggedTime`), and CloudFront's standard logs by their `#Fields` line. Other lines are
/// counted and skipped. Memory grows by some bytes per minute of the log, not with requests.
package struct AccessLog: Sendable {
    /// Maximum length of a line; longer ones are skipped.
    package static let longestLine = LogLines.longestLine

    private var lines = LogLines()
    private var fields: CloudFrontFields?
    private var load = AccessLogLoad()
    /// First requests with a whole number as time, held until its unit is known.
    private var undecided: [AccessLogRequest] = []
    private var wholeUnit: LoggedTime.Unit?

    package init() {}

    /// Adds the next chunk of the log. Throws if it spans more than four years.
    package mutating func read(_ piece: [UInt8]) throws(PlannerError) {
        var lines = LogLines()
        swap(&lines, &self.lines)
        try lines.read(piece) { line throws(PlannerError) in try take(line) }
        swap(&lines, &self.lines)
    }

    /// Ends a log: another one, of another server or of another time, may follow.
    package mutating func endLog() throws(PlannerError) {
        var lines = LogLines()
        swap(&lines, &self.lines)
        try lines.finish { line throws(PlannerError) in try take(line) }
        try decide()
        (fields, wholeUnit) = (nil, nil)
        load.endLog()
    }

    /// Summarizes all logs. Throws if no line has a known format.
    package mutating func finish() throws(PlannerError) -> AccessLogSummary {
        try endLog()
        return try load.summary()
    }

    /// Number of times that suffice to distinguish seconds from microseconds.
    private static let decidingRequests = 1_000

    private mutating func add(_ request: AccessLogRequest) throws(PlannerError) {
        var request = request
        if let number = request.wholeTime {
            guard let wholeUnit else { return try hold(request) }
            request.seconds = wholeUnit.seconds(number)
        } else if !undecided.isEmpty {
            // Keeps the order.
            return try hold(request)
        }
        try load.add(request)
    }

    private mutating func hold(_ request: AccessLogRequest) throws(PlannerError) {
        undecided.append(request)
        if undecided.count == Self.decidingRequests { try decide() }
    }

    private mutating func decide() throws(PlannerError) {
        guard !undecided.isEmpty else { return }
        wholeUnit = LoggedTime.unit(of: undecided.compactMap(\.wholeTime))
        let waiting = undecided
        undecided = []
        for request in waiting { try add(request) }
    }

    private mutating func take(_ line: ArraySlice<UInt8>?) throws(PlannerError) {
        guard let line, let first = line.first else { return load.countUnreadable() }
        if first == UInt8(ascii: "#") {
            if let found = CloudFrontFields(line) { fields = found }
            return
        }
        let request = fields.map { $0.request(line) } ?? AccessLogRequest(combined: line)
        if let request { try add(request) } else { load.countUnreadable() }
    }
}

/// One line of an access log.
struct AccessLogRequest: Equatable {
    /// Logging time, which is the end of the request: seconds since 1970 in UTC.
    var time: Int
    /// Offset of the log's time zone from UTC, in seconds.
    var zoneSeconds = 0
    var bytes = 0.0
    /// Nil if the log does not contain it.
    var seconds: Double?
    /// A time whose unit a single line does not show.
    var wholeTime: Double?
    /// True if a cache answered; nil if the log does not show it.
    var isHit: Bool?
}

// MARK: Common and combined

extension AccessLogRequest {
    /// Parses `IP - USER [10/Oct/2026:13:55:36 +0200] "GET / HTTP/1.1" 200 2326 "REFERER" "AGENT"
    /// 0.123`; nil for any other line.
    init?(combined line: ArraySlice<UInt8>) {
        var cursor = ByteCursor(line)
        guard cursor.skip(past: "["), let (time, zone) = cursor.commonTime(),
            cursor.skip(past: "\""), cursor.skipQuoted(), cursor.number() != nil
        else { return nil }
        self.init(time: time, zoneSeconds: zone)
        // Apache writes a dash for no bytes.
        bytes = cursor.number() ?? 0
        // The first two in quotes are the referrer and the agent, which may contain anything.
        var quoted = 0
        var logged = LoggedTime()
        while true {
            let isQuoted = cursor.isAtQuote
            if isQuoted { quoted += 1 }
            guard let field = cursor.field() else { break }
            guard !isQuoted || quoted > 2 else { continue }
            // Fields after an upstream name describe the upstream, as a proxy logs it.
            if !isQuoted, field.first == UInt8(ascii: "[") { break }
            logged.take(field)
        }
        seconds = logged.seconds
        wholeTime = logged.whole
    }
}

func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

/// A position in a line.
struct ByteCursor {
    private let line: ArraySlice<UInt8>
    private var index: Int

    init(_ line: ArraySlice<UInt8>) {
        self.line = line
        index = line.startIndex
    }

    mutating func skip(past byte: Unicode.Scalar) -> Bool {
        guard let found = line[index...].firstIndex(of: UInt8(ascii: byte)) else { return false }
        index = found + 1
        return true
    }

    /// Skips to the position after the closing quote; a backslash escapes a quote.
    mutating func skipQuoted() -> Bool {
        while index < line.endIndex {
            let byte = line[index]
            index += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return true }
        }
        index = line.endIndex
        return false
    }

    /// Reads the digits after blanks; nil, after the word, if there are none.
    mutating func number() -> Double? {
        guard let field = field(), !field.isEmpty, field.count < 19, field.allSatisfy(isDigit)
        else { return nil }
        return field.reduce(0.0) { $0 * 10 + Double($1 - 0x30) }
    }

    /// True if the next field is quoted.
    var isAtQuote: Bool {
        line[index...].first { $0 != UInt8(ascii: " ") } == UInt8(ascii: "\"")
    }

    /// Reads a field between blanks or quotes; quoted ones are returned without quotes and are
    /// never nil.
    mutating func field() -> ArraySlice<UInt8>? {
        while index < line.endIndex, line[index] == UInt8(ascii: " ") { index += 1 }
        guard index < line.endIndex else { return nil }
        let start = index
        if line[index] == UInt8(ascii: "\"") {
            index += 1
            _ = skipQuoted()
            // A quoted request time is accepted.
            let end = max(start + 1, min(index, line.endIndex) - 1)
            return line[(start + 1)..<end]
        }
        while index < line.endIndex, line[index] != UInt8(ascii: " ") { index += 1 }
        return line[start..<index]
    }

    /// Reads `10/Oct/2026:13:55:36 +0200`.
    mutating func commonTime() -> (time: Int, zone: Int)? {
        guard line.endIndex - index >= 26 else { return nil }
        let month = (0..<12).first { line[(index + 3)..<(index + 6)].elementsEqual(monthNames[$0]) }
        guard let month, let day = wholeNumber(line, index, 2),
            let year = wholeNumber(line, index + 7, 4),
            let hour = wholeNumber(line, index + 12, 2),
            let minute = wholeNumber(line, index + 15, 2),
            let second = wholeNumber(line, index + 18, 2),
            let zoneHours = wholeNumber(line, index + 22, 2),
            let zoneMinutes = wholeNumber(line, index + 24, 2), zoneHours < 24, zoneMinutes < 60,
            let local = secondsSince1970(year, month + 1, day, hour, minute, second)
        else { return nil }
        let isBehind = line[index + 21] == UInt8(ascii: "-")
        index += 26
        let size = zoneHours * 3_600 + zoneMinutes * 60
        let zone = isBehind ? -size : size
        return (local - zone, zone)
    }
}

private let monthNames = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
].map { Array($0.utf8) }
private let yearsAllowed = 1_990...2_199

/// Reads the decimal number in `count` bytes from index `start`.
func wholeNumber(_ text: ArraySlice<UInt8>, _ start: Int, _ count: Int) -> Int? {
    guard start + count <= text.endIndex else { return nil }
    var value = 0
    for byte in text[start..<(start + count)] {
        guard isDigit(byte) else { return nil }
        value = value * 10 + Int(byte - 0x30)
    }
    return value
}

/// Returns the seconds of a Gregorian date (Hinnant, "chrono-compatible low-level date
/// algorithms"); nil for an invalid one. A leap second counts as the next second.
func secondsSince1970(
    _ year: Int, _ month: Int, _ day: Int, _ hour: Int, _ minute: Int, _ second: Int
) -> Int? {
    guard yearsAllowed.contains(year), (1...12).contains(month), day >= 1,
        day <= daysIn(month: month, of: year), (0...23).contains(hour),
        (0...59).contains(minute), (0...60).contains(second)
    else { return nil }
    let shifted = month <= 2 ? year - 1 : year
    let era = shifted / 400
    let ofEra = shifted - era * 400
    let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let days = era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    return days * 86_400 + hour * 3_600 + minute * 60 + second
}

private func daysIn(month: Int, of year: Int) -> Int {
    if month == 2 {
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    }
    return [4, 6, 9, 11].contains(month) ? 30 : 31
}
