import Digest
import Model

extension Job {
    /// What the list names beside SHA-256.
    var furtherDigests: [ExpectedDigest] {
        (digests ?? "").split(separator: ",").compactMap { ExpectedDigest($0) }
    }

    /// What the origin states of the whole of a file in parts, as far as it can be compared here.
    var statedDigests: [ExpectedDigest] {
        (assembly?.digests ?? "").split(separator: ",").compactMap { ExpectedDigest($0) }
            .filter(\.algorithm.isAvailable)
    }
}

extension FurtherDigests {
    /// What an origin states, as it travels; nil for nothing.
    static func text(of stated: [ExpectedDigest]) -> String? {
        guard !stated.isEmpty else { return nil }
        return stated.prefix(mostStated).map(\.description).joined(separator: ",")
    }
}
