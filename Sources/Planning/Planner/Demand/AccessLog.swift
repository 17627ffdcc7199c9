/// Reads an access log of a web server or a CDN, in pieces, and sums up what it says of the load.
///
/// nginx's and Apache's common and combined formats, with the request's time behind them where it was
/// configured (`LoggedTime`); and CloudFront's standard logs, by their `#Fields` line. Lines that are
/// none of these are counted and left out. Memory grows by some bytes for each minute that the log
/// spans, and not with requests.
package struct AccessLog: Sendable {
    /// A line beyond this is left out.
    package static let longestLine = 64 << 10

    private var held: [UInt8] = []
    private var isSkipping = false
    private var fields: CloudFrontFields?
    private var load = AccessLogLoad()
    /// Requests from the first on whose time is a whole number, until it is known of what.
    private var undecided: [AccessLogRequest] = []
    private var wholeUnit: LoggedTime.Unit?

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

    /// Summarizes the whole log. Throws if no line has a known format.
    package mutating func finish() throws(PlannerError) -> AccessLogSummary {
        if !held.isEmpty { try take(held[...]) }
        held = []
        try decide()
        return try load.summary()
    }

    /// So many times are enough to tell seconds from microseconds.
    private static let decidingRequests = 1_000

    private mutating func add(_ request: AccessLogRequest) throws(PlannerError) {
        var request = request
        if let number = request.wholeTime {
            guard let wholeUnit else { return try hold(request) }
            request.seconds = wholeUnit.seconds(number)
        } else if !undecided.isEmpty {
            // In their order.
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
        if let request { try add(request) } else { load.countUnreadable() }
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
    /// A time whose unit one line does not tell.
    var wholeTime: Double?
    /// Whether a cache answered; nil if the log does not show it.
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
        var logged = LoggedTime()
        while true {
            let isQuoted = cursor.isAtQuote
            if isQuoted { quoted += 1 }
            guard let field = cursor.field() else { break }
            guard !isQuoted || quoted > 2 else { continue }
            // Behind the name of what stands behind it, a proxy says how that did.
            if !isQuoted, field.first == UInt8(ascii: "[") { break }
            logged.take(field)
        }
        seconds = logged.seconds
        wholeTime = logged.whole
    }
}

func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

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
        guard let month, let day = wholeNumber(line, place, 2),
            let year = wholeNumber(line, place + 7, 4),
            let hour = wholeNumber(line, place + 12, 2),
            let minute = wholeNumber(line, place + 15, 2),
            let second = wholeNumber(line, place + 18, 2),
            let zoneHours = wholeNumber(line, place + 22, 2),
            let zoneMinutes = wholeNumber(line, place + 24, 2), zoneHours < 24, zoneMinutes < 60,
            let local = secondsSince1970(year, month + 1, day, hour, minute, second)
        else { return nil }
        let isBehind = line[place + 21] == UInt8(ascii: "-")
        place += 26
        let size = zoneHours * 3_600 + zoneMinutes * 60
        let zone = isBehind ? -size : size
        return (local - zone, zone)
    }
}

private let monthNames = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
].map { Array($0.utf8) }
private let yearsAllowed = 1_990...2_199

/// The decimal number in `count` bytes from index `start`.
func wholeNumber(_ text: ArraySlice<UInt8>, _ start: Int, _ count: Int) -> Int? {
    guard start + count <= text.endIndex else { return nil }
    var value = 0
    for byte in text[start..<(start + count)] {
        guard isDigit(byte) else { return nil }
        value = value * 10 + Int(byte - 0x30)
    }
    return value
}

/// Seconds of a date of the Gregorian calendar (Hinnant, "chrono-compatible low-level date
/// algorithms"); nil for one that there is not. A leap second counts as the one after it.
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
