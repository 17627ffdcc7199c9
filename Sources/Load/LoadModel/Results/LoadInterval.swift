package import Statistics

/// What was measured within one second of a test, of one loop, process or machine or of all: intervals of
/// the same second are added, and so are all seconds for the whole, without loss.
///
/// A value: used by one owner at a time. A request counts in the second in which it ended.
package struct LoadInterval: Sendable, Equatable {
    /// Since the start, from 0.
    package var second: Int
    /// How much of the second there was, 0 to 1: less in the one in which the test ended.
    package var lengthSeconds = 1.0
    /// How much of that had load: from its end on nothing new is begun, and what is under way ends.
    package var loadSeconds = 1.0
    /// Whether it counts: not before the end of the warm-up.
    package var isMeasured = true
    package var counts = LoadCounts()
    /// By `LoadMetric.rawValue`; nil for one of which nothing was recorded.
    private var histograms = [Histogram?](repeating: nil, count: LoadMetric.allCases.count)
    /// Failed requests by failure code.
    package var errors: [String: Int64] = [:]
    /// By what tells machines apart; empty where the generator is this process alone.
    package var machines: [String: LoadMachine] = [:]

    package init(second: Int) { self.second = second }

    package mutating func record(_ value: Int64, _ metric: LoadMetric) {
        if histograms[metric.rawValue] == nil { histograms[metric.rawValue] = Histogram() }
        histograms[metric.rawValue]?.record(value)
    }

    /// Nil where nothing was recorded.
    package subscript(_ metric: LoadMetric) -> Histogram? {
        get { histograms[metric.rawValue] }
        set { histograms[metric.rawValue] = newValue }
    }

    /// Most different failure codes, beyond which they are `LoadBreakdown.others`, and most machines.
    static let (mostErrors, mostMachines) = (500, 1_000)

    /// Adds another one, of the same second or of a later one.
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
            } else if machines.count < Self.mostMachines {
                machines[id] = machine
            }
        }
    }

    static func add(_ counts: [String: Int64], to errors: inout [String: Int64]) {
        for (code, count) in counts {
            let isKnown = errors[code] != nil || errors.count < mostErrors
            errors[isKnown ? code : LoadBreakdown.others, default: 0] += count
        }
    }

    /// The machine whose CPUs were busiest; nil where machines are not told apart.
    package var busiestMachine: LoadMachine? {
        machines.sorted { $0.key < $1.key }.map(\.value).filter { $0.cores > 0 }.max {
            $0.cpuSeconds / $0.cores < $1.cpuSeconds / $1.cores
        }
    }

    /// CPUs of all machines, each once, as far as quotas go; nil where machines are not told apart.
    package var machineCores: Double? {
        machines.isEmpty ? nil : machines.values.reduce(0) { $0 + $1.cores }
    }
}

/// What is counted within an interval.
package struct LoadCounts: Sendable, Equatable, Codable {
    /// Requests and viewers that were due by the plan of the open model.
    package var planned: Int64 = 0
    /// Requests sent.
    package var sent: Int64 = 0
    /// Requests that ended well, and that failed.
    package var succeeded: Int64 = 0
    package var failed: Int64 = 0
    /// Of bodies, of failed requests too.
    package var bytes: Int64 = 0
    /// Of these, those of requests that failed.
    package var failedBytes: Int64 = 0
    /// Connections opened.
    package var connections: Int64 = 0
    /// Sent more than `LoadHealth.lateSeconds` after they were due although a place was free: the generator's
    /// own fault.
    package var lateSends: Int64 = 0
    /// Due before the end, and never sent.
    package var missedSends: Int64 = 0
    /// Requests that waited in the generator because all of `LoadHTTP.concurrency` places were taken.
    package var queued: Int64 = 0
    /// Requests that were under way when the test was stopped, or that a cap of bytes cut off; the longest since
    /// its planned time. They are in no latency.
    package var unfinished: Int64 = 0
    package var longestUnfinishedSeconds = 0.0
    /// Of those above, what ended, came and was used after the end of the load, while the last requests were
    /// waited for: in no rate.
    package var succeededAfterEnd: Int64 = 0
    package var failedAfterEnd: Int64 = 0
    package var bytesAfterEnd: Int64 = 0
    package var cpuSecondsAfterEnd = 0.0
    package var viewersStarted: Int64 = 0
    package var viewersEnded: Int64 = 0
    /// Of those that ended: could not play to the end.
    package var viewersFailed: Int64 = 0
    /// Of those that ended: waited for their first frame when their time was over.
    package var viewersNotStarted: Int64 = 0
    /// Of `missedSends`: viewers that were due while the generator had as many as it may.
    package var viewersRefused: Int64 = 0
    package var segments: Int64 = 0
    /// Segments that came when there was nothing left to play.
    package var lateSegments: Int64 = 0
    package var stalls: Int64 = 0
    package var switches: Int64 = 0
    package var playedSeconds = 0.0
    package var stalledSeconds = 0.0
    /// Bits of the renditions that were played: their bit rate times the time.
    package var playedBits = 0.0
    /// Of the generator's processes.
    package var cpuSeconds = 0.0

    // At the interval's end; those of shares of a second are added, those of later seconds replace.

    /// Requests under way.
    package var inFlight: Int64 = 0
    /// Due, and waiting for a place.
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
        viewersStarted += other.viewersStarted
        viewersEnded += other.viewersEnded
        viewersFailed += other.viewersFailed
        viewersNotStarted += other.viewersNotStarted
        viewersRefused += other.viewersRefused
        segments += other.segments
        lateSegments += other.lateSegments
        stalls += other.stalls
        switches += other.switches
        playedSeconds += other.playedSeconds
        stalledSeconds += other.stalledSeconds
        playedBits += other.playedBits
        cpuSeconds += other.cpuSeconds
        inFlight += other.inFlight
        backlog += other.backlog
        viewers += other.viewers
    }

    /// Replaces what is of an interval's end by that of a later one.
    package mutating func takeLevels(of later: LoadCounts) {
        inFlight = later.inFlight
        backlog = later.backlog
        viewers = later.viewers
    }

    /// Requests that ended.
    package var ended: Int64 { succeeded + failed }

    // What rates are made of: what came before the end of the load.

    package var succeededInTime: Int64 { succeeded - succeededAfterEnd }
    package var endedInTime: Int64 { ended - succeededAfterEnd - failedAfterEnd }
    package var bytesInTime: Int64 { bytes - bytesAfterEnd }
    package var cpuSecondsInTime: Double { max(cpuSeconds - cpuSecondsAfterEnd, 0) }
}
