internal import Glibc

/// Times as signatures and answers have them.
enum SigningTime {
    /// Returns `20130524T000000Z` of seconds since 1970.
    static func text(_ seconds: Int64) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func digits(_ value: Int32, _ count: Int = 2) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(count - text.count, 0)) + text
        }
        return digits(parts.tm_year + 1900, 4) + digits(parts.tm_mon + 1) + digits(parts.tm_mday)
            + "T" + digits(parts.tm_hour) + digits(parts.tm_min) + digits(parts.tm_sec) + "Z"
    }

    /// Returns the seconds since 1970 of `2026-05-24T00:00:00.000Z`; nil for other text.
    static func seconds(_ text: String) -> Int64? {
        let fields = text.utf8.prefix(19).split { "-T:".utf8.contains($0) }
        let numbers = fields.compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
        guard numbers.count == 6, text.utf8.count >= 20 else { return nil }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (
            numbers[0] - 1900, numbers[1] - 1, numbers[2]
        )
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
        return Int64(timegm(&parts))
    }
}
