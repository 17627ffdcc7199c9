/// Waiting transfers, first in, first out; O(1) at both ends.
struct WaitingQueue {
    private var items: [Waiting] = []
    private var head = 0

    var count: Int { items.count - head }
    var isEmpty: Bool { head == items.count }
    var waiting: ArraySlice<Waiting> { items[head...] }
    var first: Waiting? { isEmpty ? nil : items[head] }

    mutating func append(_ waiting: Waiting) { items.append(waiting) }

    /// Returns a removed transfer to the front.
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
            // Removed entries are released in batches: one shift per batch, not per transfer.
            if head == items.count || head >= 1_024 {
                items.removeFirst(head)
                head = 0
            }
        }
        return items[head]
    }

    mutating func popLast() -> Waiting? { isEmpty ? nil : items.popLast() }

    /// Removes and returns every transfer that `matches`.
    mutating func remove(where matches: (Waiting) -> Bool) -> [Waiting] {
        let removed = items[head...].filter(matches)
        if !removed.isEmpty {
            items = items[head...].filter { !matches($0) }
            head = 0
        }
        return removed
    }
}
