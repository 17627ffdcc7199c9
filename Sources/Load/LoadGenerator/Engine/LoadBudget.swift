internal import LoadModel
import Synchronization

/// What a share may still ask for and receive; used by all its loops.
final class LoadBudget: Sendable {
    private let requests: Atomic<Int64>
    private let bytes: Atomic<Int64>
    private let isLimited: Bool
    private let onSpent = Mutex<(@Sendable () -> Void)?>(nil)

    init(_ caps: LoadCaps, _ share: LoadShare) {
        requests = Atomic(caps.requests.map { share.portion(of: $0) } ?? .max)
        bytes = Atomic(caps.bytes.map { share.portion(of: $0) } ?? .max)
        isLimited = caps.requests != nil || caps.bytes != nil
    }

    /// Whether one more request may be sent.
    func takeRequest() -> Bool {
        guard isLimited else { return true }
        guard bytes.load(ordering: .relaxed) > 0 else { return false }
        if requests.subtract(1, ordering: .relaxed).newValue >= 0 { return true }
        requests.add(1, ordering: .relaxed)
        return false
    }

    /// Whether `count` more bytes may be received.
    func take(bytes count: Int) -> Bool {
        guard isLimited else { return true }
        return bytes.subtract(Int64(count), ordering: .relaxed).newValue >= 0
    }

    /// Sets what is called when somebody finds nothing left.
    func whenSpent(_ body: (@Sendable () -> Void)?) { onSpent.withLock { $0 = body } }

    /// Somebody found nothing left: the first one has all loops end.
    func spend() {
        let body = onSpent.withLock { body -> (@Sendable () -> Void)? in
            defer { body = nil }
            return body
        }
        body?()
    }
}
