import Model
import Planner
import Rendering

/// Rows of the tables that Markdown and HTML share.
extension PlanFacts {
    static let outcomeHeadings = [
        "workers", "in use", "queue", "p50", "p95", "p99", "fill takes", "p95 during the fill",
    ]

    func outcome(_ outcome: Plan.Outcome) -> [String] {
        [
            workers(outcome), Quantity.percent(outcome.utilisation),
            outcome.queueLength.map(Quantity.digits) ?? "no end",
            Quantity.seconds(outcome.waitP50), Quantity.seconds(outcome.waitP95),
            Quantity.seconds(outcome.waitP99), Quantity.hours(outcome.fillHours),
            besideFill(outcome),
        ]
    }

    /// Returns the wait during the fill; a dash without misses or fill.
    func besideFill(_ outcome: Plan.Outcome) -> String {
        let demand = plan.sizing.demand
        guard demand.meanMissesPerSecond > 0, demand.fillSegmentsPerDay >= 1 else { return "–" }
        return Quantity.seconds(outcome.waitP95BesideFill)
    }

    static let monthHeadings = [
        "month", "users", "peak requests", "peak egress", "storage", "workers",
        "machines",
    ]

    static func month(_ month: Growth.Month) -> [String] {
        [
            "\(month.month)", HumanFormat.count(Int64(saturating: month.monthlyActiveUsers)),
            Quantity.rate(month.peakRequestsPerSecond),
            Quantity.bandwidth(month.peakEgressBitsPerSecond),
            Quantity.bytes(month.edgeStorageBytes), number(month.workers),
            number(month.machines),
        ]
    }

    /// Names what came from measurements and presets, a sentence for each source, and what did not.
    var measured: [String] {
        let inputs = givenInputs.filter { $0.source.hasPrefix("--") }
        guard !inputs.isEmpty else { return [] }
        let bySource = Dictionary(grouping: inputs) { input in
            // Without the number of values, which differs by input.
            input.source.split(separator: ", ").first.map(String.init) ?? input.source
        }
        let sentences = bySource.sorted { $0.key < $1.key }.map { source, inputs in
            "From \(source): \(inputs.map(\.path).joined(separator: ", "))."
        }
        let catalog: [ScenarioInput] = [.titles, .catalogGigabytes]
        let hasCatalog = givenInputs.contains { input in
            catalog.contains { $0.row.path == input.path }
        }
        return sentences + plan.calibrationNotes
            + (hasCatalog
                ? []
                : [
                    "The catalog is assumed, and storage and fill with it: set catalog.titles or "
                        + "catalog.gigabytes."
                ])
    }

    static let priceHeadings = ["for", "price", "date", "source"]

    static func price(_ entry: ProviderCost.PriceInUse) -> [String] {
        let price = entry.price
        return [
            entry.what, "\(Scenario.plain(price.amount)) \(price.currency)", price.date,
            price.isAssumption
                ? "assumption: \(price.source)"
                : price.isCheckable ? price.source : "without an address: \(price.source)",
        ]
    }

    static func range(_ range: Uncertainty.Range) -> [String] {
        [
            range.figure, figure(range.p10, unit: range.unit), figure(range.p50, unit: range.unit),
            figure(range.p90, unit: range.unit),
        ]
    }

    /// Describes the ratios of draws in which the plan suffices, and in which no pool does.
    static func sure(_ uncertainty: Uncertainty) -> String {
        var text: [String] = []
        if uncertainty.planSuffices != nil {
            let shares = uncertainty.sufficiency.map {
                "\($0.figure) \(Quantity.percent($0.share))"
            }
            text.append(
                "The plan suffices in these shares of the draws: "
                    + "\(shares.joined(separator: ", ")); all together "
                    + "\(Quantity.percent(uncertainty.allSuffice)).")
        }
        if uncertainty.noPoolSuffices > 0 {
            let draws = Double(uncertainty.draws)
            let without = Int((uncertainty.noPoolSuffices * draws).rounded())
            let others =
                uncertainty.ranges.contains { $0.figure == "workers" }
                ? "; workers and costs are of the others" : ""
            text.append(
                "In \(HumanFormat.count(without)) of \(HumanFormat.count(uncertainty.draws)) draws "
                    + "no pool suffices\(others).")
        }
        return text.joined(separator: " ")
    }

