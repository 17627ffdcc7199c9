import Planner
import Runtime

/// Charts of a plan as SVG, drawn in the page's colours.
struct PlanCharts {
    let facts: PlanFacts
    private var plan: Plan { facts.plan }

    private static let width = 880.0

    private static func svg(_ height: Double, _ label: String, _ content: String) -> String {
        "<svg viewBox=\"0 0 \(number(width)) \(number(height))\" role=\"img\" aria-label=\""
            + "\(HTMLText.escaped(label))\">\n\(content)</svg>\n"
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() ? "\(Int(value))" : HumanFormat.fixed(value, places: 1)
    }

    private static func label(
        _ x: Double, _ y: Double, _ text: String, anchor: String = "start", name: String = ""
    ) -> String {
        "<text x=\"\(number(x))\" y=\"\(number(y))\" text-anchor=\"\(anchor)\""
            + (name.isEmpty ? "" : " class=\"\(name)\"") + ">\(HTMLText.escaped(text))</text>\n"
    }

    private static func rectangle(
        _ x: Double, _ y: Double, _ width: Double, _ height: Double, color: Int, tip: String
    ) -> String {
        "<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(max(width, 1)))\" height=\""
            + "\(number(height))\" rx=\"2\" fill=\"var(--s\(color % 8))\"><title>"
            + "\(HTMLText.escaped(tip))</title></rect>\n"
    }

    private static func line(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, _ name: String
    ) -> String {
        "<line x1=\"\(number(x1))\" y1=\"\(number(y1))\" x2=\"\(number(x2))\" y2=\"\(number(y2))\" "
            + "class=\"\(name)\"/>\n"
    }

    /// Bars from the left, one a row: name, length, what stands at its end.
    private static func bars(
        _ label: String, _ rows: [(name: String, value: Double, text: String)], color: Int = 0
    ) -> String {
        let (left, right, step) = (250.0, 110.0, 30.0)
        let most = rows.map { abs($0.value) }.max() ?? 1
        var content = ""
        for (index, row) in rows.enumerated() {
            let y = Double(index) * step
            let length = most > 0 ? abs(row.value) / most * (width - left - right) : 0
            content += Self.label(left - 10, y + 19, row.name, anchor: "end")
            content += rectangle(
                left, y + 5, length, 20, color: row.value < 0 ? 1 : color,
                tip: "\(row.name): \(row.text)")
            content += Self.label(left + length + 8, y + 19, row.text, name: "v")
        }
        return svg(Double(rows.count) * step + 4, label, content)
    }

    // MARK: Charts

    /// What is in use of everything that is bought today, month by month.
    var shares: String {
        let months = plan.growth.months
        guard let last = months.last?.month, last > 0 else { return "" }
        let resources = Growth.Resource.allCases.filter { resource in
            months.contains { $0.shares[resource.rawValue] != nil }
        }
        let all = months.flatMap { $0.shares.values }.filter(\.isFinite)
        let top = min(max(1.25, (all.max() ?? 1) * 1.05), 4)
        let (left, right, upper, lower) = (56.0, 190.0, 12.0, 300.0)
        func x(_ month: Int) -> Double {
            left + Double(month) / Double(last) * (Self.width - left - right)
        }
        func y(_ share: Double) -> Double { lower - min(share, top) / top * (lower - upper) }
        var content = ""
        let step = top > 2 ? 1.0 : 0.5
        for tick in stride(from: 0.0, through: top, by: step) {
            content += Self.line(left, y(tick), Self.width - right, y(tick), "grid")
            content += Self.label(left - 8, y(tick) + 4, Quantity.percent(tick), anchor: "end")
        }
        for month in stride(from: 0, through: last, by: max(1, last / 6)) {
            content += Self.label(x(month), lower + 18, "\(month)", anchor: "middle")
        }
        content += Self.line(left, y(1), Self.width - right, y(1), "limit")
        content += lines(resources, x, y)
        content += legend(resources, left: Self.width - right + 20)
        return HTMLText.figure(
            "In use of what is bought today, by month; the dashed line is all of it",
            Self.svg(lower + 26, "Use of each resource by month", content))
    }

    private func lines(
        _ resources: [Growth.Resource], _ x: (Int) -> Double, _ y: (Double) -> Double
    ) -> String {
        resources.enumerated().map { index, resource in
            let points = plan.growth.months.compactMap { month in
                month.shares[resource.rawValue].map {
                    "\(Self.number(x(month.month))),\(Self.number(y($0)))"
                }
            }
            return "<polyline points=\"\(points.joined(separator: " "))\" fill=\"none\" "
                + "stroke=\"var(--s\(index % 8))\" stroke-width=\"2.5\"/>\n"
        }.joined()
    }

