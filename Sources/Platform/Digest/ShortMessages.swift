/// The whole of a short message, kept until it is hashed with others. Unchecked as its `DigestSet` has
/// one owner at a time.
package final class ShortMessage: @unchecked Sendable {
    /// Longer messages are hashed as they arrive.
    package static let capacity = 128 << 10

    private let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: ShortMessage.capacity, alignment: 64)
    private var count = 0

    deinit { memory.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Adds `more`, which with what there is totals `capacity` at most.
    package func append(_ more: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + more.count])
            .copyMemory(from: more)
        count += more.count
    }

    func removeAll() { count = 0 }
}

/// Buffers for short messages, and their hashing several at a time, where the processor gains by that.
///
/// Used by one thread at a time.
package final class ShortMessages {
    /// Messages at a time that make it worth while on this processor; nil where none do.
    package static var worthwhileCount: Int? { SHA256Lanes.worthwhileCount }

    /// Buffers at a time, 4 MiB.
    private static let maxBuffers = 32

    private let lanes: SHA256Lanes
    private var made = 0
    private var idle: [ShortMessage] = []

    /// Nil where one message after the other is hashed sooner.
    package init?(atATime count: Int?) {
        guard let count, let lanes = SHA256Lanes(count: count) else { return nil }
        self.lanes = lanes
    }

    /// So many are hashed at a time.
    package var count: Int { lanes.count }

    /// A buffer for a message; nil when all are taken.
    package func take() -> ShortMessage? {
        if let message = idle.popLast() { return message }
        guard made < Self.maxBuffers else { return nil }
        made += 1
        return ShortMessage()
    }

    /// Takes a buffer back; its message is dropped.
    package func give(_ message: ShortMessage) {
        message.removeAll()
        idle.append(message)
    }

    /// The digests of messages, in their order; takes their buffers back.
    package func hash(_ messages: [ShortMessage]) -> [SHA256Digest] {
        defer { for message in messages { give(message) } }
        guard messages.count >= SHA256Lanes.leastMessages else {
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
