/// Several digests of the same bytes, as they arrive: always SHA-256, and others on request.
///
/// A message may consist of parts, each with a SHA-256 of its own.
///
/// Used by one thread at a time; it may move between threads. Nothing is allocated for a block.
package struct DigestSet: ~Copyable, Sendable {
    /// Nil while the pipe has them.
    private var hashers: DigestHashers?
    private var pipe: DigestPipe?
    /// A short message that is hashed with others once it is complete.
    private var collected: ShortMessage?
    /// True after `beginParts`.
    package private(set) var hasParts = false

    /// - Parameter algorithms: Those in addition to SHA-256; unavailable ones are omitted.
    package init(_ algorithms: some Collection<DigestAlgorithm> = []) {
        hashers = DigestHashers(algorithms)
        pipe = nil
        collected = nil
    }

    /// Continues the SHA-256 of a message whose first bytes are hashed; nil without SHA instructions.
    package init?(resuming state: SHA256State) {
        hashers = DigestHashers(resuming: state)
        pipe = nil
        collected = nil
        if hashers == nil { return nil }
    }

    /// Makes the message one of parts, before its first byte: `finishPart` returns their digests.
    package mutating func beginParts() {
        hasParts = true
        withHashers { $0.beginParts() }
    }

    /// Hashes on another thread from now on, unless all cores are busy with hashing. Worth its half
    /// MiB of memory for long bodies.
    package mutating func hashInBackground() {
        if pipe == nil { pipe = DigestPipe(takingOver: &hashers) }
    }

    /// Collects the bytes in `buffer` from now on, for a message within its capacity that needs
    /// only SHA-256; nil to hash them at once.
    package mutating func collect(in buffer: ShortMessage?) { collected = buffer }

    /// Removes and returns the whole message, to be hashed with others; nil if it was hashed as it
    /// arrived.
    package mutating func takeCollected() -> ShortMessage? { collected.take() }

    /// Hashes the collected bytes, because the message ends or continues elsewhere; returns the
    /// buffer.
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

    /// Returns the SHA-256 of the bytes so far; more may follow.
    package mutating func sha256SoFar() -> SHA256Digest { withHashers { $0.sha256SoFar() } }

    /// Returns the SHA-256 of the bytes since the start or the last `finishPart`, then starts the next
    /// part.
    ///
    /// Requires `beginParts`. Cheapest where the part began and ends at a multiple of 64
    /// bytes.
    package mutating func finishPart() -> SHA256Digest {
        withHashers {
            guard let digest = $0.finishPart() else {
                preconditionFailure("a message without parts")
            }
            return digest
        }
    }

    /// Returns the state of the message so far, if SHA-256 is its only digest and can continue from
    /// there: after whole blocks of a message of parts, with SHA instructions.
    package mutating func state() -> SHA256State? { withHashers { $0.state() } }

    /// Returns the digests of all bytes since the start or the last `finish`, then starts over.
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
    private var sha256 = PartedSHA256()
    private var others: [StreamDigest]
    private var crc32c: CRC32C?
    private var checksums: [(algorithm: DigestAlgorithm, crc: TableCRC)]

    init(_ algorithms: some Collection<DigestAlgorithm>) {
        // Most bodies need no other.
        guard !algorithms.isEmpty else {
            (checksums, others) = ([], [])
            return
        }
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

    init?(resuming state: SHA256State) {
        guard let resumed = PartedSHA256.resuming(state) else { return nil }
        (checksums, others) = ([], [])
        sha256 = resumed
    }

    mutating func state() -> SHA256State? {
        guard others.isEmpty, checksums.isEmpty, crc32c == nil else { return nil }
        return sha256.state()
    }

    mutating func beginParts() { sha256 = .parted() }

    mutating func finishPart() -> SHA256Digest? { sha256.finishPart() }

    mutating func sha256SoFar() -> SHA256Digest { sha256.soFar() }

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

/// A digest other than SHA-256. Its `DigestSet` has one owner at a time.
private final class StreamDigest: Sendable {
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
