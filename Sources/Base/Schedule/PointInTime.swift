import Glibc

/// Parses a point in time to seconds since 1970; returns nil if it is invalid.
///
/// Either RFC 3339 with a zone, optional seconds, and a T or a space (`2026-11-22T18:00Z`,
/// `2026-11-22 18:00:30+01:00`), or a time from `now` in seconds, minutes, hours or days (`45s`,
/// `90m`, `6h`, `2d`). Years 1970 to 9999.
package func pointInTime(_ text: String, now: Double) -> Double? {
    if let length = lengthOfTime(text) { return now + length }
    var rest = Substring(text)
    guard let year = number(&rest, 4, 1970...9999, after: nil),
        let month = number(&rest, 2, 1...12, after: "-"),
        let day = number(&rest, 2, 1...31, after: "-"),
        rest.first == "T" || rest.first == "t" || rest.first == " ",
        let hour = number(&rest, 2, 0...23, after: rest.first),
        let minute = number(&rest, 2, 0...59, after: ":")
    else { return nil }
    var second = 0
    if rest.first == ":" {
        guard let given = number(&rest, 2, 0...59, after: ":") else { return nil }
        second = given
    }
    guard let offset = zoneOffset(rest) else { return nil }
    var parts = tm()
    parts.tm_year = Int32(year - 1900)
    parts.tm_mon = Int32(month - 1)
    parts.tm_mday = Int32(day)
    parts.tm_hour = Int32(hour)
    parts.tm_min = Int32(minute)
    parts.tm_sec = Int32(second)
    let seconds = timegm(&parts)
    // timegm turns the 31st of April into the 1st of May.
    guard parts.tm_mday == Int32(day), seconds - offset >= 0 else { return nil }
    return Double(seconds - offset)
}

/// Parses a duration to seconds: `45s`, `90m`, `6h`, `2d`; returns nil if it is invalid.
package func lengthOfTime(_ text: String) -> Double? {
    guard let unit = text.last, let seconds = ["s": 1, "m": 60, "h": 3_600, "d": 86_400][unit],
        let count = Int(text.dropLast()), (0...1_000_000).contains(count),
        text.first?.isNumber == true
    else { return nil }
    return Double(count * seconds)
}

/// Returns the seconds east of UTC of `Z` or `±hh:mm`, without further text.
private func zoneOffset(_ text: Substring) -> Int? {
    if text == "Z" || text == "z" { return 0 }
    var rest = text
    guard let sign = rest.first, sign == "+" || sign == "-",
        let hours = number(&rest, 2, 0...23, after: sign),
        let minutes = number(&rest, 2, 0...59, after: ":"), rest.isEmpty
    else { return nil }
    return (sign == "-" ? -1 : 1) * (hours * 3_600 + minutes * 60)
}

/// Removes `after` and then `digits` digits from the start of `text`, and returns their number.
private func number(
    _ text: inout Substring, _ digits: Int, _ range: ClosedRange<Int>, after: Character?
) -> Int? {
    if let after {
        guard text.first == after else { return nil }
        text.removeFirst()
    }
    let taken = text.prefix(digits)
    guard taken.count == digits, taken.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = Int(taken), range.contains(number)
    else { return nil }
    text.removeFirst(digits)
    return number
}
