package import LoadModel
import Model
import Rendering
import Statistics
import Text

/// Derives rates, the generator's health and warnings from a result.
extension LoadResult {
    private func perSecond(_ value: Double) -> Double? {
        measuredSeconds > 0 ? value / measuredSeconds : nil
    }

    /// Successful requests per second that ended before the end of the load: the figure `rate` of
    /// thresholds.
    var requestsPerSecond: Double? { figure(.requestRate) }
    /// The same of failed requests.
    var failedPerSecond: Double? {
        perSecond(Double(total.counts.requests.failed - total.counts.afterEnd.failed))
    }
    /// Planned requests per second of the open model; nil for viewers, which plan no requests.
    var plannedPerSecond: Double? {
        guard case .open = scenario.model, !hasViewers else { return nil }
        return perSecond(Double(total.counts.pacing.planned))
    }
    private var isOpen: Bool {
        if case .open = scenario.model { return true }
        return false
    }

    var bitsPerSecond: Double? { perSecond(Double(total.counts.bytesInTime) * 8) }

    func figure(_ figure: LoadFigure) -> Double? {
        figure.value(in: total, measuredSeconds: measuredSeconds)
    }

    /// CPU use of the busiest machine, 0 to 1; of all machines if they are not known separately.
    var busiestShare: Double? {
        guard let machine = total.busiestMachine else { return cpuShare }
        let available = measuredSeconds * machine.cores
        return available > 0 ? machine.cpuSeconds / available : nil
    }

    /// True if the generator, not the target, was the bottleneck.
    package var generatorIsLimit: Bool {
        let share = busiestShare ?? 0
        return share > LoadHealth.maxCPUShare || isLate && share >= LoadHealth.minLateCPUShare
    }

    /// True if requests were sent late although the generator used little CPU: other work on its
    /// machine took it.
    package var machineIsBusy: Bool { isLate && !generatorIsLimit }

    /// The measurements that make the generator the bottleneck, such as `CPU 93 %`.
    var generatorLimits: String {
        let cpu = "CPU \(LoadFormat.percent(busiestShare))"
        return isLate ? "\(cpu), \(lateShare) sent late" : cpu
    }

    /// CPU use of the generator, such as `2.14 % of its 2 cores`; on a cluster that of the busiest
    /// machine.
    var generatorUse: String {
        let cores = total.busiestMachine?.cores ?? generatorCores
        return "\(LoadFormat.percent(busiestShare)) of its \(LoadFormat.cores(cores))"
    }

    /// Share of the requests that were sent late, such as `5.83 %`.
    var lateShare: String { LoadFormat.percent(figure(.lateSendRatio)) }

    /// True if more requests were sent late than with any generator.
    var isLate: Bool {
        total.counts.pacing.lateSends >= LoadHealth.fewLateSends
            && (figure(.lateSendRatio) ?? 0) > LoadHealth.maxLateShare
    }

    /// The reason why a step of a search fails; nil if its load was sent in full and all thresholds
    /// pass.
    ///
    /// Requests that are sent late come in bursts, which may break a threshold that the planned load
    /// would not. So late sends count before thresholds, unless the target fell behind by more.
    package var limit: LoadLadder.Limit? {
        if ending == .capped { return .cap }
        let isBroken = !broken.isEmpty || ending == .aborted
        if isLate, isBroken || isWhole {
            guard machineIsBusy else { return .generator }
            guard isWhole, fallsBehind else { return .machineBusy }
            return isBroken ? .threshold : .fellBehind
        }
        if isBroken { return .threshold }
        if !isWhole { return .worker }
        if generatorIsLimit { return .generator }
        if fallsBehind { return .fellBehind }
        return total.counts.pacing.missedSends > 0 ? .missedSends : nil
    }

    /// True if requests in progress grew over the last half of an open test, by more than were sent
    /// late. At the capacity of a target that queues what it cannot serve, nothing fails, and
    /// latencies depend on the length of the test.
    private var fallsBehind: Bool {
        guard let window = BacklogWindow(self) else { return false }
        return window.isGrowing(lateSends: total.counts.pacing.lateSends)
    }

    var hasViewers: Bool {
        if case .viewers = scenario.user { return true }
        return total.counts.viewers.started + total.counts.viewers.ended > 0
    }

    /// Limits of the results, a sentence each.
    package var warnings: [String] {
        endingWarnings + notes + openWarnings + generatorWarnings + shardWarnings
            + breakdownWarnings + sampleWarnings
    }

    private var endingWarnings: [String] {
        switch ending {
        case .finished, .capped: []
        case .interrupted: ["It was interrupted: the results cover the time until then."]
        case .aborted: ["A threshold ended it early: the results cover the time until then."]
        }
    }

