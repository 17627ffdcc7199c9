import API
import Digest
import Model

/// The text of a `SHA256SUMS` file: one line per object, names relative to its directory, in the
/// format of `sha256sum -c` (GNU coreutils manual, "md5sum invocation").
struct ChecksumFileText: Sequence, Sendable {
    let directory: String
    let entries: [ChecksumPage.Entry]

    /// Key of the checksum file; gets a suffix if the origin has an object of that name.
    var key: String {
        var key = path("SHA256SUMS")
        while entries.contains(where: { $0.key == key }) { key += ".dray" }
        return key
    }

    /// Its length and digest, which audits compare.
    var stored: StoredObject {
        var hasher = SHA256Hasher()
        var bytes: Int64 = 0
        for chunk in self {
            chunk.withUnsafeBytes { hasher.update($0) }
            bytes += Int64(chunk.count)
        }
        return StoredObject(bytes: bytes, sha256: hasher.finish().description)
    }

    private func path(_ name: String) -> String {
        directory.isEmpty ? name : "\(directory)/\(name)"
    }

    /// Returns chunks of about 64 KiB.
    func makeIterator() -> AnyIterator<[UInt8]> {
        var rest = entries[...]
        return AnyIterator {
            guard !rest.isEmpty else { return nil }
            var chunk: [UInt8] = []
            while let entry = rest.first, chunk.count < 64 << 10 {
                append(entry, to: &chunk)
                rest.removeFirst()
            }
            return chunk
        }
    }

    private func append(_ entry: ChecksumPage.Entry, to chunk: inout [UInt8]) {
        let backslash = UInt8(ascii: "\\")
        var name = relative(entry.key)
        // A backslash at the start of a line marks an escaped name.
        if name.utf8.contains(backslash) {
            chunk.append(backslash)
            name = name.replacing("\\", with: "\\\\")
        }
        chunk.append(contentsOf: entry.sha256.utf8)
        chunk.append(contentsOf: "  ".utf8)
        chunk.append(contentsOf: name.utf8)
        chunk.append(UInt8(ascii: "\n"))
    }

    /// Returns a key relative to the directory.
    func relative(_ key: String) -> String {
        if directory.isEmpty { return key }
        if key.utf8.starts(with: directory.utf8),
            key.utf8.dropFirst(directory.utf8.count).first == UInt8(ascii: "/")
        {
            return String(decoding: key.utf8.dropFirst(directory.utf8.count + 1), as: UTF8.self)
        }
        let base = directory.split(separator: "/")
        let parts = key.split(separator: "/")
        var shared = 0
        while shared < base.count && shared < parts.count - 1 && base[shared] == parts[shared] {
            shared += 1
        }
        return (Array(repeating: "..", count: base.count - shared) + parts[shared...])
            .joined(separator: "/")
    }
}
