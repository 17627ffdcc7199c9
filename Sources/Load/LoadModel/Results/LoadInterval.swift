package import Statistics

/// Measurements of one second of a test, of one loop, process or machine, or of all. Intervals of
/// the same second are added without loss, and so are all seconds of a test.
///
/// A value: used by one owner at a time. A request counts in the second in which it ended.
package struct LoadInterval: Sendable, Equatable {
    /// Seconds since the start, from 0.
    package var second: Int
    /// Length of the second, 0 to 1: less than 1 if the test ended in it.
    package var lengthSeconds = 1.0
    /// Part of the second with load: after its end no request starts and requests in flight end.
    package var loadSeconds = 1.0
    /// True after the warm-up.
    package var isMeasured = true
    package var counts = LoadCounts()
    /// By `LoadMetric.rawValue`; nil for a metric without a value.
    private var histograms = [Histogram?](repeating: nil, count: LoadMetric.allCases.count)
    /// Failed requests by failure code.
    package var errors: [String: Int64] = [:]
    /// By machine identity; empty if the generator is this process alone.
    package var machines: [String: LoadMachine] = [:]

    package init(second: Int) { self.second = second }

    package mutating func record(_ value: Int64, _ metric: LoadMetric) {
        // Recording in place copies no histogram, as a comparison with nil would.
        guard histograms[metric.rawValue]?.record(value) == nil else { return }
        var histogram = Histogram()
        histogram.record(value)
        histograms[metric.rawValue] = histogram
    }

    /// The histogram of a metric; nil if nothing was recorded.
    package subscript(_ metric: LoadMetric) -> Histogram? {
        get { histograms[metric.rawValue] }
        set { histograms[metric.rawValue] = newValue }
    }

    /// Maximum number of failure codes, beyond which they count as `LoadBreakdown.others`, and of
    /// machines.
    static let (maxErrors, maxMachines) = (500, 1_000)

    /// Adds another interval of the same second or of a later one.
    package mutating func add(_ other: LoadInterval) {
        counts.add(other.counts)
        lengthSeconds = max(lengthSeconds, other.lengthSeconds)
        loadSeconds = max(loadSeconds, other.loadSeconds)
        for metric in LoadMetric.allCases {
            guard let histogram = other[metric] else { continue }
            if histograms[metric.rawValue] == nil { histograms[metric.rawValue] = Histogram() }
            histograms[metric.rawValue]?.add(histogram)
        }
        Self.add(other.errors, to: &errors)
        for (id, machine) in other.machines {
            if machines[id] != nil {
                machines[id]?.add(machine)
            } else if machines.count < Self.maxMachines {
                machines[id] = machine
            }
        }
    }

    static func add(_ counts: [String: Int64], to errors: inout [String: Int64]) {
        for (code, count) in counts {
            let isKnown = errors[code] != nil || errors.count < maxErrors
            errors[isKnown ? code : LoadBreakdown.others, default: 0] += count
        }
    }

    /// The machine with the busiest CPUs; nil if machines are not distinguished.
    package var busiestMachine: LoadMachine? {
        machines.sorted { $0.key < $1.key }.map(\.value).filter { $0.cores > 0 }.max {
            $0.cpuSeconds / $0.cores < $1.cpuSeconds / $1.cores
        }
    }

    /// Cores of all machines, each counted once and limited by quotas; nil if machines are not
    /// distinguished.
    package var machineCores: Double? {
        machines.isEmpty ? nil : machines.values.reduce(0) { $0 + $1.cores }
    }
}

