/// Several digests of the same bytes, as they arrive: SHA-256 always, others when they are asked for.
///
/// Used by one thread at a time; it may move between threads. Nothing is allocated for a block.
package struct DigestSet: ~Copyable, Sendable {
    /// Nil while the pipe has them.
    private var hashers: DigestHashers?
    private var pipe: DigestPipe?
    /// A short message that is hashed with others when it is whole, in place of at once.
    private var collected: ShortMessage?

    /// - Parameter algorithms: those wanted besides SHA-256; what this host has not is left out.
    package init(_ algorithms: some Sequence<DigestAlgorithm> = []) {
        hashers = DigestHashers(algorithms)
        pipe = nil
        collected = nil
    }

    /// From now on another thread hashes, while this one goes on; where all cores have enough to hash
    /// already, nothing changes. Worth its half MiB of memory for long bodies.
    package mutating func hashAside() {
        if pipe == nil { pipe = DigestPipe(takingOver: &hashers) }
    }

    /// From now on keeps the bytes in `buffer`, of a message that has no more than its capacity and of
    /// which SHA-256 alone is wanted; nil for hashing them at once.
    package mutating func collect(in buffer: ShortMessage?) { collected = buffer }

    /// The whole message, to be hashed with others; nil when it was hashed as it arrived.
    package mutating func takeCollected() -> ShortMessage? { collected.take() }

    /// Hashes what is collected, because the message ends or continues elsewhere; returns the buffer.
    package mutating func hashCollected() -> ShortMessage? {
        guard let message = collected.take() else { return nil }
        update(message.bytes)
        return message
    }

    /// Adds `bytes` to all of them.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if let collected { return collected.append(bytes) }
        if hashers != nil { hashers?.update(bytes) } else { pipe?.update(bytes) }
    }

    /// The SHA-256 of what was added up to now; more may follow.
    package mutating func sha256SoFar() -> SHA256Digest { withHashers { $0.sha256SoFar() } }

    /// The digests of everything since the start or the last `finish`; then starts anew.
    package mutating func finish() -> (sha256: SHA256Digest, others: [ExpectedDigest]) {
        withHashers { $0.finish() }
    }

    private mutating func withHashers<Value>(_ body: (inout DigestHashers) -> Value) -> Value {
        if let value = pipe?.withHashers(body) ?? hashers?.apply(body) { return value }
        preconditionFailure("the hashers are here or in the pipe")
    }
}

/// The digests of a `DigestSet`. Used by one thread at a time; it may move between threads.
struct DigestHashers: ~Copyable, Sendable {
    private var sha256 = SHA256Hasher()
    private var others: [StreamDigest]
    private var crc32c: CRC32C?
    private var checksums: [(algorithm: DigestAlgorithm, crc: TableCRC)]

    init(_ algorithms: some Sequence<DigestAlgorithm>) {
        let wanted = Set(algorithms)
        crc32c = wanted.contains(.crc32c) ? CRC32C() : nil
        checksums = wanted.sorted().compactMap { one in TableCRC(one).map { (one, $0) } }
        others = wanted.filter { $0 != .sha256 && !$0.isChecksum && $0.isAvailable }.sorted()
            .map { StreamDigest($0) }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        sha256.update(bytes)
        if crc32c != nil { crc32c?.update(bytes) }
        for index in checksums.indices { checksums[index].crc.update(bytes) }
        guard !others.isEmpty else { return }
        for other in others { other.context.update(bytes) }
    }

    mutating func apply<Value>(_ body: (inout DigestHashers) -> Value) -> Value { body(&self) }

    func sha256SoFar() -> SHA256Digest { sha256.soFar() }

    mutating func finish() -> (sha256: SHA256Digest, others: [ExpectedDigest]) {
        var digests = others.compactMap { $0.finish() }
        if let crc32c, let digest = ExpectedDigest(.crc32c, bytes: crc32c.bytes) {
            digests.append(digest)
            self.crc32c = CRC32C()
        }
        for (index, checksum) in checksums.enumerated() {
            if let digest = ExpectedDigest(checksum.algorithm, bytes: checksum.crc.bytes) {
                digests.append(digest)
            }
            if let anew = TableCRC(checksum.algorithm) { checksums[index].crc = anew }
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
