import Rendering

/// A line chart over the seconds of a test, with the warm-up shaded.
struct TimeChart {
    struct Series {
        var name: String
        /// By second; nil without a value.
        var values: [Double?]
    }

    var caption: String
    var series: [Series]
    /// Start of each value.
    var seconds: [Int]
    /// End of the last value, whose second may be incomplete.
    var endSeconds: Double
    var warmUpSeconds: Double
    /// End of the load; nil if the test ended with it.
    var drainStartSeconds: Double?
    /// Formats a value.
    var format: (Double) -> String
    /// True for a logarithmic axis, which keeps usual values visible beside a peak.
    var isLogarithmic = false
    /// True for counts, whose axis has whole numbers only.
    var isWhole = false
    /// Merges adjacent values if there are too many seconds to draw.
    var merge: ([Double]) -> Double

    /// Maximum number of points of a line.
    private static let most = 600
    private static let (left, right, upper, lower) = (84.0, 24.0, 30.0, 210.0)

    /// The chart; empty if there is nothing to draw.
    var text: String {
        let shown = series.filter { $0.values.contains { $0 != nil } }
        guard seconds.count > 1, !shown.isEmpty else { return "" }
        let drawn = shown.map { ($0.name, points($0.values)) }
        let highest = drawn.flatMap { $0.1.map(\.value) }.filter(\.isFinite).max() ?? 0
        let lowest = drawn.flatMap { $0.1.map(\.value) }.filter { $0 > 0 }.min() ?? 0
        let axis = ChartAxis(
            lowest: lowest, highest: highest, isLogarithmic: isLogarithmic, isWhole: isWhole,
            lower: Self.lower, upper: Self.upper)
        var content = warmUp + drain
        content += axis.grid(left: Self.left, right: SVG.width - Self.right, format)
        content += clock
        // The first series is drawn last, so that it is on top.
        for (index, (_, points)) in drawn.enumerated().reversed() {
            content += SVG.polyline(points.map { (x($0.second), axis.y($0.value)) }, color: index)
        }
        content += drawn.indices.map { legend($0, of: drawn.map(\.0)) }.joined()
        return HTMLText.figure(caption, SVG.svg(Self.lower + 26, caption, content))
    }

    private var first: Double { Double(seconds.first ?? 0) }
    private var last: Double { endSeconds }

    private func x(_ second: Double) -> Double {
        Self.left + (second - first) / max(last - first, 1) * (SVG.width - Self.left - Self.right)
    }

    /// Returns values at the middle of their seconds.
    private func points(_ values: [Double?]) -> [(second: Double, value: Double)] {
        let parts = min(seconds.count, Self.most)
        return (0..<parts).compactMap { part in
            let range = part * seconds.count / parts..<(part + 1) * seconds.count / parts
            let known = values[range].compactMap(\.self)
            guard !known.isEmpty else { return nil }
            let end =
                range.upperBound < seconds.count ? Double(seconds[range.upperBound]) : endSeconds
            let middle = (Double(seconds[range.lowerBound]) + end) / 2
            return (middle, merge(known))
        }
    }

    private var warmUp: String {
        guard warmUpSeconds > first else { return "" }
        let end = x(min(warmUpSeconds, last))
        return "<rect x=\"\(SVG.number(Self.left))\" y=\"\(SVG.number(Self.upper))\" "
            + "width=\"\(SVG.number(end - Self.left))\" "
            + "height=\"\(SVG.number(Self.lower - Self.upper))\" "
            + "fill=\"var(--panel)\"><title>warm-up, excluded from the results</title></rect>\n"
            + SVG.label(Self.left + 6, Self.lower - 8, "warm-up")
    }

    private var drain: String {
        guard let start = drainStartSeconds, start < last else { return "" }
        return "<rect x=\"\(SVG.number(x(start)))\" y=\"\(SVG.number(Self.upper))\" "
            + "width=\"\(SVG.number(x(last) - x(start)))\" "
            + "height=\"\(SVG.number(Self.lower - Self.upper))\" "
            + "fill=\"var(--panel)\"><title>after the load: requests in progress "
            + "end</title></rect>\n"
            + SVG.label(x(last) - 6, Self.lower - 8, "no load", anchor: "end")
    }

    private var clock: String {
        let step = Self.steps.first { (last - first) / $0 <= 8 } ?? (last - first) / 8
        return stride(from: 0, through: last, by: step).filter { $0 >= first }.map {
            SVG.label(x($0), Self.lower + 18, HumanFormat.clock(seconds: $0), anchor: "middle")
        }.joined()
    }

    private static let steps: [Double] = [
        1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400,
    ]

    private func legend(_ index: Int, of names: [String]) -> String {
        // About seven units per character of the font.
        let before = names[..<index].reduce(0.0) { $0 + Double(TextLayout.width($1)) * 7 + 40 }
        let left = Self.left + before
        return SVG.rectangle(left, 6, 12, 12, color: index, tip: names[index])
            + SVG.label(left + 18, 16, names[index], name: "v")
    }
}
