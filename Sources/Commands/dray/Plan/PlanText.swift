import FoundationEssentials
import Rendering

/// Formats the numbers of `dray plan`'s calculators.
enum PlanText {
    /// Formats four significant digits: `0.0578`, `21.85`, `12,345`; `∞` for infinity.
    static func number(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "–" : "∞" }
        let size = abs(value)
        if value == value.rounded(), size < 1e15 { return HumanFormat.count(Int(value)) }
        if size >= 1e15 || size < 1e-4 {
            var exponent = 0
            var mantissa = value
            while abs(mantissa) >= 9.9995 { (mantissa, exponent) = (mantissa / 10, exponent + 1) }
            while abs(mantissa) < 0.99995 { (mantissa, exponent) = (mantissa * 10, exponent - 1) }
            return "\(HumanFormat.fixed(mantissa, places: 3))e\(exponent)"
        }
        if size >= 999.95 { return HumanFormat.count(Int(value.rounded())) }
        let places =
            size >= 99.995 ? 1 : size >= 9.9995 ? 2 : size >= 0.1 ? 3 : size >= 0.01 ? 4 : 6
        return HumanFormat.fixed(value, places: places)
    }

    /// Formats `0 s`, `1.250 ms`, `12.30 s` or `4 min 05 s`; `∞` for an infinite wait.
    static func seconds(_ value: Double) -> String {
        guard value.isFinite else { return "∞" }
        if value == 0 { return "0 s" }
        if value < 1e-3 { return "\(number(value * 1e6)) µs" }
        if value < 0.9995 { return "\(number(value * 1e3)) ms" }
        return value < 59.95 ? "\(number(value)) s" : HumanFormat.duration(seconds: value)
    }

    /// Returns nil for infinity, which JSON lacks.
    static func finite(_ value: Double?) -> Double? { value.flatMap { $0.isFinite ? $0 : nil } }

    static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
    }
}
