/// The SHA-256 of a message, and on request of each of its parts, in one pass over the bytes.
///
/// Used by one thread at a time; it may move between threads.
enum PartedSHA256: ~Copyable, Sendable {
    /// No digests of parts.
    case whole(SHA256Hasher)
    /// By the processor's SHA instructions: both take little more time than one.
    case paired(SHA256Pair)
    /// By libcrypto, which hashes each byte twice.
    case separate(whole: SHA256Hasher, part: SHA256Hasher)

    /// Returns a message that has digests of parts.
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

    /// Returns the state of the message so far; nil without SHA instructions or parts, and within a
    /// block.
    mutating func state() -> SHA256State? {
        switch consume self {
        case .paired(let pair):
            let state = pair.state
            self = .paired(pair)
            return state
        case .whole(let whole):
            self = .whole(whole)
            return nil
        case .separate(let whole, let part):
            self = .separate(whole: whole, part: part)
            return nil
        }
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        switch consume self {
        case .whole(var whole):
            whole.update(bytes)
            self = .whole(whole)
        case .paired(var pair):
            pair.update(bytes)
            self = .paired(pair)
        case .separate(var whole, var part):
            whole.update(bytes)
            part.update(bytes)
            self = .separate(whole: whole, part: part)
        }
    }

    /// Returns the digest of the present part, then starts the next part; nil without parts.
    mutating func finishPart() -> SHA256Digest? {
        switch consume self {
        case .whole(let whole):
            self = .whole(whole)
            return nil
        case .paired(var pair):
            let digest = pair.finishPart()
            self = .paired(pair)
            return digest
        case .separate(let whole, var part):
            let digest = part.finish()
            self = .separate(whole: whole, part: part)
            return digest
        }
    }

    /// Returns the digest of the message, then starts a new one.
    mutating func finish() -> SHA256Digest {
        switch consume self {
        case .whole(var whole):
            let digest = whole.finish()
            self = .whole(whole)
            return digest
        case .paired(var pair):
            let digest = pair.finish()
            self = .paired(pair)
            return digest
        case .separate(var whole, var part):
            let digest = whole.finish()
            _ = part.finish()
            self = .separate(whole: whole, part: part)
            return digest
        }
    }

    /// Returns the digest of the message so far; more may follow.
    mutating func soFar() -> SHA256Digest {
        // The compiler copies the hashers of a borrowed value, which it must not.
        switch consume self {
        case .whole(let whole):
            let digest = whole.soFar()
            self = .whole(whole)
            return digest
        case .paired(let pair):
            let digest = pair.soFar()
            self = .paired(pair)
            return digest
        case .separate(let whole, let part):
            let digest = whole.soFar()
            self = .separate(whole: whole, part: part)
            return digest
        }
    }
}
