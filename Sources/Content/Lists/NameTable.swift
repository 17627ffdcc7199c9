package import Model

/// Storage outside of memory to find duplicates in a long list.
package protocol ListScratch: AnyObject {
    /// Appends bytes and returns their offset.
    func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int
    /// Fills `bytes` with the bytes written at `offset`.
    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(Failure)
}

/// Finds duplicate names with 24 bytes per name, which move to scratch storage once there are many.
///
/// Names are compared by 64-bit keyed hash. The key is new in each process, so collisions cannot be
/// constructed; ten million names collide by chance once in 400,000 lists.
struct NameTable {
    /// A repeated asset with equal attributes.
    struct Repeat {
        var bytes: Int64
        var isTitle: Bool
        var hasDigest: Bool
    }

    /// One key for several URLs without their tokens.
    struct SharedKey {
        var hash: UInt64
        /// Line of the first one.
        var line: Int
        /// Number of URLs that differ in more than signatures.
        var count: Int
    }

    /// One name for two assets.
    struct Conflict {
        var line: Int
        var before: Int
    }

    private struct Entry {
        var name: UInt64
        /// -1 if the length is unknown.
        var bytes: Int64
        /// A hash of the asset's attributes; the three lowest bits are flags for counts.
        var definition: UInt32
        var line: UInt32

        /// True for a key instead of an asset: `name` is the hash of a key without parts of its
        /// URL, `definition` that of the URL's object.
        var isKey: Bool { definition & 4 != 0 }
    }

    private static let pieceEntries = 1_024
    /// Maximum number of reported conflicts, those on the first lines.
    static let maxConflicts = 20

    /// By the lowest bits of the name.
    private var parts = [[Entry]](repeating: [], count: 64)
    /// Offsets of each part's pieces in the scratch storage.
    private var pieces = [[Int]](repeating: [], count: 64)
    private let scratch: (any ListScratch)?
    private let rules: KeyQueryRules

    /// Creates a table; without scratch storage everything stays in memory.
    init(_ scratch: (any ListScratch)?, _ rules: KeyQueryRules) {
        self.scratch = scratch
        self.rules = rules
    }

    mutating func add(_ asset: AssetSubmission, line: Int) throws(Failure) {
        var name = asset.name
        if asset.kind == .file, let own = try SharedKeys.ownKey(of: asset.url, rules) {
            try add(key: asset.key, of: asset.url, line: line)
            // The name that it has if its key is shared; otherwise it compares the same.
            if name == ListReader.defaultName(asset.key) { name = ListReader.defaultName(own) }
        }
        for sidecar in asset.sidecars ?? [] {
            guard try SharedKeys.ownKey(of: sidecar.url, rules) != nil else { continue }
            try add(key: sidecar.key, of: sidecar.url, line: line)
            // The asset's other files count too, as names do not cover them.
            if asset.key == sidecar.key { try add(key: asset.key, of: asset.url, line: line) }
            for other in asset.sidecars ?? [] where other.key == sidecar.key {
                try add(key: other.key, of: other.url, line: line)
            }
        }
        var hasher = Hasher()
        hasher.combine(unsigned(asset))
        var definition = UInt32(truncatingIfNeeded: hasher.finalize()) & ~7
        if asset.kind != .file { definition |= 1 }
        if asset.sha256 != nil || asset.digests != nil { definition |= 2 }
        try add(
            Entry(
                name: SharedKeys.hash(name), bytes: asset.bytes ?? -1, definition: definition,
                line: UInt32(clamping: line)))
    }

    /// Returns an asset for comparison, without signatures.
    private func unsigned(_ asset: AssetSubmission) -> AssetSubmission {
        var asset = asset
        asset.url = SharedKeys.object(of: asset.url, rules)
        guard let sidecars = asset.sidecars else { return asset }
        for index in sidecars.indices {
            asset.sidecars?[index].url = SharedKeys.object(of: sidecars[index].url, rules)
        }
        return asset
    }

