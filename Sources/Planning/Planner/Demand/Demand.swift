/// The demand of users, catalog and deadline: rates and volumes, before any machine.
///
/// Users → requests and bytes → misses and the nightly fill, each from the likely or drawn values of a
/// scenario's inputs. Bandwidths are in bits a second, volumes in bytes.
package struct Demand: Codable, Hashable, Sendable {
    /// Users were not known, and requests were.
    package private(set) var hasUsersByRequests = false
    package private(set) var monthlyActiveUsers = 0.0
    package private(set) var dailyActiveUsers = 0.0
    package private(set) var peakConcurrentUsers = 0.0
    /// Viewers at once on average over a day, by Little's law: arrivals × time they stay.
    package private(set) var meanConcurrentViewers = 0.0

    package private(set) var deliveredBitsPerSecond = 0.0
    package private(set) var meanRequestsPerSecond = 0.0
    package private(set) var peakRequestsPerSecond = 0.0
    package private(set) var peakEgressBitsPerSecond = 0.0
    package private(set) var egressBytesPerMonth = 0.0

    /// Of one site.
    package private(set) var catalogBytes = 0.0
    package private(set) var catalogSegments = 0.0
    /// Of all sites, what has to stay free included.
    package private(set) var edgeStorageBytes = 0.0

    package private(set) var fillBytesPerDay = 0.0
    /// Fetches, those that fail and are tried again included.
    package private(set) var fillSegmentsPerDay = 0.0
    /// What is left of the deadline once workers have started; a day at most, after which the next
    /// day's fill comes on top.
    package private(set) var fillWindowSeconds = 0.0
    package private(set) var fillSegmentsPerSecond = 0.0
    package private(set) var fillBitsPerSecond = 0.0
    package private(set) var fillSegmentBytes = 0.0

    /// On-demand fetches: requests that the edge has no answer to.
    package private(set) var meanMissesPerSecond = 0.0
    package private(set) var peakMissesPerSecond = 0.0
    package private(set) var missBytes = 0.0
    package private(set) var peakMissBitsPerSecond = 0.0

    /// Requests at the peak over the day's mean.
    package var peakOverMean: Double {
        meanRequestsPerSecond > 0 ? max(1, peakRequestsPerSecond / meanRequestsPerSecond) : 1
    }

    /// Days of a month on average over a year.
    package static let daysPerMonth = 365.25 / 12

    package init(_ values: ScenarioValues) {
        countUsers(values)
        countRequests(values)
        let measured: [ScenarioInput] = [.meanRequests, .peakRequests, .requestBytes]
        if measured.contains(where: { values.known($0) != nil }) { countMeasured(values) }
        countCatalog(values)
        countMisses(values)
    }

    /// MAU × stickiness = DAU, DAU × share = users at once; what is given replaces what is reckoned,
    /// and what is not is reckoned back from it. Never fewer at once than watch on average.
    private mutating func countUsers(_ values: ScenarioValues) {
        let daily = values.known(.dailyActiveUsers)
        let peak = values.known(.peakConcurrentUsers)
        let share = values[.dailyActiveShare]
        let peakShare = values.known(.peakShare)
        hasUsersByRequests =
            values.known(.monthlyActiveUsers) == nil && daily == nil && peak == nil
        // Any number will do for users that requests tell: what one asks for is what counts.
        monthlyActiveUsers =
            values.known(.monthlyActiveUsers)
            ?? (hasUsersByRequests ? 1_000 : (daily ?? (peak ?? 0) / (peakShare ?? 1)) / share)
        dailyActiveUsers = min(monthlyActiveUsers, daily ?? monthlyActiveUsers * share)
        if daily == nil, let peak { dailyActiveUsers = max(dailyActiveUsers, peak) }
        meanConcurrentViewers = dailyActiveUsers * values[.minutesPerDay] / 1_440
        let reckoned =
            peakShare.map { dailyActiveUsers * $0 } ?? meanConcurrentViewers * values[.peakToMean]
        peakConcurrentUsers = min(
            dailyActiveUsers, max(peak ?? reckoned, meanConcurrentViewers))
    }

    private mutating func countRequests(_ values: ScenarioValues) {
        let bitRate = values[.kilobitsPerSecond] * 1_000
        let perViewer = values[.tracks] / values[.segmentSeconds]
        let actions = dailyActiveUsers * values.actionRequestsPerDay / 86_400
        let actionBytes = dailyActiveUsers * values.actionBytesPerDay
        // Nobody asks for segments who does not watch.
        let isWatched = values[.minutesPerDay] > 0
        let peakViewers = isWatched ? peakConcurrentUsers : 0
        deliveredBitsPerSecond = bitRate
        meanRequestsPerSecond = meanConcurrentViewers * perViewer + actions
        peakRequestsPerSecond = peakViewers * perViewer + actions * values[.peakToMean]
        peakEgressBitsPerSecond =
            peakViewers * bitRate + actionBytes * 8 / 86_400 * values[.peakToMean]
        egressBytesPerMonth =
            (meanConcurrentViewers * bitRate / 8 * 86_400 + actionBytes) * Self.daysPerMonth
    }

    /// What was counted goes before what users come to; of the mean and the peak, one tells the other
    /// by the peak over the mean.
    private mutating func countMeasured(_ values: ScenarioValues) {
        let meanBytes =
            meanRequestsPerSecond > 0
            ? egressBytesPerMonth / Self.daysPerMonth / 86_400 / meanRequestsPerSecond : 0
        let peakBytes =
            peakRequestsPerSecond > 0 ? peakEgressBitsPerSecond / 8 / peakRequestsPerSecond : 0
        let bytes = values.known(.requestBytes)
        let (mean, peak) = (values.known(.meanRequests), values.known(.peakRequests))
        let ofUsers = meanRequestsPerSecond
        if let known = mean ?? peak.map({ $0 / values[.peakToMean] }) {
            meanRequestsPerSecond = known
        }
        if let known = peak ?? mean.map({ $0 * values[.peakToMean] }) {
            peakRequestsPerSecond = known
        }
        peakRequestsPerSecond = max(peakRequestsPerSecond, meanRequestsPerSecond)
        if hasUsersByRequests {
            countUsersBack(values, by: ofUsers > 0 ? meanRequestsPerSecond / ofUsers : 0)
        }
        egressBytesPerMonth =
            meanRequestsPerSecond * (bytes ?? meanBytes) * 86_400 * Self.daysPerMonth
        peakEgressBitsPerSecond = peakRequestsPerSecond * (bytes ?? peakBytes) * 8
    }

    /// `ratio` times the users that were reckoned with make the requests that were counted. At the peak
    /// as many watch as make its requests besides actions.
    private mutating func countUsersBack(_ values: ScenarioValues, by ratio: Double) {
        monthlyActiveUsers *= ratio
        dailyActiveUsers *= ratio
        meanConcurrentViewers *= ratio
        peakConcurrentUsers *= ratio
        guard values[.minutesPerDay] > 0 else { return }
        let actions = dailyActiveUsers * values.actionRequestsPerDay / 86_400
        let ofViewers = peakRequestsPerSecond - actions * values[.peakToMean]
        let viewers = ofViewers * values[.segmentSeconds] / values[.tracks]
        peakConcurrentUsers = min(dailyActiveUsers, max(viewers, meanConcurrentViewers))
    }

    private mutating func countCatalog(_ values: ScenarioValues) {
        let kilobits = values.ladder.reduce(0, +)
        let renditions = Double(values.ladder.count)
        // A rendition has a segment for each stretch of time, and so has each track that is apart.
        let perStretch = renditions + values[.tracks] - 1
        let bytesOfStretch = kilobits * 1_000 / 8 * values[.segmentSeconds]
        catalogBytes =
            values.known(.catalogGigabytes).map { $0 * 1e9 }
            ?? values[.titles] * values[.minutesPerTitle] * 60 * kilobits * 1_000 / 8
        catalogSegments = catalogBytes / bytesOfStretch * perStretch
        let sites = values[.sites]
        edgeStorageBytes = catalogBytes * sites / (1 - values[.storageFreeShare])
        fillBytesPerDay = catalogBytes * values[.changePerDay] * sites
        fillSegmentsPerDay =
            catalogSegments * values[.changePerDay] * sites * values[.attempts]
        fillSegmentBytes = bytesOfStretch / perStretch
        fillWindowSeconds = min(
            86_400, max(1, values[.deadlineHours] * 3_600 - values[.bootSeconds]))
        fillSegmentsPerSecond = fillSegmentsPerDay / fillWindowSeconds
        fillBitsPerSecond = fillBytesPerDay * 8 / fillWindowSeconds
    }

    private mutating func countMisses(_ values: ScenarioValues) {
        let missed = (1 - values[.hitRatio]) * values[.attempts]
        meanMissesPerSecond = meanRequestsPerSecond * missed
        peakMissesPerSecond = peakRequestsPerSecond * missed
        missBytes =
            peakRequestsPerSecond > 0 ? peakEgressBitsPerSecond / 8 / peakRequestsPerSecond : 0
        peakMissBitsPerSecond = peakMissesPerSecond * missBytes * 8
    }
}
