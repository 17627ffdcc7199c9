package import Statistics

extension LoadResult {
    /// The reason why a plan cannot be calibrated with it, a sentence; nil if it can.
    ///
    /// A worker's capacity shows only if nothing but the work itself limited it until the end.
    package var noCalibrationReason: String? {
        if case .open = scenario.model {
            return "its requests came at a fixed rate, which does not show the capacity of "
                + "workers; run it with --users instead of --rate"
        }
        if case .viewers = scenario.user {
            return "its viewers waited for their buffers, not for the workers; run it with --plain"
        }
        if scenario.think != .none {
            return "its users paused between requests; run it without --think"
        }
        if ending != .finished && ending != .capped {
            return "it was stopped early; let it run to the end"
        }
        if shards.contains(where: { $0.state != .finished }) {
            return "it lost a worker, or one failed; run it again"
        }
        if total.counts.succeededInTime <= 0 || measuredSeconds <= 0 {
            return "nothing was fetched in the measured time"
        }
        return nil
    }

    /// Returns its measurement of `workers` workers for the calibration of a plan; nil if it has
    /// none. Sizes and times exclude failed requests.
    package func poolMeasurement(workers: Double) -> PoolMeasurement? {
        let fetched = total.counts.requests.succeeded
        guard noCalibrationReason == nil, workers > 0 else { return nil }
        var measurement = PoolMeasurement(
            workers: workers,
            segmentsPerSecond: Double(total.counts.succeededInTime) / measuredSeconds)
        let bytes = max(total.counts.requests.bytes - total.counts.requests.failedBytes, 0)
        measurement.bytes = Double(bytes)
        measurement.segmentBytes = Double(bytes) / Double(fetched)
        measurement.cpuSeconds = total.counts.cpuSeconds > 0 ? total.counts.cpuSeconds : nil
        // From sending: waiting for a slot is not a time of the transfer.
        if let histogram = total[.totalUncorrected] {
            var service = PowerSums()
            for bin in histogram.occupied {
                service.add(bin.middle / 1e6, count: Int(bin.count))
            }
            measurement.service = service
        }
        return measurement
    }

    /// The measurement of a single run. A worker of the plan is a thread here, as far as it has a
    /// core, or a worker of a cluster.
    package var poolMeasurement: PoolMeasurement? {
        guard shards.isEmpty else { return poolMeasurement(workers: Double(shards.count)) }
        return poolMeasurement(workers: max(min(Double(cores), generatorCores), 1))
    }

    /// Returns true if so many workers shared cores, so that the result measures these. True for
    /// threads here if there are more than cores, and for a cluster's workers if they used up their
    /// cores.
    package func showsCores(of workers: Double) -> Bool {
        guard workers > max(generatorCores, 1) else { return false }
        return shards.isEmpty || (cpuShare ?? 0) > LoadHealth.maxCPUShare
    }
}

extension LoadLadder {
    /// Measurements of the steps of a scale test. The JSON has them in `calibration`, where `dray
    /// plan --calibrate` finds them.
    package var poolMeasurements: [PoolMeasurement] {
        guard unit == .workers else { return [] }
        return steps.compactMap {
            $0.result.showsCores(of: $0.level)
                ? nil : $0.result.poolMeasurement(workers: $0.level)
        }
    }

    /// Describes the steps that are excluded because their workers shared cores; nil if there are
    /// none.
    package var sharedCores: String? {
        let shared = unit == .workers ? steps.filter { $0.result.showsCores(of: $0.level) } : []
        guard let last = shared.last else { return nil }
        let levels = shared.map { "\(Int($0.level))" }.joined(separator: ", ")
        let cores = last.result.generatorCores
        let text = Int(exactly: cores).map(String.init) ?? "\((cores * 100).rounded() / 100)"
        return "of \(levels) workers had \(text) core\(cores == 1 ? "" : "s") together"
    }

    /// The reason why a plan cannot be calibrated with it, as for a result.
    package var noCalibrationReason: String? {
        guard unit == .workers else {
            return
                "its load was limited by thresholds, not by workers; dray plan takes it as "
                + "--origin-from or --edge-from"
        }
        guard poolMeasurements.isEmpty else { return nil }
        if let sharedCores, steps.allSatisfy({ $0.result.showsCores(of: $0.level) }) {
            return
                "its steps \(sharedCores), which measures these cores and not workers; "
                + "run it with at most as many workers as cores"
        }
        return steps.last?.result.noCalibrationReason ?? "none of its steps finished"
    }
}