    private mutating func add(key: String, of url: String, line: Int) throws(Failure) {
        let object = SharedKeys.hash(SharedKeys.object(of: url, rules))
        let definition = UInt32(truncatingIfNeeded: object) & ~7 | 4
        try add(
            Entry(
                name: SharedKeys.hash(key), bytes: -1, definition: definition,
                line: UInt32(clamping: line)))
    }

    private mutating func add(_ entry: Entry) throws(Failure) {
        let part = Int(entry.name & 63)
        parts[part].append(entry)
        if let scratch, parts[part].count == Self.pieceEntries {
            pieces[part].append(try Self.write(parts[part], scratch))
            parts[part].removeAll(keepingCapacity: true)
        }
    }

    private static func write(
        _ entries: [Entry], _ scratch: any ListScratch
    ) throws(Failure) -> Int {
        // Typed throws do not pass through `withUnsafeBytes`.
        let result = entries.withUnsafeBytes { bytes in
            Result { () throws(Failure) in try scratch.append(bytes) }
        }
        return try result.get()
    }

    /// Calls `take` with every repeated asset and `shared` with each shared key; returns the
    /// conflicts on the first lines.
    mutating func finish(
        _ take: (Repeat) -> Void, shared: (SharedKey) throws(Failure) -> Void
    ) throws(Failure) -> [Conflict] {
        var conflicts: [Conflict] = []
        for part in parts.indices {
            var entries = try whole(part)
            try Self.takeKeys(from: &entries, shared)
            entries.sort { ($0.name, $0.line) < ($1.name, $1.line) }
            var first = 0
            for index in entries.indices.dropFirst() {
                guard entries[index].name == entries[first].name else {
                    first = index
                    continue
                }
                let entry = entries[index]
                if entry.definition == entries[first].definition {
                    take(
                        Repeat(
                            bytes: max(entry.bytes, 0), isTitle: entry.definition & 1 != 0,
                            hasDigest: entry.definition & 2 != 0))
                } else {
                    conflicts.append(
                        Conflict(line: Int(entry.line), before: Int(entries[first].line)))
                }
                if conflicts.count > 1_000 { Self.trim(&conflicts) }
            }
        }
        Self.trim(&conflicts)
        return conflicts
    }

    /// Removes the keys from the entries and reports shared ones, including a key that is also an
    /// asset's name.
    private static func takeKeys(
        from entries: inout [Entry], _ shared: (SharedKey) throws(Failure) -> Void
    ) throws(Failure) {
        guard entries.contains(where: \.isKey) else { return }
        entries.sort { ($0.name, $0.definition, $0.line) < ($1.name, $1.definition, $1.line) }
        var start = 0
        while start < entries.count {
            let name = entries[start].name
            var key = SharedKey(hash: name, line: .max, count: 0)
            var hasName = false
            var before: UInt32?
            while start < entries.count, entries[start].name == name {
                let entry = entries[start]
                start += 1
                guard entry.isKey else {
                    hasName = true
                    continue
                }
                key.line = min(key.line, Int(entry.line))
                if entry.definition != before { key.count += 1 }
                before = entry.definition
            }
            if key.count > 1 || key.count == 1 && hasName { try shared(key) }
        }
        entries.removeAll(where: \.isKey)
    }

    private static func trim(_ conflicts: inout [Conflict]) {
        conflicts.sort { $0.line < $1.line }
        conflicts = Array(conflicts.prefix(maxConflicts))
    }

    /// Returns all entries of a part and removes them.
    private mutating func whole(_ part: Int) throws(Failure) -> [Entry] {
        var entries = parts[part]
        parts[part] = []
        guard let scratch else { return entries }
        var piece = [Entry](
            repeating: Entry(name: 0, bytes: 0, definition: 0, line: 0),
            count: Self.pieceEntries)
        entries.reserveCapacity(entries.count + pieces[part].count * Self.pieceEntries)
        for offset in pieces[part] {
            let result = piece.withUnsafeMutableBytes { bytes in
                Result { () throws(Failure) in try scratch.read(bytes, at: offset) }
            }
            try result.get()
            entries += piece
        }
        return entries
    }
}
