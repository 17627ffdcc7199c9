import Glibc

/// The vertical axis of a chart: from 0 in even steps, or logarithmic.
package struct ChartAxis {
    /// Values of the grid lines, the lowest first.
    package let ticks: [Double]
    private let isLogarithmic: Bool
    private let lower: Double
    private let upper: Double

    /// Creates an axis.
    ///
    /// - Parameters:
    ///   - lowest: the lowest value above 0, for a logarithmic axis.
    ///   - isWhole: true for counts, which have whole numbers only.
    ///   - lower: the position of the bottom; `upper` is that of the top.
    package init(
        lowest: Double, highest: Double, isLogarithmic: Bool, isWhole: Bool = false, lower: Double,
        upper: Double
    ) {
        self.isLogarithmic = isLogarithmic && lowest > 0 && highest.isFinite
        self.lower = lower
        self.upper = upper
        if self.isLogarithmic {
            let first = log10(lowest).rounded(.down)
            let last = max(log10(highest).rounded(.up), first + 1)
            ticks = stride(from: first, through: last, by: 1).map { pow(10, $0) }
        } else {
            let top = Self.roundTop(highest, isWhole: isWhole)
            let all = [0, 0.25, 0.5, 0.75, 1].map { $0 * top }
            ticks = isWhole ? all.filter { $0 == $0.rounded() || $0 == top } : all
        }
    }

    package func y(_ value: Double) -> Double {
        guard let first = ticks.first, let last = ticks.last else { return lower }
        let share =
            isLogarithmic
            ? log10(max(value, first) / first) / log10(last / first) : value / last
        return lower - min(max(share, 0), 1) * (lower - upper)
    }

    package func grid(left: Double, right: Double, _ format: (Double) -> String) -> String {
        ticks.map {
            SVG.line(left, y($0), right, y($0), "grid")
                + SVG.label(left - 8, y($0) + 4, Self.short(format($0)), anchor: "end")
        }.joined()
    }

    /// Removes trailing zeros of a fraction, which are not needed on an axis.
    package static func short(_ text: String) -> String {
        let number = text.prefix { $0.isNumber || $0 == "." || $0 == "," }
        guard number.contains(".") else { return text }
        var kept = number
        while kept.last == "0" { kept.removeLast() }
        if kept.last == "." { kept.removeLast() }
        return String(kept + text.dropFirst(number.count))
    }

    /// Returns the next number whose quarters are round, at most twice the value, and from 2 on at
    /// most half as much again.
    private static func roundTop(_ value: Double, isWhole: Bool) -> Double {
        guard value.isFinite, value > 0 else { return 1 }
        let power = pow(10, log10(value).rounded(.down))
        let tops = isWhole && power <= 1 ? [1, 2, 4, 6, 8] : [1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8]
        return tops.map { $0 * power }.first { $0 >= value } ?? power * 10
    }
}
