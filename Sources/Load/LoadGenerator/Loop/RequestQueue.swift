/// Requests that wait for a slot, first in, first out.
struct RequestQueue {
    struct Entry {
        var object: WantedObject
        var owner: LoadRequest.Owner
        var detour: Detour?
        var plannedSeconds: Double
    }

    private var entries: [Entry?] = []
    private var head = 0

    var count: Int { entries.count - head }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    mutating func popFirst() -> Entry? {
        guard head < entries.count else { return nil }
        let entry = entries[head]
        entries[head] = nil
        head += 1
        // Amortized: each entry moves at most once per removed entry.
        if head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
        return entry
    }

    mutating func removeAll() {
        entries.removeAll()
        head = 0
    }
}
