/// A large file that is fetched in byte ranges into one temporary file before it gets its final
/// key.
package struct MultipartFile: Codable, Hashable, Sendable {
    /// Names the file in `.dray/multipart`.
    package var id: MultipartID
    package var totalBytes: Int64
    /// The strong ETag or the Last-Modified date that all parts must have in common.
    package var validator: String
    /// For a verification: the recorded parts in order.
    package var parts: [Part] = []

    package struct Part: Codable, Hashable, Sendable {
        package var offset: Int64
        package var length: Int64
        package var sha256: String

        package init(offset: Int64, length: Int64, sha256: String) {
            self.offset = offset
            self.length = length
            self.sha256 = sha256
        }
    }

    package init(id: MultipartID, totalBytes: Int64, validator: String, parts: [Part] = []) {
        self.id = id
        self.totalBytes = totalBytes
        self.validator = validator
        self.parts = parts
    }
}
