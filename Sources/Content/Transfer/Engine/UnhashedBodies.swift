internal import Digest
internal import EventLoop

/// Short bodies of one loop that are hashed several at a time, where this processor gains by that.
///
/// A body whose transfer has ended waits here, without its slot and its connection, until there are as
/// many as are hashed at a time or the loop has nothing else to do, and no longer than until its next
/// tick. What has no buffer is hashed as it arrives. Confined to its loop.
final class UnhashedBodies {
    private let messages: ShortMessages
    private var waiting: [Body] = []

    private struct Body {
        let transfer: ActiveTransfer
        let message: ShortMessage
        let result: TransferResult
    }

    /// Nil where one body after the other is hashed sooner.
    init?(atATime count: Int?) {
        guard let messages = ShortMessages(atATime: count) else { return nil }
        self.messages = messages
    }

    /// Room for a body; nil when all is taken.
    func take() -> ShortMessage? { messages.take() }

    func give(_ message: ShortMessage) { messages.give(message) }

    /// Has a body hashed with the next ones; true when there are enough.
    func append(
        _ transfer: ActiveTransfer, _ message: ShortMessage, _ result: TransferResult
    ) -> Bool {
        waiting.append(Body(transfer: transfer, message: message, result: result))
        return waiting.count >= messages.count
    }

    /// Hashes what waits, and ends its transfers.
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
