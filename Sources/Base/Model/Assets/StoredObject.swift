/// The object under a final key.
package struct StoredObject: Codable, Hashable, Sendable {
    package var bytes: Int64
    /// 64 lower-case hex digits.
    package var sha256: String

    package init(bytes: Int64, sha256: String) {
        self.bytes = bytes
        self.sha256 = sha256
    }
}
