import API
import Digest
import Model
import Transfer

extension Fetch {
    /// Digests of the list besides SHA-256.
    var furtherDigests: [ExpectedDigest] { .list(digests) }
}

extension Verification {
    /// Digests of the list besides SHA-256.
    var furtherDigests: [ExpectedDigest] { .list(digests) }

    /// Digests that the origin states for the whole file, if their algorithms are available here.
    var statedDigests: [ExpectedDigest] { .list(stated).filter(\.algorithm.isAvailable) }
}

extension TransferRequest {
    /// Sets the expected length and digests of the whole object.
    ///
    /// - Parameter digests: digests besides SHA-256, a text of `FurtherDigests`.
    mutating func expect(bytes: Int64?, sha256: String?, digests: String?) {
        expected.bytes = bytes
        expected.sha256 = sha256
        expected.furtherDigests = .list(digests)
    }
}

extension [ExpectedDigest] {
    /// Returns the digests of a text of `FurtherDigests`; none for nil.
    fileprivate static func list(_ text: String?) -> [ExpectedDigest] {
        (text ?? "").split(separator: ",").compactMap { ExpectedDigest($0) }
    }
}

extension FurtherDigests {
    /// Encodes digests that an origin states for the wire; nil for none.
    static func text(of stated: [ExpectedDigest]) -> String? {
        guard !stated.isEmpty else { return nil }
        return stated.prefix(maxStated).map(\.description).joined(separator: ",")
    }
}
