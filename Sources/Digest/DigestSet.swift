/// Several digests of the same bytes, as they arrive: SHA-256 always, others when they are asked for.
///
/// Used by one thread at a time; it may move between threads. Nothing is allocated for a block.
package struct DigestSet: ~Copyable, Sendable {
    private var sha256 = SHA256Hasher()
    private var others: [StreamDigest]
    private var crc32c: CRC32C?

    /// - Parameter algorithms: those wanted besides SHA-256; what this host has not is left out.
    package init(_ algorithms: some Sequence<DigestAlgorithm> = []) {
        let wanted = Set(algorithms)
        crc32c = wanted.contains(.crc32c) ? CRC32C() : nil
        others = wanted.subtracting([.sha256, .crc32c]).filter(\.isAvailable).sorted()
            .map { StreamDigest($0) }
    }

    /// Adds `bytes` to all of them.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        sha256.update(bytes)
        if crc32c != nil { crc32c?.update(bytes) }
        guard !others.isEmpty else { return }
        for other in others { other.context.update(bytes) }
    }

    /// The SHA-256 of what was added up to now; more may follow.
    package func sha256SoFar() -> SHA256Digest { sha256.soFar() }

    /// The digests of everything since the start or the last `finish`; then starts anew.
    package mutating func finish() -> (sha256: SHA256Digest, others: [ExpectedDigest]) {
        var digests = others.compactMap { $0.finish() }
        if let crc32c, let digest = ExpectedDigest(.crc32c, bytes: crc32c.bytes) {
            digests.append(digest)
            self.crc32c = CRC32C()
        }
        return (sha256.finish(), digests)
    }
}

/// A digest beside SHA-256. Unchecked as its context is: its `DigestSet` has one owner at a time.
private final class StreamDigest: @unchecked Sendable {
    let algorithm: DigestAlgorithm
    let context: DigestContext

    init(_ algorithm: DigestAlgorithm) {
        self.algorithm = algorithm
        context = DigestContext(algorithm)
    }

    func finish() -> ExpectedDigest? {
        let bytes = [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { buffer, count in
            context.finish(into: UnsafeMutableRawBufferPointer(buffer))
            count = algorithm.byteCount
        }
        return ExpectedDigest(algorithm, bytes: bytes)
    }
}
