import API
import Model
import Postgres

/// Limits of the time that a running catalog needs: a row of the template `limits`.
struct FinishLimits {
    var now: Double
    var queue: String
    var workers: Int
    var notBeforeSeconds: Double
    /// Seconds until the last assets that wait for a time of their own may start.
    var lastStartSeconds: Double
    var roomBytes: Int64?
    var windows: FinishForecast.Windows
    var origins = FinishForecast.Origins()
    /// The pace between its last two samples; nil without two.
    var last: Pace?

    /// Progress in a period.
    struct Pace {
        var seconds: Double
        var segments: Double
        var bytes: Double
    }

    /// Decodes rows of the template `limits`: running catalogs only.
    static func read(_ result: PostgresResult) throws -> [CatalogID: FinishLimits] {
        var limits: [CatalogID: FinishLimits] = [:]
        for row in result.rows {
            limits[CatalogID(try row.int64("catalog_id"))] = try FinishLimits(row: row)
        }
        return limits
    }

    private init(row: PostgresRow) throws {
        now = try row.double("now")
        queue = try row.string("queue")
        workers = try row.int("workers")
        notBeforeSeconds = try row.optionalDouble("not_before_seconds") ?? 0
        lastStartSeconds = try row.optionalDouble("last_start_seconds") ?? 0
        roomBytes = try row.optionalInt64("room_bytes")
        windows = FinishForecast.Windows(
            try row.string("schedule"),
            maximumBytesPerSecond: try row.optionalInt64("max_bytes_per_second"))
        origins.count = try row.int("origins")
        origins.first = try row.optionalString("origin") ?? ""
        // A limit bounds the whole only if every origin has one.
        if origins.count > 0 {
            if try row.int("bytes_limited") == origins.count {
                origins.bytesPerSecond = try row.optionalDouble("origins_bytes_per_second")
            }
            if try row.int("requests_limited") == origins.count {
                origins.requestsPerSecond = try row.optionalDouble("requests_per_second")
            }
            origins.areFull = try row.int("full_origins") == origins.count
        }
        if let seconds = try row.optionalDouble("last_seconds"),
            let segments = try row.optionalDouble("last_segments"),
            let bytes = try row.optionalDouble("last_bytes")
        {
            last = Pace(seconds: seconds, segments: segments, bytes: bytes)
        }
    }
}

extension FinishForecast {
    /// Creates the forecast of a running catalog.
    ///
    /// - Parameters:
    ///   - pace: progress up to now; nil without a sample.
    ///   - waits: all of them. While one stops work, the pace before it counts.
    init(
        _ totals: CatalogTotals, _ limits: FinishLimits, pace: FinishLimits.Pace?,
        waits: CatalogWaits, siteFailure: FailureCode?
    ) {
        self.init(now: limits.now, rest: Rest(totals))
        let isStopped = waits.all.contains(where: \.stopsWork)
        if let pace = isStopped ? limits.last : pace, let rate = totals.rate(pace) {
            self.rate = .perSecond(rate)
        }
        queue = limits.queue
        // One may hold jobs before its first heartbeat.
        workers = max(limits.workers, 1)
        var others: [CatalogWait] = []
        for wait in waits.all {
            switch wait.reason {
            case .noWorker: workers = 0
            case .queuePaused: isPaused = true
            // The windows have it.
            case .schedule: break
            case .otherCatalogs(let count):
                otherCatalogs = count
                others.append(wait)
            default: others.append(wait)
            }
        }
        startSeconds = max(
            limits.notBeforeSeconds,
            CatalogWait.earliestStart(others, hasReadyJobs: waits.hasReadyJobs))
        lastStartSeconds = limits.lastStartSeconds
        self.siteFailure = siteFailure
        roomBytes = limits.roomBytes
        windows = limits.windows
        origins = limits.origins
    }
}

extension FinishForecast.Rest {
    init(_ totals: CatalogTotals) {
        let segments = max(0, totals.segments - totals.segmentsDone - totals.segmentsFailed)
        guard segments > 0 else {
            self = totals.ended >= totals.assets ? .nothing : .unknown
            return
        }
        if let expected = totals.expectedBytes, expected > 0 {
            self = .bytes(
                Double(max(0, expected - totals.bytes - totals.receivingBytes)),
                segments: Double(segments))
        } else {
            self = .segments(Double(segments))
        }
    }
}

extension CatalogTotals {
    /// Returns the rate of a period, in bytes if the size of what is left is known, or else in
    /// segments. Returns nil for a short period, or one without progress.
    fileprivate func rate(_ pace: FinishLimits.Pace) -> Double? {
        guard pace.seconds >= 10 else { return nil }
        let done = (expectedBytes ?? 0) > 0 ? pace.bytes : pace.segments
        return done > 0 ? done / pace.seconds : nil
    }
}
