/// The bottleneck of a worker.
package enum WorkerBound: String, Codable, Sendable {
    /// Transfer slots, limited by latency and the connection's bandwidth.
    case connections
    case cpu
    case network
    /// Measured, not calculated.
    case measured
}

/// The speed of one worker with fetches of one size.
package struct WorkerSpeed: Codable, Hashable, Sendable {
    /// Size of a fetch.
    package let segmentBytes: Double
    /// Time of one transfer without contention, in seconds.
    package let transferSeconds: Double
    /// CPU time of a worker per fetch, in seconds.
    package let cpuSeconds: Double
    /// The speed of a single worker.
    package let segmentsPerSecond: Double
    package let bound: WorkerBound

    /// Calculates the speed for fetches of `bytes` each.
    ///
    /// A transfer takes a fixed time plus its bytes over a rate. Measured speeds are adjusted to
    /// this size by the time per byte. CPU and network limit both.
    package init(_ values: ScenarioValues, bytes: Double) {
        segmentBytes = bytes
        transferSeconds = max(1e-6, Self.transferSeconds(values, bytes: bytes))
        cpuSeconds = max(
            1e-9, values[.cpuPerSegment] * 1e-6 + bytes * values[.cpuPerGigabyte] * 1e-9)
        let own: (WorkerBound, Double)
        if let seconds = Self.measuredSeconds(values, bytes: bytes) {
            own = (.measured, 1 / max(1e-9, seconds))
        } else {
            own = (
                .connections,
                values[.connections] / transferSeconds * values[.connectionEfficiency]
            )
        }
        let perSecond = [
            own, (.cpu, Self.cores(values) / cpuSeconds),
            (.network, Self.bytesPerSecond(values) / max(0.125, bytes)),
        ]
        let least = perSecond.min { $0.1 < $1.1 } ?? own
        bound = least.0
        segmentsPerSecond = least.1
    }

    private static func transferSeconds(_ values: ScenarioValues, bytes: Double) -> Double {
        let perByte = 8 / (values[.connectionMegabits] * 1e6)
        guard let measured = values.known(.serviceSeconds) else {
            return values[.originLatency] / 1_000 + bytes * perByte
        }
        return atSize(bytes, measured, values.known(.measuredBytes), perByte: perByte)
    }

    /// Returns a worker's measured seconds per segment; nil if nothing was measured.
    private static func measuredSeconds(_ values: ScenarioValues, bytes: Double) -> Double? {
        guard let rate = values.known(.segmentsPerSecond) else { return nil }
        let reckoned = max(
            values[.cpuPerGigabyte] * 1e-9 / cores(values), 1 / bytesPerSecond(values),
            8 / (values[.connectionMegabits] * 1e6 * values[.connections]))
        let perByte = values.known(.secondsPerGigabyte).map { $0 * 1e-9 } ?? reckoned
        return atSize(bytes, 1 / rate, values.known(.measuredBytes), perByte: perByte)
    }

    /// Adjusts `seconds`, measured for `size` bytes, to another size; its fixed part is never
    /// negative.
    private static func atSize(
        _ bytes: Double, _ seconds: Double, _ size: Double?, perByte: Double
    ) -> Double {
        guard let size, size > 0 else { return seconds }
        return seconds + (bytes - size) * min(perByte, seconds / size)
    }

    /// Returns a worker's cores: one event loop per core.
    package static func cores(_ values: ScenarioValues) -> Double {
        min(values.known(.workerCores) ?? values[.machineCores], values[.machineCores])
    }

    /// Returns its part of the machine's bandwidth, or its measured ceiling if that is lower.
    static func bytesPerSecond(_ values: ScenarioValues) -> Double {
        let share = values[.nicMegabits] * min(1, cores(values) / values[.machineCores])
        return min(share, values.known(.workerMegabits) ?? share) * 1e6 / 8
    }
}
