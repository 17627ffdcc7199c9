package import Planner

extension LoadResult {
    /// What it says of `workers` workers to a plan that is calibrated with it; nil of nothing fetched.
    package func poolMeasurement(workers: Double) -> PoolMeasurement? {
        let fetched = total.counts.succeeded
        guard fetched > 0, measuredSeconds > 0, workers > 0 else { return nil }
        var measurement = PoolMeasurement(
            workers: workers,
            segmentsPerSecond: Double(total.counts.succeededInTime) / measuredSeconds)
        measurement.bytes = Double(total.counts.bytes)
        measurement.segmentBytes = Double(total.counts.bytes) / Double(fetched)
        measurement.cpuSeconds = total.counts.cpuSeconds > 0 ? total.counts.cpuSeconds : nil
        // From the sending: what a request waits for its turn is no time of a transfer.
        if let histogram = total[.totalUncorrected] {
            var service = PowerSums()
            for bin in histogram.occupied {
                service.add(bin.middle / 1e6, count: Int(bin.count))
            }
            measurement.service = service
        }
        return measurement
    }
}

extension LoadLadder {
    /// What its steps say to a plan: of a scale by the number of workers. Its result's JSON has them in
    /// `calibration`, where `dray plan --calibrate` finds them.
    package var poolMeasurements: [PoolMeasurement] {
        guard unit == .workers else { return [] }
        return steps.compactMap { $0.result.poolMeasurement(workers: $0.level) }
    }
}