    private var generatorWarnings: [String] {
        var warnings: [String] = []
        if let share = busiestShare, share > LoadHealth.maxCPUShare {
            let machine = total.busiestMachine
            let machineName = machine.map { " on \(LoadFormat.name($0.name))" } ?? ""
            warnings.append(
                "The generator\(machineName) used \(LoadFormat.percent(share)) of its "
                    + "\(LoadFormat.cores(machine?.cores ?? generatorCores)): it was the "
                    + "bottleneck, and latencies include its own delays. Lower the load, or "
                    + "use more workers.")
        }
        if isLate {
            let why =
                machineIsBusy
                ? ", and the generator used \(generatorUse): the machine is busy with other work."
                : ": the generator fell behind its schedule."
            warnings.append(
                "\(lateShare) of the requests were sent "
                    + "over \(LoadFormat.seconds(LoadHealth.lateSeconds)) late although a slot "
                    + "was free\(why)")
        }
        if total.counts.pacing.missedSends > 0 {
            warnings.append(
                "\(HumanFormat.count(total.counts.pacing.missedSends, "request")) that "
                    + "\(total.counts.pacing.missedSends == 1 ? "was" : "were") due before the end "
                    + "\(total.counts.pacing.missedSends == 1 ? "was" : "were") never sent.")
        }
        if total.counts.viewers.rejected > 0 {
            warnings.append(
                "\(HumanFormat.count(total.counts.viewers.rejected, "viewer")) that were "
                    + "due did not start: a generator has reached its maximum. Lower the load, "
                    + "or use more workers.")
        }
        if total.counts.pacing.queued > 0 {
            warnings.append(
                "\(HumanFormat.count(total.counts.pacing.queued, "request")) waited in the "
                    + "generator's queue because its "
                    + "\(HumanFormat.count(scenario.concurrency, "slot")) "
                    + "\(scenario.concurrency == 1 ? "was" : "were") in use, and "
                    + "latencies include that: the target fell behind the schedule, or the "
                    + "test needs more slots (http.concurrency).")
        }
        return warnings
    }

    /// Share of requests that were sent again above which a warning is shown.
    private static let maxResentShare = 0.01

    /// Warnings about requests that were sent again, and about requests and viewers that were in
    /// progress at the end.
    private var openWarnings: [String] {
        var warnings: [String] = []
        let counts = total.counts
        if counts.requests.resent > 0,
            Double(counts.requests.resent) > Self.maxResentShare * Double(counts.requests.sent)
        {
            warnings.append(
                "\(HumanFormat.count(counts.requests.resent, "request")) "
                    + "\(counts.requests.resent == 1 ? "was" : "were") sent again on a new connection, "
                    + "because the server had closed a kept one before an answer. Each counts "
                    + "once here, with all its time; the server may have received it twice.")
        }
        // Requests cut off by caps are expected.
        if counts.requests.unfinished > 0, ending != .capped {
            warnings.append(
                "\(HumanFormat.count(counts.requests.unfinished, "request")) "
                    + "\(counts.requests.unfinished == 1 ? "was" : "were") unfinished when it was "
                    + "stopped, the longest for "
                    + "\(LoadFormat.seconds(counts.requests.longestUnfinishedSeconds)): no latency and "
                    + "no error includes them.")
        }
        if counts.viewers.notStarted > 0 {
            warnings.append(
                "\(HumanFormat.count(counts.viewers.notStarted, "viewer")) did not start "
                    + "playing before \(counts.viewers.notStarted == 1 ? "its" : "their") time "
                    + "was over: for those that waited longer than usual, the wait counts as "
                    + "start-up time.")
        }
        return warnings
    }

    private var shardWarnings: [String] {
        shards.compactMap { shard in
            let worker = shard.worker.isEmpty ? "this process" : LoadFormat.name(shard.worker)
            let name = "Shard \(shard.index + 1) of \(shards.count), on \(worker),"
            let from = shard.missingFromSecond.map { " from second \($0) on" } ?? ""
            switch shard.state {
            case .finished: return nil
            case .running: return "\(name) has not ended: its results are incomplete."
            case .lost:
                return
                    "\(name) stopped sending heartbeats\(from): its part of the load was "
                    + "not sent from then "
                    + "on\(isOpen ? ", and counts as planned and missed" : "")."
            case .failed:
                let why = shard.message.map { ": \(printable($0))" } ?? "."
                return "\(name) failed\(from)\(why)"
            }
        }
    }

    private var breakdownWarnings: [String] {
        guard !shardsWithoutBreakdown.isEmpty else { return [] }
        let numbers = shardsWithoutBreakdown.map { "\($0 + 1)" }.joined(separator: ", ")
        let named = shardsWithoutBreakdown.count == 1 ? "shard \(numbers)" : "shards \(numbers)"
        return [
            "The tables by URL, target and rendition omit \(named) of \(shards.count): "
                + "it did not report them at the end."
        ]
    }

    private var sampleWarnings: [String] {
        var warnings: [String] = []
        let (failed, all) = (warmUp.counts.requests.failed, warmUp.counts.requests.ended)
        if failed >= LoadHealth.fewWarmUpFailures,
            Double(failed) > LoadHealth.maxWarmUpFailureShare * Double(all)
        {
            warnings.append(
                "\(HumanFormat.count(failed, "request")) of \(HumanFormat.count(all)) failed in the "
                    + "warm-up, which is in no result.")
        }
        if total.counts.requests.ended == 0 {
            warnings.append(
                "No request ended in the measured time: there is no result.")
        }
        let clamped = LoadMetric.allCases.reduce(0) { $0 + (total[$1]?.clamped ?? 0) }
        if clamped > 0 {
            warnings.append(
                "\(HumanFormat.count(clamped, "duration")) longer than a day count as a "
                    + "day.")
        }
        return warnings
    }
}
