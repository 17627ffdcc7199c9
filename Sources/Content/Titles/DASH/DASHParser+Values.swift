import Model
import Text
internal import XML

// State of the parser, and values of attributes.
extension DASHParser {
    func withPeriod(_ body: (inout DASHManifest.Period) -> Void) {
        let last = manifest.periods.count - 1
        if last >= 0 { body(&manifest.periods[last]) }
    }

    func withSet(_ body: (inout DASHManifest.AdaptationSet) -> Void) {
        withPeriod { period in
            let last = period.sets.count - 1
            if last >= 0 { body(&period.sets[last]) }
        }
    }

    func withRepresentation(_ body: (inout DASHManifest.Representation) -> Void) {
        withSet { set in
            let last = set.representations.count - 1
            if last >= 0 { body(&set.representations[last]) }
        }
    }

    func wrong(_ name: XMLText, _ value: XMLText, _ allowed: String) -> Failure {
        let shown = String(decoding: value.bytes.prefix(100), as: UTF8.self)
        return Failure(
            .manifestMalformed,
            "\(name.string) is \(Redaction.shown(shown)); \(allowed) is allowed")
    }

    /// Returns a text of at most the maximum length of a URL.
    func text(_ value: XMLText, _ name: XMLText) throws(Failure) -> String {
        guard value.bytes.count <= WireLimits.urlBytes else {
            throw wrong(name, value, "a text of up to \(WireLimits.urlBytes) bytes")
        }
        return value.string
    }

    /// Reads an attribute that segments do not depend on; nil if it is malformed.
    func optional<Value>(_ read: () throws(Failure) -> Value) throws(Failure) -> Value? {
        do throws(Failure) {
            return try read()
        } catch {
            try note(.dashAttribute) { error.message }
            return nil
        }
    }

    /// Parses a whole number, 0 or more.
    func number(_ value: XMLText, _ name: XMLText) throws(Failure) -> Int64 {
        if let number = Self.digits(value.bytes[...]) { return number }
        let failure = wrong(name, value, "a whole number of up to 18 digits")
        guard let number = Self.whole(value.bytes) else { throw failure }
        try note(.dashNumber) { failure.message }
        return number
    }

    /// Parses `90000.0`, or digits with white space around them.
    private static func whole(_ bytes: UnsafeRawBufferPointer) -> Int64? {
        guard bytes.count <= 100, let start = bytes.firstIndex(where: { $0 > ASCII.space }),
            let last = bytes.lastIndex(where: { $0 > ASCII.space })
        else { return nil }
        let text = bytes[start...last]
        guard let point = text.firstIndex(of: ASCII.dot) else { return digits(text) }
        let fraction = text[(point + 1)...]
        return fraction.allSatisfy { $0 == 0x30 } ? digits(text[..<point]) : nil
    }

    func positive(_ value: XMLText, _ name: XMLText) throws(Failure) -> Int64 {
        let number = try number(value, name)
        guard number > 0 else { throw wrong(name, value, "1 or more") }
        return number
    }

    func signed(_ value: XMLText, _ name: XMLText) throws(Failure) -> Int64 {
        guard value.bytes.first == ASCII.minus else { return try number(value, name) }
        guard let number = Self.digits(value.bytes.dropFirst()) else {
            throw wrong(name, value, "a whole number of up to 18 digits")
        }
        return -number
    }

