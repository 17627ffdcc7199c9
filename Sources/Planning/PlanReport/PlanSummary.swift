import Model
package import Planner
import Rendering
import Text

/// The answer of a plan on one screen: demand, resources, cost, bottlenecks, and the assumptions
/// that matter most. `PlanTable` has everything.
package struct PlanSummary {
    private let facts: PlanFacts
    private var plan: Plan { facts.plan }
    private static let width = 100
    /// Bottlenecks to list.
    private static let maxLimits = 3

    package init(_ plan: Plan) { facts = PlanFacts(plan: plan) }

    package var text: String {
        let head =
            wrapped("\(facts.headline); \(plan.service.help).") + wrapped(facts.sizedFor)
            + (plan.simulatedWaits.map { wrapped($0.summary) } ?? "")
        var sections = [head + facts.measured.map(wrapped).joined()]
        if !plan.problems.isEmpty { sections.append(list("Problems", plan.problems)) }
        sections += [demand, resources]
        sections += comparisons
        if let cost { sections.append(cost) }
        sections += [limits, assumptions].filter { !$0.isEmpty }
        sections.append(
            "--full prints waits, growth, ranges, notes and all \(facts.assumedInputs.count) "
                + "assumed inputs. --set INPUT=VALUE sets one.\n")
        return sections.joined(separator: "\n")
    }

    // MARK: Layout

    private func wrapped(_ text: String) -> String {
        TextLayout.wrapped(printable(text), width: Self.width, hangingIndent: 0) + "\n"
    }

    private func list(_ title: String, _ items: [String]) -> String {
        title + "\n"
            + items.map {
                "  - " + TextLayout.wrapped($0, width: Self.width - 4, hangingIndent: 4) + "\n"
            }.joined()
    }

    // MARK: Sections

    private var demand: String {
        let (likely, sized) = (plan.likely.demand, plan.sizing.demand)
        func row(_ name: String, _ text: (Demand) -> String) -> [String] {
            ["  \(name)", text(likely)] + (plan.confidence == nil ? [] : [text(sized)])
        }
        let rows = [
            row("concurrent users") {
                HumanFormat.count(Int64(saturating: $0.peakConcurrentUsers.rounded()))
            },
            row("peak requests") { Quantity.rate($0.peakRequestsPerSecond) },
            row("peak egress") { Quantity.bandwidth($0.peakEgressBitsPerSecond) },
            row("egress a month") { Quantity.bytes($0.egressBytesPerMonth) },
            row("nightly fill") {
                $0.fillBitsPerSecond > 0 ? Quantity.bandwidth($0.fillBitsPerSecond) : "none"
            },
            row("peak on-demand fetches") { Quantity.rate($0.peakMissesPerSecond) },
            row("hit ratio at the peak") { PlanFacts.ratio($0.hitRatio) },
            row("edge storage") { Quantity.bytes($0.edgeStorageBytes) },
        ]
        return aligned(
            ["Demand", "likely"] + (plan.confidence == nil ? [] : ["sized for"]), rows)
    }

    /// Aligns rows whose first cell is indented already, unlike the heading.
    private func aligned(
        _ headings: [String], _ rows: [[String]], left: Set<Int> = [0]
    ) -> String {
        TextLayout.table(
            headings: headings,
            alignments: headings.indices.map { left.contains($0) ? .left : .right }, rows: rows
        )
        .split(separator: "\n").map { "\($0)\n" }.joined()
    }

    private var resources: String {
        let sizing = plan.sizing
        var rows = [
            [
                "  workers", PlanFacts.number(sizing.workers.total),
                sizing.workers.total == nil
                    ? "no pool suffices"
                    : "\(PlanFacts.number(sizing.workers.spare)) spare; each "
                        + "\(Quantity.rate(sizing.missSpeed.segmentsPerSecond)) on demand, limited by "
                        + sizing.missSpeed.bound.rawValue,
            ],
            ["  edge servers", PlanFacts.number(sizing.machines.edge), facts.edgeServers],
        ]
        rows += [
            [
                "  coordinators", PlanFacts.number(sizing.database.coordinators),
                "one of them may fail",
            ],
            [
                "  PostgreSQL", PlanFacts.number(sizing.machines.database),
                "\(Quantity.digits(sizing.database.coresInUse)) cores in use; a server and its "
                    + "standby",
            ],
        ]
        return aligned(["Resources", "", ""], inLines(rows), left: [0, 2])
    }

    /// Divides rows whose last cell is too long for the screen.
    private func inLines(_ rows: [[String]]) -> [[String]] {
        let before = (0...1).reduce(0) { sum, column in
            sum + 2 + (rows.map { TextLayout.width($0[column]) }.max() ?? 0)
        }
        return rows.flatMap { row in
            TextLayout.wrapped(row[2], width: Self.width - before, hangingIndent: 0)
                .split(separator: "\n").enumerated().map { index, line in
                    (index == 0 ? [row[0], row[1]] : ["", ""]) + [String(line)]
                }
        }
    }

    /// The plan beside a run and a simulation, if requested: the main figures.
    private var comparisons: [String] {
        var texts: [String] = []
        if let check = plan.check {
            let rows = check.rows.filter { PlanFacts.mainOfCheck.contains($0.figure) }
            texts.append(
                comparison(
                    "The plan beside a real run", PlanFacts.checkHeadings,
                    rows.map(PlanFacts.checked), of: check.rows.count, check.notes))
        }
        if let simulation = plan.simulation {
            let rows = simulation.rows.filter { PlanFacts.mainOfSimulation.contains($0.figure) }
            texts.append(
                comparison(
                    "The plan beside a simulation", PlanFacts.simulationHeadings,
                    rows.map(PlanFacts.simulated), of: simulation.rows.count,
                    simulation.hours.isEmpty ? simulation.notes : []))
        }
        return texts
    }

    private func comparison(
        _ title: String, _ headings: [String], _ rows: [[String]], of count: Int,
        _ notes: [String]
    ) -> String {
        let lines = notes + (rows.count < count ? ["--full prints all \(count) figures."] : [])
        let table = rows.map { ["  \($0[0])"] + $0.dropFirst() }
        return
            (rows.isEmpty
            ? "\(title)\n" : aligned([title] + headings.dropFirst(), table))
            + lines.map {
                "  " + TextLayout.wrapped(printable($0), width: Self.width - 2, hangingIndent: 2)
                    + "\n"
            }.joined()
    }

    private var cost: String? {
        guard !plan.costs.isEmpty else {
            return plan.sizing.workers.total == nil
                ? "Cost per month\n  \(PlanFacts.noPool)\n" : nil
        }
        let costs = CostFacts(plan)
        let rows = costs.options.map { option in
            var row = costs.row(option)
            row[0] = "  \(printable(row[0]))"
            return row
        }
        let table = aligned([costs.title] + costs.headings, rows, left: [0, 3])
        return table
            + [costs.condition, costs.legend, costs.recommendation].compactMap(\.self).map {
                "  " + TextLayout.wrapped(printable($0), width: Self.width - 2, hangingIndent: 2)
                    + "\n"
            }.joined()
    }

    private var limits: String {
        let binding = plan.growth.limits.filter { $0.shareNow != nil }.prefix(Self.maxLimits)
        let rows = binding.map { limit in
            [
                "  \(PlanFacts.resources[limit.resource] ?? limit.resource.rawValue)",
                limit.shareNow.map(Quantity.percent) ?? "", PlanFacts.binds(limit, plan.growth),
            ]
        }
        return rows.isEmpty
            ? "" : aligned(["What binds first", "used now", "full"], rows, left: [0, 2])
    }

    private var assumptions: String {
        guard !plan.keyInputs.isEmpty else { return "" }
        let rows = plan.keyInputs.map { input in
            ["  \(printable(input.input))", PlanFacts.value(input), PlanFacts.effect(input)]
        }
        return aligned(
            ["Assumptions that matter most", "value (range)", "changes"], rows, left: [0, 1, 2])
    }
}

extension PlanFacts {
    /// Formats the value of a key input with its range.
    static func value(_ input: Plan.KeyInput) -> String {
        estimate(input.value, unit: input.unit)
    }

    /// Describes what a key input changes.
    static func effect(_ input: Plan.KeyInput) -> String {
        guard let low = input.atLow, let high = input.atHigh else {
            return "\(input.figure) (correlation "
                + "\(HumanFormat.fixed(input.correlation, places: 2)))"
        }
        func change(_ share: Double) -> String {
            let percent = HumanFormat.count(Int64(saturating: (share.magnitude * 100).rounded()))
            return percent == "0" ? "0 %" : "\(share < 0 ? "−" : "+")\(percent) %"
        }
        return "\(input.figure) \(change(low)) to \(change(high))"
    }
}
