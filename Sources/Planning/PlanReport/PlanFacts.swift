import Model
import Planner
import Rendering

/// The facts of a plan, in sections of rows that all outputs share.
struct PlanFacts {
    struct Row {
        let name: String
        let value: String
        let remark: String

        init(_ name: String, _ value: String, _ remark: String = "") {
            self.name = name
            self.value = value
            self.remark = remark
        }
    }

    let plan: Plan

    var headline: String {
        let demand = plan.likely.demand
        return "\(plan.name): \(count(demand.monthlyActiveUsers)) monthly active "
            + "users\(assumed("audience.monthlyActiveUsers")), "
            + "\(count(demand.dailyActiveUsers)) daily, \(count(demand.peakConcurrentUsers)) "
            + "concurrent"
    }

    /// The plan's name; a plan without one is called what it is.
    var title: String { plan.name == Scenario().name ? "Capacity plan" : plan.name }

    /// Notes besides those of calibrations, which are at the top.
    var otherNotes: [String] { plan.notes.filter { !plan.calibrationNotes.contains($0) } }

    /// The title of a window or tab.
    var windowTitle: String {
        let users = "\(count(plan.likely.demand.monthlyActiveUsers)) monthly users"
        return plan.name == Scenario().name
            ? "\(title): \(users)" : "\(title): capacity plan, \(users)"
    }

    private func assumed(_ path: String) -> String {
        guard plan.inputs.contains(where: { $0.path == path && $0.isAssumed }) else { return "" }
        return assumedInputs.contains { $0.path == path } ? " (assumed)" : " (calculated)"
    }

    /// True if requests or their bytes were measured, so that viewers' bit rates do not determine
    /// them.
    private var isCounted: Bool {
        let counted = Set(
            [.meanRequests, .peakRequests, .requestBytes].map { (input: ScenarioInput) in
                input.row.path
            })
        return givenInputs.contains { counted.contains($0.path) }
    }

    private func count(_ value: Double) -> String {
        value < 1 ? Quantity.digits(value) : HumanFormat.count(Int64(saturating: value.rounded()))
    }

    var demand: [Row] {
        let demand = plan.sizing.demand
        let likely = plan.likely.demand
        return [
            Row(
                "peak requests", Quantity.rate(demand.peakRequestsPerSecond),
                "on average \(Quantity.rate(demand.meanRequestsPerSecond))"
                    + self.likely(Quantity.rate(likely.peakRequestsPerSecond))),
            Row(
                "peak egress", Quantity.bandwidth(demand.peakEgressBitsPerSecond),
                "\(Quantity.bytes(demand.egressBytesPerMonth)) a month"
                    + (isCounted
                        ? "" : ", \(Quantity.bandwidth(demand.deliveredBitsPerSecond)) a viewer")
                    + self.likely(Quantity.bandwidth(likely.peakEgressBitsPerSecond))),
            Row(
                "nightly fill", Quantity.bandwidth(demand.fillBitsPerSecond),
                "\(Quantity.bytes(demand.fillBytesPerDay)) in "
                    + "\(HumanFormat.duration(seconds: demand.fillWindowSeconds)), "
                    + "\(Quantity.rate(demand.fillSegmentsPerSecond)) of "
                    + Quantity.bytes(demand.fillSegmentBytes)
                    + self.likely(Quantity.bandwidth(likely.fillBitsPerSecond))),
            Row(
                "peak on-demand", Quantity.rate(demand.peakMissesPerSecond),
                "fetches of \(Quantity.bytes(demand.missBytes)), "
                    + "\(Quantity.bandwidth(demand.peakMissBitsPerSecond)) from the origin; hit "
                    + "ratio \(Self.ratio(demand.hitRatio))"
                    + self.likely(Quantity.rate(likely.peakMissesPerSecond))),
            Row(
                "edge storage", Quantity.bytes(demand.edgeStorageBytes),
                "\(Quantity.bytes(demand.catalogBytes)) a site, "
                    + "\(count(demand.catalogSegments)) segments"
                    + self.likely(Quantity.bytes(likely.edgeStorageBytes))),
        ]
    }

    /// Adds the likely value to a remark if the plan is sized for more.
    private func likely(_ text: String) -> String {
        plan.confidence == nil ? "" : "; likely \(text)"
    }

    /// Formats a hit ratio, with the digits that matter near 100 %.
    static func ratio(_ share: Double) -> String {
        share > 0.99 && share < 1
            ? "\(HumanFormat.fixed(min(share, 0.9999) * 100, places: 2)) %"
            : Quantity.percent(share)
    }

