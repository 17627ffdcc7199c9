package import Model

/// Parameters of `GET /v1/report`.
package struct DailyReportQuery: Hashable, Sendable {
    package var grouping = DailyReport.Grouping.day
    package var period = Period.last(days: 7)
    /// Name of a catalog, queue name or storage URL of a site, origin and failure code; nil for all.
    package var catalog: String?
    package var site: String?
    package var origin: String?
    package var code: String?

    /// Days in UTC.
    package enum Period: Hashable, Sendable {
        /// The last ones, of which today is the last: 1 to `WireLimits.reportDays`.
        case last(days: Int)
        /// From the first day to the last one; nil for today.
        case from(UTCDay, until: UTCDay?)
    }

    package init() {}

    /// Parameters of a URL's query.
    package var parameters: [(name: String, value: String?)] {
        var days: Int?
        var (since, until): (UTCDay?, UTCDay?) = (nil, nil)
        switch period {
        case .last(let count): days = count
        case .from(let first, let last): (since, until) = (first, last)
        }
        return [
            ("by", grouping.rawValue), ("days", days?.description), ("since", since?.description),
            ("until", until?.description), ("catalog", catalog), ("site", site),
            ("origin", origin), ("code", code),
        ]
    }
}

/// `GET /v1/report`: what was stored and what failed, from daily figures.
package struct DailyReport: Codable, Sendable {
    package var by: Grouping
    /// The first and the last day, in UTC: `2026-11-26`.
    package var since: String
    package var until: String
    package var total: Figures
    /// Days in order; others by their number of results.
    package var groups: [Group]
    /// Groups that are missing, because there are more than `WireLimits.reportRows`. The total has
    /// them.
    package var leftOff: Int

    package enum Grouping: String, Codable, CaseIterable, Sendable {
        case code, origin, site, catalog, day

        /// True if assets are counted: they have neither an origin nor a code.
        package var hasAssets: Bool { self != .code && self != .origin }
    }

    /// The figures of one day, site, catalog, origin or code.
    package struct Group: Codable, Hashable, Sendable {
        /// The day, the queue of the site, the catalog's name, the origin or the code. `other` has
        /// what a day had no room for.
        package var name: String
        /// Queue of a catalog; nil for others.
        package var queue: String?
        /// Storage URL of a site; nil for others.
        package var storageURL: String?
        /// False for a code that no retry and no setting corrects; nil for others.
        package var isAddressable: Bool?
        /// Recovery from a code; nil for others.
        package var recovery: Recovery?
        package var figures: Figures

        package init(name: String, figures: Figures) {
            self.name = name
            self.figures = figures
        }
    }

    package struct Figures: Codable, Hashable, Sendable {
        /// Segments and parts that are stored.
        package var done: Int64
        /// Jobs that failed for good: segments, manifests, verifications, checksum files, refreshes.
        package var failed: Int64
        /// Those of them whose code no retry and no setting corrects.
        package var unaddressable: Int64
        package var retries: Int64
        /// Stored bytes, and those of them that were stored already.
        package var bytes: Int64
        package var reusedBytes: Int64
        /// Total time of successful transfers, in seconds.
        package var transferSeconds: Double
        /// `done` among those that ended; nil if none did.
        package private(set) var successRate: Double?
        /// The same without those that are not addressable.
        package private(set) var addressableSuccessRate: Double?
        /// Mean speed of a transfer; nil without any.
        package private(set) var bytesPerSecond: Double?
        /// Assets that ended; nil where they are not counted.
        package var assets: Assets?

        package init(
            done: Int64, failed: Int64, unaddressable: Int64, retries: Int64, bytes: Int64,
            reusedBytes: Int64, transferSeconds: Double, assets: Assets? = nil
        ) {
            self.done = done
            self.failed = failed
            self.unaddressable = unaddressable
            self.retries = retries
            self.bytes = bytes
            self.reusedBytes = reusedBytes
            self.transferSeconds = transferSeconds
            self.assets = assets
            if done + failed > 0 { successRate = Double(done) / Double(done + failed) }
            let addressable = done + failed - unaddressable
            if addressable > 0 { addressableSuccessRate = Double(done) / Double(addressable) }
            if transferSeconds > 0 {
                bytesPerSecond = Double(bytes - reusedBytes) / transferSeconds
            }
        }
    }

    /// Assets that ended. A refreshed one counts again.
    package struct Assets: Codable, Hashable, Sendable {
        package var completed: Int64
        package var failed: Int64
        package var cancelled: Int64

        package init(completed: Int64, failed: Int64, cancelled: Int64) {
            self.completed = completed
            self.failed = failed
            self.cancelled = cancelled
        }
    }

    /// Outcomes of the assets that met a failure code. An asset counts when it has ended, once
    /// for each code that it met, as completed by the most that was done about the code.
    package struct Recovery: Codable, Hashable, Sendable {
        /// Failed attempts; also those after which a mirror served the file in the same attempt.
        package var attempts: Int64
        /// Assets that met the code and ended.
        package var assets: Int64
        /// Those of them that completed nevertheless.
        package var completed: Int64
        /// Completed by another attempt.
        package var byRetry: Int64
        /// Completed by a mirror.
        package var byMirror: Int64
        /// Completed by a fresh URL from the manifest.
        package var byFreshURL: Int64
        /// Completed without an optional file.
        package var withoutOptional: Int64
        /// Completed without a rendition that the title may lack.
        package var withoutRendition: Int64
        /// Failed because of the code. Others that did not complete failed because of another one.
        package var lost: Int64

        package init(
            attempts: Int64, assets: Int64, completed: Int64, byRetry: Int64 = 0,
            byMirror: Int64 = 0, byFreshURL: Int64 = 0, withoutOptional: Int64 = 0,
            withoutRendition: Int64 = 0, lost: Int64 = 0
        ) {
            self.attempts = attempts
            self.assets = assets
            self.completed = completed
            self.byRetry = byRetry
            self.byMirror = byMirror
            self.byFreshURL = byFreshURL
            self.withoutOptional = withoutOptional
            self.withoutRendition = withoutRendition
            self.lost = lost
        }
    }

    package init(
        by: Grouping, since: String, until: String, total: Figures, groups: [Group], leftOff: Int
    ) {
        self.by = by
        self.since = since
        self.until = until
        self.total = total
        self.groups = groups
        self.leftOff = leftOff
    }
}
