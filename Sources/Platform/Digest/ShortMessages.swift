/// A whole short message, collected until it is hashed with others. Unchecked because its
/// `DigestSet` has one owner at a time.
package final class ShortMessage: @unchecked Sendable {
    /// Maximum length; longer messages are hashed as they arrive.
    package static let capacity = 128 << 10

    private let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ShortMessage.capacity, alignment: 64)
    private var count = 0

    deinit { memory.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Adds `more`; the total must not exceed `capacity`.
    package func append(_ more: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + more.count])
            .copyMemory(from: more)
        count += more.count
    }

    func removeAll() { count = 0 }
}

/// Buffers for short messages, and their hashing several at a time on processors where this is
/// faster.
///
/// Used by one thread at a time.
package final class ShortMessages {
    /// Number of messages at a time that pays off on this processor; nil if none does.
    package static var worthwhileCount: Int? { SHA256Lanes.worthwhileCount }

    /// Maximum number of buffers, 4 MiB in total.
    private static let maxBuffers = 32

    private let lanes: SHA256Lanes
    private var made = 0
    private var idle: [ShortMessage] = []

    /// Returns nil if hashing one message at a time is faster.
    package init?(atATime count: Int?) {
        guard let count, let lanes = SHA256Lanes(count: count) else { return nil }
        self.lanes = lanes
    }

    /// Number of messages hashed at a time.
    package var count: Int { lanes.count }

    /// Returns a buffer for a message; nil if all are in use.
    package func take() -> ShortMessage? {
        if let message = idle.popLast() { return message }
        guard made < Self.maxBuffers else { return nil }
        made += 1
        return ShortMessage()
    }

    /// Takes a buffer back and drops its message.
    package func give(_ message: ShortMessage) {
        message.removeAll()
        idle.append(message)
    }

    /// Returns the digests of messages, in their order, and takes their buffers back.
    package func hash(_ messages: [ShortMessage]) -> [SHA256Digest] {
        defer { for message in messages { give(message) } }
        guard messages.count >= SHA256Lanes.minMessages else {
            return messages.map { SHA256Digest(hashing: $0.bytes) }
        }
        var digests = [SHA256Digest?](repeating: nil, count: messages.count)
        lanes.hash(messages.map(\.bytes)) { digests[$0] = $1 }
        return digests.map { digest in
            guard let digest else { preconditionFailure("each has its digest") }
            return digest
        }
    }
}
