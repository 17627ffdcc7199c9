import Glibc
import Rendering
import Statistics

/// A chart of latency by percentile. The axis is logarithmic in the remaining fraction: each step
/// is a tenth of the previous one.
struct PercentileChart {
    var caption: String
    var series: [(name: String, histogram: Histogram)]

    private static let (left, right, upper, lower) = (84.0, 36.0, 30.0, 250.0)
    private static let ticks = [
        ("0 %", 0.0), ("90 %", 1), ("99 %", 2), ("99.9 %", 3), ("99.99 %", 4), ("99.999 %", 5),
    ]
    private static let points = 120

    var text: String {
        let shown = series.filter { !$0.histogram.isEmpty }
        let samples = shown.map(\.histogram.total).max() ?? 0
        guard samples > 1 else { return "" }
        // Up to the last significant sample, at least to 99.9 %.
        let decades = min(max(log10(Double(samples)), 3), 5)
        let axis = ChartAxis(
            lowest: Double(max(shown.compactMap(\.histogram.minimum).min() ?? 0, 1)),
            highest: Double(shown.compactMap(\.histogram.maximum).max() ?? 0),
            isLogarithmic: true, lower: Self.lower, upper: Self.upper)
        func x(_ decade: Double) -> Double {
            Self.left + decade / decades * (SVG.width - Self.left - Self.right)
        }
        var content = axis.grid(left: Self.left, right: SVG.width - Self.right) {
            LoadFormat.time(microseconds: $0)
        }
        for (name, decade) in Self.ticks where decade <= decades {
            content += SVG.line(x(decade), Self.upper, x(decade), Self.lower, "grid")
            let anchor = decade == 0 ? "start" : decade == decades ? "end" : "middle"
            content += SVG.label(x(decade), Self.lower + 18, name, anchor: anchor)
        }
        for (index, series) in shown.enumerated().reversed() {
            let points = (0...Self.points).map { step -> (x: Double, y: Double) in
                let decade = decades * Double(step) / Double(Self.points)
                let value = series.histogram.value(quantile: 1 - pow(10, -decade))
                return (x(decade), axis.y(Double(value)))
            }
            content += SVG.polyline(points, color: index)
            // About seven units per character of the font, as in `TimeChart`.
            let left = shown[..<index].reduce(Self.left) {
                $0 + Double(TextLayout.width($1.name)) * 7 + 40
            }
            content += SVG.rectangle(left, 6, 12, 12, color: index, tip: series.name)
            content += SVG.label(left + 18, 16, series.name, name: "v")
        }
        return HTMLText.figure(caption, SVG.svg(Self.lower + 26, caption, content))
    }
}
