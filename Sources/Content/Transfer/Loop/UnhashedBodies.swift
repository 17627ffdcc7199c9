internal import Digest
internal import EventLoop

/// Short bodies of one loop that are hashed several at a time, where this is faster on the
/// processor.
///
/// A body of an ended transfer waits here without a slot and a connection. It is hashed with enough
/// others, when the loop is idle, or at the next tick at the latest. Bodies without a buffer are
/// hashed as they arrive. Confined to its loop.
final class UnhashedBodies {
    private let messages: ShortMessages
    private var waiting: [Body] = []
    /// True if hashing is scheduled for when the loop is idle.
    private var isAwaited = false

    private struct Body {
        let transfer: ActiveTransfer
        let message: ShortMessage
        let result: TransferResult
    }

    /// Returns nil if hashing one body at a time is faster.
    init?(atATime count: Int?) {
        guard let messages = ShortMessages(atATime: count) else { return nil }
        self.messages = messages
    }

    /// Returns a buffer for a body; nil if all are in use.
    func take() -> ShortMessage? { messages.take() }

    func give(_ message: ShortMessage) { messages.give(message) }

    /// Queues a body for the next batch; returns true when the batch is full.
    func append(
        _ transfer: ActiveTransfer, _ message: ShortMessage, _ result: TransferResult
    ) -> Bool {
        waiting.append(Body(transfer: transfer, message: message, result: result))
        return waiting.count >= messages.count
    }

    /// Hashes the waiting bodies once the loop has nothing else to do.
    func hashWhenIdle(_ loop: EventLoop) {
        guard !isAwaited else { return }
        isAwaited = true
        loop.runWhenIdle { [weak self] in
            self?.isAwaited = false
            self?.hash()
        }
    }

    /// Hashes the waiting bodies and ends their transfers.
    func hash() {
        guard !waiting.isEmpty else { return }
        let batch = waiting
        waiting.removeAll(keepingCapacity: true)
        let digests = messages.hash(batch.map(\.message))
        for (body, digest) in zip(batch, digests) {
            body.transfer.finish(hashed: digest, body.result)
        }
    }
}