    /// Describes what the plan is sized for.
    var sizedFor: String {
        guard let confidence = plan.confidence, let uncertainty = plan.uncertainty else {
            return "Sized on the likely value of each input, which is too little in most cases if "
                + "inputs are uncertain."
        }
        let draws = HumanFormat.count(uncertainty.draws)
        let short = uncertainty.sufficiency.filter { $0.share < confidence }
        guard short.isEmpty else {
            let shares = short.map { figure in
                plan.sizing.workers.total == nil && figure.figure == "workers"
                    ? "no pool of workers suffices"
                    : "\(figure.figure) \(Quantity.percent(figure.share))"
            }
            return "Not sized for \(Quantity.percent(confidence)) of \(draws) random "
                + "draws of the uncertain inputs: \(shares.joined(separator: ", ")). The other figures suffice "
                + "in that share, and all figures together in "
                + "\(Quantity.percent(uncertainty.allSuffice))."
        }
        return "Sized so that each figure suffices in \(Quantity.percent(confidence)) of \(draws) "
            + "random draws of the inputs; all figures in "
            + "\(Quantity.percent(uncertainty.allSuffice))."
    }

    var machines: [Row] {
        let sizing = plan.sizing
        let workers = sizing.workers
        let database = sizing.database
        let connections = sizing.connections
        var rows = [
            Row("workers", Self.number(workers.total), forWorkers),
            Row(
                "worker's speed", Quantity.rate(sizing.fillSpeed.segmentsPerSecond),
                "of the fill, limited by \(sizing.fillSpeed.bound.rawValue); on demand "
                    + "\(Quantity.rate(sizing.missSpeed.segmentsPerSecond)), by "
                    + sizing.missSpeed.bound.rawValue),
        ]
        if workers.aheadForBoot > 0 {
            rows.append(
                Row(
                    "ahead of the load", HumanFormat.count(workers.aheadForBoot),
                    "workers to start before the load rises, when scaled with it"))
        }
        rows += [
            Row(
                "coordinators", HumanFormat.count(database.coordinators),
                "one of them may fail"),
            Row(
                "PostgreSQL", "\(Quantity.digits(database.coresInUse)) cores",
                "\(Quantity.rate(database.rowsPerSecond)) rows, "
                    + "\(Quantity.rate(database.statementsPerSecond)) statements, WAL "
                    + "\(Quantity.bytes(database.walBytesPerSecond))/s, disk "
                    + Quantity.bytes(database.diskBytes)),
            Row("edge servers", Self.number(sizing.machines.edge), edgeServers),
            Row(
                "machines", Self.number(sizing.machines.total),
                "workers \(Self.number(sizing.machines.workers)), coordinators "
                    + "\(Self.number(sizing.machines.coordinators)), database "
                    + "\(Self.number(sizing.machines.database)), edge "
                    + Self.number(sizing.machines.edge)),
            Row(
                "connections", count(connections.edge),
                "of viewers; to origins \(Quantity.digits(connections.originInUse)) in use"
                    + (connections.originMost.map { ", at most \(HumanFormat.count($0))" } ?? "")
                    + "; to the database "
                    + "\(Self.number(connections.database)), to coordinators "
                    + Self.number(connections.coordinators)),
        ]
        return rows
    }

    /// Describes the kind of the edge servers, and their disks.
    var edgeServers: String {
        let edge = plan.sizing.edge
        return "of \(Quantity.bandwidth(edge.megabitsPerSecond * 1e6)) and "
            + "\(Quantity.digits(edge.cores)) cores; \(Quantity.digits(edge.coresInUse)) cores in "
            + "use; \(HumanFormat.count(edge.disks, "disk"))"
            + "\(edge.disksAreForReads ? " to read as fast, with nothing in memory" : ""); one a site "
            + "may fail"
    }

    /// Formats a count, or `none`.
    static func number(_ count: Int?) -> String { count.map { HumanFormat.count($0) } ?? "none" }

    /// Describes the goals of the workers.
    private var forWorkers: String {
        let workers = plan.sizing.workers
        func goal(_ name: String, _ count: Int?, _ goal: Sizing.Stop.Goal) -> String {
            if let count { return "\(name) \(HumanFormat.count(count))" }
            let limit = workers.stops.first { $0.goal == goal }?.limit ?? ""
            return "\(name): no number of workers suffices "
                + "(\(limit == "workers" ? "more than a million" : limit))"
        }
        func number(_ count: Int?) -> String {
            count.map { HumanFormat.count($0) } ?? "none suffices"
        }
        let correction =
            WaitingModel.Correction(rawValue: correctionName) ?? Scenario.standardCorrection
        let other = number(workers.forOnDemandOtherwise)
        let isReached = workers.forDeadline != nil && workers.forOnDemand != nil
        var text =
            goal("deadline", workers.forDeadline, .deadline) + (isReached ? ", " : "; ")
            + goal("on demand", workers.forOnDemand, .onDemand)
        if workers.forOnDemand != nil {
            let simulated = plan.simulatedWaits
            let method = simulated.map { _ in "simulation" } ?? Self.name(correction)
            let chosen = simulated.map {
                "\(Self.name(correction)): \(number($0.workersByFormula)), "
            }
            text += " by \(method) (\(chosen ?? "")\(Self.name(correction.other)): \(other))"
        }
        guard let barely = workers.barelyNeeded, let check = workers.squareRootCheck else {
            return text
        }
        return text + ", \(Self.number(workers.spare)) spare; without headroom "
            + "\(Self.number(barely)), square-root check \(Self.number(check))"
    }

