/// Transfers that wait for a slot, first come first served; O(1) at both ends.
struct WaitingQueue {
    private var items: [Transfer] = []
    private var head = 0

    var count: Int { items.count - head }
    var isClosed = false

    mutating func append(_ transfer: Transfer) { items.append(transfer) }

    /// Takes up to `limit` transfers off the front.
    mutating func take(_ limit: Int) -> [Transfer] {
        let taken = Array(items[head..<min(head + max(limit, 0), items.count)])
        head += taken.count
        // What was taken is released in batches: a shift per batch, not one per transfer.
        if head == items.count || head >= 1_024 {
            items.removeFirst(head)
            head = 0
        }
        return taken
    }

    /// Takes out every transfer that `matches`.
    mutating func remove(where matches: (Transfer) -> Bool) -> [Transfer] {
        let removed = items[head...].filter(matches)
        if !removed.isEmpty {
            items = items[head...].filter { !matches($0) }
            head = 0
        }
        return removed
    }
}
