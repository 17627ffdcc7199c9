package import Model

/// A catalog by its number or its name, with its site if several sites have a catalog of that name.
package struct CatalogReference: Codable, Hashable, Sendable {
    package var id: CatalogID?
    package var name: String?
    package var storageURL: String?

    package init(_ id: CatalogID) { self.id = id }

    package init(name: String, storageURL: String? = nil) {
        self.name = name
        self.storageURL = storageURL
    }
}
