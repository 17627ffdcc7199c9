import Model
package import Planner
import Rendering

/// A plan as one HTML page without scripts or external resources.
package struct PlanHTML {
    private let facts: PlanFacts
    private var plan: Plan { facts.plan }

    package init(_ plan: Plan) { facts = PlanFacts(plan: plan) }

    package var text: String {
        let title = HTMLText.escaped(facts.title)
        let charts = PlanCharts(facts: facts)
        return """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width,initial-scale=1">
            <meta http-equiv="Content-Security-Policy" \
            content="default-src 'none';style-src 'unsafe-inline'">
            <title>\(HTMLText.escaped(facts.windowTitle))</title>
            <style>\(HTMLText.style)</style>
            </head>
            <body>
            <h1>\(title)</h1>
            <p class="lead">\(HTMLText.escaped(lead))<br>\(HTMLText.escaped(facts.sizedFor))</p>
            \(warnings)\(decision)\(sections(charts))</body>
            </html>

            """
    }

    /// The headline without the plan's name.
    private var lead: String {
        let headline = facts.headline
        return String(headline.dropFirst(plan.name.count + 2))
    }

    /// How far measurements can be relied on.
    private var warnings: String {
        plan.calibrationNotes.isEmpty
            ? ""
            : "<div class=\"notes\">\(HTMLText.list(plan.calibrationNotes))</div>\n"
    }

    /// The main figures and the recommendation; if no pool suffices, the reasons come before it.
    private var decision: String {
        plan.sizing.workers.total == nil
            ? tiles + problems + recommendation : tiles + recommendation + problems
    }

    private var tiles: String {
        let (sizing, cost) = (plan.sizing, CostFacts(plan).head)
        let hasPool = sizing.workers.total != nil
        let figures =
            [
                ("workers", hasPool ? PlanFacts.number(sizing.workers.total) : "no pool suffices"),
                ("edge servers", PlanFacts.number(sizing.machines.edge)),
                ("peak requests", Quantity.rate(sizing.demand.peakRequestsPerSecond)),
                ("peak egress", Quantity.bandwidth(sizing.demand.peakEgressBitsPerSecond)),
                ("nightly fill", Quantity.bandwidth(sizing.demand.fillBitsPerSecond)),
                ("edge storage", Quantity.bytes(sizing.demand.edgeStorageBytes)),
            ]
        // An even number, and no cost before there is a pool.
        let users = [
            (
                "concurrent users",
                HumanFormat.count(Int64(saturating: sizing.demand.peakConcurrentUsers.rounded()))
            )
        ]
        guard !cost.isEmpty else { return HTMLText.tiles(figures) }
        return HTMLText.tiles(
            hasPool
                ? cost + figures + users
                : figures + users
                    + cost.map { ("\($0.0), if the origin had no limits", $0.1) })
    }

    /// The recommended provider, and what all costs assume.
    private var recommendation: String {
        let costs = CostFacts(plan)
        return [costs.condition, costs.recommendation].compactMap(\.self)
            .map { "<p>\(HTMLText.escaped($0))</p>\n" }.joined()
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
                    + "\(uncertainty.seed).</p>\n" + keyInputs + charts.influences(uncertainty))
        }
        let notes = facts.otherNotes
        if !notes.isEmpty { text += HTMLText.section("Notes", HTMLText.list(notes)) }
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
        let facts = CostFacts(plan)
        var content = [facts.condition, facts.legend].compactMap(\.self)
            .map { "<p>\(HTMLText.escaped($0))</p>\n" }.joined()
        content += charts.costs(facts) + charts.cumulative(facts)
        content += HTMLText.table(
            ["option"] + facts.headings, facts.options.map(facts.row), text: [0, 3])
        content += "<h3>Own edge servers</h3>\n"
        content += HTMLText.table(facts.detailHeadings, facts.details)
        content += facts.edgeServers.map { "<p>\(HTMLText.escaped($0))</p>\n" } ?? ""
        for cost in plan.costs {
            content += details(
                cost.name, facts.items(cost.items, cost.perMonth), cost.prices,
                PlanFacts.besides(cost))
        }
        for cdn in plan.cdns {
            content += details(cdn.name, facts.items(cdn.items, cdn.perMonth), cdn.prices, [])
        }
        return HTMLText.section(facts.title, content)
    }

    private func details(
        _ name: String, _ items: [[String]], _ prices: [ProviderCost.PriceInUse],
        _ notes: [String]
    ) -> String {
        "<details><summary>\(HTMLText.escaped(name)), item by item</summary>\n"
            + HTMLText.table(
                CostFacts.itemHeadings, items, text: [0, 1], marked: [items.count - 1])
            + HTMLText.table(PlanFacts.priceHeadings, prices.map(PlanFacts.price), text: [0, 3])
            + (notes.isEmpty ? "" : HTMLText.list(notes)) + "</details>\n"
    }

    private var keyInputs: String {
        guard !plan.keyInputs.isEmpty else { return "" }
        return "<h3>Assumptions that matter most</h3>\n"
            + HTMLText.table(
                ["input", "value (range)", "changes"],
                plan.keyInputs.map {
                    [$0.input, PlanFacts.value($0), PlanFacts.effect($0)]
                }, text: [0, 1, 2])
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
