import LoadModel
import Rendering
import Statistics
import Text

/// Facts of a test with several loads.
extension LoadFacts {
    func ladder(_ ladder: LoadLadder) -> Table {
        let showsLate = ladder.steps.contains(where: \.result.isLate)
        return Table(
            title: ladder.kind == .search
                ? "Search for the limit" : "Scaling with workers",
            headings: [
                Self.heading(ladder.unit), "requests", "throughput", "failed", "first byte p99",
                "total p99",
            ] + (showsLate ? ["sent late", ""] : [""]),
            rows: ladder.steps.map { step in
                let result = step.result
                return [
                    Self.level(step.level, ladder.unit), LoadFormat.rate(result.requestsPerSecond),
                    LoadFormat.bandwidth(result.bitsPerSecond),
                    LoadFormat.percent(result.figure(.errorRate)),
                    LoadFormat.time(result.total[.firstByte]?.value(quantile: 0.99)),
                    LoadFormat.time(result.total[.total]?.value(quantile: 0.99)),
                ] + (showsLate ? [result.lateShare] : []) + [Self.remark(step)]
            }, text: [showsLate ? 7 : 6], spare: [2, 4])
    }

    /// Returns the first lines of a report: the result of a search, and the requests of the main step.
    func leads(_ ladder: LoadLadder?) -> [String] {
        guard let ladder, let level = ladder.mainLevel else { return [headline] }
        let step = "\(headline) (step of \(Self.name(level, ladder.unit)))"
        return ladder.kind == .search ? [Self.search(ladder), step] : [step]
    }

    /// Conclusions from all steps, a sentence each.
    static func conclusions(_ ladder: LoadLadder) -> [String] {
        switch ladder.kind {
        case .search:
            [search(ladder)]
                + (planCommand(ladder).map { ["To plan with this limit: \($0)"] } ?? [])
        case .scale: scale(ladder)
        }
    }

    private static func heading(_ unit: LoadLadder.Unit) -> String {
        switch unit {
        case .arrivalsPerSecond: "arrivals"
        case .users: "users"
        case .workers: "workers"
        }
    }

    /// Formats a load with its unit.
    static func name(_ level: Double, _ unit: LoadLadder.Unit) -> String {
        let text = Self.level(level, unit)
        guard unit != .arrivalsPerSecond else { return text }
        return "\(text) \(level == 1 ? String(heading(unit).dropLast()) : heading(unit))"
    }

    private static func level(_ level: Double, _ unit: LoadLadder.Unit) -> String {
        switch unit {
        case .arrivalsPerSecond: Quantity.rate(level)
        case .users, .workers: Quantity.digits(level)
        }
    }

    private static func remark(_ step: LoadLadder.Step) -> String {
        let result = step.result
        let broken = result.broken.map { Self.text($0.threshold) }
        var remarks: [String] = []
        if result.machineIsBusy {
            // The target was judged nevertheless, or the column of late sends has the reason.
            if step.limit == nil || step.limit == .machineBusy { remarks.append("machine busy") }
        } else if result.generatorIsLimit {
            // With a threshold, there is no space for the CPU.
            let cpu = LoadFormat.percent(result.busiestShare)
            remarks.append(broken.isEmpty ? "generator's limit: CPU \(cpu)" : "generator's limit")
        }
        if !broken.isEmpty { remarks.append("broken: \(broken.joined(separator: ", "))") }
        if result.ending == .interrupted { remarks.append("interrupted") }
        guard remarks.isEmpty else { return remarks.joined(separator: "; ") }
        if step.limit == .missedSends {
            return "never sent: \(LoadFormat.count(result.total.counts.pacing.missedSends))"
        }
        if step.limit == .fellBehind { return "the target fell behind" }
        if !result.isWhole { return "a worker was lost" }
        return switch result.ending {
        case .finished, .interrupted: ""
        case .aborted: "ended early by a threshold"
        case .capped: "ended early by a cap"
        }
    }

    /// Describes the result of a search, with its margin.
    static func search(_ ladder: LoadLadder) -> String {
        let margin = ladder.highest.flatMap { SearchMargin(ladder)?.text(of: $0) }
        return found(ladder) + (margin.map { " \($0)" } ?? "")
    }

    /// Returns limits of the conclusions, a sentence each: a search that did not find the limit.
    static func warnings(_ ladder: LoadLadder?) -> [String] {
        guard let ladder, ladder.kind == .search, !ladder.isConclusive else { return [] }
        return ["The search did not find the limit. \(search(ladder))"]
    }

