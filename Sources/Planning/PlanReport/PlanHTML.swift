package import Planner
import Rendering

/// A plan as one HTML page without scripts or external resources.
package struct PlanHTML {
    private let facts: PlanFacts
    private var plan: Plan { facts.plan }

    package init(_ plan: Plan) { facts = PlanFacts(plan: plan) }

    package var text: String {
        let title = HTMLText.escaped(facts.plan.name)
        let charts = PlanCharts(facts: facts)
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width,initial-scale=1">
            <meta http-equiv="Content-Security-Policy" \
            content="default-src 'none';style-src 'unsafe-inline'">
            <title>\(title): capacity plan</title>
            <style>\(HTMLText.style)</style>
            </head>
            <body>
            <h1>\(title)</h1>
            <p class="lead">\(HTMLText.escaped(lead))</p>
            \(tiles)\(problems)\(sections(charts))</body>
            </html>

            """
    }

    /// The headline without the plan's name.
    private var lead: String {
        let headline = facts.headline
        return String(headline.dropFirst(plan.name.count + 2))
    }

    private var tiles: String {
        let sizing = plan.sizing
        let figures = [
            ("workers", PlanFacts.number(sizing.workers.total)),
            ("peak requests", Quantity.rate(sizing.demand.peakRequestsPerSecond)),
            ("peak egress", Quantity.bandwidth(sizing.demand.peakEgressBitsPerSecond)),
            ("nightly fill", Quantity.bandwidth(sizing.demand.fillBitsPerSecond)),
            ("edge storage", Quantity.bytes(sizing.demand.edgeStorageBytes)),
            ("machines", PlanFacts.number(sizing.machines.total)),
        ]
        return "<div class=\"tiles\">\n"
            + figures.map { name, value in
                "<div class=\"tile\"><b>\(HTMLText.escaped(value))</b><span>\(name)</span></div>\n"
            }.joined() + "</div>\n"
    }

    private var problems: String {
        guard !plan.problems.isEmpty else { return "" }
        return HTMLText.section(
            "Problems",
            "<div class=\"problems\">\(HTMLText.list(plan.problems))</div>\n")
    }

    private func rows(_ rows: [PlanFacts.Row]) -> String {
        HTMLText.table(["", "", ""], rows.map { [$0.name, $0.value, $0.remark] }, text: [0, 2])
    }

    private func sections(_ charts: PlanCharts) -> String {
        var text = HTMLText.section("Demand", rows(facts.demand))
        text += HTMLText.section("Resources", rows(facts.machines))
        let planned = plan.outcomes.firstIndex { $0.workers == plan.sizing.workers.total }
        text += HTMLText.section(
            "Waits: on-demand fetches at the peak, and the fill",
            plan.outcomes.isEmpty
                ? "<p>No pool suffices.</p>\n"
                : HTMLText.table(
                    PlanFacts.outcomeHeadings, plan.outcomes.map(facts.outcome),
                    marked: planned.map { [$0] } ?? []))
        if !facts.origin.isEmpty {
            text += HTMLText.section(
                "Use of the origin's limits",
                HTMLText.table(
                    ["limit", "in use"], facts.origin.map { [$0.name, Quantity.percent($0.share)] })
            )
        }
        if let check = plan.check {
            text += HTMLText.section(
                "The plan beside a real run",
                HTMLText.table(PlanFacts.checkHeadings, check.rows.map(PlanFacts.checked))
                    + HTMLText.list(check.notes))
        }
        if let simulation = plan.simulation {
            text += HTMLText.section(
                "The plan beside a simulation of it",
                HTMLText.table(
                    PlanFacts.simulationHeadings, simulation.rows.map(PlanFacts.simulated))
                    + HTMLText.list(simulation.notes)
                    + (simulation.hours.isEmpty
                        ? ""
                        : HTMLText.table(
                            PlanFacts.hourHeadings, simulation.hours.map(PlanFacts.hour))))
        }
        text += growth(charts)
        if !plan.costs.isEmpty {
            text += costs(charts)
        } else if plan.sizing.workers.total == nil {
            text += HTMLText.section(
                "Cost per month", "<p>\(HTMLText.escaped(PlanFacts.noPool))</p>\n")
        }
        if let uncertainty = plan.uncertainty {
            text += HTMLText.section(
                "Uncertainty",
                charts.ranges(uncertainty)
                    + "<p>\(HTMLText.escaped(PlanFacts.sure(uncertainty))) Seed "
                    + "\(uncertainty.seed).</p>\n" + charts.influences(uncertainty))
        }
        if !plan.notes.isEmpty { text += HTMLText.section("Notes", HTMLText.list(plan.notes)) }
        return text + inputs
    }

    private func growth(_ charts: PlanCharts) -> String {
        HTMLText.section(
            "Growth",
            charts.shares + charts.egress
                + "<details><summary>Month by month</summary>\n"
                + HTMLText.table(
                    PlanFacts.monthHeadings, plan.growth.months.map(PlanFacts.month), text: [])
                + "</details>\n")
    }

    private func costs(_ charts: PlanCharts) -> String {
        var content = charts.costs
        content += HTMLText.table(PlanFacts.costHeadings, plan.costs.map(PlanFacts.cost))
        for cost in plan.costs {
            let items = cost.items.map { [$0.name, $0.count, MoneyText.text($0.cost)] }
            content += "<details><summary>\(HTMLText.escaped(cost.name)), item by item</summary>\n"
            content += HTMLText.table(
                ["item", "quantity", "per month"],
                items + [["total", "", MoneyText.text(cost.perMonth)]], marked: [items.count])
            content += HTMLText.table(
                PlanFacts.priceHeadings, cost.prices.map(PlanFacts.price), text: [0, 3])
            content += HTMLText.list(PlanFacts.besides(cost)) + "</details>\n"
        }
        return HTMLText.section("Cost per month", content)
    }

    private var inputs: String {
        func table(_ inputs: [Plan.InputInUse]) -> String {
            HTMLText.table(
                ["input", "value", "source"],
                inputs.map { [$0.path, PlanFacts.value($0), $0.source] }, text: [0, 2])
        }
        let given = facts.givenInputs
        return (given.isEmpty ? "" : HTMLText.section("Given", table(given)))
            + HTMLText.section("Assumed inputs", table(facts.assumedInputs))
    }
}
