/// Transfers that wait, first come first served; O(1) at both ends.
struct WaitingQueue {
    private var items: [Waiting] = []
    private var head = 0

    var count: Int { items.count - head }
    var isEmpty: Bool { head == items.count }
    var first: Waiting? { isEmpty ? nil : items[head] }

    mutating func append(_ waiting: Waiting) { items.append(waiting) }

    /// Puts one back that has been taken before.
    mutating func prepend(_ waiting: Waiting) {
        if head > 0 {
            head -= 1
            items[head] = waiting
        } else {
            items.insert(waiting, at: 0)
        }
    }

    mutating func popFirst() -> Waiting? {
        guard head < items.count else { return nil }
        defer {
            head += 1
            // What was taken is released in batches: a shift per batch, not one per transfer.
            if head == items.count || head >= 1_024 {
                items.removeFirst(head)
                head = 0
            }
        }
        return items[head]
    }

    mutating func popLast() -> Waiting? { isEmpty ? nil : items.popLast() }

    /// Takes out every transfer that `matches`.
    mutating func remove(where matches: (Waiting) -> Bool) -> [Waiting] {
        let removed = items[head...].filter(matches)
        if !removed.isEmpty {
            items = items[head...].filter { !matches($0) }
            head = 0
        }
        return removed
    }
}
