import Glibc
import Rendering

/// A line chart over the loads of a search, with a logarithmic axis of loads.
struct LadderChart {
    struct Series {
        var name: String
        /// By load, the lowest first.
        var points: [(level: Double, value: Double)]
    }

    var caption: String
    var series: [Series]
    /// Formats a load.
    var name: (Double) -> String
    /// Formats a value.
    var format: (Double) -> String
    /// True for a logarithmic axis of values.
    var isLogarithmic = false

    private static let (left, right, upper, lower) = (84.0, 44.0, 30.0, 210.0)
    /// Fewest units between two labels of loads.
    private static let labelWidth = 84.0

    /// The chart; empty with fewer than two loads.
    var text: String {
        let shown = series.filter { $0.points.count > 1 }
        let levels = shown.flatMap { $0.points.map(\.level) }
        guard let first = levels.min(), let last = levels.max(), first > 0, last > first else {
            return ""
        }
        let values = shown.flatMap { $0.points.map(\.value) }.filter(\.isFinite)
        let axis = ChartAxis(
            lowest: values.filter { $0 > 0 }.min() ?? 0, highest: values.max() ?? 0,
            isLogarithmic: isLogarithmic, lower: Self.lower, upper: Self.upper)
        func x(_ level: Double) -> Double {
            Self.left + log(level / first) / log(last / first)
                * (SVG.width - Self.left - Self.right)
        }
        var content = axis.grid(left: Self.left, right: SVG.width - Self.right, format)
        var labelled = -Double.infinity
        for level in Set(levels).sorted() where x(level) >= labelled + Self.labelWidth {
            labelled = x(level)
            content += SVG.label(x(level), Self.lower + 18, name(level), anchor: "middle")
        }
        // The first series is drawn last, so that it is on top.
        for (index, series) in shown.enumerated().reversed() {
            let points = series.points.map { (x: x($0.level), y: axis.y($0.value)) }
            content += SVG.polyline(points, color: index)
            for (point, value) in zip(points, series.points) {
                content += SVG.rectangle(
                    point.x - 3, point.y - 3, 6, 6, color: index,
                    tip: "\(name(value.level)), \(series.name): \(format(value.value))")
            }
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
