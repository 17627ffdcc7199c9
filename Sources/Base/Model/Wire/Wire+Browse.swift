/// What `GET /v1/assets` selects of a catalog, and the order of it.
package struct AssetQuery: Hashable, Sendable {
    package var catalog: CatalogReference
    /// Any of these; empty for all.
    package var states: [AssetState] = []
    package var kind: AssetKind?
    /// A failure code; `*` stands for any characters, as in `origin.*`.
    package var failureCode: String?
    /// The whole name; `*` stands for any characters.
    package var name: String?
    /// A part of the name or the URL; of ASCII letters, upper and lower case are the same.
    package var search: String?
    /// Bounds of the size: what is stored or, where nothing is, what is expected, in bytes.
    package var minimumBytes: Int64?
    package var maximumBytes: Int64?
    package var order = Order.name
    package var isDescending = false
    /// The `next` of the page before.
    package var after: String?
    /// Most assets of a page, 1 to `WireLimits.pageRows`.
    package var limit = 100

    /// What a listing is sorted by; assets that agree are in the order of their numbers.
    package enum Order: String, CaseIterable, Sendable {
        case name
        case bytes
        /// When its state or its counts changed last.
        case changed
    }

    package init(_ catalog: CatalogReference) { self.catalog = catalog }

    /// As the parameters of a URL's query.
    package var parameters: [(name: String, value: String?)] {
        [
            ("catalog", catalog.id.map(\.description) ?? catalog.name),
            ("site", catalog.storageURL),
            ("state", states.isEmpty ? nil : states.map(\.rawValue).joined(separator: ",")),
            ("kind", kind?.rawValue), ("code", failureCode), ("name", name), ("search", search),
            ("minimumBytes", minimumBytes.map(\.description)),
            ("maximumBytes", maximumBytes.map(\.description)), ("sort", order.rawValue),
            ("descending", isDescending ? "true" : nil), ("after", after),
            ("limit", limit.description),
        ]
    }
}

/// The answer to `GET /v1/assets`: a page of a catalog's assets.
///
/// A page may hold fewer than were asked for, or none, and have a `next` all the same: a bounded number
/// of assets is looked at for each.
package struct AssetListing: Codable, Sendable {
    package var catalog: CatalogID
    package var assets: [AssetStatus]
    /// What `after` is for the next page; nil at the end.
    package var next: String?

    package init(catalog: CatalogID, assets: [AssetStatus], next: String?) {
        self.catalog = catalog
        self.assets = assets
        self.next = next
    }
}
