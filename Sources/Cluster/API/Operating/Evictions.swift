package import Model

/// Which assets of a site make room for others.
package enum EvictionOrder: String, Codable, CaseIterable, Sendable {
    /// None; an operator's own eviction takes those that were wanted the longest time ago.
    case off
    /// Those that were submitted or refreshed the longest time ago.
    case leastRecentlyWanted
    /// Those of which access logs show the fewest bytes served for each byte stored.
    case leastPopular
}

/// `POST /v1/sites/evictions`: removes assets to make room.
package struct SiteEviction: Codable, Hashable, Sendable {
    /// The name of its queue, or its storage URL.
    package var site: String
    /// Bytes to free, `WireLimits.evictedBytes`; nil for what the site needs now.
    package var bytes: Int64?
    /// True to remove nothing. Nil is false.
    package var dryRun: Bool?

    package init(site: String, bytes: Int64? = nil, dryRun: Bool? = nil) {
        self.site = site
        self.bytes = bytes
        self.dryRun = dryRun
    }
}

/// The answer to `SiteEviction`.
package struct SiteEvictionAnswer: Codable, Hashable, Sendable {
    package var order: EvictionOrder
    package var neededBytes: Int64
    /// The number of removed assets, and their stored bytes; of a dry run, what would be removed.
    package var assets: Int
    package var bytes: Int64
    package var isDryRun: Bool
    /// The first of them, `WireLimits.evictedAssets` at most, in their order.
    package var first: [EvictedAsset]

    package init(
        order: EvictionOrder, neededBytes: Int64, assets: Int, bytes: Int64, isDryRun: Bool,
        first: [EvictedAsset]
    ) {
        self.order = order
        self.neededBytes = neededBytes
        self.assets = assets
        self.bytes = bytes
        self.isDryRun = isDryRun
        self.first = first
    }
}

/// An asset that makes room.
package struct EvictedAsset: Codable, Hashable, Sendable {
    package var catalog: CatalogID
    package var catalogName: String
    package var id: AssetID
    /// Without secrets.
    package var name: String
    package var bytes: Int64
    /// The requests by access logs, as in `PopularAsset`; nil if no log has shown any.
    package var requests: Double?
    package var servedBytes: Double?

    package init(
        catalog: CatalogID, catalogName: String, id: AssetID, name: String, bytes: Int64
    ) {
        self.catalog = catalog
        self.catalogName = catalogName
        self.id = id
        self.name = name
        self.bytes = bytes
    }
}

/// `POST /v1/sites/popularity`: adds requests that an access log of a site's web server shows.
package struct SiteRequests: Codable, Hashable, Sendable {
    package var site: String
    /// The moment that the sums are of, in seconds since 1970: an earlier request counts half for
    /// every week before.
    package var time: Double
    /// 1 to `WireLimits.requestedFiles`.
    package var files: [File]

    /// Requests of one file.
    package struct File: Codable, Hashable, Sendable {
        package var key: String
        package var requests: Double
        package var bytes: Double

        package init(key: String, requests: Double, bytes: Double) {
            self.key = key
            self.requests = requests
            self.bytes = bytes
        }
    }

    package init(site: String, time: Double, files: [File]) {
        self.site = site
        self.time = time
        self.files = files
    }
}

/// The answer to `SiteRequests`.
package struct SiteRequestsAnswer: Codable, Hashable, Sendable {
    /// Assets that have some of these files.
    package var assets: Int
    /// Files that no asset of the site has.
    package var unknownFiles: Int

    package init(assets: Int, unknownFiles: Int) {
        self.assets = assets
        self.unknownFiles = unknownFiles
    }
}

/// The order of `GET /v1/sites/popularity`.
package enum PopularityOrder: String, CaseIterable, Sendable {
    /// The most popular ones first.
    case most
    /// The least popular ones first, as they are evicted.
    case least
}

/// `GET /v1/sites/popularity`: stored assets of a site by the bytes served for each byte stored.
package struct SitePopularity: Codable, Hashable, Sendable {
    package var assets: [PopularAsset]

    package init(assets: [PopularAsset]) { self.assets = assets }
}

/// An asset with the requests that access logs show.
package struct PopularAsset: Codable, Hashable, Sendable {
    package var catalog: CatalogID
    package var catalogName: String
    package var id: AssetID
    /// Without secrets.
    package var name: String
    /// Stored bytes.
    package var bytes: Int64
    /// Sums in which a request counts half for every week that passes.
    package var requests: Double
    package var servedBytes: Double
    /// The time of its last submission or refresh, in seconds since 1970.
    package var wantedAt: Double
    package var isPinned: Bool

    package init(
        catalog: CatalogID, catalogName: String, id: AssetID, name: String, bytes: Int64,
        requests: Double, servedBytes: Double, wantedAt: Double, isPinned: Bool
    ) {
        self.catalog = catalog
        self.catalogName = catalogName
        self.id = id
        self.name = name
        self.bytes = bytes
        self.requests = requests
        self.servedBytes = servedBytes
        self.wantedAt = wantedAt
        self.isPinned = isPinned
    }
}
