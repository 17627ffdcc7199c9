package import Model

/// The filter and the order of `GET /v1/assets`.
package struct AssetQuery: Hashable, Sendable {
    package var catalog: CatalogReference
    /// Any of these; empty for all.
    package var states = AssetStates()
    package var kind: AssetKind?
    /// A failure code; `*` matches any characters, as in `origin.*`.
    package var failureCode: String?
    /// The whole name; `*` matches any characters.
    package var name: String?
    /// A part of the name or the URL; ASCII letters match case-insensitively.
    package var search: String?
    /// Limits of the size in bytes: of the stored size or, without one, of the expected size.
    package var minimumBytes: Int64?
    package var maximumBytes: Int64?
    package var order = Order.name
    package var isDescending = false
    /// The `next` of the previous page.
    package var after: String?
    /// Maximum number of assets of a page, 1 to `WireLimits.pageRows`.
    package var limit = 100

    /// The sort key of a listing; equal assets are in the order of their numbers.
    package enum Order: String, CaseIterable, Sendable {
        case name
        case bytes
        /// The last change of its state or its counts.
        case changed
    }

    package init(_ catalog: CatalogReference) { self.catalog = catalog }

    /// Parameters of a URL's query.
    package var parameters: [(name: String, value: String?)] {
        [
            ("catalog", catalog.id.map(\.description) ?? catalog.name),
            ("site", catalog.site),
            ("state", states.isEmpty ? nil : states.names.joined(separator: ",")),
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
/// A page may have fewer assets than requested, or none, and still have a `next`, because each
/// request examines a limited number of assets.
package struct AssetListing: Codable, Sendable {
    package var catalog: CatalogID
    package var assets: [AssetStatus]
    /// Value of `after` for the next page; nil at the end.
    package var next: String?

    package init(catalog: CatalogID, assets: [AssetStatus], next: String?) {
        self.catalog = catalog
        self.assets = assets
        self.next = next
    }
}
