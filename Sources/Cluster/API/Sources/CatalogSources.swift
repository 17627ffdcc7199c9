package import Model

// Sources of catalogs, as clients see them.

/// `POST /v1/sources/{catalog}`: sets the list at a URL that is read again and again for a catalog.
package struct SourceSubmission: Codable, Sendable {
    /// http or https, without credentials.
    package var url: String
    /// Name of the list's format; nil to detect it.
    package var format: String?
    /// Seconds between two readings, `WireLimits.sourceSeconds`.
    package var everySeconds: Double
    /// True to remove what the list no longer names.
    package var prunes: Bool?
    /// A list that drops a larger percentage of the catalog's assets is rejected: 0 to 100; nil for
    /// `WireLimits.sourceMaxDropPercent`.
    package var maxDropPercent: Int?
    /// False for the first reading after the interval; otherwise at once.
    package var readsNow: Bool?

    package init(url: String, everySeconds: Double) {
        self.url = url
        self.everySeconds = everySeconds
    }
}

/// The source of a catalog.
package struct SourceStatus: Codable, Sendable {
    package var catalog: CatalogID
    package var name: String
    package var queue: String
    package var storageURL: String
    /// Without secrets.
    package var url: String
    package var format: String?
    package var everySeconds: Double
    package var prunes: Bool
    package var maxDropPercent: Int
    /// True while a worker reads it.
    package var isReading: Bool
    /// The worker that reads it, or read it last.
    package var worker: String?
    /// True while it is not read, because its catalog was cancelled or has expired.
    package var isSkipped: Bool
    /// Time of the next reading, in seconds since 1970.
    package var next: Double
    /// Time of the last reading; nil before the first.
    package var read: Double?
    package var result: SourceResult?
    /// The failure of the last reading.
    package var failure: Failure?
    /// Readings in a row that failed.
    package var failures: Int
    /// The time when a list was last applied, and the number of its assets, of those that it added,
    /// and of those that it no longer named.
    package var applied: Double?
    package var assets: Int64?
    package var added: Int64?
    package var dropped: Int64?
    /// The database's time.
    package var now: Double

    package init(
        catalog: CatalogID, name: String, queue: String, storageURL: String, url: String,
        everySeconds: Double, prunes: Bool, maxDropPercent: Int, isReading: Bool, isSkipped: Bool,
        next: Double, failures: Int, now: Double
    ) {
        self.catalog = catalog
        self.name = name
        self.queue = queue
        self.storageURL = storageURL
        self.url = url
        self.everySeconds = everySeconds
        self.prunes = prunes
        self.maxDropPercent = maxDropPercent
        self.isReading = isReading
        self.isSkipped = isSkipped
        self.next = next
        self.failures = failures
        self.now = now
    }
}

/// `GET /v1/sources?after=…&limit=…`: a page of the sources by catalog.
package struct SourcePage: Codable, Sendable {
    package var sources: [SourceStatus]
    /// For `after` of the next page; nil on the last one.
    package var next: String?

    package init(sources: [SourceStatus], next: String?) {
        self.sources = sources
        self.next = next
    }
}
