import Model
package import Planner
import Rendering
import Text

/// A plan for a terminal: tables and bars.
package struct PlanTable {
    private let facts: PlanFacts
    private let usesUnicode: Bool
    private var plan: Plan { facts.plan }

    package init(_ plan: Plan, usesUnicode: Bool) {
        facts = PlanFacts(plan: plan)
        self.usesUnicode = usesUnicode
    }

    package var text: String {
        var sections = [
            printable(facts.headline) + "\n"
                + ([facts.sizedFor] + plan.calibrationNotes).map {
                    TextLayout.wrapped($0, width: Self.width, hangingIndent: 0) + "\n"
                }.joined()
        ]
        if !plan.problems.isEmpty { sections.append(list("Problems", plan.problems)) }
        sections.append(rows("Demand", facts.demand))
        sections.append(rows("Resources", facts.machines))
        sections.append(outcomes)
        if let origin { sections.append(origin) }
        if let check = plan.check { sections.append(checked(check)) }
        if let simulation = plan.simulation { sections.append(simulated(simulation)) }
        sections.append(growth)
        if !plan.costs.isEmpty {
            sections.append(costs)
        } else if plan.sizing.workers.total == nil {
            sections.append("Cost per month\n  \(PlanFacts.noPool)\n")
        }
        if let uncertainty = plan.uncertainty { sections.append(ranges(uncertainty)) }
        if !facts.otherNotes.isEmpty { sections.append(list("Notes", facts.otherNotes)) }
        sections.append(assumptions)
        return sections.joined(separator: "\n")
    }

    // MARK: Pieces

    private static let width = 100

    /// Draws a bar: `━━━━──── 50 %`.
    private func bar(_ share: Double, width: Int = 20) -> String {
        let clamped = min(max(share, 0), 1)
        let filled = Int((clamped * Double(width)).rounded())
        let full = usesUnicode ? "━" : "#"
        let empty = usesUnicode ? "─" : "-"
        return String(repeating: full, count: filled)
            + String(repeating: empty, count: width - filled)
    }

    private func rows(_ title: String, _ rows: [PlanFacts.Row]) -> String {
        let names = rows.map { TextLayout.width($0.name) }.max() ?? 0
        let values = rows.map { TextLayout.width($0.value) }.max() ?? 0
        let indent = names + values + 6
        let lines = rows.map { row in
            let remark = TextLayout.wrapped(
                row.remark, width: Self.width - indent, hangingIndent: 0
            ).split(separator: "\n").joined(
                separator: "\n" + String(repeating: " ", count: indent))
            return "  \(TextLayout.padded(row.name, to: names))  "
                + "\(TextLayout.padded(row.value, to: values, right: true))  \(remark)\n"
        }
        return title + "\n" + lines.joined()
    }

    private func list(_ title: String, _ items: [String]) -> String {
        title + "\n"
            + items.map {
                "  - " + TextLayout.wrapped($0, width: Self.width - 4, hangingIndent: 4) + "\n"
            }.joined()
    }

    private func table(
        _ title: String, _ headings: [String], _ rows: [[String]], left: Set<Int> = [0]
    ) -> String {
        let text = TextLayout.table(
            headings: headings,
            alignments: headings.indices.map { left.contains($0) ? .left : .right }, rows: rows)
        let indented = text.split(separator: "\n").map { "  \($0)\n" }.joined()
        return "\(title)\n\(indented)"
    }

    // MARK: Sections

    private var outcomes: String {
        let rows = plan.outcomes.map { outcome in
            [
                facts.workers(outcome), bar(outcome.utilisation, width: 12),
                Quantity.percent(outcome.utilisation),
                outcome.queueLength.map(Quantity.digits) ?? "no end",
                Quantity.seconds(outcome.waitP50), Quantity.seconds(outcome.waitP95),
                Quantity.seconds(outcome.waitP99), Quantity.hours(outcome.fillHours),
                facts.besideFill(outcome),
            ]
        }
        let title = "Waits: on-demand fetches at the peak, and the fill"
        guard !rows.isEmpty else { return "\(title)\n  No pool suffices.\n" }
        return table(
            title,
            [
                "workers", "in use", "", "queue", "p50", "p95", "p99", "fill takes",
                "p95 during the fill",
            ], rows, left: [0, 1])
    }

    private var origin: String? {
        guard !facts.origin.isEmpty else { return nil }
        return table(
            "Use of the origin's limits", ["limit", "in use", ""],
            facts.origin.map { [$0.name, bar($0.share), Quantity.percent($0.share)] },
            left: [0, 1])
    }

    private func checked(_ check: RunCheck) -> String {
        table(
            "The plan beside a real run", PlanFacts.checkHeadings, check.rows.map(PlanFacts.checked)
        )
            + notes(check.notes)
    }

    private func notes(_ notes: [String]) -> String {
        notes.map {
            "  " + TextLayout.wrapped($0, width: Self.width - 2, hangingIndent: 2) + "\n"
        }.joined()
    }

    private func simulated(_ simulation: PlanSimulation) -> String {
        table(
            "The plan beside a simulation of it, seed \(simulation.seed)",
            PlanFacts.simulationHeadings, simulation.rows.map(PlanFacts.simulated))
            + notes(simulation.notes)
            + (simulation.hours.isEmpty
                ? ""
                : "\n"
                    + table(
                        "The simulated day by the hour", PlanFacts.hourHeadings,
                        simulation.hours.map(PlanFacts.hour), left: []))
    }

    private var growth: String {
        let months = plan.growth.months
        let last = months.last?.month ?? 0
        let shown = months.filter { $0.month % 6 == 0 || $0.month == last }
        let most = shown.map(\.peakEgressBitsPerSecond).max() ?? 1
        let rows = shown.map { month in
            [
                "\(month.month)", HumanFormat.count(Int64(saturating: month.monthlyActiveUsers)),
                bar(most > 0 ? month.peakEgressBitsPerSecond / most : 0),
                Quantity.bandwidth(month.peakEgressBitsPerSecond),
                Quantity.bytes(month.edgeStorageBytes), PlanFacts.number(month.workers),
                PlanFacts.number(month.machines),
            ]
        }
        let growth = table(
            "Growth",
            ["month", "users", "peak egress", "", "storage", "workers", "machines"], rows,
            left: [2])
        let limits = table(
            "First bottlenecks of the present capacity", ["limit", "used today", "", "binds"],
            plan.growth.limits.map { limit in
                [
                    PlanFacts.resources[limit.resource] ?? limit.resource.rawValue,
                    limit.shareNow.map { bar($0) } ?? "",
                    limit.shareNow.map(Quantity.percent) ?? "",
                    PlanFacts.binds(limit, plan.growth),
                ]
            }, left: [0, 1, 3])
        return growth + "\n" + limits
    }

    private var costs: String {
        let facts = CostFacts(plan)
        var text = table(
            facts.title, ["option"] + facts.headings, facts.options.map(facts.row), left: [0, 3])
        text += notes(
            [facts.condition, facts.legend, facts.recommendation].compactMap(\.self).map {
                printable($0)
            })
        text += "\n" + table("Own edge servers", facts.detailHeadings, facts.details)
        text += notes([facts.edgeServers].compactMap(\.self))
        for cost in plan.costs {
            text +=
                "\n"
                + table(
                    printable(cost.name), CostFacts.itemHeadings,
                    facts.items(cost.items, cost.perMonth), left: [0, 1])
        }
        for cdn in plan.cdns {
            text +=
                "\n"
                + table(
                    printable(cdn.name), CostFacts.itemHeadings,
                    facts.items(cdn.items, cdn.perMonth), left: [0, 1])
        }
        return text + "\n"
            + notes([
                "Each price has its date and source: --json, --markdown, --html. Device-side: no "
                    + "edge and no workers, devices fetch everything from the origin."
            ])
    }

    private func ranges(_ uncertainty: Uncertainty) -> String {
        let rows = uncertainty.ranges.map { range in
            [
                printable(range.figure), PlanFacts.figure(range.p10, unit: range.unit),
                PlanFacts.figure(range.p50, unit: range.unit),
                PlanFacts.figure(range.p90, unit: range.unit),
            ]
        }
        var text = table(
            "Uncertainty: \(HumanFormat.count(uncertainty.draws)) draws, seed "
                + "\(uncertainty.seed)", ["figure", "p10", "p50", "p90"], rows)
        let sure = PlanFacts.sure(uncertainty)
        if !sure.isEmpty { text += notes([sure]) }
        var figures: [String] = []
        for influence in uncertainty.influences where !figures.contains(influence.figure) {
            figures.append(influence.figure)
        }
        for figure in figures {
            let named = uncertainty.influences.filter { $0.figure == figure }.prefix(6)
            text +=
                "\n"
                + table(
                    "Main influences on \(figure) (rank correlation)",
                    ["input", "", ""],
                    named.map {
                        [
                            printable($0.input), bar(abs($0.correlation)),
                            ($0.correlation < 0 ? "−" : "+")
                                + HumanFormat.fixed(abs($0.correlation), places: 2),
                        ]
                    }, left: [0, 1])
        }
        return text
    }

    private var assumptions: String {
        let rows = facts.assumedInputs.map {
            [printable($0.path), printable(PlanFacts.value($0)), $0.source]
        }
        let names = rows.map { TextLayout.width($0[0]) }.max() ?? 0
        let values = min(36, rows.map { TextLayout.width($0[1]) }.max() ?? 0)
        let lines = rows.map { row in
            let head =
                "  \(TextLayout.padded(row[0], to: names))  \(TextLayout.padded(row[1], to: values))"
            let indent = max(TextLayout.width(head), names + values + 4) + 2
            if indent + TextLayout.width(row[2]) <= Self.width { return "\(head)  \(row[2])\n" }
            let source = TextLayout.wrapped(row[2], width: Self.width, hangingIndent: 6)
            return head.trimmingTrailingSpaces + "\n      \(source)\n"
        }
        return "Assumed inputs: \(HumanFormat.count(rows.count, "input"))\n"
            + lines.joined()
    }
}

extension String {
    fileprivate var trimmingTrailingSpaces: String {
        String(self[..<(lastIndex { $0 != " " }.map { index(after: $0) } ?? startIndex)])
    }
}
