package import API
import Model
package import Planner
package import Statistics

/// Inputs of a plan from a cluster's history.
package struct ClusterHistory: Sendable {
    /// By the input's path in a scenario.
    package private(set) var values: [String: Measured] = [:]
    /// Sources and missing inputs with their reasons, a sentence each.
    package private(set) var notes: [String] = []

    /// Minimum segments of a catalog or minute: fewer measure their start and end rather than
    /// workers.
    package static let minSegments = 100
    /// Minimum seconds of a minute in which workers had work; shorter ones are excluded.
    static let minBusySeconds = 5.0
    /// Minimum utilization of transfers. Workers below it are limited by something else, such as an
    /// origin.
    static let minUtilisation = 0.7

    /// The sum of workers' activity over several minutes.
    package struct Work: Sendable {
        /// Seconds of fetches on the network.
        package let fetches: Moments
        package let bytes: Double
        /// Available transfer slots times the seconds in which workers were busy.
        package let slotSeconds: Double

        package init(_ minutes: [WorkersHistory.Minute]) {
            func sum(_ figure: (WorkDone) -> Double) -> Double {
                minutes.reduce(0) { $0 + figure($1.done) }
            }
            fetches = Moments(
                count: minutes.reduce(0) { $0 + $1.done.fetches }, sum: sum(\.seconds),
                squares: sum(\.seconds2), cubes: sum(\.seconds3), fourthPowers: sum(\.seconds4))
            bytes = sum { Double($0.bytes) }
            slotSeconds = minutes.reduce(0) { $0 + $1.slotSeconds }
        }
    }

    /// Derives inputs from ended catalogs and from the workers' activity by minute. Throws if no
    /// throughput law fits.
    ///
    /// `cpuMicrosecondsPerSegment` is the CPU time of a segment besides its bytes, used if minutes
    /// do not show it. `limits` are those of origins: minutes in which one may have slowed workers
    /// down are not their own speed.
    package init(
        _ status: ClusterStatus, _ history: WorkersHistory, limits: [API.OriginLimits] = [],
        cpuMicrosecondsPerSegment: Double = SegmentCPU.assumedMicroseconds
    ) throws(PlannerError) {
        takeTries(status)
        let minutes = history.minutes.filter { $0.done.fetches > 0 }
        guard !minutes.isEmpty else {
            notes.append(
                "From the cluster: no fetch times, sizes, CPU times or worker speed, "
                    + "because no worker reported fetches in that time.")
            return
        }
        takeCPU(minutes, cpuMicrosecondsPerSegment)
        let free = minutes.filter { minute in !limits.contains { $0.binds(minute) } }
        if free.count < minutes.count {
            notes.append(
                "From the cluster: without \(minutes.count - free.count) of \(minutes.count) "
                    + "minutes for times and speed, because a limit of an origin may have slowed "
                    + "them down.")
        }
        if !free.isEmpty {
            takeTimes(Work(free))
            try takeSpeed(free)
        }
        takeEach("worker.connections", minutes, \.connections)
        takeEach("machine.cores", minutes, \.cores)
    }

    /// Sets the mean of a figure per worker: last minute as likely, minimum and maximum over all
    /// minutes.
    private mutating func takeEach(
        _ path: String, _ minutes: [WorkersHistory.Minute], _ figure: (WorkDone) -> Int
    ) {
        let each = minutes.filter { $0.workers > 0 }.map {
            Double(figure($0.done)) / Double($0.workers)
        }
        guard let least = each.min(), let last = each.last, let most = each.max() else { return }
        values[path] =
            Measured(
                low: least, likely: last, high: most, count: each.count, isInterval: false
            ).whole
    }

    private static func exact(_ value: Double) -> Measured {
        Measured(low: value, likely: value, high: value, count: 1)
    }

    private mutating func takeTries(_ status: ClusterStatus) {
        let ended = status.catalogs.filter { catalog in
            catalog.state.isTerminal && catalog.totals.segmentsDone >= Self.minSegments
                // Reused files needed no fetch.
                && catalog.totals.adoptedBytes == 0
        }
        guard !ended.isEmpty else {
            notes.append(
                "From the cluster: no attempts per segment, because no ended catalog "
                    + "fetched all of its segments, \(Self.minSegments) or more.")
            return
        }
        let tries = Moments(
            ended.map { 1 + Double($0.totals.retries) / Double(max(1, $0.totals.segments)) }
        ).meanEstimate
        values["worker.attemptsPerSegment"] = Measured(
            low: max(1, tries.low), likely: tries.likely, high: tries.high, count: tries.count)
    }

    private mutating func takeTimes(_ work: Work) {
        let count = work.fetches.count
        values["worker.serviceSeconds"] = work.fetches.meanEstimate.notNegative
        values["worker.measuredBytes"] = Self.exact(work.bytes / Double(count))
        guard count > 3 else {
            notes.append(
                "From the cluster: no variance of fetch times, because there were only "
                    + "\(count) fetches.")
            return
        }
        values["worker.serviceCV2"] = work.fetches.cv2Estimate
    }

    private mutating func takeCPU(
        _ minutes: [WorkersHistory.Minute], _ microsecondsPerSegment: Double
    ) {
        let points = minutes.compactMap { minute -> (x: Double, y: Double)? in
            guard minute.done.fetches >= Self.minSegments, let cpu = minute.done.cpuSeconds
            else { return nil }
            let count = Double(minute.done.fetches)
            return (Double(minute.done.bytes) / 1e9 / count, cpu / count)
        }
        let sizes = points.map(\.x).sorted()
        guard let least = sizes.first, let most = sizes.last, most > 0 else {
            let why =
                minutes.contains { $0.done.cpuSeconds != nil }
                ? "no minute had \(Self.minSegments) fetches"
                : "workers that share a process with a coordinator do not report it"
            notes.append("From the cluster: no CPU time per segment and per byte, because \(why).")
            return
        }
        if points.count > 2, most >= 2 * least {
            let line = LineFit(points)
            if line.slope.likely > 0, line.start.likely >= 0 {
                values["worker.cpuSecondsPerGigabyte"] = line.slope.notNegative
                values["worker.cpuMicrosecondsPerSegment"] =
                    line.start.notNegative.scaled(by: 1e6)
                return
            }
        }
        let cpu = SegmentCPU(points, microsecondsPerSegment: microsecondsPerSegment)
        values["worker.cpuSecondsPerGigabyte"] = cpu.secondsPerGigabyte
        values["worker.cpuMicrosecondsPerSegment"] = cpu.microsecondsPerSegment
        let taken = Scenario.plain((microsecondsPerSegment * 10).rounded() / 10)
        notes.append(
            "From the cluster: CPU time per gigabyte after subtracting \(taken) µs per "
                + "segment, because segment sizes were too similar in all minutes to separate "
                + "the two.")
    }

    /// Adds the pool's throughput in fully busy minutes, by the number of workers.
    private mutating func takeSpeed(_ minutes: [WorkersHistory.Minute]) throws(PlannerError) {
        let long = minutes.filter {
            $0.longestBusySeconds >= Self.minBusySeconds && $0.done.fetches >= Self.minSegments
        }
        let full = long.filter { $0.done.seconds >= Self.minUtilisation * $0.slotSeconds }
        guard !full.isEmpty else {
            let most = long.map { $0.done.seconds / max($0.slotSeconds, 1e-9) }.max()
            let why =
                most.map {
                    "at most \(wholeDown(($0 * 100).rounded())) % of their transfers were in use"
                }
                ?? "no minute had \(Self.minSegments) fetches in 5 s or more"
            notes.append(
                "From the cluster: no worker speed and no scalability, because workers "
                    + "were never busy (\(why)).")
            return
        }
        // Over the time of the worker that was busy longest: the mean number of concurrent workers.
        let points = full.map { minute in
            (
                n: max(1, (minute.done.busySeconds / minute.longestBusySeconds).rounded()),
                x: Double(minute.done.fetches) / minute.longestBusySeconds
            )
        }
        let numbers = Set(points.map(\.n)).sorted()
        var calibration = Calibration()
        try calibration.take(points: points, source: "the cluster's minutes")
        values.merge(calibration.values) { $1 }
        guard numbers.count < 3 else { return }
        let seen = numbers.map { Scenario.plain($0) }.joined(separator: " and ")
        notes.append(
            "From the cluster: no scalability, because it had \(seen) workers whenever "
                + "they were busy, and a fit needs three different numbers.")
    }
}

extension API.OriginLimits {
    /// Returns true if the workers' fetches of a minute came near this limit.
    fileprivate func binds(_ minute: WorkersHistory.Minute) -> Bool {
        let seconds = max(1, minute.longestBusySeconds)
        let near = 0.8
        return Double(minute.done.fetches) / seconds >= near * (requestsPerSecond ?? .infinity)
            || Double(minute.done.bytes) / seconds
                >= near * (bytesPerSecond.map { Double($0) } ?? .infinity)
            || minute.done.seconds / seconds >= near * (connections.map { Double($0) } ?? .infinity)
    }
}
