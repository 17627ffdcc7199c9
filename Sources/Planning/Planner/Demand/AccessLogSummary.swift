package import Statistics

/// The load in an access log.
package struct AccessLogSummary: Sendable {
    package let requests: Int
    /// Lines of no known form.
    package let unreadableLines: Int
    /// First and last second, since 1970 in UTC.
    package let firstSecond: Int
    package let lastSecond: Int
    /// Over the span of the log, from its first second to its last.
    package let meanRequestsPerSecond: Double
    /// In the peak minute; over all of a shorter log.
    package let peakRequestsPerSecond: Double
    package let meanBytesPerSecond: Double
    package let peakBytesPerSecond: Double
    /// Requests under way at once, on average over all of it and in the minute with the most; nil
    /// where the log has no times.
    package let meanConcurrency: Double?
    package let peakConcurrency: Double?
    /// Of requests with a time.
    package let seconds: LogHistogram
    package let bytes: LogHistogram
    /// Requests a second by the hour of the log's own day, on average over its days; nil for an hour
    /// that the log does not hold.
    package let requestsPerSecondByHour: [Double?]
    /// Variance over mean of arrivals a second, within minutes: what the arrivals' CV² comes to over
    /// many of them. Nil without a minute of sixty requests.
    package let arrivalDispersion: Double?
    /// Share of requests that a cache answered; nil where the log does not say.
    package let hitRatio: Double?

    /// From the first request's second to the end of the last one's.
    package var spanSeconds: Int { lastSecond - firstSecond + 1 }

    /// Whether the log covers every hour of a day.
    package var holdsADay: Bool { spanSeconds >= 86_400 - 3_600 }

    /// Requests a second in each hour of the day; nil of less than one.
    package var hourlyRequests: [Double]? {
        let rates = requestsPerSecondByHour.compactMap(\.self)
        return holdsADay && rates.count == 24 ? rates : nil
    }

    /// What a plan can be made from: less shows chance, and not a load.
    package static let leastSeconds = 3_600
    package static let leastRequests = 100

    /// What a plan can take from it, by the input's place in a scenario. `peakToMean` is what the
    /// day's peak over its mean is taken for where the log holds less than a day.
    ///
    /// Every hour of the day counts alike in the day's mean, however often it is in the log. A log of
    /// less than a day is taken to be of its busiest hours: its peak is the day's, and the day's mean is
    /// the peak over `peakToMean`, at most the log's. Throws for a log that shows too little.
    package func values(peakToMean: Estimate) throws(PlannerError) -> [String: Measured] {
        guard spanSeconds >= Self.leastSeconds, requests >= Self.leastRequests else {
            throw PlannerError(
                field: "the access log", given: "\(requests) requests in \(spanSeconds) s",
                allowed: "use one of \(Self.leastSeconds) s and \(Self.leastRequests) requests or "
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
    /// Seconds of requests.
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
        (first, last) = (min(first, request.time), max(last, request.time))
        guard (last - first) / 60 <= Self.mostMinutes else {
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
                field: "the access log",
                given: "\(unreadable) line\(unreadable == 1 ? "" : "s"), none of which can be read",
                allowed: "use nginx's or Apache's combined format, or CloudFront's standard logs")
        }
        let span = Double(last - first + 1)
        let all = minutes.filter { minute(first)...minute(last) ~= $0.key }.values
        // A span of less than a minute has no busiest one.
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
