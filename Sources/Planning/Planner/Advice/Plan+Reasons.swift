import Statistics

/// Reasons why no pool reaches a goal, other than workers alone or an exceeded origin limit.
extension Plan {
    /// Describes a goal that is reached only without the headroom.
    static func withoutHeadroom(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing
    ) -> String {
        let isDeadline = stop.goal == .deadline
        let night = NightPool(values, sizing.demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        let pool = OnDemandPool(values, sizing.demand)
        let law = isDeadline ? night.scalability : pool.scalability
        let demanded = isDeadline ? night.segmentsPerSecond : pool.arrivalsPerSecond
        let peak = law.peakN ?? Double(Sizing.maxWorkers)
        let workers = max(1, min(wholeDown(peak), Sizing.maxWorkers))
        let unused = max(0, 1 - demanded / law.throughput(Double(workers)))
        let goal =
            isDeadline
            ? "end the nightly fill by its deadline"
            : "keep on-demand fetches within onDemand.waitSeconds at the peak"
        let (reached, required) = apart(unused * 100, values[.headroom] * 100)
        return "No pool suffices with pool.headroom: workers \(goal), but never with more than "
            + "\(reached) % of the pool unused (with \(Scenario.grouped(workers)) of "
            + "them), and pool.headroom requires \(required) %."
    }

    /// Describes what limits a fill other than an origin.
    static func ofFill(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing
    ) -> String {
        let demand = sizing.demand
        if stop.limit == ScenarioInput.bootSeconds.row.path {
            return "because worker.bootSeconds leaves no time for it."
        }
        let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        let most = min(night.scalability.peakN ?? .infinity, Double(Sizing.maxWorkers))
        if night.fillPerSecond(workers: max(1, wholeDown(most))) == 0 {
            return "because on-demand fetches alone use all of their capacity (\(stop.limit)). "
                + causeOfMisses(values, demand)
        }
        return "\(ofWorkers(stop))."
    }

    /// Describes an origin's limit that is above the demand but too close to it.
    static func atUse(
        _ stop: Sizing.Stop, _ values: ScenarioValues, _ sizing: Sizing, _ most: Double
    ) -> String {
        let pool = OnDemandPool(values, sizing.demand)
        let share = sizing.demand.peakMissesPerSecond / most
        let text = ": \(stop.limit) would be used to \(rate(share * 100)) %"
        guard let workers = pool.workersAtOrigin else { return text + "." }
        let wait = pool.waitSeconds(workers, quantile: values[.percentile])
        guard wait.isFinite else { return text + "." }
        let (start, target) = apart(wait, values[.waitSeconds])
        return text + ", and \(rate(values[.percentile] * 100)) % of them start within \(start) s, "
            + "not \(target) s."
    }

    /// Describes where most on-demand fetches come from: what the edge lacks, and the input for it.
    static func causeOfMisses(_ values: ScenarioValues, _ demand: Demand) -> String {
        if let ratio = values.known(.hitRatio) {
            return "They are the requests that the edge does not answer (edge.hitRatio "
                + "\(rate(ratio, digits: 4)))."
        }
        if values.service == .live {
            return "They are each new segment of each rendition, once for each site (edge.sites)."
        }
        let unstored =
            demand.peakRequestsPerSecond * Missed(values, demand).tail * values[.attempts]
        let share = demand.peakMissesPerSecond > 0 ? unstored / demand.peakMissesPerSecond : 0
        func most(_ share: Double) -> String {
            share > 0.995 ? "Nearly all" : "\(percent(share))"
        }
        return share >= 0.5
            ? "\(most(share)) of them are for titles that the edge does not store (edge.storedShare)."
            : "\(most(1 - share)) of them are for titles that changed since the last fill "
                + "(catalog.changePerDay)."
    }

    /// Notes long waits of on-demand fetches for transfers of the fill.
    static func besideFill(
        _ values: ScenarioValues, _ sizing: Sizing, _ advice: Advice
    ) -> [String] {
        guard let wait = waitBesideFill(values, sizing), wait > values[.waitSeconds] else {
            return []
        }
        let (waited, allowed) = apart(wait, values[.waitSeconds])
        let until = wait.isFinite ? "wait up to \(waited) s" : "wait without end"
        func suffices(_ sized: Advice.Sized) -> Bool {
            sized.sizing.workers.stops.isEmpty
                && waitBesideFill(sized.values, sized.sizing) ?? 0 <= sized.values[.waitSeconds]
        }
        let changes: [(ScenarioInput, Double, Double)] = [
            (.connections, 1_000, 1), (.spareWorkers, 1_000, 1), (.segmentSeconds, 1, 2),
        ]
        let enough = changes.compactMap { input, end, parts in
            advice.value(input, to: end, parts: parts, where: suffices).map { value in
                Remedy(goals: [], changes: [Remedy.Change(input: input.row.path, value: value)])
            }
        }
        return [
            "While the fill runs, \(rate(values[.percentile] * 100)) % of on-demand fetches \(until), "
                + "onDemand.waitSeconds is \(allowed): every transfer is in use then, and one has to "
                + "end first."
                + (enough.isEmpty
                    ? "" : " \(advice.alternatives(enough, start: "They start in time"))")
        ]
    }

    /// Returns the seconds that on-demand fetches wait during the fill; nil without them or a pool.
    private static func waitBesideFill(_ values: ScenarioValues, _ sizing: Sizing) -> Double? {
        let demand = sizing.demand
        guard let workers = sizing.workers.total, demand.meanMissesPerSecond > 0,
            demand.fillSegmentsPerDay >= 1
        else { return nil }
        let night = NightPool(values, demand, fill: sizing.fillSpeed, miss: sizing.missSpeed)
        return night.waitBesideFill(
            workers, OnDemandPool(values, demand), quantile: values[.percentile])
    }

    /// Describes a database with too few cores.
    static func ofDatabase(
        _ values: ScenarioValues, _ sizing: Sizing, _ advice: Advice
    ) -> [String] {
        let used = sizing.database.coresInUse / values[.databaseCores]
        guard used > 1 - values[.headroom] else { return [] }
        let (use, allowed) = apart(used * 100, (1 - values[.headroom]) * 100)
        let cores = advice.value(.databaseCores, to: 1_024) { sized in
            sized.sizing.database.coresInUse
                <= sized.values[.databaseCores] * (1 - sized.values[.headroom])
        }
        return [
            "database.cores is too low: the plan would use \(use) % of it; pool.headroom allows "
                + "\(allowed) %."
                + (cores.map { " \(Scenario.grouped($0)) cores suffice." }
                    ?? " No server has enough cores." + ofServers(advice))
        ]
    }

    /// Names the clusters whose databases each have enough cores; empty if no number does.
    private static func ofServers(_ advice: Advice) -> String {
        let most = ScenarioInput.databaseCores.row.allowed.upperBound
        let clusters = advice.clusters { sized in
            sized.sizing.database.coresInUse <= most * (1 - sized.values[.headroom])
        }
        return clusters.map { count in
            " Split the cluster into \(Scenario.grouped(count)), each with an equal part of the "
                + "fetches and a server of up to \(Scenario.grouped(most)) cores."
        } ?? ""
    }

    /// Describes storage that has no space for what is stored of the catalog.
    static func ofStorage(
        _ values: ScenarioValues, _ sizing: Sizing, _ advice: Advice
    ) -> [String] {
        guard let storage = values.known(.storageGigabytes),
            sizing.demand.edgeStorageBytes > storage * 1e9
        else { return [] }
        let share = advice.value(.storedShare, to: 0.001, parts: 1_000) { sized in
            sized.sizing.demand.edgeStorageBytes <= storage * 1e9
        }
        let fits = share.map { share in
            let isEnough = sizing.workers.total == nil || advice.hasPool(.storedShare, share)
            return " An edge.storedShare of \(Scenario.plain(share)) would fit"
                + (isEnough ? "." : ", but no pool suffices for the misses that it leaves.")
        }
        return [
            "edge.storageGigabytes is too low: what is stored of the catalog needs "
                + "\(Scenario.plain((sizing.demand.edgeStorageBytes / 1e9).rounded(.up)))."
                + (fits ?? "")
        ]
    }
}
