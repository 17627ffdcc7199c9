package import Model

/// `POST /v1/catalogs`: opens a catalog for submission; on first use, it creates the catalog with
/// its site and queue.
package struct CatalogSubmission: Codable, Sendable {
    /// 1 to 200 characters, no control characters; unique at its site.
    package var name: String
    /// Location of the assets: `file:///absolute/path` or `s3://bucket/prefix?endpoint=URL`.
    package var storageURL: String
    /// 0 (last) to 9 (first).
    package var priority: Int
    /// Earliest time to lease the first of its jobs, in seconds since 1970; nil for at once. Like
    /// the priority, it replaces the catalog's.
    package var notBefore: Double?
    /// Deadline, in seconds since 1970; its priority rises as this nears.
    package var deadline: Double?
    /// Options for its titles from now on; nil for all tracks. Titles that were resolved with other
    /// options are resolved again.
    package var titles: TitleOptions?
    /// Files of its assets are deleted then, in seconds since 1970; nil for never. An asset's own
    /// time holds if it is earlier.
    package var expiresAt: Double?
    /// Files of an asset are deleted so many seconds after it was first complete; nil for never. An
    /// asset's or its site's own time holds if it is shorter.
    package var keepSeconds: Double?
    /// Its assets are refreshed so many seconds after each submission or refresh,
    /// `WireLimits.refreshSeconds`; nil for never. An asset's own time holds instead.
    package var refreshSeconds: Double?
    /// True if origins say when instead, within `WireLimits.originRefreshSeconds`.
    package var refreshByOrigin: Bool?
    /// Maximum fetches of a title within a period; nil for no limit. Assets' and the
    /// site's own limits hold as well.
    package var maxFetches: FetchLimit?
    /// Maximum sites that a title is at, `WireLimits.sitesPerTitle`; nil for no limit. The
    /// smallest holds.
    package var maxSites: Int?
    /// Storage URLs of other sites from which its files are fetched, in the order in which they are
    /// asked: those of their catalog with this name. An asset is fetched once one of them has
    /// completed it; from its origin if none will. Nil for none.
    package var neighbours: [String]?

    package init(
        name: String, storageURL: String, priority: Int = 5, notBefore: Double? = nil,
        deadline: Double? = nil
    ) {
        self.name = name
        self.storageURL = storageURL
        self.priority = priority
        self.notBefore = notBefore
        self.deadline = deadline
    }
}

/// The answer to `CatalogSubmission`.
package struct CatalogHandle: Codable, Sendable {
    package var id: CatalogID
    package var queue: String
    /// This submission's number; assets of earlier ones that are not submitted again are excluded
    /// from it.
    package var generation: Int

    package init(id: CatalogID, queue: String, generation: Int) {
        self.id = id
        self.queue = queue
        self.generation = generation
    }
}

/// `POST /v1/catalogs/{id}/start`: ends the submission of this generation and creates its jobs.
package struct CatalogStartRequest: Codable, Sendable {
    package var generation: Int
    /// True to leave what has failed before as it is; by default it is tried again.
    package var skipsFailed: Bool?

    package init(generation: Int, skipsFailed: Bool? = nil) {
        self.generation = generation
        self.skipsFailed = skipsFailed
    }
}

/// The answer to a start.
package struct CatalogStarted: Codable, Sendable {
    /// Number of the catalog's assets that this generation does not name; nil for a repeated start.
    package var left: Int?

    package init(left: Int? = nil) { self.left = left }
}