    private var correctionName: String {
        plan.inputs.first { $0.path == "onDemand.correction" }?.text ?? ""
    }

    static func name(_ correction: WaitingModel.Correction) -> String {
        correction == .kimura ? "Kimura" : "Allen–Cunneen"
    }

    /// Formats the number of workers, with a mark for the planned one.
    func workers(_ outcome: Plan.Outcome) -> String {
        let sizing = plan.sizing.workers
        let count = HumanFormat.count(outcome.workers)
        if outcome.workers == sizing.total { return "\(count) (planned)" }
        return outcome.isEnough ? count : "\(count) (too few)"
    }

    /// The text for a plan without a pool, and so without a cost.
    static let noPool = "No pool suffices, so there is no cost."

    /// Utilization of the origin's limits.
    var origin: [(name: String, share: Double)] {
        guard let origin = plan.sizing.origin else { return [] }
        return [
            ("connections", origin.connectionShare), ("requests", origin.requestShare),
            ("bandwidth", origin.bandwidthShare),
        ].compactMap { name, share in share.map { (name, $0) } }
    }

    /// Assumed inputs, without those that are calculated from others.
    var assumedInputs: [Plan.InputInUse] {
        plan.inputs.filter { input in
            input.isAssumed
                && (input.value != nil || input.text != nil
                    || Self.standIns.contains(input.path))
        }
    }

    /// Inputs whose missing number has a meaning: no limit, or all that is available.
    private static let standIns = Set(
        [
            .originConnections, .originRequests, .originMegabits, .workerCores, .storageGigabytes,
        ].map { (input: ScenarioInput) in input.row.path })

    var givenInputs: [Plan.InputInUse] { plan.inputs.filter { !$0.isAssumed } }

    /// Formats the value of an input with its unit.
    static func value(_ input: Plan.InputInUse) -> String {
        if let text = input.text {
            return input.unit.isEmpty ? text : "\(text) \(input.unit)"
        }
        return input.value.map { estimate($0, unit: input.unit) } ?? "–"
    }

    /// Formats an estimate; bytes of a million or more with their prefix.
    static func estimate(_ value: Estimate, unit: String) -> String {
        guard unit == "B", value.likely >= 1e6 else {
            return Quantity.estimate(
                low: value.low, likely: value.likely, high: value.high, unit: unit)
        }
        let likely = Quantity.bytes(value.likely)
        return value.isExact
            ? likely : "\(likely) (\(Quantity.bytes(value.low)) to \(Quantity.bytes(value.high)))"
    }

    /// Formats a figure of a range.
    static func figure(_ value: Double, unit: String) -> String {
        switch unit {
        case "bit/s": Quantity.bandwidth(value)
        case "B": Quantity.bytes(value)
        case "1/s": Quantity.rate(value)
        case "": HumanFormat.count(Int64(saturating: value.rounded()))
        default: "\(MoneyText.amount(value)) \(unit)"
        }
    }

    static let resources: [Growth.Resource: String] = [
        .workers: "workers", .workerCPU: "CPU of the workers",
        .workerNetwork: "network of the workers", .edgeCPU: "CPU of the edge",
        .edgeNetwork: "network of the edge", .database: "PostgreSQL", .origin: "origin",
        .storage: "edge storage",
    ]

    /// Describes when a limit binds, and from when on the forecast has more workers than that needs.
    static func binds(_ limit: Growth.Limit, _ growth: Growth) -> String {
        let text = full(limit, months: growth.months.last?.month ?? 0)
        guard limit.resource == .workers, let now = growth.months.first?.workers,
            let more = growth.months.first(where: { ($0.workers ?? now) > now }),
            more.month < limit.bindsInMonth ?? .max, let workers = more.workers
        else { return text }
        return "\(text); pool.headroom needs \(HumanFormat.count(workers)) from month "
            + "\(more.month)"
    }

    /// Describes when a limit is full.
    static func full(_ limit: Growth.Limit, months: Int) -> String {
        guard limit.shareNow != nil else {
            let ofPool: [Growth.Resource] = [.workers, .workerCPU, .workerNetwork]
            return ofPool.contains(limit.resource) ? "no pool suffices" : "no limit"
        }
        guard let month = limit.bindsInMonth else { return "not within \(months) months" }
        return month == 0 ? "now" : "in month \(month)"
    }
}
