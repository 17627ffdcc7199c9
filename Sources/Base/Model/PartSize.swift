/// The size of the parts in which a large file is fetched.
///
/// Parts start at multiples of the size; the last one is shorter or as long.
package struct PartSize: Sendable, Hashable {
    package let bytes: Int64

    /// - Parameter bytes: above 0.
    package init(_ bytes: Int64) { self.bytes = bytes }

    /// The size for workers, which fetch the parts of a file together.
    package static let workers = PartSize(64 << 20)
    /// The size for the connections of one `dray fetch`.
    package static let connections = PartSize(16 << 20)

    /// Minimum size that a coordinator accepts, in bytes.
    package static let minBytes: Int64 = 1 << 20
    /// Maximum number of parts that a coordinator accepts.
    package static let maxParts: Int64 = 100_000

    /// Returns true if a file of `total` bytes has more than one part.
    package func splits(_ total: Int64) -> Bool { total > bytes }

    /// Returns the number of parts of a file of `total` bytes.
    package func count(of total: Int64) -> Int64 {
        let (quotient, remainder) = total.quotientAndRemainder(dividingBy: bytes)
        return quotient + (remainder > 0 ? 1 : 0)
    }

    /// Returns the offsets of all parts but the first.
    package func laterStarts(of total: Int64) -> [Int64] {
        Array(stride(from: bytes, to: total, by: Int(bytes)))
    }

    /// Returns the length of the part at `start` of a file of `total` bytes.
    package func length(from start: Int64, of total: Int64) -> Int64 { min(bytes, total - start) }
}
