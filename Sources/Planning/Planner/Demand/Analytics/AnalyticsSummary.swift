package import Statistics

/// Users and requests of an export, as inputs of a plan.
package struct AnalyticsSummary: Sendable {
    /// Length of a period: the shortest time between two.
    package let periodSeconds: Int
    package let spanSeconds: Int
    package let periods: Int
    /// Highest and mean of all periods; nil without the column.
    package let concurrent: (peak: Double, mean: Double)?
    package let users: (peak: Double, mean: Double)?
    /// Per second.
    package let requests: (peak: Double, mean: Double)?
    package let bytesPerRequest: Double?
    package let hitRatio: Double?
    /// Requests per second by hour of the day, in UTC; nil unless all hours are known.
    package let hourlyRequests: [Double]?

    private static let periodSecondsAllowed = 1...86_400
    private static let hour = 3_600
    private static let day = 86_400

    /// Throws for less than two periods, and for periods of more than a day.
    init(_ periods: [Int: Analytics.Period]) throws(PlannerError) {
        let times = periods.keys.sorted()
        let shortest = zip(times, times.dropFirst()).map { $1 - $0 }.min()
        guard let shortest, let first = times.first, let last = times.last,
            Self.periodSecondsAllowed.contains(shortest)
        else {
            throw PlannerError(
                field: times.count < 2 ? "the number of periods" : "the time between two periods",
                given: times.count < 2
                    ? "\(times.count)" : "\((shortest ?? 0) / Self.day) days",
                allowed: "use two periods or more, of a day or less; hours show the peak")
        }
        self.periods = times.count
        periodSeconds = shortest
        spanSeconds = last - first + shortest
        let all = Array(periods.values)
        let length = Double(shortest)
        // A period without a record had none: exports leave zeros out.
        let count = Double(spanSeconds / shortest)
        func spread(_ value: (Analytics.Period) -> Double?) -> (peak: Double, mean: Double)? {
            let values = all.compactMap(value)
            guard let peak = values.max(), peak > 0 else { return nil }
            return (peak, values.reduce(0, +) / count)
        }
        func rate(_ period: Analytics.Period) -> Double? {
            period.requests.map { $0 / length } ?? period.requestsPerSecond
        }
        concurrent = spread(\.concurrent)
        users = spread(\.users)
        requests = spread(rate)
        func sum(_ value: (Analytics.Period) -> Double?) -> Double {
            all.compactMap(value).reduce(0, +)
        }
        let total = sum(rate) * length
        let bytes = sum(\.bytes)
        bytesPerRequest = total > 0 && bytes > 0 ? bytes / total : nil
        let (hits, misses) = (sum(\.hits), sum(\.misses))
        if misses > 0 {
            hitRatio = hits > 0 ? hits / (hits + misses) : max(0, 1 - misses / max(total, misses))
        } else {
            hitRatio = hits > 0 && total >= hits ? hits / total : nil
        }
        hourlyRequests = Self.hours(periods.mapValues { rate($0) ?? 0 }, length: shortest)
    }

    private static func hours(_ rates: [Int: Double], length: Int) -> [Double]? {
        guard length <= hour, rates.values.contains(where: { $0 > 0 }) else { return nil }
        var sums = [Double](repeating: 0, count: 24)
        var counts = sums
        for (time, rate) in rates {
            let index = ((time % day) + day) % day / hour
            sums[index] += rate
            counts[index] += 1
        }
        guard counts.allSatisfy({ $0 > 0 }) else { return nil }
        return zip(sums, counts).map { $0 / $1 }
    }

    private var holdsADay: Bool { spanSeconds >= Self.day - Self.hour }

    /// Returns the inputs for a plan, by their path in a scenario.
    package var values: [String: Measured] {
        var values: [String: Measured] = [:]
        func set(_ input: ScenarioInput, _ value: Double?) {
            guard let value, input.row.allowed.contains(value) else { return }
            values[input.row.path] = Measured(
                low: value, likely: value, high: value, count: periods, isInterval: false)
        }
        let showsPeak = periodSeconds <= Self.hour
        if showsPeak, let concurrent { set(.peakConcurrentUsers, concurrent.peak) }
        if let requests {
            set(.meanRequests, requests.mean)
            if showsPeak {
                set(.peakRequests, requests.peak)
                if holdsADay { set(.peakToMean, requests.peak / requests.mean) }
            }
            set(.requestBytes, bytesPerRequest)
        }
        if let users {
            if periodSeconds == Self.day {
                set(.dailyActiveUsers, users.mean)
            } else if showsPeak, holdsADay, concurrent == nil, requests == nil {
                set(.peakToMean, users.peak / users.mean)
            }
        }
        set(.hitRatio, hitRatio)
        return values
    }

    /// Gaps in the figures, one sentence each.
    package var notes: [String] {
        var notes: [String] = []
        if periodSeconds > Self.hour {
            notes.append(
                "The export has a figure for each \(periodSeconds / Self.hour) hours: it does not "
                    + "show the peak of a day.")
        } else if periodSeconds > 60, requests != nil || concurrent != nil {
            notes.append(
                "The export has means of \(periodSeconds / 60) minutes: the peak minute is higher.")
        }
        if users != nil, periodSeconds < Self.day {
            notes.append(
                "Users of a period are not users at the same time: only their ratio of peak to mean "
                    + "is used; set --daily-users or --peak-users too.")
        }
        return notes
    }
}
