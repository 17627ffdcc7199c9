package import Model

/// Room beside memory for what a long list needs to find repeats.
package protocol ListScratch: AnyObject {
    /// Writes behind what was written before, and answers where that begins.
    func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int
    /// Fills `bytes` with what was written at `offset`.
    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(Failure)
}

/// Finds names that stand twice, in 24 bytes a name, which lie in scratch room once there are many.
///
/// Names are compared by 64 bits of keyed hash, new with each process, so nobody can make two names
/// that differ look the same; by chance ten million names do once in 400,000 lists.
struct NameTable {
    /// An asset that came before, alike in all.
    struct Repeat {
        var bytes: Int64
        var isTitle: Bool
        var hasDigest: Bool
    }

    /// One key for several URLs, once tokens are left out.
    struct SharedKey {
        var hash: UInt64
        /// Of the first one.
        var line: Int
        /// How many URLs there are that differ in more than signatures.
        var count: Int
    }

    /// One name for two assets.
    struct Conflict {
        var line: Int
        var before: Int
    }

    private struct Entry {
        var name: UInt64
        /// -1 for a length that is not known.
        var bytes: Int64
        /// A hash of all that the list says of the asset; the three lowest bits are what counts of it.
        var definition: UInt32
        var line: UInt32

        /// No asset: `name` is of a key from whose URL something is left out, `definition` of what the URL names.
        var isKey: Bool { definition & 4 != 0 }
    }

    private static let pieceEntries = 1_024
    /// Conflicts that are told of at most: those on the first lines.
    static let mostConflicts = 20

    /// By the lowest bits of the name.
    private var parts = [[Entry]](repeating: [], count: 64)
    /// Where each part's pieces lie in the scratch room.
    private var pieces = [[Int]](repeating: [], count: 64)
    private let scratch: (any ListScratch)?
    private let rules: KeyQueryRules

    /// Without scratch room everything stays in memory.
    init(_ scratch: (any ListScratch)?, _ rules: KeyQueryRules) {
        self.scratch = scratch
        self.rules = rules
    }

    mutating func add(_ asset: AssetSubmission, line: Int) throws(Failure) {
        var name = asset.name
        if asset.kind == .file, let own = try SharedKeys.ownKey(of: asset.url, rules) {
            try add(key: asset.key, of: asset.url, line: line)
            // Named so where the key turns out to be shared, and else alike.
            if name == ListReader.defaultName(asset.key) { name = ListReader.defaultName(own) }
        }
        for sidecar in asset.sidecars ?? [] {
            guard try SharedKeys.ownKey(of: sidecar.url, rules) != nil else { continue }
            try add(key: sidecar.key, of: sidecar.url, line: line)
            // The asset's other files count as well, for no name tells of them.
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

    /// An asset as it is compared: the same one with a new signature.
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

    /// Hands out every asset but the first of its name, and each key that URLs share; answers the conflicts on the
    /// first lines.
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

    /// Takes the keys out of the entries, and hands out those that URLs share, also one with an asset of that name.
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
        conflicts = Array(conflicts.prefix(mostConflicts))
    }

    /// All entries of a part; they are gone from here then.
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
