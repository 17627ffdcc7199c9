package import Model

/// A worker's quota of one site's bandwidth.
///
/// It is part of the answers to leases and heartbeats. It counts body bytes that the worker fetches
/// for the site from all origins. A worker keeps to the highest-numbered quota of a site that it
/// has received; after its expiry it fetches nothing for the site until it receives another. The
/// coordinator counts each quota until it expires, or until the worker names a later one or reports
/// its end.
package struct SiteQuota: Codable, Hashable, Sendable {
    package var site: SiteID
    /// Number that grows with each quota of a site; nil for no limit, whatever was granted before.
    package var number: Int64?
    /// 0 or more; meaningless without a number.
    package var bytesPerSecond: Int64
    /// Validity from the moment the request was sent, or, in a lease, from that moment plus
    /// `waitedSeconds`.
    package var seconds: Double
    /// Seconds until the next heartbeat while there is work; nil for the usual interval.
    package var againSeconds: Double?

    package init(site: SiteID, number: Int64?, bytesPerSecond: Int64, seconds: Double) {
        self.site = site
        self.number = number
        self.bytesPerSecond = bytesPerSecond
        self.seconds = seconds
    }
}

/// The quota of a site that a worker keeps to.
package struct SiteQuotaUse: Codable, Hashable, Sendable {
    package var site: SiteID
    package var number: Int64
    /// True if it has no more work there and fetches nothing under this quota. Nil is false.
    package var isOver: Bool?

    package init(site: SiteID, number: Int64, isOver: Bool? = nil) {
        self.site = site
        self.number = number
        self.isOver = isOver
    }
}
