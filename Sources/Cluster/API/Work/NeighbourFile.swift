package import Model

/// An object as another site has stored it, and the web server that serves it there.
package struct NeighbourFile: Codable, Hashable, Sendable {
    /// The URL under which the site's files are served by their keys.
    package var serves: String
    package var bytes: Int64
    package var sha256: String
    /// The validator of the origin that served it to the other site; nil for none.
    package var validator: String?
    /// True if it was compared with a digest then.
    package var isVerified: Bool

    package init(
        serves: String, _ stored: StoredObject, validator: String? = nil, isVerified: Bool = false
    ) {
        self.serves = serves
        (bytes, sha256) = (stored.bytes, stored.sha256)
        self.validator = validator
        self.isVerified = isVerified
    }

    /// Returns the URL of a key.
    package func url(of key: String) -> String {
        serves + (serves.hasSuffix("/") ? "" : "/") + StorageURL.percentEncoded(key)
    }
}