    private static func digits(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int64? {
        guard (1...18).contains(bytes.count) else { return nil }
        var number: Int64 = 0
        for byte in bytes {
            guard ASCII.isDigit(byte) else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        return number
    }

    /// Parses a byte range; nil, for the whole file, if it is malformed.
    func range(_ value: XMLText, _ name: XMLText) throws(Failure) -> SegmentRange? {
        do throws(Failure) {
            return try wellFormedRange(value, name)
        } catch {
            try note(.dashRange) { error.message }
            return nil
        }
    }

    /// Parses `first-last`, or `first-` up to the end (RFC 9110, section 14.1.2).
    private func wellFormedRange(
        _ value: XMLText, _ name: XMLText
    ) throws(Failure) -> SegmentRange {
        let parts = value.bytes.split(separator: ASCII.minus, omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Self.digits(parts[0]) else {
            throw wrong(name, value, "a byte range, first-last,")
        }
        if parts[1].isEmpty { return SegmentRange(offset: first, length: nil) }
        guard let last = Self.digits(parts[1]), first <= last else {
            throw wrong(name, value, "a byte range, first-last,")
        }
        return SegmentRange(offset: first, length: last - first + 1)
    }

    /// Parses an xs:duration to nanoseconds, 0 or more.
    func duration(_ value: XMLText, _ name: XMLText) throws(Failure) -> Int64 {
        guard let nanoseconds = XMLTime.nanoseconds(duration: value.string) else {
            throw wrong(name, value, "a duration such as PT1H2M3.5S, of up to 285 years,")
        }
        return nanoseconds
    }

    /// Parses an xs:dateTime to seconds since 1970.
    func date(_ value: XMLText, _ name: XMLText) throws(Failure) -> Double {
        guard let seconds = XMLTime.seconds(dateTime: value.string) else {
            throw wrong(name, value, "a time such as 2026-01-31T23:59:59Z")
        }
        return seconds
    }
}

/// Parses times of XML Schema (part 2, 3.3.6 and 3.3.7).
enum XMLTime {
    private static let second: Int64 = 1_000_000_000

    /// Parses an xs:duration; nil if it is malformed, negative or longer than 285 years.
    ///
    /// Years and months have no fixed length: they count as 365 and 30 days, as in players.
    static func nanoseconds(duration text: String) -> Int64? {
        var bytes = Array(text.utf8)[...]
        guard bytes.count <= 64, bytes.popFirst() == UInt8(ascii: "P"), !bytes.isEmpty else {
            return nil
        }
        var total: Int64 = 0
        var isTime = false
        var units: [(name: UInt8, length: Int64)] = [
            (UInt8(ascii: "Y"), 365 * 86_400), (UInt8(ascii: "M"), 30 * 86_400),
            (UInt8(ascii: "D"), 86_400),
        ]
        while let byte = bytes.first {
            if byte == UInt8(ascii: "T") {
                guard !isTime, bytes.count > 1 else { return nil }
                isTime = true
                bytes.removeFirst()
                units = [
                    (UInt8(ascii: "H"), 3_600), (UInt8(ascii: "M"), 60), (UInt8(ascii: "S"), 1),
                ]
                continue
            }
            guard let (whole, fraction) = number(&bytes), let name = bytes.popFirst(),
                let index = units.firstIndex(where: { $0.name == name }),
                fraction == nil || name == UInt8(ascii: "S")
            else { return nil }
            let length = units[index].length
            units.removeFirst(index + 1)
            let (nanoseconds, isLarge) = whole.multipliedReportingOverflow(by: length * second)
            let (sum, isLarger) = total.addingReportingOverflow(nanoseconds)
            let (all, isLargest) = sum.addingReportingOverflow(fraction ?? 0)
            guard !isLarge, !isLarger, !isLargest, all <= 9_000_000_000 * second else {
                return nil
            }
            total = all
        }
        return total
    }

    /// Parses digits, and nanoseconds after a point.
    private static func number(_ bytes: inout ArraySlice<UInt8>) -> (Int64, Int64?)? {
        let digits = bytes.prefix(while: ASCII.isDigit)
        guard let whole = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
        bytes = bytes[digits.endIndex...]
        guard bytes.first == ASCII.dot else { return (whole, nil) }
        let decimals = bytes.dropFirst().prefix(while: ASCII.isDigit)
        guard !decimals.isEmpty else { return nil }
        bytes = bytes[decimals.endIndex...]
        var fraction: Int64 = 0
        var unit = second / 10
        for digit in decimals {
            fraction += Int64(digit - 0x30) * unit
            unit /= 10
        }
        return (whole, fraction)
    }

    /// Parses an xs:dateTime; without a time zone it is UTC (23009-1, 5.3.1.2).
    static func seconds(dateTime text: String) -> Double? {
        var bytes = Array(text.utf8)[...]
        guard bytes.count <= 64 else { return nil }
        func take(_ digits: Int, _ range: ClosedRange<Int>, then mark: Character?) -> Int? {
            guard let value = Int(String(decoding: bytes.prefix(digits), as: UTF8.self)),
                bytes.prefix(digits).allSatisfy(ASCII.isDigit), bytes.count >= digits,
                range.contains(value)
            else { return nil }
            bytes = bytes.dropFirst(digits)
            guard let mark else { return value }
            return bytes.popFirst() == mark.asciiValue ? value : nil
        }
        guard let year = take(4, 0...9_999, then: "-"), let month = take(2, 1...12, then: "-"),
            let day = take(2, 1...31, then: "T"), let hour = take(2, 0...24, then: ":"),
            let minute = take(2, 0...59, then: ":"), let whole = number(&bytes),
            whole.0 <= 60
        else { return nil }
        var zone = 0
        if let sign = bytes.popFirst(), sign != UInt8(ascii: "Z") {
            guard sign == ASCII.minus || sign == UInt8(ascii: "+"),
                let hours = take(2, 0...14, then: ":"), let minutes = take(2, 0...59, then: nil)
            else { return nil }
            zone = (hours * 60 + minutes) * (sign == ASCII.minus ? -60 : 60)
        }
        guard bytes.isEmpty else { return nil }
        let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 - zone
        return Double(seconds) + Double(whole.0) + Double(whole.1 ?? 0) / 1e9
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Years from March on, so that the leap day is the last.
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let ofEra = year - era * 400
        let ofYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
    }
}
