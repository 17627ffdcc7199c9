import Storage

/// Reads the batches of a site's walk in their order. A value.
struct AuditWalk {
    struct Found {
        var kind: WalkBatch.Kind
        var bytes: Int64
    }

    /// The current file; nil before the first and after one that was taken.
    private(set) var found: Found?
    /// The current file's path.
    private(set) var path: [UInt8] = []
    /// True after its last batch.
    private(set) var isDone = false
    private var directoryBytes = 0
    private var batches: ArraySlice<WalkBatch> = []
    private var index = 0

    /// Sets the next batches; none at its end.
    mutating func take(_ next: [WalkBatch]) {
        batches = next[...]
        index = 0
        if next.isEmpty { isDone = true }
    }

    /// Ends the current file.
    mutating func removeFound() { found = nil }

    /// Reads the next file, unless there is a current one; returns false if the batches are used
    /// up.
    mutating func advance() -> Bool {
        if found != nil { return true }
        while let batch = batches.first {
            guard index + WalkBatch.headerBytes <= batch.bytes.count else {
                batches.removeFirst()
                index = 0
                continue
            }
            let start = index + WalkBatch.headerBytes
            var kind: UInt8 = 0
            var (length, count): (Int64, UInt16) = (0, 0)
            batch.bytes.withUnsafeBytes { bytes in
                kind = bytes[index]
                length = Int64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: index + 1, as: Int64.self))
                count = UInt16(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: index + 9, as: UInt16.self))
            }
            let end = start + Int(count)
            index = end
            let name = batch.bytes[start..<end]
            if kind == WalkBatch.Kind.directory.rawValue {
                path.removeAll(keepingCapacity: true)
                path.append(contentsOf: name)
                if !path.isEmpty { path.append(UInt8(ascii: "/")) }
                directoryBytes = path.count
                continue
            }
            path.removeSubrange(directoryBytes...)
            path.append(contentsOf: name)
            found = Found(kind: WalkBatch.Kind(rawValue: kind) ?? .other, bytes: length)
            return true
        }
        return false
    }
}
