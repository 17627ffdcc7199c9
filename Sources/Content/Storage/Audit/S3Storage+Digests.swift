internal import Model
internal import S3

// Records of digests whose objects others have deleted or replaced. Dray's own deletions take the
// records along.
extension S3Storage {
    /// Returns the records in `.dray/digests` that say nothing of the object under their key, and
    /// what is no record.
    ///
    /// Two requests for each record. In a bucket of more than `most`, each call looks at others:
    /// the names of records are hashes, and it begins anywhere among them.
    ///
    /// - Parameters:
    ///   - most: Maximum number of records to look at.
    ///   - first: Name before the first record to look at, in hex.
    func staleDigests(
        most: Int = 20_000,
        after first: String = String(UInt32.random(in: 1 << 28...UInt32.max), radix: 16)
    ) async throws(Failure) -> [PrivateFile] {
        let start = privateKey("\(PrivateFile.Folder.digests.rawValue)/")
        var found: [PrivateFile] = []
        var rest = most
        let middle = start + first
        for (after, end) in [(middle, nil), (nil, middle)] as [(String?, String?)] {
            var after = after
            while rest > 0 {
                let page = try await client.list(prefix: start, after: after)
                let records = page.objects.filter { object in end.map { object.key <= $0 } ?? true }
                found += try await stale(Array(records.prefix(rest)), below: start)
                rest -= records.count
                after = page.objects.last?.key
                guard !page.isLast, records.count == page.objects.count else { break }
            }
        }
        return found
    }

    private func stale(
        _ records: [ListedObject], below start: String
    ) async throws(Failure) -> [PrivateFile] {
        var found: [PrivateFile] = []
        for first in stride(from: 0, to: records.count, by: Self.recordsAtATime) {
            let turn = records[first..<min(first + Self.recordsAtATime, records.count)]
            let looked = await withTaskGroup(of: Result<PrivateFile?, Failure>.self) { group in
                for record in turn {
                    group.addTask { await self.look(at: record, below: start) }
                }
                var looked: [Result<PrivateFile?, Failure>] = []
                for await result in group { looked.append(result) }
                return looked
            }
            for result in looked {
                if let file = try result.get() { found.append(file) }
            }
        }
        return found.sorted { $0.name < $1.name }
    }

    /// Apart from its task, as `digest(of:)`.
    private func look(
        at record: ListedObject, below start: String
    ) async -> Result<PrivateFile?, Failure> {
        do throws(Failure) {
            guard let kind = try await kind(ofDigest: record.key) else { return .success(nil) }
            return .success(
                PrivateFile(
                    .digests, String(record.key.dropFirst(start.count)), bytes: record.bytes, kind,
                    ageSeconds: 0))
        } catch {
            return .failure(error)
        }
    }

    private static let recordsAtATime = 16

    /// Returns nil for the record of an object that is there, or for none.
    func kind(ofDigest key: String) async throws(Failure) -> PrivateFile.Kind? {
        guard let content = try await client.getSmall(key) else { return nil }
        guard let record = DigestRecord(content), record.key.hasPrefix(prefix),
            digestKey(of: record.key) == key
        else { return .foreign }
        guard let head = try await client.head(record.key) else { return .digest }
        return record.isOf(record.key, head) ? nil : .digest
    }
}
