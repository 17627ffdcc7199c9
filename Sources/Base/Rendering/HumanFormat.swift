import Text

/// Formats numbers for readers.
package enum HumanFormat {
    /// Formats bytes: `950 B`, `12.3 KiB`, `4.00 GiB`, with three significant digits and powers of
    /// 1,024.
    package static func bytes(_ count: Int64) -> String { scaled(Double(count)) }

    /// Formats a rate: `12.3 MiB/s`.
    package static func rate(bytesPerSecond: Double) -> String {
        guard bytesPerSecond.isFinite, bytesPerSecond >= 0 else { return "–" }
        return scaled(bytesPerSecond) + "/s"
    }

    private static func scaled(_ count: Double) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
        var value = count
        var unit = 0
        // 999.5, not 1,024, so that the number has at most three digits.
        while value >= 999.5, unit < units.count - 1 {
            value /= 1_024
            unit += 1
        }
        let places = unit == 0 ? 0 : value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2
        return "\(fixed(value, places: places)) \(units[unit])"
    }

    /// Formats a duration: `0.4 s`, `12.3 s`, `4 min 05 s`, `3 h 20 min`, `2 d 04 h`.
    package static func duration(seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0 else { return "–" }
        if seconds < 59.95 { return "\(fixed(seconds, places: 1)) s" }
        let whole = Int(min(seconds, 1e12).rounded())
        if whole < 3_600 { return "\(whole / 60) min \(padTwo(whole % 60)) s" }
        if whole < 86_400 { return "\(whole / 3_600) h \(padTwo(whole % 3_600 / 60)) min" }
        return "\(whole / 86_400) d \(padTwo(whole % 86_400 / 3_600)) h"
    }

    /// Formats a short time for progress lines: `1:05`, `2:03:04`.
    package static func clock(seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 360_000 else { return "--:--" }
        let whole = Int(seconds.rounded())
        let tail = "\(padTwo(whole % 60))"
        if whole < 3_600 { return "\(whole / 60):\(tail)" }
        return "\(whole / 3_600):\(padTwo(whole % 3_600 / 60)):\(tail)"
    }

    /// Formats a count: `1,234,567`.
    package static func count(_ number: some BinaryInteger) -> String {
        let digits = String(number.magnitude)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { result.append(",") }
            result.append(digit)
        }
        return number < 0 ? "-" + result : result
    }

    /// Formats a count with its noun: `1 asset`, `2 assets`.
    package static func count(_ number: some BinaryInteger, _ noun: String) -> String {
        "\(count(number)) \(noun)\(number == 1 ? "" : "s")"
    }

    /// Formats `value` with exactly `places` decimals, without Foundation.
    package static func fixed(_ value: Double, places: Int) -> String {
        var factor = 1.0
        for _ in 0..<places { factor *= 10 }
        guard !value.isNaN else { return "–" }
        let scaled = Int64(min(max(value * factor, -9e18), 9e18).rounded())
        guard places > 0 else { return String(scaled) }
        let digits = padded(Int(scaled.magnitude), places + 1)
        let sign = scaled < 0 ? "-" : ""
        return "\(sign)\(digits.dropLast(places)).\(digits.suffix(places))"
    }

    private static func padTwo(_ number: Int) -> String { padded(number, 2) }
}
