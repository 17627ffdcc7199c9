import LoadModel
import Model
import Rendering
import Text

/// Formats figures of a load test for readers; missing numbers are a dash.
enum LoadFormat {
    static let none = "–"

    /// Formats a time: `850 µs`, `12.3 ms`, `1.27 s`, `2 min 05 s`.
    ///
    /// - Parameter isMeasured: true for `4.00 ms` instead of `4 ms`, which shows the precision.
    static func time(microseconds: Double, isMeasured: Bool = true) -> String {
        guard microseconds.isFinite, microseconds >= 0 else { return none }
        func digits(_ value: Double) -> String {
            isMeasured ? Quantity.measured(value) : Quantity.digits(value)
        }
        if microseconds < 999.5 { return "\(Quantity.digits(microseconds.rounded())) µs" }
        if microseconds < 999_500 { return "\(digits(microseconds / 1_000)) ms" }
        if microseconds < 59_950_000 { return "\(digits(microseconds / 1_000_000)) s" }
        return HumanFormat.duration(seconds: microseconds / 1_000_000)
    }

    static func time(_ microseconds: Int64?) -> String {
        microseconds.map { time(microseconds: Double($0)) } ?? none
    }

    /// Formats a specified time briefly: `30 s`, `1.5 s`, `2 min 30 s`.
    static func seconds(_ value: Double) -> String {
        guard value.isFinite, value >= 0 else { return none }
        if value > 0, value < 0.999_5 {
            return time(microseconds: value * 1_000_000, isMeasured: false)
        }
        return value < 59.95
            ? "\(value == value.rounded() ? "\(Int(saturating: value))" : Quantity.digits(value)) s"
            : HumanFormat.duration(seconds: value)
    }

    /// Formats a ratio: `0.02 %`, `1.25 %`, `33 %`, `100 %`. Rounding never yields 0 % or 100 % for
    /// other values.
    static func percent(_ share: Double?) -> String {
        guard let share, share.isFinite else { return none }
        let percent = share * 100
        let whole = percent.rounded()
        if abs(percent - whole) < 1e-9, whole <= 100, whole > 0 || percent <= 0 {
            return "\(Int(saturating: max(whole, 0))) %"
        }
        if percent < 0.001 { return "under 0.001 %" }
        if share < 1, percent > 99.99 { return "over 99.99 %" }
        if percent < 9.995 || (share < 1 && percent > 99) {
            return "\(HumanFormat.fixed(percent, places: percent < 0.1 ? 3 : 2)) %"
        }
        return "\(HumanFormat.fixed(percent, places: percent < 99.95 ? 1 : 0)) %"
    }

    static func count(_ number: Int64) -> String { HumanFormat.count(number) }

    /// Formats cores: `2 cores`, `0.5 cores`.
    static func cores(_ count: Double) -> String {
        if let whole = Int64(exactly: count) { return HumanFormat.count(whole, "core") }
        return "\(HumanFormat.fixed(count, places: 2)) cores"
    }

    static func rate(_ perSecond: Double?) -> String {
        perSecond.map { "\(Quantity.measured($0))/s" } ?? none
    }

    /// Formats a measured count: `15.0 MB`.
    static func bytes(_ count: Int64) -> String { Quantity.bytes(Double(count), isMeasured: true) }

    static func bandwidth(_ bitsPerSecond: Double?) -> String {
        bitsPerSecond.map { Quantity.bandwidth($0, isMeasured: true) } ?? none
    }

    /// Formats a value in the unit of a metric.
    static func value(_ value: Double?, of unit: LoadMetric.Unit) -> String {
        guard let value else { return none }
        return switch unit {
        case .microseconds: time(microseconds: value)
        case .count: Quantity.digits(value)
        case .millionths: percent(value / 1_000_000)
        case .kilobitsPerSecond: bandwidth(value * 1_000)
        }
    }

    /// Formats a value in the unit of a figure.
    static func value(_ value: Double?, of figure: LoadFigure) -> String {
        switch figure {
        case .quantile(let metric, _), .mean(let metric), .maximum(let metric):
            Self.value(value, of: metric.unit)
        case .errorRate, .rebufferRatio, .lateSegmentRatio, .failedViewerRatio, .lateSendRatio,
            .missedSendRatio:
            percent(value)
        case .requestRate: rate(value)
        case .throughput: bandwidth(value)
        }
    }

    /// Returns a name for display; URLs in it are redacted.
    static func name(_ text: String) -> String { printable(redacted(url: text)) }

    /// Draws a sparkline of at most `columns` characters; `merge` combines adjacent values if there
    /// are more.
    static func sparkline(
        _ values: [Double], columns: Int, usesUnicode: Bool, merge: ([Double]) -> Double
    ) -> String {
        let levels = Array(usesUnicode ? "▁▂▃▄▅▆▇█" : "_.-:=+*#")
        let merged = Self.merged(values, to: columns, merge)
        let most = merged.max() ?? 0
        return String(
            merged.map { value in
                let share = most > 0 ? min(max(value / most, 0), 1) : 0
                return levels[Int((share * Double(levels.count - 1)).rounded())]
            })
    }

    /// Merges values in even parts to at most `count`.
    static func merged(_ values: [Double], to count: Int, _ merge: ([Double]) -> Double) -> [Double]
    {
        guard values.count > count, count > 0 else { return values }
        return (0..<count).map { part in
            merge(Array(values[part * values.count / count..<(part + 1) * values.count / count]))
        }
    }

    static func mean(_ values: [Double]) -> Double {
        values.isEmpty ? 0 : values.reduce(0, +) / Double(values.count)
    }

    static func most(_ values: [Double]) -> Double { values.max() ?? 0 }
}
