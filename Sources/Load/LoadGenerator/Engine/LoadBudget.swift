internal import LoadModel
import Synchronization

/// The requests and bytes that a shard may still use; shared by all its loops.
final class LoadBudget: Sendable {
    private let requests: Atomic<Int64>
    private let bytes: Atomic<Int64>
    private let isLimited: Bool
    private let onSpent = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ caps: LoadCaps, _ shard: LoadShard) {
        requests = Atomic(caps.requests.map { shard.portion(of: $0) } ?? .max)
        bytes = Atomic(caps.bytes.map { shard.portion(of: $0) } ?? .max)
        isLimited = caps.requests != nil || caps.bytes != nil
    }

    /// Returns true if one more request may be sent.
    func takeRequest() -> Bool {
        guard isLimited else { return true }
        guard bytes.load(ordering: .relaxed) > 0 else { return false }
        if requests.subtract(1, ordering: .relaxed).newValue >= 0 { return true }
        requests.add(1, ordering: .relaxed)
        return false
    }

    /// Returns true if `count` more bytes may be received.
    func take(bytes count: Int) -> Bool {
        guard isLimited else { return true }
        return bytes.subtract(Int64(count), ordering: .relaxed).newValue >= 0
    }

    /// Sets the callback for an exhausted budget.
    func whenSpent(_ body: (@Sendable () -> Void)?) { onSpent.withLock { $0 = body } }

    /// Calls the callback once, however many loops find the budget exhausted.
    func spend() {
        let body = onSpent.withLock { body -> (@Sendable () -> Void)? in
            defer { body = nil }
            return body
        }
        body?()
    }
}
