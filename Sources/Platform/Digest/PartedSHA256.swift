/// The SHA-256 of a message, and on request of each of its parts, in one pass over the bytes.
///
/// Used by one thread at a time; it may move between threads.
enum PartedSHA256: ~Copyable, Sendable {
    /// By libcrypto, which hashes each byte twice; the part is nil for a message without parts.
    case separate(whole: SHA256Hasher, part: SHA256Hasher?)
    /// By the processor's SHA instructions: both take little more time than one.
    case paired(SHA256Pair)

    /// A message without parts.
    init() { self = .separate(whole: SHA256Hasher(), part: nil) }

    /// A message that has digests of parts.
    ///
    /// - Parameter usesInstructions: False to use libcrypto in any case, for tests.
    static func parted(usesInstructions: Bool = SHA256Pair.isAvailable) -> PartedSHA256 {
        usesInstructions
            ? .paired(SHA256Pair()) : .separate(whole: SHA256Hasher(), part: SHA256Hasher())
    }

    /// Continues a message after `state`; nil without SHA instructions.
    static func resuming(_ state: SHA256State) -> PartedSHA256? {
        SHA256Pair.isAvailable ? .paired(SHA256Pair(resuming: state)) : nil
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        with {
            $0.update(bytes)
        } separate: { whole, part in
            whole.update(bytes)
            part?.update(bytes)
        }
    }

    /// Returns the digest of the present part, then starts the next part; nil without parts.
    mutating func finishPart() -> SHA256Digest? {
        with {
            $0.finishPart()
        } separate: { _, part in
            part?.finish()
        }
    }

    /// Returns the digest of the message, then starts a new one.
    mutating func finish() -> SHA256Digest {
        with {
            $0.finish()
        } separate: { whole, part in
            _ = part?.finish()
            return whole.finish()
        }
    }

    /// Returns the digest of the message so far; more may follow.
    mutating func soFar() -> SHA256Digest {
        with {
            $0.soFar()
        } separate: { whole, _ in
            whole.soFar()
        }
    }

    /// Returns the state of the message so far; nil without SHA instructions or parts, and within a
    /// block.
    mutating func state() -> SHA256State? {
        with {
            $0.state
        } separate: { _, _ in
            nil
        }
    }

    private mutating func with<Value>(
        paired: (inout SHA256Pair) -> Value,
        separate: (inout SHA256Hasher, inout SHA256Hasher?) -> Value
    ) -> Value {
        switch consume self {
        case .separate(var whole, var part):
            let value = separate(&whole, &part)
            self = .separate(whole: whole, part: part)
            return value
        case .paired(var pair):
            let value = paired(&pair)
            self = .paired(pair)
            return value
        }
    }
}