/// Counts of an interval.
package struct LoadCounts: Sendable, Equatable, Codable {
    /// Requests and viewers that were due in the open model's plan.
    package var planned: Int64 = 0
    /// Requests sent.
    package var sent: Int64 = 0
    /// Requests that succeeded, and that failed.
    package var succeeded: Int64 = 0
    package var failed: Int64 = 0
    /// Bytes of bodies, including those of failed requests.
    package var bytes: Int64 = 0
    /// Part of `bytes` that belongs to failed requests.
    package var failedBytes: Int64 = 0
    /// Requests sent once more on a new connection, because the server closed a kept one before the
    /// first byte of an answer. The server may have received both; `sent` counts one.
    package var resent: Int64 = 0
    /// Connections opened.
    package var connections: Int64 = 0
    /// Requests sent more than `LoadHealth.lateSeconds` after they were due although a slot was
    /// free: a delay of the generator.
    package var lateSends: Int64 = 0
    /// Requests that were due before the end and never sent.
    package var missedSends: Int64 = 0
    /// Requests that waited in the generator because all `LoadHTTP.concurrency` slots were in use.
    package var queued: Int64 = 0
    /// Requests in flight when the test was stopped, or cut off by a byte cap, and the longest time
    /// since the planned start of one. No latency includes them.
    package var unfinished: Int64 = 0
    package var longestUnfinishedSeconds = 0.0
    /// The part of the counts above after the end of the load, while the last requests ended. No
    /// rate includes it.
    package var succeededAfterEnd: Int64 = 0
    package var failedAfterEnd: Int64 = 0
    package var bytesAfterEnd: Int64 = 0
    package var cpuSecondsAfterEnd = 0.0
    /// Responses that a cache served or fetched, as their headers say, and bytes of their bodies.
    package var cacheHits: Int64 = 0
    package var cacheMisses: Int64 = 0
    package var cacheHitBytes: Int64 = 0
    package var cacheMissBytes: Int64 = 0
    /// Responses from a cache with an `Age`, and the sum of their ages.
    package var cacheAges: Int64 = 0
    package var cacheAgeSeconds = 0.0
    package var viewersStarted: Int64 = 0
    package var viewersEnded: Int64 = 0
    /// Ended viewers that could not play to the end.
    package var viewersFailed: Int64 = 0
    /// Ended viewers that still waited for their first frame.
    package var viewersNotStarted: Int64 = 0
    /// Part of `missedSends`: viewers that were due while the generator had the maximum number.
    package var viewersRefused: Int64 = 0
    package var segments: Int64 = 0
    /// Segments that arrived after the buffer was empty.
    package var lateSegments: Int64 = 0
    package var stalls: Int64 = 0
    package var switches: Int64 = 0
    /// Manifests that live viewers requested again; of these, those without anything new for more
    /// than 1.5 target durations.
    package var playlistReloads: Int64 = 0
    package var stalePlaylists: Int64 = 0
    /// Times that a live viewer continued at the edge, because its next segment was not listed any
    /// more.
    package var liveSkips: Int64 = 0
    /// Ended viewers that left because they waited too long.
    package var viewersAbandoned: Int64 = 0
    package var seeks: Int64 = 0
    /// Changes of a viewer's pathway; of these, those because the pathway failed.
    package var pathwayChanges: Int64 = 0
    package var pathwayFailures: Int64 = 0
    /// Requests that were answered with a redirect, which was followed; part of `succeeded`.
    package var redirects: Int64 = 0
    package var playedSeconds = 0.0
    package var stalledSeconds = 0.0
    /// Bits of the played renditions: bit rate times time.
    package var playedBits = 0.0
    /// CPU seconds of the generator's processes.
    package var cpuSeconds = 0.0

    // Levels at the interval's end: shards of a second are added, later seconds replace earlier
    // ones.

    /// Requests in flight.
    package var inFlight: Int64 = 0
    /// Requests that are due and wait for a slot.
    package var backlog: Int64 = 0
    package var viewers: Int64 = 0

    package init() {}

    package mutating func add(_ other: LoadCounts) {
        planned += other.planned
        sent += other.sent
        succeeded += other.succeeded
        failed += other.failed
        bytes += other.bytes
        failedBytes += other.failedBytes
        resent += other.resent
        connections += other.connections
        lateSends += other.lateSends
        missedSends += other.missedSends
        queued += other.queued
        unfinished += other.unfinished
        longestUnfinishedSeconds = max(longestUnfinishedSeconds, other.longestUnfinishedSeconds)
        succeededAfterEnd += other.succeededAfterEnd
        failedAfterEnd += other.failedAfterEnd
        bytesAfterEnd += other.bytesAfterEnd
        cpuSecondsAfterEnd += other.cpuSecondsAfterEnd
        cacheHits += other.cacheHits
        cacheMisses += other.cacheMisses
        cacheHitBytes += other.cacheHitBytes
        cacheMissBytes += other.cacheMissBytes
        cacheAges += other.cacheAges
        cacheAgeSeconds += other.cacheAgeSeconds
        viewersStarted += other.viewersStarted
        viewersEnded += other.viewersEnded
        viewersFailed += other.viewersFailed
        viewersNotStarted += other.viewersNotStarted
        viewersRefused += other.viewersRefused
        segments += other.segments
        lateSegments += other.lateSegments
        stalls += other.stalls
        switches += other.switches
        playlistReloads += other.playlistReloads
        stalePlaylists += other.stalePlaylists
        liveSkips += other.liveSkips
        viewersAbandoned += other.viewersAbandoned
        seeks += other.seeks
        redirects += other.redirects
        pathwayChanges += other.pathwayChanges
        pathwayFailures += other.pathwayFailures
        playedSeconds += other.playedSeconds
        stalledSeconds += other.stalledSeconds
        playedBits += other.playedBits
        cpuSeconds += other.cpuSeconds
        inFlight += other.inFlight
        backlog += other.backlog
        viewers += other.viewers
    }

    /// Replaces the levels by those of a later interval.
    package mutating func takeLevels(of later: LoadCounts) {
        inFlight = later.inFlight
        backlog = later.backlog
        viewers = later.viewers
    }

    /// Requests that ended.
    package var ended: Int64 { succeeded + failed }

    /// Share of the responses with cache headers that a cache served; nil without any.
    package var cacheHitRatio: Double? {
        let known = cacheHits + cacheMisses
        return known > 0 ? Double(cacheHits) / Double(known) : nil
    }

    /// The same by bytes of bodies.
    package var cacheByteHitRatio: Double? {
        let known = cacheHitBytes + cacheMissBytes
        return known > 0 ? Double(cacheHitBytes) / Double(known) : nil
    }

    /// Mean `Age` of responses from a cache.
    package var meanCacheAgeSeconds: Double? {
        cacheAges > 0 ? cacheAgeSeconds / Double(cacheAges) : nil
    }

    // Counts up to the end of the load, from which rates are calculated.

    package var succeededInTime: Int64 { succeeded - succeededAfterEnd }
    package var endedInTime: Int64 { ended - succeededAfterEnd - failedAfterEnd }
    package var bytesInTime: Int64 { bytes - bytesAfterEnd }
    package var cpuSecondsInTime: Double { max(cpuSeconds - cpuSecondsAfterEnd, 0) }
}
