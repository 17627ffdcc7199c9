import Model
import Planner
import Rendering

/// Charts of a plan as SVG, drawn in the page's colours.
struct PlanCharts {
    let facts: PlanFacts
    private var plan: Plan { facts.plan }

    private static let legendStep = 40.0

    /// Charts the use of the present capacity, month by month.
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
            left + Double(month) / Double(last) * (SVG.width - left - right)
        }
        func y(_ share: Double) -> Double { lower - min(share, top) / top * (lower - upper) }
        var content = ""
        let step = top > 2 ? 1.0 : 0.5
        for tick in stride(from: 0.0, through: top, by: step) {
            content += SVG.line(left, y(tick), SVG.width - right, y(tick), "grid")
            content += SVG.label(left - 8, y(tick) + 4, Quantity.percent(tick), anchor: "end")
        }
        for month in stride(from: 0, through: last, by: max(1, last / 6)) {
            content += SVG.label(x(month), lower + 18, "\(month)", anchor: "middle")
        }
        content += SVG.line(left, y(1), SVG.width - right, y(1), "limit")
        content += lines(resources, x, y)
        content += legend(resources, left: SVG.width - right + 20)
        return HTMLText.figure(
            "Use of the present capacity by month; the dashed line is 100 %",
            SVG.svg(
                max(lower + 26, 24 + Double(resources.count) * Self.legendStep),
                "Use of each resource by month", content))
    }

    private func lines(
        _ resources: [Growth.Resource], _ x: (Int) -> Double, _ y: (Double) -> Double
    ) -> String {
        resources.enumerated().map { index, resource in
            let points = plan.growth.months.compactMap { month in
                month.shares[resource.rawValue].map { (x(month.month), y($0)) }
            }
            return SVG.polyline(points, color: index, width: 2.5)
        }.joined()
    }

    private func legend(_ resources: [Growth.Resource], left: Double) -> String {
        let last = plan.growth.months.last?.month ?? 0
        return resources.enumerated().map { index, resource in
            let y = 24 + Double(index) * Self.legendStep
            let limit = plan.growth.limits.first { $0.resource == resource }
            return SVG.rectangle(left, y - 10, 12, 12, color: index, tip: resource.rawValue)
                + SVG.label(
                    left + 20, y, PlanFacts.resources[resource] ?? resource.rawValue, name: "v")
                + SVG.label(
                    left + 20, y + 16, limit.map { PlanFacts.full($0, months: last) } ?? "")
        }.joined()
    }

    /// Charts the peak egress, one bar per month.
    var egress: String {
        let months = plan.growth.months
        guard let most = months.map(\.peakEgressBitsPerSecond).max(), most > 0, months.count > 1
        else { return "" }
        let (left, lower) = (84.0, 170.0)
        let step = (SVG.width - left) / Double(months.count)
        var content = ""
        for part in [0.0, 0.5, 1] {
            let y = lower - part * 150
            content += SVG.line(left, y, SVG.width, y, "grid")
            content += SVG.label(left - 8, y + 4, Quantity.bandwidth(most * part), anchor: "end")
        }
        for (index, month) in months.enumerated() {
            let height = month.peakEgressBitsPerSecond / most * 150
            content += SVG.rectangle(
                left + Double(index) * step + 1, lower - height, step - 3, height, color: 0,
                tip: "month \(month.month): "
                    + "\(Quantity.bandwidth(month.peakEgressBitsPerSecond)), workers: "
                    + PlanFacts.number(month.workers))
            if index % 6 == 0 {
                content += SVG.label(
                    left + (Double(index) + 0.5) * step, lower + 18, "\(month.month)",
                    anchor: "middle")
            }
        }
        return HTMLText.figure(
            "Peak egress by month", SVG.svg(lower + 26, "Egress by month", content))
    }

    /// Charts all options, one chart per currency: amounts of different currencies are not
    /// comparable.
    func costs(_ facts: CostFacts) -> String {
        var byCurrency: [String: [(name: String, value: Double, text: String)]] = [:]
        for option in facts.options {
            guard let currency = option.perMonth.currency,
                let amount = option.perMonth.amount(in: currency)
            else { continue }
            byCurrency[currency, default: []].append(
                (option.name, amount, MoneyText.rounded(option.perMonth)))
        }
        return byCurrency.sorted { $0.key < $1.key }.map { currency, rows in
            HTMLText.figure(
                "Cost of this month in \(currency)",
                SVG.bars("Cost per month in \(currency)", rows.sorted { $0.value < $1.value }))
        }.joined()
    }

    /// Charts the total of each option from now to the end of each month.
    func cumulative(_ facts: CostFacts) -> String {
        guard let currency = facts.currency, facts.months > 1 else { return "" }
        let lines = facts.options.map { option in
            (
                option.name,
                option.cumulative.prefix(facts.months).compactMap { $0.amount(in: currency) }
            )
        }
        let (left, right, upper, lower) = (92.0, 230.0, 12.0, 260.0)
        let axis = ChartAxis(
            lowest: 0, highest: lines.flatMap(\.1).max() ?? 1, isLogarithmic: false, lower: lower,
            upper: upper)
        func x(_ month: Int) -> Double {
            left + Double(month) / Double(facts.months) * (SVG.width - left - right)
        }
        let (unit, name) =
            [(1e9, "billion"), (1e6, "million")].first {
                (axis.ticks.last ?? 0) >= $0.0
            } ?? (1, "")
        var content = axis.grid(left: left, right: SVG.width - right) {
            unit > 1 && $0 > 0
                ? "\(Quantity.digits($0 / unit)) \(name)"
                : HumanFormat.count(Int64(saturating: $0.rounded()))
        }
        for month in stride(from: 0, through: facts.months, by: max(1, facts.months / 6)) {
            content += SVG.label(x(month), lower + 18, "\(month)", anchor: "middle")
        }
        for (index, line) in lines.enumerated() {
            let points = [(x(0), axis.y(0))] + line.1.enumerated().map { (x($0 + 1), axis.y($1)) }
            let y = 24 + Double(index) * 24
            content += SVG.polyline(points, color: index, width: 2.5)
            content += SVG.rectangle(
                SVG.width - right + 20, y - 10, 12, 12, color: index, tip: line.0)
            content += SVG.label(SVG.width - right + 40, y, line.0, name: "v")
        }
        return HTMLText.figure(
            "Total cost in \(currency) after each month",
            SVG.svg(
                max(lower + 26, 24 + Double(lines.count) * 24), "Total cost by month", content))
    }

    /// Charts the ranges of figures, each relative to its median.
    func ranges(_ uncertainty: Uncertainty) -> String {
        let rows = uncertainty.ranges.filter { $0.p50 > 0 }
        guard let most = rows.map({ $0.p90 / $0.p50 }).max(), !rows.isEmpty else { return "" }
        let texts = rows.map { row in
            [row.p10, row.p50, row.p90].map { PlanFacts.figure($0, unit: row.unit) }
        }
        let longest = texts.map { $0[0].count + $0[2].count + 3 }.max() ?? 0
        let (left, right, step) = (280.0, max(250, SVG.room(characters: longest)), 34.0)
        let top = max(1.5, most)
        func x(_ ratio: Double) -> Double { left + ratio / top * (SVG.width - left - right) }
        var content = SVG.line(x(1), 0, x(1), Double(rows.count) * step, "grid")
        for (index, row) in rows.enumerated() {
            let y = Double(index) * step
            let (low, high) = (x(row.p10 / row.p50), x(row.p90 / row.p50))
            let text = texts[index]
            content += SVG.label(left - 10, y + 21, row.figure, anchor: "end")
            content += SVG.rectangle(
                low, y + 10, high - low, 14, color: 0, tip: text.joined(separator: ", "))
            content += SVG.rectangle(x(1) - 1.5, y + 5, 3, 24, color: 1, tip: text[1])
            content += SVG.label(
                SVG.width - right + 12, y + 21, "\(text[0]) – \(text[2])", name: "v")
        }
        return HTMLText.figure(
            "p10 to p90 of \(HumanFormat.count(uncertainty.draws)) draws; the line is the median",
            SVG.svg(Double(rows.count) * step + 4, "Ranges", content))
    }

    /// Charts the most influential inputs, one chart per figure.
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
                "Main influences on \(figure): rank correlation",
                SVG.bars("Influences on \(figure)", rows))
        }.joined()
    }
}
