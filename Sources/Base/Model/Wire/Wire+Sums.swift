// Hand-written codec for a page of `SHA256SUMS` entries, the last step of an asset.

extension SumsPage: WireMessage {
    func wireBytes() throws -> [UInt8] {
        guard entries.allSatisfy(\.recordedSeconds.isFinite) else {
            return try WireJSON.plain(self)
        }
        var writer = WireTextWriter()
        writer.reserve(entries.count * 200 + 100)
        writer.raw("{\"entries\":[")
        for entry in entries {
            writer.raw("{\"key\":")
            writer.string(entry.key)
            writer.raw(",\"sha256\":")
            writer.string(entry.sha256)
            writer.raw(",\"recordedSeconds\":")
            writer.number(entry.recordedSeconds)
            writer.raw("},")
        }
        if !entries.isEmpty { writer.removeLast() }
        writer.raw("]")
        if let next {
            writer.raw(",\"next\":")
            writer.string(next)
        }
        writer.raw("}")
        return writer.bytes
    }

    static func reading(_ bytes: [UInt8]) -> SumsPage? {
        bytes.withUnsafeBufferPointer { bytes in
            var reader = WireTextReader(bytes)
            var entries: [Entry]?
            var next: String?
            let isRead = reader.object { reader, name in
                if name.isName("entries") {
                    return reader.once(&entries) { $0.array { Entry(reading: &$0) } }
                }
                if name.isName("next") { return reader.once(&next) { $0.string() } }
                return false
            }
            guard isRead, reader.isAtEnd, let entries else { return nil }
            return SumsPage(entries: entries, next: next)
        }
    }
}

extension SumsPage.Entry {
    /// Returns nil for input that Foundation must read.
    fileprivate init?(reading reader: inout WireTextReader) {
        var key: String?
        var sha256: String?
        var recordedSeconds: Double?
        let isRead = reader.object { reader, member in
            if member.isName("key") { return reader.once(&key) { $0.string() } }
            if member.isName("sha256") { return reader.once(&sha256) { $0.string() } }
            if member.isName("recordedSeconds") {
                return reader.once(&recordedSeconds) { $0.number() }
            }
            return false
        }
        guard isRead, let key, let sha256, let recordedSeconds else { return nil }
        self.init(key: key, sha256: sha256, recordedSeconds: recordedSeconds)
    }
}
