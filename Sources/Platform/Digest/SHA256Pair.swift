import CCrypto

/// The SHA-256 of two messages that receive the same bytes: a whole, and its present part.
///
/// It uses the processor's SHA instructions. While the part began at a block of the whole, both take
/// little more time than one. Used by one thread at a time; it may move between threads.
struct SHA256Pair: ~Copyable, Sendable {
    /// True if this processor has the instructions.
    static let isAvailable = dray_has_sha_instructions() != 0

    private static let blockBytes = 64
    private static let whole = 0
    private static let part = 1
    /// FIPS 180-4, 5.3.3.
    private static let initial: [8 of UInt32] = [
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab,
        0x5be0_cd19,
    ]

    /// The words of the whole, then those of the part.
    private var states = [16 of UInt32](repeating: 0)
    /// The incomplete block of each.
    private var blocks = [128 of UInt8](repeating: 0)
    private var byteCounts: [2 of UInt64] = [0, 0]

    init() {
        begin(Self.whole)
        begin(Self.part)
    }

    /// Continues a whole after `state`; its next part begins.
    init(resuming state: SHA256State) {
        for word in 0..<8 { states[word] = state.words[word] }
        byteCounts[Self.whole] = state.byteCount
        begin(Self.part)
    }

    /// The state of the whole so far; nil within a block.
    var state: SHA256State? {
        guard filled(Self.whole) == 0 else { return nil }
        return SHA256State(
            words: (0..<8).map { states[$0] }, byteCount: byteCounts[Self.whole])
    }

    private mutating func begin(_ message: Int) {
        for word in 0..<8 { states[8 * message + word] = Self.initial[word] }
        byteCounts[message] = 0
    }

    private func filled(_ message: Int) -> Int {
        Int(byteCounts[message] % UInt64(Self.blockBytes))
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        if filled(Self.whole) == filled(Self.part) {
            add(bytes, to: Self.whole...Self.part)
        } else {
            add(bytes, to: Self.whole...Self.whole)
            add(bytes, to: Self.part...Self.part)
        }
    }

    /// Adds bytes to messages whose incomplete blocks are equal.
    private mutating func add(_ bytes: UnsafeRawBufferPointer, to messages: ClosedRange<Int>) {
        let first = messages.lowerBound
        let filled = filled(first)
        for message in messages { byteCounts[message] += UInt64(bytes.count) }
        var rest = bytes
        if filled > 0 {
            let missing = min(Self.blockBytes - filled, rest.count)
            for message in messages { keep(rest.prefix(missing), in: message, at: filled) }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(missing))
            guard filled + missing == Self.blockBytes else { return }
            let blocks = blocks
            withUnsafeBytes(of: blocks) { blocks in
                let start = first * Self.blockBytes
                compress(
                    UnsafeRawBufferPointer(rebasing: blocks[start..<start + Self.blockBytes]),
                    into: messages)
            }
        }
        let whole = rest.count / Self.blockBytes * Self.blockBytes
        compress(UnsafeRawBufferPointer(rebasing: rest.prefix(whole)), into: messages)
        for message in messages { keep(rest.dropFirst(whole), in: message, at: 0) }
    }

    private mutating func keep(
        _ bytes: Slice<UnsafeRawBufferPointer>, in message: Int, at offset: Int
    ) {
        let start = message * Self.blockBytes + offset
        withUnsafeMutableBytes(of: &blocks) { blocks in
            UnsafeMutableRawBufferPointer(rebasing: blocks[start...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes))
        }
    }

    /// Adds whole blocks to the states.
    private mutating func compress(
        _ blocks: UnsafeRawBufferPointer, into messages: ClosedRange<Int>
    ) {
        guard let start = blocks.bindMemory(to: UInt8.self).baseAddress, !blocks.isEmpty else {
            return
        }
        let count = blocks.count / Self.blockBytes
        let first = 8 * messages.lowerBound
        let isPair = messages.count == 2
        withUnsafeMutableBytes(of: &states) { states in
            guard let states = states.bindMemory(to: UInt32.self).baseAddress else { return }
            if isPair {
                dray_sha256_add_blocks_to_both(states, start, count)
            } else {
                dray_sha256_add_blocks(states + first, start, count)
            }
        }
    }

    /// Returns the digest of the whole so far; more may follow.
    func soFar() -> SHA256Digest { digest(of: Self.whole) }

    /// Returns the digest of the present part, then starts the next part.
    mutating func finishPart() -> SHA256Digest {
        defer { begin(Self.part) }
        return digest(of: Self.part)
    }

    /// Returns the digest of the whole, then starts a new message with its first part.
    mutating func finish() -> SHA256Digest {
        defer {
            begin(Self.whole)
            begin(Self.part)
        }
        return digest(of: Self.whole)
    }

    /// Pads a copy of the message (FIPS 180-4, 5.1.1).
    private func digest(of message: Int) -> SHA256Digest {
        let filled = filled(message)
        let bitCount = byteCounts[message] &* 8
        var state = [8 of UInt32](repeating: 0)
        for word in 0..<8 { state[word] = states[8 * message + word] }
        var tail = [128 of UInt8](repeating: 0)
        for index in 0..<filled { tail[index] = blocks[message * Self.blockBytes + index] }
        tail[filled] = 0x80
        let count = filled + 9 <= Self.blockBytes ? 1 : 2
        withUnsafeMutableBytes(of: &tail) { tail in
            tail.storeBytes(
                of: bitCount.bigEndian, toByteOffset: count * Self.blockBytes - 8, as: UInt64.self)
            guard let start = tail.bindMemory(to: UInt8.self).baseAddress else { return }
            withUnsafeMutableBytes(of: &state) { state in
                guard let state = state.bindMemory(to: UInt32.self).baseAddress else { return }
                dray_sha256_add_blocks(state, start, count)
            }
        }
        return SHA256Digest { output in
            for word in 0..<8 {
                output.storeBytes(
                    of: state[word].bigEndian, toByteOffset: 4 * word, as: UInt32.self)
            }
        }
    }
}
