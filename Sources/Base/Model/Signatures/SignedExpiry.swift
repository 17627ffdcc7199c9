/// Reads the expiry of a signed URL in the known forms.
///
/// They are decimal seconds or milliseconds since 1970, eight hex digits of seconds (`txTime`), and
/// Akamai's `exp=` among the fields of a token. Also a date with a lifetime (`X-Amz-Date` and
/// `X-Amz-Expires`, and those of other stores), Azure's `se`, `exp` of a JSON Web Token (RFC 7519,
/// 4.1.4), and the end of CloudFront's `Policy`.
package enum SignedExpiry {
    /// Returns seconds since 1970; nil if unknown.
    package static func seconds(of url: [UInt8]) -> Double? {
        let path = url.prefix { $0 != UInt8(ascii: "?") }
        let query = url[path.endIndex...].dropFirst()
        let parameters = fields(query, separatedBy: [UInt8(ascii: "&"), UInt8(ascii: ";")])
        let ends = parameters.compactMap { name, value -> Double? in
            if SignedNames.times.contains(name) || SignedNames.shortTimes.contains(name) {
                return time(value)
            }
            if name == "se" { return date(value) }
            if name == "policy" { return SignedDocument.policyExpiry(value) }
            return akamai(value) ?? SignedDocument.tokenExpiry(value)
        }
        let parts = fields(path, separatedBy: [UInt8(ascii: "/"), UInt8(ascii: ";")])
            .compactMap { name, value in name == "exp" ? time(value) : akamai(value) }
        let found = ends + parts + SignedNames.prefixes.compactMap { lifetime(parameters, $0) }
        return found.min()
    }

    private typealias Field = (name: String, value: String)

    private static func fields(_ text: ArraySlice<UInt8>, separatedBy separators: [UInt8])
        -> [Field]
    {
        text.split { separators.contains($0) }.map { field in
            let name = field.prefix { $0 != UInt8(ascii: "=") }
            let value = SignedNames.decoded(field[name.endIndex...].dropFirst())
            return (SignedNames.lowercased(name), String(decoding: value, as: UTF8.self))
        }
    }

    private static func lifetime(_ parameters: [Field], _ prefix: String) -> Double? {
        func value(_ name: String) -> String? {
            parameters.first { $0.name == prefix + name }?.value
        }
        guard let begin = value("date").flatMap(date),
            let life = value("expires").flatMap(Double.init)
        else { return nil }
        return begin + life
    }

    /// Parses `exp=1700000000~acl=/*~hmac=…`; for names such as `hdnts`, its first field is the
    /// value's own.
    private static func akamai(_ value: String) -> Double? {
        value.split(separator: "~").first { $0.hasPrefix("exp=") }.flatMap {
            time(String($0.dropFirst(4)))
        }
    }

    private static func time(_ value: String) -> Double? {
        // Of Akamai's fields in a path, the first one ends at a tilde.
        let digits = value.prefix { $0.isASCII && $0.isHexDigit }
        if digits.count >= 9, digits.count <= 14, let number = Double(digits) {
            return number >= 1e11 ? number / 1_000 : number
        }
        return digits.count == 8 ? UInt32(digits, radix: 16).map(Double.init) : nil
    }

    /// Parses `20261125T133000Z`, `2026-11-25T13:30:00Z`: in UTC, with any punctuation.
    private static func date(_ value: String) -> Double? {
        let digits = value.compactMap { $0.isASCII ? $0.wholeNumberValue : nil }
        guard digits.count >= 14 || digits.count == 8 else { return nil }
        func number(_ range: Range<Int>) -> Int {
            range.reduce(0) { $0 * 10 + ($1 < digits.count ? digits[$1] : 0) }
        }
        let month = number(4..<6)
        let day = number(6..<8)
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        // Days since 1970 of the proleptic Gregorian calendar (Hinnant, chrono-compatible
        // algorithms).
        let year = number(0..<4) - (month <= 2 ? 1 : 0)
        let era = year / 400
        let ofEra = year - era * 400
        let ofYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let days = era * 146_097 + ofEra * 365 + ofEra / 4 - ofEra / 100 + ofYear - 719_468
        return Double(
            days * 86_400 + number(8..<10) * 3_600 + number(10..<12) * 60 + number(12..<14))
    }
}
