internal import Synchronization

/// Limits the bytes of bodies that all requests hold together. Safe from any thread.
final class BodyBudget: Sendable {
    let maximumBodyBytes: Int
    private let maximumHeldBytes: Int
    private let heldBytes = Atomic<Int>(0)

    /// Free bytes of each body: small ones pass beside any number of large ones.
    private static let freeBytes = 16 << 10

    init(maximumBodyBytes: Int, maximumHeldBytes: Int) {
        self.maximumBodyBytes = maximumBodyBytes
        self.maximumHeldBytes = maximumHeldBytes
    }

    /// Reserves bytes for a body that has grown to `bodyBytes` and holds `held` of the budget.
    /// Returns false without effect if the budget is used up.
    func hold(_ bodyBytes: Int, _ held: inout Int) -> Bool {
        let more = bodyBytes - Self.freeBytes - held
        guard more > 0 else { return true }
        let total = heldBytes.add(more, ordering: .relaxed).newValue
        guard total <= maximumHeldBytes else {
            heldBytes.subtract(more, ordering: .relaxed)
            return false
        }
        held += more
        return true
    }

    /// Returns all bytes that a body holds.
    func letGo(_ held: inout Int) {
        guard held > 0 else { return }
        heldBytes.subtract(held, ordering: .relaxed)
        held = 0
    }
}
