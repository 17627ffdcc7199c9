/// Sizes and times in sentences, with three significant digits.
enum ShortText {
    /// Formats `98.2 kB`, `1.86 MB`.
    static func bytes(_ count: Double) -> String {
        let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"]
        var (value, unit) = (count, 0)
        while value >= 999.5, unit < units.count - 1 { (value, unit) = (value / 1_000, unit + 1) }
        return "\(Plan.rate(value)) \(units[unit])"
    }

    /// Formats `330 ms`, `12.5 s`.
    static func seconds(_ value: Double) -> String {
        value < 0.9995 ? "\(Plan.rate(value * 1_000)) ms" : "\(Plan.rate(value)) s"
    }
}
