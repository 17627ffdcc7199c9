package import Digest
internal import S3

/// The digest of a part of a body, and the state of the whole body's digest at its end.
package struct PartHash: Sendable {
    package let digest: SHA256Digest
    /// Nil if the digests of the body cannot continue from there.
    package let state: SHA256State?

    package init(digest: SHA256Digest, state: SHA256State?) {
        self.digest = digest
        self.state = state
    }
}

/// The start of a body that an unfinished upload of its bucket has: its first parts.
package struct SentStart: Hashable, Sendable {
    /// The digest of the body after these bytes.
    package let state: SHA256State
    /// Digest of the parts' ETags. It shows whether the upload still has the same ones.
    package let tags: SHA256Digest

    /// A number of whole parts.
    package var bytes: Int64 { Int64(state.byteCount) }

    /// The digest of these bytes alone.
    var sha256: SHA256Digest {
        guard var digests = DigestSet(resuming: state) else {
            preconditionFailure("states are of processors that continue them")
        }
        return digests.sha256SoFar()
    }

    package init(state: SHA256State, tags: SHA256Digest) {
        self.state = state
        self.tags = tags
    }

    /// Returns the digest of ETags; servers write them with or without quotes.
    static func digest(ofTags tags: some Sequence<String>) -> SHA256Digest {
        SHA256Digest(
            hashing: Array(tags.map { $0.filter { $0 != "\"" } }.joined(separator: "\n").utf8))
    }

    /// Returns its parts of those that an upload has; nil if they are not the same.
    func parts(of present: [Int: UploadedPart], partBytes: Int64) -> [UploadedPart]? {
        guard bytes % partBytes == 0 else { return nil }
        let count = Int(bytes / partBytes)
        let parts = (0..<count).compactMap { present[$0 + 1] }
        guard parts.count == count, parts.allSatisfy({ $0.bytes == partBytes }),
            Self.digest(ofTags: parts.map(\.etag)) == tags
        else { return nil }
        return parts
    }
}
