/// A digest that Dray computes; the raw value is libcrypto's name for it.
///
/// A further algorithm is a case here; `DigestContext` takes any of them.
package enum DigestAlgorithm: String, CaseIterable, Sendable {
    case sha256 = "SHA256"

    /// Length of the digest in bytes.
    package var byteCount: Int {
        switch self {
        case .sha256: 32
        }
    }
}
