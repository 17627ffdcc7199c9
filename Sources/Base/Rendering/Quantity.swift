import Model

/// Formats quantities with three significant digits and powers of 1,000.
package enum Quantity {
    /// Formats a bandwidth: `4.66 Mbit/s`.
    ///
    /// - Parameter isMeasured: true for `5.00 Mbit/s` instead of `5 Mbit/s`.
    package static func bandwidth(_ bitsPerSecond: Double, isMeasured: Bool = false) -> String {
        scaled(
            bitsPerSecond, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "Pbit/s"], isMeasured)
    }

    /// Formats bytes: `12.8 TB`.
    ///
    /// - Parameter isMeasured: true for `5.00 MB` instead of `5 MB`.
    package static func bytes(_ count: Double, isMeasured: Bool = false) -> String {
        scaled(count, ["B", "kB", "MB", "GB", "TB", "PB", "EB"], isMeasured)
    }

    private static func scaled(
        _ value: Double, _ units: [String], _ isMeasured: Bool
    ) -> String {
        guard value.isFinite else { return "–" }
        var value = value
        var unit = 0
        while value >= 999.5, unit < units.count - 1 {
            value /= 1_000
            unit += 1
        }
        return "\(isMeasured && unit > 0 ? measured(value) : digits(value)) \(units[unit])"
    }

    /// Formats a rate: `56.2/s`.
    package static func rate(_ perSecond: Double) -> String { "\(digits(perSecond))/s" }

    /// Formats three significant digits with grouped thousands; `0.0123` for small values.
    package static func digits(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        let size = abs(value)
        if size >= 99.95 { return HumanFormat.count(Int64(saturating: value.rounded())) }
        if value == value.rounded() { return String(Int(value)) }
        if size < 0.01, size > 0 { return small(value) }
        return HumanFormat.fixed(value, places: size >= 9.995 ? 1 : size >= 0.995 ? 2 : 3)
    }

    /// Formats as `digits` does, but whole numbers keep their zeros, which show the precision.
    package static func measured(_ value: Double) -> String {
        guard value.isFinite, value == value.rounded(), value != 0, abs(value) < 99.95 else {
            return digits(value)
        }
        return HumanFormat.fixed(value, places: abs(value) >= 9.995 ? 1 : 2)
    }

    /// Formats values below a hundredth: two digits, or an upper bound for tiny ones.
    private static func small(_ value: Double) -> String {
        guard abs(value) >= 0.000_1 else { return "under 0.0001" }
        return HumanFormat.fixed(value, places: abs(value) < 0.001 ? 5 : 4)
    }

    /// Formats a ratio: `33 %`.
    package static func percent(_ share: Double) -> String {
        guard share.isFinite else { return "–" }
        let percent = share * 100
        return percent > 0 && percent < 0.95
            ? "\(HumanFormat.fixed(max(percent, 0.1), places: 1)) %"
            : "\(HumanFormat.count(Int64(saturating: percent.rounded()))) %"
    }

    /// Formats seconds: `12 ms`, `1.50 s`, `2 h 05 min`.
    package static func seconds(_ value: Double?) -> String {
        guard let value, value.isFinite else { return "no end" }
        if value == 0 { return "0 s" }
        if value < 0.000_95 { return "under 1 ms" }
        if value < 0.995 { return "\(digits((value * 10_000).rounded() / 10)) ms" }
        return value < 59.95 ? "\(digits(value)) s" : HumanFormat.duration(seconds: value)
    }

    /// Formats hours: `2 h 05 min`, or `no end`.
    package static func hours(_ value: Double?) -> String {
        value.map { HumanFormat.duration(seconds: $0 * 3_600) } ?? "no end"
    }

    /// Formats an estimate: `0.33`, or `0.33 (0.25 to 0.4)`.
    package static func estimate(
        low: Double, likely: Double, high: Double, unit: String
    ) -> String {
        let suffix = unit.isEmpty ? "" : " \(unit)"
        let middle = exact(likely)
        return low == high
            ? middle + suffix : "\(middle)\(suffix) (\(exact(low)) to \(exact(high)))"
    }

    /// Formats all significant digits.
    private static func exact(_ value: Double) -> String {
        if value == value.rounded(), abs(value) < 1e15 { return HumanFormat.count(Int64(value)) }
        return abs(value) >= 1_000 && abs(value) < 1e15
            ? HumanFormat.count(Int64(value.rounded())) : "\(value)"
    }
}
