internal import Digest
internal import EventLoop

/// The whole of a short body, kept until it is hashed with others.
final class CollectedBody {
    /// Longer bodies are hashed as they arrive.
    static let capacity = 128 << 10

    private let memory = UnsafeMutableRawBufferPointer.allocate(
        byteCount: CollectedBody.capacity, alignment: 64)
    private var count = 0

    deinit { memory.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Adds `more`, which with what there is comes to `capacity` at most.
    func append(_ more: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + more.count])
            .copyMemory(from: more)
        count += more.count
    }

    func removeAll() { count = 0 }
}

/// Short bodies of one loop that are hashed several at a time, where this processor gains by that.
///
/// A body whose transfer has ended waits here, without its slot and its connection, until there are as
/// many as there are lanes or the loop has nothing else to do, and no longer than until its next tick. Confined to
/// its loop.
final class UnhashedBodies {
    /// Bodies that are collected or wait at a time, 4 MiB; what comes besides is hashed as it arrives.
    private static let most = 32

    private let lanes: SHA256Lanes
    private var made = 0
    private var idle: [CollectedBody] = []
    private var waiting: [(transfer: ActiveTransfer, body: CollectedBody, result: TransferResult)] =
        []

    /// Nil where one body after the other is hashed sooner.
    init?(lanes count: Int?) {
        guard let count, let lanes = SHA256Lanes(count: count) else { return nil }
        self.lanes = lanes
    }

    /// Room for a body; nil when all is taken.
    func take() -> CollectedBody? {
        if let body = idle.popLast() { return body }
        guard made < Self.most else { return nil }
        made += 1
        return CollectedBody()
    }

    func give(_ body: CollectedBody) {
        body.removeAll()
        idle.append(body)
    }

    /// Has a body hashed with the next ones; true when there are enough.
    func append(
        _ transfer: ActiveTransfer, _ body: CollectedBody, _ result: TransferResult
    ) -> Bool {
        waiting.append((transfer, body, result))
        return waiting.count >= lanes.count
    }

    /// Hashes what waits, and ends its transfers.
    func hash() {
        guard !waiting.isEmpty else { return }
        let batch = waiting
        waiting.removeAll(keepingCapacity: true)
        var digests = [SHA256Digest?](repeating: nil, count: batch.count)
        if batch.count < SHA256Lanes.leastMessages {
            for index in batch.indices {
                digests[index] = SHA256Digest(hashing: batch[index].body.bytes)
            }
        } else {
            lanes.hash(batch.map(\.body.bytes)) { digests[$0] = $1 }
        }
        for (index, (transfer, body, result)) in batch.enumerated() {
            give(body)
            guard let digest = digests[index] else { preconditionFailure("each has its digest") }
            transfer.finish(hashed: digest, result)
        }
    }
}
