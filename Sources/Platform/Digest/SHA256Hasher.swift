/// Computes SHA-256 over bytes as they arrive, at about 2 GB/s per core with SHA-NI.
///
/// Used by one thread at a time; it may move between threads. Its context returns to a pool at the
/// end of the hasher's scope.
package struct SHA256Hasher: ~Copyable, Sendable {
    private let context = DigestContext(.sha256)

    package init() {}

    /// Adds `bytes` to the message; an empty buffer adds nothing.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) { context.update(bytes) }

    /// Returns the digest of all bytes since the start or the last `finish`, then starts a new
    /// message.
    package mutating func finish() -> SHA256Digest {
        SHA256Digest(filling: { context.finish(into: $0) })
    }

    /// Returns the digest of the bytes so far; more may follow.
    package func soFar() -> SHA256Digest {
        let copy = DigestContext(.sha256)
        copy.copy(context)
        return SHA256Digest(filling: { copy.finish(into: $0) })
    }
}
