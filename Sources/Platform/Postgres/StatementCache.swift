/// Names of the statements prepared on one connection, by their text; a new one replaces the least
/// recently used.
struct StatementCache {
    private struct Entry {
        let name: String
        var lastUse: Int
    }

    private var entries: [String: Entry] = [:]
    private var uses = 0
    private var created = 0
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = max(capacity, 1)
    }

    /// Returns the name of the statement prepared for `sql`, if there is one.
    mutating func name(for sql: String) -> String? {
        uses += 1
        guard let index = entries.index(forKey: sql) else { return nil }
        entries.values[index].lastUse = uses
        return entries.values[index].name
    }

    /// Returns a name for a new statement, and the name of the one that must be deallocated for it.
    mutating func insert(_ sql: String) -> (name: String, evicted: String?) {
        var evicted: String?
        if entries.count >= capacity,
            let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            entries[oldest.key] = nil
            evicted = oldest.value.name
        }
        created += 1
        uses += 1
        let name = "s\(created)"
        entries[sql] = Entry(name: name, lastUse: uses)
        return (name, evicted)
    }

    mutating func remove(_ sql: String) {
        entries[sql] = nil
    }
}
