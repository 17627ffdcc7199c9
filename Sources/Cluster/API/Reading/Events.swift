package import Model

/// A recorded change of the state of a catalog, an asset, a worker, an origin, a site or its queue.
///
/// It has no secrets: names and messages are redacted for everybody.
package struct ClusterEvent: Codable, Hashable, Sendable {
    /// Cursor: `after` of what follows it. Opaque.
    package var id: String
    /// Seconds since 1970.
    package var time: Double
    package var kind: EventKind
    /// Name of the asset, the worker or the origin; nil for other subjects, for an event about many
    /// assets, and once the asset was deleted.
    package var name: String?
    package var catalog: CatalogID?
    /// Nil for an event without a catalog, and once the catalog was deleted.
    package var catalogName: String?
    package var asset: AssetID?
    package var worker: WorkerID?
    /// Storage URL of the site, of catalogs and assets too.
    package var site: String?
    /// Code of the failure, or of the reason why a worker cannot work or an origin has a cooldown.
    package var code: FailureCode?
    package var message: String?
    /// Assets that it is about: all of the catalog, or those that one request changed at once.
    package var assets: Int64?
    /// Failed assets of the catalog.
    package var failed: Int64?

    package init(id: String, time: Double, kind: EventKind) {
        self.id = id
        self.time = time
        self.kind = kind
    }
}

/// `GET /v1/events?after=…&catalog=…&kind=…&limit=…`: a page of events, the oldest first.
package struct EventPage: Codable, Sendable {
    package var events: [ClusterEvent]
    /// For `after` of the next page, also if there are no more events yet.
    package var next: String
    /// True if there may be more events now. A page without events may have some after it, because a
    /// request reads a limited number.
    package var hasMore: Bool

    package init(events: [ClusterEvent], next: String, hasMore: Bool) {
        self.events = events
        self.next = next
        self.hasMore = hasMore
    }
}

/// The events that a request asks for.
package struct EventQuery: Sendable {
    package var catalog: CatalogReference?
    /// Kinds or subjects; empty for all.
    package var kinds: [String] = []
    /// Seconds since 1970; nil for no bound.
    package var since: Double?

    package init() {}
}
