import Digest
import Model

extension Job {
    /// Digests of the list besides SHA-256.
    var furtherDigests: [ExpectedDigest] {
        (digests ?? "").split(separator: ",").compactMap { ExpectedDigest($0) }
    }

    /// Digests that the origin states for a whole multipart file, if their algorithms are available
    /// here.
    var statedDigests: [ExpectedDigest] {
        (assembly?.digests ?? "").split(separator: ",").compactMap { ExpectedDigest($0) }
            .filter(\.algorithm.isAvailable)
    }
}

extension FurtherDigests {
    /// Encodes digests that an origin states for the wire; nil for none.
    static func text(of stated: [ExpectedDigest]) -> String? {
        guard !stated.isEmpty else { return nil }
        return stated.prefix(maxStated).map(\.description).joined(separator: ",")
    }
}
