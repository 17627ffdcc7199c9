/// The demand of users, catalog and deadline: rates and volumes, before sizing.
///
/// Users → requests and bytes → misses and the nightly fill, from the likely or drawn values of a
/// scenario's inputs. Bandwidths are in bits per second, volumes in bytes.
package struct Demand: Codable, Hashable, Sendable {
    /// True if users are calculated from requests.
    package private(set) var hasUsersByRequests = false
    package private(set) var monthlyActiveUsers = 0.0
    package private(set) var dailyActiveUsers = 0.0
    package private(set) var peakConcurrentUsers = 0.0
    /// Mean number of concurrent viewers over a day, by Little's law: arrivals × time they stay.
    package private(set) var meanConcurrentViewers = 0.0

    package private(set) var deliveredBitsPerSecond = 0.0
    package private(set) var meanRequestsPerSecond = 0.0
    package private(set) var peakRequestsPerSecond = 0.0
    package private(set) var peakEgressBitsPerSecond = 0.0
    package private(set) var egressBytesPerMonth = 0.0

    /// Stored part of the catalog, of one site.
    package private(set) var catalogBytes = 0.0
    package private(set) var catalogSegments = 0.0
    /// Storage of all sites, with the free space.
    package private(set) var edgeStorageBytes = 0.0

    package private(set) var fillBytesPerDay = 0.0
    /// Fetches, with failed attempts.
    package private(set) var fillSegmentsPerDay = 0.0
    /// Time until the deadline after workers have started, at most a day: then the next day's fill
    /// is added.
    package private(set) var fillWindowSeconds = 0.0
    package private(set) var fillSegmentsPerSecond = 0.0
    package private(set) var fillBitsPerSecond = 0.0
    package private(set) var fillSegmentBytes = 0.0

    /// Share of requests that the edge answers from its storage, at the peak.
    package private(set) var hitRatio = 1.0
    /// On-demand fetches: requests that the edge cannot answer.
    package private(set) var meanMissesPerSecond = 0.0
    package private(set) var peakMissesPerSecond = 0.0
    package private(set) var missBytes = 0.0
    package private(set) var peakMissBitsPerSecond = 0.0

    /// Peak viewers over their mean, or `audience.peakToMean`.
    private var peakRatio = 1.0

    private enum CodingKeys: String, CodingKey {
        case hasUsersByRequests, monthlyActiveUsers, dailyActiveUsers, peakConcurrentUsers
        case meanConcurrentViewers, deliveredBitsPerSecond, meanRequestsPerSecond
        case peakRequestsPerSecond, peakEgressBitsPerSecond, egressBytesPerMonth, catalogBytes
        case catalogSegments, edgeStorageBytes, fillBytesPerDay, fillSegmentsPerDay
        case fillWindowSeconds, fillSegmentsPerSecond, fillBitsPerSecond, fillSegmentBytes
        case hitRatio, meanMissesPerSecond, peakMissesPerSecond, missBytes, peakMissBitsPerSecond
    }

    /// Peak requests over the day's mean.
    package var peakOverMean: Double {
        meanRequestsPerSecond > 0 ? max(1, peakRequestsPerSecond / meanRequestsPerSecond) : 1
    }

    /// Mean days of a month over a year.
    package static let daysPerMonth = 365.25 / 12

    package init(_ values: ScenarioValues) {
        countUsers(values)
        countRequests(values)
        let measured: [ScenarioInput] = [.meanRequests, .peakRequests, .requestBytes]
        if measured.contains(where: { values.known($0) != nil }) { countMeasured(values) }
        countCatalog(values)
        countMisses(values)
        if values.clusters > 1 { divideFetches(by: Double(values.clusters)) }
    }

    /// Calculates MAU × stickiness = DAU, DAU × share = concurrent users. Given values replace
    /// calculated ones; missing ones are calculated back. The peak is at least the mean of
    /// concurrent viewers.
    private mutating func countUsers(_ values: ScenarioValues) {
        let daily = values.known(.dailyActiveUsers)
        let peak = values.known(.peakConcurrentUsers)
        let share = values[.dailyActiveShare]
        let meanShare = Self.meanShare(values)
        let peakShare =
            values.known(.peakShare)
            ?? (meanShare > 0 ? min(1, meanShare * values[.peakToMean]) : nil)
        hasUsersByRequests =
            values.known(.monthlyActiveUsers) == nil && daily == nil && peak == nil
        // The number does not matter if requests were measured: only the requests per user do.
        monthlyActiveUsers =
            values.known(.monthlyActiveUsers)
            ?? (hasUsersByRequests ? 1_000 : (daily ?? (peak ?? 0) / (peakShare ?? 1)) / share)
        dailyActiveUsers = min(monthlyActiveUsers, daily ?? monthlyActiveUsers * share)
        if daily == nil, let peak { dailyActiveUsers = max(dailyActiveUsers, peak) }
        meanConcurrentViewers = dailyActiveUsers * meanShare
        peakConcurrentUsers = min(
            dailyActiveUsers,
            max(peak ?? dailyActiveUsers * (peakShare ?? 0), meanConcurrentViewers))
        let ofViewers =
            meanConcurrentViewers > 0 ? peakConcurrentUsers / meanConcurrentViewers : 1
        peakRatio = values.known(.peakToMean) ?? ofViewers
    }

    /// Returns the mean share of daily users that watch concurrently; without playback, that
    /// download.
    private static func meanShare(_ values: ScenarioValues) -> Double {
        if values[.minutesPerDay] > 0 { return values[.minutesPerDay] / 1_440 }
        let seconds = values.actionBytesPerDay * 8 / (values[.userMegabits] * 1e6)
        return min(1, seconds / 86_400)
    }

    private mutating func countRequests(_ values: ScenarioValues) {
        let bitRate = values[.kilobitsPerSecond] * 1_000
        let perViewer = values[.tracks] / values[.segmentSeconds]
        let actions = dailyActiveUsers * values.actionRequestsPerDay / 86_400
        let actionBytes = dailyActiveUsers * values.actionBytesPerDay
        // Without viewing there are no segment requests.
        let isWatched = values[.minutesPerDay] > 0
        let peakViewers = isWatched ? peakConcurrentUsers : 0
        deliveredBitsPerSecond = bitRate
        let meanViewers = isWatched ? meanConcurrentViewers : 0
        meanRequestsPerSecond = meanViewers * perViewer + actions
        peakRequestsPerSecond = peakViewers * perViewer + actions * peakRatio
        peakEgressBitsPerSecond =
            peakViewers * bitRate + actionBytes * 8 / 86_400 * peakRatio
        egressBytesPerMonth =
            (meanViewers * bitRate / 8 * 86_400 + actionBytes) * Self.daysPerMonth
    }

    /// Replaces calculated requests by measured ones. Mean and peak follow from each other by the
    /// peak-to-mean ratio.
    private mutating func countMeasured(_ values: ScenarioValues) {
        let meanBytes =
            meanRequestsPerSecond > 0
            ? egressBytesPerMonth / Self.daysPerMonth / 86_400 / meanRequestsPerSecond : 0
        let peakBytes =
            peakRequestsPerSecond > 0 ? peakEgressBitsPerSecond / 8 / peakRequestsPerSecond : 0
        let bytes = values.known(.requestBytes)
        let (mean, peak) = (values.known(.meanRequests), values.known(.peakRequests))
        let ofUsers = meanRequestsPerSecond
        if let known = mean ?? peak.map({ $0 / peakRatio }) {
            meanRequestsPerSecond = known
        }
        if let known = peak ?? mean.map({ $0 * peakRatio }) {
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

    /// Scales the users so that their requests match the measured ones; `ratio` is measured over
    /// calculated. The peak's viewers follow from its requests without actions.
    private mutating func countUsersBack(_ values: ScenarioValues, by ratio: Double) {
        monthlyActiveUsers *= ratio
        dailyActiveUsers *= ratio
        meanConcurrentViewers *= ratio
        peakConcurrentUsers *= ratio
        guard values[.minutesPerDay] > 0 else { return }
        let actions = dailyActiveUsers * values.actionRequestsPerDay / 86_400
        let ofViewers = peakRequestsPerSecond - actions * peakRatio
        let viewers = ofViewers * values[.segmentSeconds] / values[.tracks]
        peakConcurrentUsers = min(dailyActiveUsers, max(viewers, meanConcurrentViewers))
    }

    private mutating func countCatalog(_ values: ScenarioValues) {
        let kilobits = values.ladder.reduce(0, +)
        let renditions = Double(values.ladder.count)
        // Each rendition, and each separate track, has one segment per interval.
        let perStretch = renditions + values[.tracks] - 1
        let bytesOfStretch = kilobits * 1_000 / 8 * values[.segmentSeconds]
        let allBytes =
            values.known(.catalogGigabytes).map { $0 * 1e9 }
            ?? values[.titles] * values[.minutesPerTitle] * 60 * kilobits * 1_000 / 8
        catalogBytes = allBytes * values[.storedShare]
        fillSegmentBytes = values.known(.fillSegmentBytes) ?? bytesOfStretch / perStretch
        catalogSegments = catalogBytes / fillSegmentBytes
        let sites = values[.sites]
        edgeStorageBytes = catalogBytes * sites / (1 - values[.storageFreeShare])
        fillBytesPerDay = catalogBytes * values[.changePerDay] * sites
        fillSegmentsPerDay =
            catalogSegments * values[.changePerDay] * sites * values[.attempts]
        fillWindowSeconds = min(
            86_400, max(1, values[.deadlineHours] * 3_600 - values[.bootSeconds]))
        fillSegmentsPerSecond = fillSegmentsPerDay / fillWindowSeconds
        fillBitsPerSecond = fillBytesPerDay * 8 / fillWindowSeconds
    }

    private mutating func countMisses(_ values: ScenarioValues) {
        let attempts = values[.attempts]
        let ratio = values.known(.hitRatio)
        let missed = Missed(values, self)
        func misses(_ requests: Double) -> Double {
            ratio.map { requests * (1 - $0) }
                ?? missed.perSecond(requests, mean: meanRequestsPerSecond)
        }
        let atPeak = misses(peakRequestsPerSecond)
        hitRatio = peakRequestsPerSecond > 0 ? 1 - atPeak / peakRequestsPerSecond : ratio ?? 1
        meanMissesPerSecond = misses(meanRequestsPerSecond) * attempts
        peakMissesPerSecond = atPeak * attempts
        missBytes =
            peakRequestsPerSecond > 0 ? peakEgressBitsPerSecond / 8 / peakRequestsPerSecond : 0
        peakMissBitsPerSecond = peakMissesPerSecond * missBytes * 8
    }

    /// Leaves the fetches of one of several clusters, each with its part of the titles or sites.
    private mutating func divideFetches(by clusters: Double) {
        fillBytesPerDay /= clusters
        fillSegmentsPerDay /= clusters
        fillSegmentsPerSecond /= clusters
        fillBitsPerSecond /= clusters
        meanMissesPerSecond /= clusters
        peakMissesPerSecond /= clusters
        peakMissBitsPerSecond /= clusters
    }
}
