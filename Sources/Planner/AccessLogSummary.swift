/// What an access log says of the load.
package struct AccessLogSummary: Sendable {
    package let requests: Int
    /// Lines of no known form.
    package let unreadableLines: Int
    /// First and last second, since 1970 in UTC.
    package let firstSecond: Int
    package let lastSecond: Int
    package let meanRequestsPerSecond: Double
    /// Of the minute with the most.
    package let peakRequestsPerSecond: Double
    package let meanBytesPerSecond: Double
    package let peakBytesPerSecond: Double
    /// Requests under way at once, on average over all of it and in the minute with the most; nil
    /// where the log has no times.
    package let meanConcurrency: Double?
    package let peakConcurrency: Double?
    /// Of requests that had a time.
    package let seconds: LogHistogram
    package let bytes: LogHistogram
    /// Requests a second by the hour of the log's own day, on average over its days.
    package let requestsPerSecondByHour: [Double]
    /// Variance over mean of arrivals a second, within minutes: what the arrivals' CV² comes to over
    /// many of them. Nil without a minute of sixty requests.
    package let arrivalDispersion: Double?
    /// Share of requests that a cache answered; nil where the log does not say.
    package let hitRatio: Double?

    /// What a plan can take from it, by the input's place in a scenario.
    package var values: [String: Measured] {
        var values: [String: Measured] = [:]
        func set(_ path: String, _ value: Double?, _ range: ClosedRange<Double>) {
            guard let value, range.contains(value) else { return }
            values[path] = Measured(low: value, likely: value, high: value, count: requests)
        }
        // A day at least: less has no peak of the day in it.
        if lastSecond - firstSecond >= 86_400 - 60 {
            set("audience.peakToMean", peakRequestsPerSecond / meanRequestsPerSecond, 1...100)
        }
        set("onDemand.arrivalCV2", arrivalDispersion, 0...100)
        set("edge.hitRatio", hitRatio, 0...1)
        return values
    }
}

/// Sums by minute.
struct AccessLogLoad: Sendable {
    private struct Minute {
        var requests = 0
        var bytes = 0.0
        /// Time that requests were under way in it.
        var busySeconds = 0.0
    }

    private static let mostMinutes = 4 * 366 * 1_440
    /// A request that takes longer counts as one that took this long.
    private static let longestSeconds = 86_400.0
    /// Minutes whose seconds are still counted: a log is in the order in which requests end.
    private static let openMinutes = 16

    private var minutes: [Int: Minute] = [:]
    /// Of those with requests.
    private var first = Int.max
    private var last = Int.min
    private var unreadable = 0
    private var zoneSeconds: Int?
    private var bytes = LogHistogram()
    private var seconds = LogHistogram()
    private var hits = 0
    private var misses = 0
    private var open: [Int: [Int]] = [:]
    private var newestOpen = Int.min
    private var sumOfVariances = 0.0
    private var sumOfMeans = 0.0

    mutating func countUnreadable() { unreadable += 1 }

    mutating func add(_ request: AccessLogRequest) throws(PlannerError) {
        if zoneSeconds == nil { zoneSeconds = request.zoneSeconds }
        bytes.add(request.bytes)
        switch request.isHit {
        case true: hits += 1
        case false: misses += 1
        case nil: break
        }
        let number = minute(request.time)
        (first, last) = (min(first, number), max(last, number))
        guard last - first <= Self.mostMinutes else {
            throw PlannerError(
                field: "the access log", given: "longer than four years",
                allowed: "give the part of it that a plan is to be made for")
        }
        minutes[number, default: Minute()].requests += 1
        minutes[number, default: Minute()].bytes += request.bytes
        var start = request.time
        if let took = request.seconds {
            seconds.add(took)
            let within = min(took, Self.longestSeconds)
            start -= Int(within)
            addBusy(from: Double(request.time) - within, to: Double(request.time))
        }
        countArrival(start)
    }

    /// Never before 1989.
    private func minute(_ second: Int) -> Int { second / 60 }

    private mutating func addBusy(from begin: Double, to end: Double) {
        var at = begin
        while at < end {
            let number = Int((at / 60).rounded(.down))
            let stop = min(end, Double(number + 1) * 60)
            minutes[number, default: Minute()].busySeconds += stop - at
            at = stop
        }
    }

    // MARK: How evenly requests arrive

    private mutating func countArrival(_ second: Int) {
        let number = minute(second)
        if number > newestOpen {
            newestOpen = number
            close(before: number - Self.openMinutes)
        }
        guard number > newestOpen - Self.openMinutes else { return }
        open[number, default: [Int](repeating: 0, count: 60)][second - number * 60] += 1
    }

    private mutating func close(before limit: Int) {
        for number in open.keys where number <= limit {
            guard let counts = open.removeValue(forKey: number) else { continue }
            let total = counts.reduce(0, +)
            guard total >= 60 else { continue }
            let mean = Double(total) / 60
            let squares = counts.reduce(0.0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
            sumOfVariances += squares / 59
            sumOfMeans += mean
        }
    }

    // MARK: The whole

    mutating func summary() throws(PlannerError) -> AccessLogSummary {
        close(before: .max)
        guard first <= last else {
            throw PlannerError(
                field: "the access log", given: "without a line that can be read",
                allowed: "use nginx's or Apache's combined format, or CloudFront's standard logs")
        }
        let span = Double(last - first + 1) * 60
        let all = minutes.filter { $0.key >= first && $0.key <= last }.values
        let hasTimes = seconds.count > 0
        return AccessLogSummary(
            requests: bytes.count, unreadableLines: unreadable, firstSecond: first * 60,
            lastSecond: last * 60 + 59, meanRequestsPerSecond: Double(bytes.count) / span,
            peakRequestsPerSecond: Double(all.map(\.requests).max() ?? 0) / 60,
            meanBytesPerSecond: bytes.sum / span,
            peakBytesPerSecond: (all.map(\.bytes).max() ?? 0) / 60,
            meanConcurrency: hasTimes ? all.reduce(0) { $0 + $1.busySeconds } / span : nil,
            peakConcurrency: hasTimes ? (all.map(\.busySeconds).max() ?? 0) / 60 : nil,
            seconds: seconds, bytes: bytes, requestsPerSecondByHour: byHour,
            arrivalDispersion: sumOfMeans > 0 ? sumOfVariances / sumOfMeans : nil,
            hitRatio: hits + misses > 0 ? Double(hits) / Double(hits + misses) : nil)
    }

    private var byHour: [Double] {
        var requests = [Double](repeating: 0, count: 24)
        var spans = requests
        for number in first...last {
            let local = number * 60 + (zoneSeconds ?? 0)
            let hour = local / 3_600 % 24
            spans[hour] += 60
            requests[hour] += Double(minutes[number]?.requests ?? 0)
        }
        return zip(requests, spans).map { $1 > 0 ? $0 / $1 : 0 }
    }
}
