package import Planner
import Rendering

/// A plan in Markdown: the terminal's content, with prices and sources.
package struct PlanMarkdown {
    private let facts: PlanFacts
    private var plan: Plan { facts.plan }

    package init(_ plan: Plan) { facts = PlanFacts(plan: plan) }

    package var text: String {
        var parts = [
            "# \(Self.escaped(facts.headline))\n\n\(Self.escaped(facts.sizedFor))\n"
        ]
        if !plan.calibrationNotes.isEmpty {
            parts.append(plan.calibrationNotes.map { "- \(Self.escaped($0))\n" }.joined())
        }
        if !plan.problems.isEmpty { parts.append(list("Problems", plan.problems)) }
        parts.append(rows("Demand", facts.demand))
        parts.append(rows("Resources", facts.machines))
        parts.append(outcomes)
        if !facts.origin.isEmpty {
            parts.append(
                table(
                    "Use of the origin's limits", ["limit", "in use"],
                    facts.origin.map { [$0.name, Quantity.percent($0.share)] }))
        }
        if let check = plan.check {
            parts.append(
                table(
                    "The plan beside a real run", PlanFacts.checkHeadings,
                    check.rows.map(PlanFacts.checked))
                    + "\n" + check.notes.map { "- \(Self.escaped($0))\n" }.joined())
        }
        if let simulation = plan.simulation {
            parts.append(
                table(
                    "The plan beside a simulation of it", PlanFacts.simulationHeadings,
                    simulation.rows.map(PlanFacts.simulated))
                    + "\n" + simulation.notes.map { "- \(Self.escaped($0))\n" }.joined())
            if !simulation.hours.isEmpty {
                parts.append(
                    table(
                        "The simulated day by the hour", PlanFacts.hourHeadings,
                        simulation.hours.map(PlanFacts.hour)))
            }
        }
        parts.append(growth)
        parts += costs
        if let uncertainty = plan.uncertainty { parts += ranges(uncertainty) }
        if !facts.otherNotes.isEmpty { parts.append(list("Notes", facts.otherNotes)) }
        parts.append(inputs("Given", facts.givenInputs))
        parts.append(inputs("Assumed inputs", facts.assumedInputs))
        return parts.joined(separator: "\n")
    }

    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "|", "\\", "`", "*", "_", "[", "]", "<", ">", "#": result += "\\\(character)"
            case _ where character.isNewline: result += " "
            default: result.append(character)
            }
        }
        return result
    }

    private func table(_ title: String, _ headings: [String], _ rows: [[String]]) -> String {
        func line(_ cells: [String]) -> String {
            "| " + cells.map(Self.escaped).joined(separator: " | ") + " |\n"
        }
        let rule = "|" + headings.map { _ in " --- |" }.joined() + "\n"
        return "## \(title)\n\n" + line(headings) + rule + rows.map(line).joined()
    }

    private func list(_ title: String, _ items: [String]) -> String {
        "## \(title)\n\n" + items.map { "- \(Self.escaped($0))\n" }.joined()
    }

    private func rows(_ title: String, _ rows: [PlanFacts.Row]) -> String {
        table(title, ["", "", ""], rows.map { [$0.name, $0.value, $0.remark] })
    }

    private var outcomes: String {
        plan.outcomes.isEmpty
            ? "## Waits\n\nNo pool suffices.\n"
            : table("Waits", PlanFacts.outcomeHeadings, plan.outcomes.map(facts.outcome))
    }

    private var growth: String {
        return table(
            "Growth", PlanFacts.monthHeadings, plan.growth.months.map(PlanFacts.month))
            + "\n"
            + table(
                "First bottlenecks", ["limit", "used today", "binds"],
                plan.growth.limits.map { limit in
                    [
                        PlanFacts.resources[limit.resource] ?? "",
                        limit.shareNow.map(Quantity.percent) ?? "",
                        PlanFacts.binds(limit, plan.growth),
                    ]
                })
    }

    private var costs: [String] {
        guard !plan.costs.isEmpty else {
            return plan.sizing.workers.total == nil
                ? ["## Cost per month\n\n\(PlanFacts.noPool)\n"] : []
        }
        let facts = CostFacts(plan)
        var parts = [
            table(facts.title, ["option"] + facts.headings, facts.options.map(facts.row))
                + [facts.condition, facts.legend, facts.recommendation].compactMap(\.self)
                .map { "\n\(Self.escaped($0))\n" }.joined(),
            table("Own edge servers", facts.detailHeadings, facts.details)
                + (facts.edgeServers.map { "\n\(Self.escaped($0))\n" } ?? ""),
        ]
        for cost in plan.costs {
            parts.append(
                table(cost.name, CostFacts.itemHeadings, facts.items(cost.items, cost.perMonth))
                    + "\n" + PlanFacts.besides(cost).map { "- \(Self.escaped($0))\n" }.joined())
        }
        for cdn in plan.cdns {
            parts.append(
                table(cdn.name, CostFacts.itemHeadings, facts.items(cdn.items, cdn.perMonth)))
        }
        let prices = facts.options.flatMap { option in
            option.prices.map { [option.name] + PlanFacts.price($0) }
        }
        parts.append(table("Prices", ["provider"] + PlanFacts.priceHeadings, prices))
        return parts
    }

    private func ranges(_ uncertainty: Uncertainty) -> [String] {
        [
            table(
                "Uncertainty", ["figure", "p10", "p50", "p90"],
                uncertainty.ranges.map(PlanFacts.range))
                + "\n\(HumanFormat.count(uncertainty.draws)) draws, seed \(uncertainty.seed). "
                + "\(PlanFacts.sure(uncertainty))\n",
            table(
                "Main influences", ["figure", "input", "rank correlation"],
                uncertainty.influences.map {
                    [$0.figure, $0.input, HumanFormat.fixed($0.correlation, places: 2)]
                }),
        ]
    }

    private func inputs(_ title: String, _ inputs: [Plan.InputInUse]) -> String {
        guard !inputs.isEmpty else { return "" }
        return table(
            title, ["input", "value", "source"],
            inputs.map { [$0.path, PlanFacts.value($0), $0.source] })
    }
}