    private static func found(_ ladder: LoadLadder) -> String {
        func name(_ level: Double) -> String { Self.name(level, ladder.unit) }
        if let knee = ladder.knee { return Self.text(knee, ladder) }
        let isOfTarget = ladder.limit == .threshold || ladder.limit == nil
        let why = ladder.limitingStep.map(Self.reason) ?? ""
        let ended =
            switch ladder.cap {
            case .requests: " A limit of requests or bytes ended the search there."
            case .seconds: " The duration left no time for another step."
            case nil: stopped(ladder).map { " \($0)" } ?? ""
            }
        return switch (ladder.highest, ladder.lowestBroken) {
        case (let highest?, let broken?) where isOfTarget:
            "All thresholds pass with \(name(highest)), and fail with "
                + "\(name(broken)).\(ended)"
        case (let highest?, let broken?) where ladder.limit == .fellBehind:
            "All thresholds pass with \(name(highest)); with \(name(broken)) \(why).\(ended)"
        case (let highest?, let broken?):
            "All thresholds pass with \(name(highest)); with \(name(broken)) \(why): the "
                + "limit was not found.\(ended)"
        case (let highest?, nil) where ladder.stop != nil:
            "All thresholds pass with \(name(highest)).\(ended)"
        case (let highest?, nil):
            "All thresholds pass with \(name(highest)), the highest load tried: the limit was not "
                + "\(ladder.cap == nil ? "reached" : "found").\(ended)"
        case (nil, let broken?) where isOfTarget:
            "No load passed all thresholds; \(name(broken)) is too much.\(ended)"
        case (nil, let broken?):
            "No load passed all thresholds; with \(name(broken)) \(why).\(ended)"
        case (nil, nil) where ladder.stop != nil: stopped(ladder) ?? ""
        case (nil, nil): "No load was tried to the end.\(ended)"
        }
    }

    /// Describes the load at which throughput stopped rising.
    private static func text(_ knee: LoadLadder.Knee, _ ladder: LoadLadder) -> String {
        let isFirst = ladder.steps.first?.level == knee.level
        let most = ladder.highest.map { Self.name($0, ladder.unit) } ?? "more"
        return "Throughput stopped rising at \(name(knee.level, ladder.unit))"
            + "\(isFirst ? " or fewer" : ""): \(LoadFormat.rate(knee.perSecond)). Up to \(most), it "
            + "grew by less than \(LoadFormat.percent(LoadSearch.kneeGrowth)). To search for the "
            + "users that a latency allows, add --threshold 'p99(total) < 200ms'."
    }

    /// Describes what ended a search before it found the limit; nil if nothing did.
    private static func stopped(_ ladder: LoadLadder) -> String? {
        guard let stop = ladder.stop else { return nil }
        let level = Self.name(stop.level, ladder.unit)
        switch stop.reason {
        case .interrupted: return "It was interrupted at \(level): the limit was not found."
        case .failed: return "It failed at \(level): the limit was not found."
        case .machineBusy:
            let result = ladder.stopStep?.result ?? LoadResult()
            let broken =
                result.broken.isEmpty
                ? "" : " So the thresholds that failed there show no limit of the target."
            return "With \(level), \(result.lateShare) of the requests were sent late, in the last "
                + "of \(LoadSearch.busyPauses.count + 1) tries, although the generator used "
                + "\(result.generatorUse): the machine is busy with other work, and the limit was "
                + "not found.\(broken) Search again on a quiet machine."
        }
    }

    /// Returns the command that plans with the limit of an origin; nil if no limit of requests per
    /// second was found.
    static func planCommand(_ ladder: LoadLadder) -> String? {
        guard ladder.kind == .search, ladder.unit == .arrivalsPerSecond, ladder.isConclusive,
            ladder.lowestBroken != nil, let highest = ladder.highest,
            ladder.mainStep?.result.hasViewers == false
        else { return nil }
        let places = highest < 10 ? 2 : 0
        return "dray plan --origin-requests \(HumanFormat.fixed(highest, places: places))"
    }

    private static func reason(_ step: LoadLadder.Step) -> String {
        let isBroken = !step.result.broken.isEmpty
        return switch step.limit {
        case nil: ""
        case .threshold: "a threshold failed"
        case .fellBehind: "the target fell behind: it answered fewer requests than were sent"
        case .missedSends: "requests that were due were never sent (http.concurrency)"
        case .generator:
            "\(isBroken ? "a threshold failed, but " : "")the generator itself was the limit "
                + "(\(step.result.generatorLimits))"
        case .machineBusy: "the machine of the generator was busy"
        case .worker: "a worker was lost"
        case .cap: "a limit of requests or bytes ended it"
        }
    }

    private static func scale(_ ladder: LoadLadder) -> [String] {
        guard let fit = ladder.fit else {
            return ["Fewer than three different numbers of workers: no scalability law was fitted."]
        }
        let law = fit.scalability
        func text(_ value: Double) -> String { Quantity.digits(value) }
        var sentences = [
            "Universal Scalability Law: contention α \(text(law.alpha)), coherency β "
                + "\(text(law.beta)), one worker γ \(Quantity.rate(law.gamma)); it explains "
                + "\(LoadFormat.percent(fit.rSquared)) of the variance."
        ]
        if let peak = law.peakN, let most = law.peakX, peak.isFinite, most.isFinite {
            sentences.append(
                "The fit peaks at \(text(peak)) workers: \(Quantity.rate(most)).")
        }
        return sentences
    }
}

extension LoadLadder {
    /// The last step of each load, the lowest load first.
    var lastTries: [Step] {
        var last: [Double: Step] = [:]
        for step in steps { last[step.level] = step }
        return last.values.sorted { $0.level < $1.level }
    }
}
