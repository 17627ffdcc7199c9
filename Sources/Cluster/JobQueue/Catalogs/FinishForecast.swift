import API
import Model
import Schedule

/// Estimates when a running catalog ends: the work that is left, at the rate that was seen lately,
/// within the windows of its site's schedule. A pure value; the time is part of it.
///
/// A rate that was not seen yet is that of the limits, if there are any: then the end is no earlier.
struct FinishForecast: Sendable {
    /// The remaining work.
    enum Rest: Equatable, Sendable {
        case nothing
        /// Estimated bytes, and the segments that have them.
        case bytes(Double, segments: Double)
        /// Segments of which no size is known.
        case segments(Double)
        /// Assets of which no segment is known.
        case unknown
    }

    enum Rate: Equatable, Sendable {
        case unknown
        /// In the unit of what is left.
        case perSecond(Double)
    }

    /// The limits of the origins that serve what is left, together.
    struct Origins: Sendable {
        /// The origin to name.
        var first = ""
        var count = 0
        /// Sums; nil if one of them has no such limit.
        var bytesPerSecond: Double?
        var requestsPerSecond: Double?
        /// True while workers use all connections of each.
        var areFull = false

        init() {}
    }

    /// The times at which the site may be written to, and the bandwidth.
    struct Windows: Sendable {
        private let schedule: TransferSchedule?
        private let rules: TimeZoneRules?
        private let maximum: Int64?

        /// - Parameter text: a schedule; without a valid one there are no windows.
        init(_ text: String = "", maximumBytesPerSecond: Int64? = nil) {
            let schedule = text.isEmpty ? nil : try? TransferSchedule(text)
            rules = schedule.flatMap { TimeZoneRules($0.timeZone) }
            self.schedule = rules == nil ? nil : schedule
            maximum = maximumBytesPerSecond
        }

        func bandwidth(at seconds: Double) -> Bandwidth {
            guard let schedule, let rules else { return Bandwidth.unlimited.capped(at: maximum) }
            return schedule.bandwidth(at: seconds) { rules.offsetSeconds(at: $0) }
                .capped(at: maximum)
        }

        /// Returns infinity if nothing changes any more.
        func nextChange(after seconds: Double) -> Double {
            guard let schedule, let rules else { return .infinity }
            return schedule.nextChange(after: seconds) { rules.offsetSeconds(at: $0) } ?? .infinity
        }
    }

    /// Seconds since 1970.
    var now: Double
    var rest: Rest
    var rate = Rate.unknown
    /// Seconds until the first job can start, the schedule apart; infinite while all assets are paused.
    var startSeconds = 0.0
    /// Seconds until the last assets that wait for a time of their own may start: it ends no earlier.
    var lastStartSeconds = 0.0
    var queue = ""
    /// Workers that take its jobs.
    var workers = 1
    var isPaused = false
    /// The reason why the site cannot be written.
    var siteFailure: FailureCode?
    /// Bytes that the storage has left; nil if unknown.
    var roomBytes: Int64?
    var windows = Windows()
    var origins = Origins()
    /// Other catalogs that workers are busy with while jobs of this one wait.
    var otherCatalogs = 0

    init(now: Double, rest: Rest) {
        self.now = now
        self.rest = rest
    }

    /// Part of a limit from which the limit determines the rate.
    private static let nearLimit = 0.8
    /// Changes of a schedule that are looked at: nearly a month of nights.
    private static let maxChanges = 60

    var estimate: CatalogFinish.Estimate {
        if rest == .nothing { return .finishes(at: now, seconds: 0, .nothingLeft) }
        if isPaused { return .unknown(.queuePaused(queue: queue)) }
        if let siteFailure { return .unknown(.siteFailing(siteFailure)) }
        if workers < 1 { return .unknown(.noWorker(queue: queue)) }
        guard startSeconds.isFinite else { return .unknown(.paused) }
        switch rest {
        case .nothing, .unknown: return .unknown(.noSize)
        case .bytes(let bytes, _):
            if let roomBytes, bytes > Double(max(roomBytes, 0)) {
                let missing = min(bytes - Double(max(roomBytes, 0)), 9e18)
                return .unknown(.noRoom(missingBytes: Int64(missing.rounded(.up))))
            }
            return end(of: bytes, inBytes: true)
        case .segments(let segments): return end(of: segments, inBytes: false)
        }
    }

    /// The rate that the origins' limits allow; infinite without any.
    private var allowedRate: Double {
        switch rest {
        case .bytes(let bytes, let segments):
            let byRequests = origins.requestsPerSecond.map { $0 * bytes / max(segments, 1) }
            return min(origins.bytesPerSecond ?? .infinity, byRequests ?? .infinity)
        case .segments: return origins.requestsPerSecond ?? .infinity
        case .nothing, .unknown: return .infinity
        }
    }

    /// Works off `amount` from window to window.
    private func end(of amount: Double, inBytes: Bool) -> CatalogFinish.Estimate {
        var left = amount
        var time = now + startSeconds
        var isClosedMeanwhile = false
        for _ in 0..<Self.maxChanges {
            let bandwidth = windows.bandwidth(at: time)
            let next = windows.nextChange(after: time)
            if bandwidth == .off {
                guard next.isFinite else { return .unknown(.scheduleClosed) }
                isClosedMeanwhile = true
                time = next
                continue
            }
            let limit = inBytes ? bandwidth.limit.map { Double($0) } ?? .infinity : .infinity
            let speed = min(seenOrAllowedRate, limit)
            guard speed.isFinite, speed > 0 else { return .unknown(.noRate) }
            let end = time + left / speed
            if end <= next {
                guard lastStart.isFinite else { return .unknown(.scheduleClosed) }
                guard end >= lastStart else {
                    return .finishes(at: lastStart, seconds: lastStart - now, .notBefore)
                }
                return .finishes(
                    at: end, seconds: end - now,
                    isClosedMeanwhile ? .schedule : bound(at: speed, of: limit))
            }
            left -= (next - time) * speed
            time = next
        }
        return .unknown(.scheduleClosed)
    }

    /// Time at which the last of the assets that wait may start, in an open window.
    private var lastStart: Double {
        let last = now + lastStartSeconds
        return windows.bandwidth(at: last) == .off ? windows.nextChange(after: last) : last
    }

    private var seenOrAllowedRate: Double {
        switch rate {
        case .perSecond(let rate): rate
        case .unknown: allowedRate
        }
    }

    /// Returns the limit that determines a speed, if no closed window does.
    private func bound(at speed: Double, of windowLimit: Double) -> CatalogFinish.Bound {
        if origins.areFull || speed >= allowedRate * Self.nearLimit {
            return .originLimit(origin: origins.first, origins: origins.count)
        }
        if speed >= windowLimit * Self.nearLimit { return .siteBandwidth }
        return otherCatalogs > 0 ? .otherCatalogs(otherCatalogs) : .workers(workers)
    }
}
