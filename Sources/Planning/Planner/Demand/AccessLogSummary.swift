package import Statistics

/// The load in an access log.
package struct AccessLogSummary: Sendable {
    package let requests: Int
    /// Lines of an unknown format.
    package let unreadableLines: Int
    /// First and last second, since 1970 in UTC.
    package let firstSecond: Int
    package let lastSecond: Int
    /// Over the log's span, from its first second to its last.
    package let meanRequestsPerSecond: Double
    /// In the peak minute, or over the whole of a shorter log.
    package let peakRequestsPerSecond: Double
    package let meanBytesPerSecond: Double
    package let peakBytesPerSecond: Double
    /// Concurrent requests, on average and in the peak minute; nil if the log has no times.
    package let meanConcurrency: Double?
    package let peakConcurrency: Double?
    /// Histogram of requests with a time.
    package let seconds: WaitHistogram
    package let bytes: WaitHistogram
    /// Requests per second by hour of the log's local day, averaged over its days; nil for a
    /// missing hour.
    package let requestsPerSecondByHour: [Double?]
    /// Variance over mean of arrivals per second, within minutes: an estimate of the arrivals' CV².
    /// Nil without a minute of sixty requests.
    package let arrivalDispersion: Double?
    /// Ratio of requests that a cache answered; nil if the log does not show it.
    package let hitRatio: Double?

    /// From the first request's second to the end of the last request's second.
    package var spanSeconds: Int { lastSecond - firstSecond + 1 }

    /// True if the log covers every hour of a day.
    package var holdsADay: Bool { spanSeconds >= 86_400 - 3_600 }

    /// Requests per second in each hour of the day; nil for less than a day.
    package var hourlyRequests: [Double]? {
        let rates = requestsPerSecondByHour.compactMap(\.self)
        return holdsADay && rates.count == 24 ? rates : nil
    }

    /// Minimum for a plan: less shows chance rather than load.
    package static let minSeconds = 3_600
    package static let minRequests = 100

    /// Returns the inputs for a plan, by their path in a scenario. `peakToMean` is the assumed
    /// ratio of the day's peak to its mean, used for a log of less than a day.
    ///
    /// Every hour has the same weight in the day's mean, however often the log contains it. A log
    /// of less than a day counts as the busiest hours: its peak is the day's, and the day's mean is
    /// the peak over `peakToMean`, at most the log's mean. Throws if the log is too short.
    package func values(peakToMean: Estimate) throws(PlannerError) -> [String: Measured] {
        guard spanSeconds >= Self.minSeconds, requests >= Self.minRequests else {
            throw PlannerError(
                field: "the access log", given: "\(requests) requests in \(spanSeconds) s",
                allowed: "use one of \(Self.minSeconds) s and \(Self.minRequests) requests or "
                    + "more; a day shows its peak and its mean")
        }
        var values: [String: Measured] = [:]
        func set(_ input: ScenarioInput, _ low: Double?, _ likely: Double?, _ high: Double?) {
            guard let low, let likely, let high, input.row.allowed.contains(likely) else { return }
            values[input.row.path] = Measured(
                low: low, likely: likely, high: high, count: requests, isInterval: false)
        }
        func set(_ input: ScenarioInput, _ value: Double?) { set(input, value, value, value) }
        let peak = peakRequestsPerSecond
        set(.peakRequests, peak)
        set(.requestBytes, bytes.mean)
        if holdsADay {
            let hours = requestsPerSecondByHour.compactMap(\.self)
            let mean = hours.reduce(0, +) / Double(hours.count)
            set(.meanRequests, mean)
            set(.peakToMean, peak / mean)
        } else {
            func mean(_ ratio: Double) -> Double { min(meanRequestsPerSecond, peak / ratio) }
            set(
                .meanRequests, mean(peakToMean.high), mean(peakToMean.likely),
                meanRequestsPerSecond)
        }
        set(.arrivalCV2, arrivalDispersion)
        set(.hitRatio, hitRatio)
        return values
    }
}

/// Accumulates the load by minute.
struct AccessLogLoad: Sendable {
    private struct Minute {
        var requests = 0
        var bytes = 0.0
        /// Sum of the time of requests in it.
        var busySeconds = 0.0
    }

    private static let maxMinutes = 4 * 366 * 1_440
    /// Maximum duration; longer requests count with it.
    private static let longestSeconds = 86_400.0
    /// Minutes whose seconds are still counted: a log is ordered by the end of requests.
    private static let openMinutes = 16

    private var minutes: [Int: Minute] = [:]
    /// First and last second of requests.
    private var first = Int.max
    private var last = Int.min
    private var unreadable = 0
    private var zoneSeconds: Int?
    private var bytes = WaitHistogram()
    private var seconds = WaitHistogram()
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
        (first, last) = (min(first, request.time), max(last, request.time))
        guard (last - first) / 60 <= Self.maxMinutes else {
            throw PlannerError(
                field: "the access log", given: "longer than four years",
                allowed: "use only the part to plan for")
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

    // MARK: Dispersion of arrivals

    private mutating func countArrival(_ second: Int) {
        let number = minute(second)
        if number > newestOpen {
            newestOpen = number
            close(before: number - Self.openMinutes)
        }
        guard number > newestOpen - Self.openMinutes else { return }
        open[number, default: [Int](repeating: 0, count: 60)][second - number * 60] += 1
    }

    /// Closes the minutes of a log; those of the next one may be earlier.
    mutating func endLog() {
        close(before: .max)
        newestOpen = .min
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
                field: "the access log",
                given: "\(unreadable) line\(unreadable == 1 ? "" : "s"), none of which can be read",
                allowed: "use nginx's or Apache's combined format, or CloudFront's standard logs")
        }
        let span = Double(last - first + 1)
        let all = minutes.filter { minute(first)...minute(last) ~= $0.key }.values
        // A span of less than a minute has no peak minute.
        func peak(_ figure: (Minute) -> Double, over mean: Double) -> Double {
            max(mean, (all.map(figure).max() ?? 0) / 60)
        }
        let requests = Double(bytes.count) / span
        let volume = bytes.sum / span
        let busy = seconds.count > 0 ? all.reduce(0) { $0 + $1.busySeconds } / span : nil
        return AccessLogSummary(
            requests: bytes.count, unreadableLines: unreadable, firstSecond: first,
            lastSecond: last, meanRequestsPerSecond: requests,
            peakRequestsPerSecond: peak({ Double($0.requests) }, over: requests),
            meanBytesPerSecond: volume, peakBytesPerSecond: peak(\.bytes, over: volume),
            meanConcurrency: busy,
            peakConcurrency: busy.map { peak(\.busySeconds, over: $0) },
            seconds: seconds, bytes: bytes, requestsPerSecondByHour: byHour,
            arrivalDispersion: sumOfMeans > 0 ? sumOfVariances / sumOfMeans : nil,
            hitRatio: hits + misses > 0 ? Double(hits) / Double(hits + misses) : nil)
    }

    private var byHour: [Double?] {
        var requests = [Double](repeating: 0, count: 24)
        var spans = requests
        for number in minute(first)...minute(last) {
            let local = number * 60 + (zoneSeconds ?? 0)
            let hour = local / 3_600 % 24
            spans[hour] += Double(min(last + 1, number * 60 + 60) - max(first, number * 60))
            requests[hour] += Double(minutes[number]?.requests ?? 0)
        }
        return zip(requests, spans).map { $1 > 0 ? $0 / $1 : nil }
    }
}
