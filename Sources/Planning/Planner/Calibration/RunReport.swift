import FoundationEssentials

/// The totals of a finished run, from `dray prefetch --report`.
package struct RunReport: Decodable, Hashable, Sendable {
    package var totals: Totals

    package struct Totals: Decodable, Hashable, Sendable {
        package var segments: Double
        package var fetchedBytes: Double
        package var seconds: Double
        package var retries: Double
        package var assets: Double?
        package var failed: Double?
        package var waitSeconds: Waits?
        package var work: Work?
        package var settings: Settings?
    }

    /// Seconds from the start until a file was stored.
    package struct Waits: Decodable, Hashable, Sendable {
        package var p50: Double
        package var p95: Double
        package var p99: Double
    }

    package struct Work: Decodable, Hashable, Sendable {
        package var workers: Int
        package var utilisation: Double
        package var fetchSeconds: Double
        package var fetchCV2: Double
    }

    /// The settings of the pool that ran it.
    package struct Settings: Decodable, Hashable, Sendable {
        /// Concurrent transfers of each worker.
        package var connections: Double?
        package var origins: [Origin]?
    }

    /// An origin of the run, and its limits for all workers together; nil for no limit.
    package struct Origin: Decodable, Hashable, Sendable {
        package var origin: String
        package var connections: Double?
        package var requestsPerSecond: Double?
        package var bytesPerSecond: Double?
    }

    /// Decodes a report; nil if the JSON is something else.
    package init?(json bytes: [UInt8]) {
        guard let report = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else {
            return nil
        }
        self = report
    }

    /// Settings and results of the run. `workers` and `connections` replace the report's.
    package func run(workers: Int? = nil) -> RunCheck.Run {
        let totals = totals
        var run = RunCheck.Run(
            segments: totals.segments, bytes: totals.fetchedBytes, seconds: totals.seconds,
            retries: totals.retries, workers: workers ?? totals.work?.workers ?? 1)
        run.assets = totals.assets
        run.assetsFailed = totals.failed
        run.waits = totals.waitSeconds.map { ($0.p50, $0.p95, $0.p99) }
        run.utilisation = totals.work?.utilisation
        run.fetchSeconds = totals.work?.fetchSeconds
        run.fetchCV2 = totals.work?.fetchCV2
        run.connections = totals.settings?.connections
        run.limits = totals.settings?.origins.map(RunLimits.init)
        return run
    }
}

/// The limits of a run's origins, set in the cluster; nil for none.
package struct RunLimits: Hashable, Sendable {
    package var connections: Double?
    package var requestsPerSecond: Double?
    package var bytesPerSecond: Double?

    package init(
        connections: Double? = nil, requestsPerSecond: Double? = nil, bytesPerSecond: Double? = nil
    ) {
        self.connections = connections
        self.requestsPerSecond = requestsPerSecond
        self.bytesPerSecond = bytesPerSecond
    }

    /// The limits of one origin; those of several origins together are unknown, because a report
    /// does not show their shares of the segments.
    init(_ origins: [RunReport.Origin]) {
        let only = origins.count == 1 ? origins.first : nil
        self.init(
            connections: only?.connections, requestsPerSecond: only?.requestsPerSecond,
            bytesPerSecond: only?.bytesPerSecond)
    }

    /// Part of a bandwidth limit that workers use: their bucket never exceeds it in any second.
    package static let bandwidthUse = 0.95

    /// The time in which workers send the requests of one second of a limit: a request counts until
    /// a little over a second after it must have arrived at the origin (`RequestPacer`).
    package static func requestWindowSeconds(latencySeconds: Double) -> Double {
        1.02 + min(max(latencySeconds, 0), 0.1)
    }
}