    /// Describes further costs of a provider: device-side work, and a load test.
    static func besides(_ cost: ProviderCost) -> [String] {
        let (device, test) = (cost.deviceSide, cost.loadTest)
        let limit = device.originShare.map {
            "; the origin's limits would be \(Quantity.percent($0)) used"
        }
        return [
            "Device-side: \(HumanFormat.count(device.originServers)) servers at the "
                + "origin and all egress from there, \(MoneyText.rounded(device.perMonth)) a "
                + "month, and \(Quantity.digits(device.deviceHours)) CPU hours on devices for "
                + "the work of the workers\(limit ?? "").",
            "Load test: \(Quantity.hours(test.hours)) at the peak by "
                + "\(HumanFormat.count(test.generators, "machine")), "
                + "\(Quantity.bytes(test.egressBytes)) from the edge, \(MoneyText.rounded(test.cost)).",
        ]
    }

    /// The rows of a comparison with a run, and with a simulation, that the first screen has.
    static let mainOfCheck: Set = ["time", "bandwidth", "p95 until stored", "fetch time"]
    static let mainOfSimulation: Set = [
        "at the peak, in use", "at the peak, p95 of waits", "in a day, p95 of waits", "fill takes",
    ]

    static let checkHeadings = ["figure", "plan", "run", "plan error"]

    static func checked(_ row: RunCheck.Row) -> [String] {
        func text(_ value: Double) -> String {
            switch row.unit {
            case "s": Quantity.seconds(value)
            case "1/s": Quantity.rate(value)
            case "bit/s": Quantity.bandwidth(value)
            case "B": Quantity.bytes(value)
            case "share": Quantity.percent(value)
            default: Quantity.digits(value)
            }
        }
        return [
            row.figure, text(row.predicted), text(row.measured),
            isTelling(row.predicted, of: row.measured, unit: row.unit)
                ? row.error.map(apart) ?? "" : "",
        ]
    }

    /// Formats a relative difference: `+1.2 %`; `0.0 %` has no sign.
    private static func apart(_ share: Double) -> String {
        guard share.isFinite else { return "" }
        let percent = abs(share) * 100
        let text =
            percent < 999.95
            ? HumanFormat.fixed(percent, places: 1)
            : HumanFormat.count(Int64(saturating: percent.rounded()))
        return text == "0.0" ? "0.0 %" : "\(share < 0 ? "−" : "+")\(text) %"
    }

    /// Returns false for values so small that their ratio means nothing: times of less than a
    /// millisecond, a hundredth of a fetch.
    private static func isTelling(_ value: Double, of reference: Double, unit: String) -> Bool {
        let small = ["s", "h"].contains(unit) ? 0.001 : 0.01
        return reference >= small && (value >= small || reference >= 10 * small)
    }

    static let simulationHeadings = ["figure", "plan", "simulation", "apart"]

    static func simulated(_ row: PlanSimulation.Row) -> [String] {
        func text(_ value: Double?) -> String {
            guard let value else { return "no end" }
            switch row.unit {
            case "s": return Quantity.seconds(value)
            case "h": return Quantity.hours(value)
            default: return Quantity.digits(value)
            }
        }
        var apart = ""
        if let predicted = row.predicted, let simulated = row.simulated,
            isTelling(simulated, of: predicted, unit: row.unit),
            // Rare events that did not occur say nothing.
            simulated > 0 || predicted >= 1
        {
            apart = Self.apart(simulated / predicted - 1)
        }
        return [row.figure, text(row.predicted), text(row.simulated), apart]
    }

    static let hourHeadings = [
        "hour", "on demand/s, plan", "simulation", "fill/s", "p95 wait, plan", "simulation",
    ]

    static func hour(_ hour: PlanSimulation.Hour) -> [String] {
        func wait(_ seconds: Double?) -> String {
            seconds.map { Quantity.seconds($0) } ?? (hour.onDemandPlanned > 0 ? "no end" : "")
        }
        return [
            "\(hour.hour):00", Quantity.digits(hour.onDemandPlanned),
            Quantity.digits(hour.onDemandSimulated), Quantity.digits(hour.fillSimulated),
            wait(hour.waitPredicted), hour.waitSimulated.map { Quantity.seconds($0) } ?? "",
        ]
    }
}
