/// Transfers that may not wait any more: those that were cancelled within the last seconds while they ran, and all of
/// them once the scheduler is closed.
struct Cancellations {
    struct Cancellation {
        /// Number of the first transfer that came later.
        var boundary: UInt64
        var at: Double
        var matches: @Sendable (Transfer) -> Bool
    }

    private(set) var isClosed = false
    private var recent: [Cancellation] = []

    private static let keptSeconds = 10.0

    mutating func close() { isClosed = true }

    mutating func add(_ cancellation: Cancellation, now: Double) {
        recent.removeAll { now - $0.at > Self.keptSeconds }
        recent.append(cancellation)
    }

    func contains(_ transfer: Transfer) -> Bool {
        isClosed || recent.contains { $0.boundary > transfer.id && $0.matches(transfer) }
    }
}
