/// A worker's share of what one site may be fed with.
///
/// It stands in the answers to leases and heartbeats. It counts bytes of bodies that the worker
/// fetches for the site, of all origins together. A worker keeps to the share with the highest number
/// that it has been given for a site; after its time it fetches nothing for the site until it is given
/// another. Whoever hands out shares counts each one until its time is over, or until the worker has
/// named a later one, or has reported that it is over.
package struct SiteShare: Codable, Hashable, Sendable {
    package var site: SiteID
    /// Grows from share to share of a site; nil for no bound, whatever was given before.
    package var number: Int64?
    /// 0 or more; of no meaning without a number.
    package var bytesPerSecond: Int64
    /// How long it holds from the moment the request was sent, or, in a lease, from that moment plus
    /// `waitedSeconds`.
    package var seconds: Double
    /// After how many seconds to send the next heartbeat while there is work; nil for as usual.
    package var againSeconds: Double?

    package init(site: SiteID, number: Int64?, bytesPerSecond: Int64, seconds: Double) {
        self.site = site
        self.number = number
        self.bytesPerSecond = bytesPerSecond
        self.seconds = seconds
    }
}

/// The share of a site that a worker keeps to.
package struct SiteShareUse: Codable, Hashable, Sendable {
    package var site: SiteID
    package var number: Int64
    /// It has nothing to do there any more, and fetches nothing under this share. Nil is false.
    package var isOver: Bool?

    package init(site: SiteID, number: Int64, isOver: Bool? = nil) {
        self.site = site
        self.number = number
        self.isOver = isOver
    }
}