    private func legend(_ resources: [Growth.Resource], left: Double) -> String {
        let last = plan.growth.months.last?.month ?? 0
        return resources.enumerated().map { index, resource in
            let y = 24 + Double(index) * 44
            let limit = plan.growth.limits.first { $0.resource == resource }
            return Self.rectangle(left, y - 10, 12, 12, color: index, tip: resource.rawValue)
                + Self.label(
                    left + 20, y, PlanFacts.resources[resource] ?? resource.rawValue, name: "v")
                + Self.label(
                    left + 20, y + 16, limit.map { PlanFacts.binds($0, months: last) } ?? "")
        }.joined()
    }

    /// Egress at the peak, a bar a month.
    var egress: String {
        let months = plan.growth.months
        guard let most = months.map(\.peakEgressBitsPerSecond).max(), most > 0, months.count > 1
        else { return "" }
        let (left, lower) = (84.0, 170.0)
        let step = (Self.width - left) / Double(months.count)
        var content = ""
        for part in [0.0, 0.5, 1] {
            let y = lower - part * 150
            content += Self.line(left, y, Self.width, y, "grid")
            content += Self.label(left - 8, y + 4, Quantity.bandwidth(most * part), anchor: "end")
        }
        for (index, month) in months.enumerated() {
            let height = month.peakEgressBitsPerSecond / most * 150
            content += Self.rectangle(
                left + Double(index) * step + 1, lower - height, step - 3, height, color: 0,
                tip: "month \(month.month): "
                    + "\(Quantity.bandwidth(month.peakEgressBitsPerSecond)), workers: "
                    + PlanFacts.number(month.workers))
            if index % 6 == 0 {
                content += Self.label(
                    left + (Double(index) + 0.5) * step, lower + 18, "\(month.month)",
                    anchor: "middle")
            }
        }
        return HTMLText.figure(
            "Egress at the peak, by month", Self.svg(lower + 26, "Egress by month", content))
    }

    /// Providers whose prices are all in one currency, a chart for each currency: amounts of
    /// different currencies have no common length.
    var costs: String {
        var byCurrency: [String: [(name: String, value: Double, text: String)]] = [:]
        for cost in plan.costs {
            let amounts = cost.perMonth.amounts.filter { $0.value > 0 }
            guard let only = amounts.first, amounts.count == 1 else { continue }
            byCurrency[only.key, default: []].append(
                (cost.name, only.value, "\(MoneyText.amount(only.value)) \(only.key)"))
        }
        return byCurrency.sorted { $0.key < $1.key }.map { currency, rows in
            HTMLText.figure(
                "A month in \(currency), of providers with all prices in it",
                Self.bars("Cost a month in \(currency)", rows.sorted { $0.value < $1.value }))
        }.joined()
    }

    /// Where figures lie, each over its own median.
    func ranges(_ uncertainty: Uncertainty) -> String {
        let rows = uncertainty.ranges.filter { $0.p50 > 0 }
        guard let most = rows.map({ $0.p90 / $0.p50 }).max(), !rows.isEmpty else { return "" }
        let (left, right, step) = (280.0, 250.0, 34.0)
        let top = max(1.5, most)
        func x(_ ratio: Double) -> Double { left + ratio / top * (Self.width - left - right) }
        var content = Self.line(x(1), 0, x(1), Double(rows.count) * step, "grid")
        for (index, row) in rows.enumerated() {
            let y = Double(index) * step
            let (low, high) = (x(row.p10 / row.p50), x(row.p90 / row.p50))
            let text = [row.p10, row.p50, row.p90].map { PlanFacts.figure($0, unit: row.unit) }
            content += Self.label(left - 10, y + 21, row.figure, anchor: "end")
            content += Self.rectangle(
                low, y + 10, high - low, 14, color: 0, tip: text.joined(separator: ", "))
            content += Self.rectangle(x(1) - 1.5, y + 5, 3, 24, color: 1, tip: text[1])
            content += Self.label(
                Self.width - right + 12, y + 21, "\(text[0]) – \(text[2])", name: "v")
        }
        return HTMLText.figure(
            "p10 to p90 of \(HumanFormat.count(uncertainty.draws)) draws; the line is the median",
            Self.svg(Double(rows.count) * step + 4, "Ranges", content))
    }

    /// The inputs that matter most, a chart a figure.
    func influences(_ uncertainty: Uncertainty) -> String {
        var figures: [String] = []
        for influence in uncertainty.influences where !figures.contains(influence.figure) {
            figures.append(influence.figure)
        }
        return figures.map { figure in
            let rows = uncertainty.influences.filter { $0.figure == figure }.map {
                influence -> (name: String, value: Double, text: String) in
                let size = HumanFormat.fixed(abs(influence.correlation), places: 2)
                return (
                    influence.input, influence.correlation,
                    (influence.correlation < 0 ? "−" : "+") + size
                )
            }
            return HTMLText.figure(
                "What matters most to \(figure): rank correlation",
                Self.bars("Influences on \(figure)", rows))
        }.joined()
    }
}
