package import Model

/// A catalog by its number or its name, with its site if several sites have a catalog of that name.
/// With a site, only a catalog of that site is meant.
package struct CatalogReference: Codable, Hashable, Sendable {
    package var id: CatalogID?
    package var name: String?
    /// Storage URL of its site, or the name of the site's queue.
    package var site: String?

    private enum CodingKeys: String, CodingKey {
        case id, name
        // Clients and coordinators of other versions know it under this name: once it was a URL only.
        case site = "storageURL"
    }

    package init(_ id: CatalogID) { self.id = id }

    package init(name: String, site: String? = nil) {
        self.name = name
        self.site = site
    }
}
