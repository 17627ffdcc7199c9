internal import Glibc
package import Model
internal import S3
import Synchronization

// What an audit asks of a bucket, as of a directory.
extension S3Storage {
    /// Returns what has a key now.
    func find(key: String) async throws(Failure) -> FoundEntry {
        guard let head = try await client.head(self.key(try ObjectKey(key))) else {
            return .nothing
        }
        return .file(bytes: head.bytes)
    }

    /// Opens an object to read all of it; nil if it is missing.
    func openForAudit(key: String) async throws(Failure) -> AuditedFile? {
        let key = self.key(try ObjectKey(key))
        guard let head = try await client.head(key) else { return nil }
        return AuditedFile(key, head, in: self)
    }

    /// Reads small objects, some at a time; returns their SHA-256, nil for missing ones.
    func digests(of keys: [String]) async -> [Result<String?, Failure>] {
        await withTaskGroup(of: (Int, Result<String?, Failure>).self) { group in
            var found = [Result<String?, Failure>](repeating: .success(nil), count: keys.count)
            for (index, key) in keys.enumerated() {
                if index >= Self.readsAtATime, let (index, digest) = await group.next() {
                    found[index] = digest
                }
                group.addTask {
                    (index, await self.digest(of: key))
                }
            }
            for await (index, digest) in group { found[index] = digest }
            return found
        }
    }

    /// Apart from its task: where Swift 6.3 optimizes, it may lose the results of tasks that return
    /// `(index, .success(try await …))`.
    private func digest(of key: String) async -> Result<String?, Failure> {
        do throws(Failure) {
            return .success(try await hash(self.key(try ObjectKey(key)), [])?.sha256)
        } catch {
            return .failure(error)
        }
    }

    private static let readsAtATime = 16

    /// Describes the object under a key for its adoption; nil if there is none.
    ///
    /// Its SHA-256 is that of the server or of Dray, else the object is read.
    package func foundFile(key: String) async throws(Failure) -> FoundFile? {
        let key = self.key(try ObjectKey(key))
        // A listing has the date in one form.
        guard let listed = try await client.list(prefix: key, atMost: 1).objects.first,
            listed.key == key, let modified = listed.modifiedSeconds, modified >= 1,
            let head = try await head(key), head.bytes == listed.bytes
        else { return nil }
        if let sha256 = head.sha256 {
            return FoundFile(bytes: head.bytes, sha256: sha256, modified: modified)
        }
        guard let read = try await hash(key, []), read.bytes == head.bytes else { return nil }
        return FoundFile(bytes: read.bytes, sha256: read.sha256, modified: modified)
    }

    // MARK: Dray's own objects

    /// Returns Dray's own objects that some work has left or still uses: staged ones, and the records
    /// of uploads. As `DirectoryStorage.privateFiles`.
    func privateFiles(maxFiles: Int = 20_000) async throws(Failure) -> [PrivateFile] {
        let now = Int64(time(nil))
        var files: [PrivateFile] = []
        for folder in [PrivateFile.Folder.temporary, .uploads] {
            let start = privateKey("\(folder.rawValue)/")
            try await forEachObject(below: start, most: maxFiles) { (object) throws(Failure) in
                let name = String(object.key.dropFirst(start.count))
                let age = object.modifiedSeconds.map { Double(now - $0) } ?? 0
                var (bytes, kind) = (object.bytes, Self.kind(ofStaged: name))
                if folder == .uploads {
                    let record = try await self.record(at: object.key)
                    kind = Self.kind(of: record, at: object.key)
                    if let record { bytes = try await self.sentBytes(of: record) }
                }
                files.append(PrivateFile(folder, name, bytes: bytes, kind, ageSeconds: age))
            }
        }
        return files
    }

    /// Returns the bytes of the parts that an upload has; 0 if the server does not list them.
    private func sentBytes(of record: UploadRecord) async throws(Failure) -> Int64 {
        guard case .begun(let id) = record.state else { return 0 }
        do throws(Failure) {
            let parts = try await client.parts(of: record.key, upload: id) ?? [:]
            return parts.values.reduce(0) { $0 + $1.bytes }
        } catch {
            // A right of its own.
            guard error.code == .storageAccessDenied else { throw error }
            return 0
        }
    }

    static func kind(ofStaged name: String) -> PrivateFile.Kind {
        if let id = MultipartID(name) { return .multipart(id) }
        return DirectoryStorage.lease(in: name).map { .object($0, isStaged: true) } ?? .foreign
    }

    func kind(ofRecord key: String) async throws(Failure) -> PrivateFile.Kind {
        Self.kind(of: try await record(at: key), at: key)
    }

    /// Returns the record of an upload below the site's prefix; nil for anything else.
    private func record(at key: String) async throws(Failure) -> UploadRecord? {
        guard let content = try await client.getSmall(key), let record = UploadRecord(content),
            record.key.hasPrefix(prefix)
        else { return nil }
        return record
    }

    private static func kind(of record: UploadRecord?, at key: String) -> PrivateFile.Kind {
        switch record?.owner {
        case nil: .foreign
        case .multipart(let id): .multipart(id)
        case .lease(let lease, let owner):
            owner.asset.rawValue > 0
                ? .partialObject(lease, owner, record: key) : .object(lease, isStaged: true)
        }
    }

    /// Removes what its owner has left; the upload of a record is aborted. Returns false if it is
    /// gone, or another's by now.
    func remove(leftover file: PrivateFile) async throws(Failure) -> Bool {
        if case .multipart(let id) = file.kind {
            try await removeShared(id)
            return true
        }
        let key = privateKey("\(file.folder.rawValue)/\(file.name)")
        switch file.folder {
        case .uploads: break
        case .digests:
            guard try await kind(ofDigest: key) == .digest else { return false }
            try await client.delete([key])
            return true
        case .temporary, .multipart, .partial:
            try await client.delete([key, digestKey(of: key)])
            return true
        }
        // The next attempt may have taken it over.
        guard try await kind(ofRecord: key) == file.kind,
            let content = try await client.getSmall(key), let record = UploadRecord(content)
        else { return false }
        try await abort(record)
        try await client.delete([key])
        return true
    }

    /// Calls `body` for the objects below a prefix, page by page, at most `most`.
    func forEachObject(
        below start: String, most: Int,
        _ body: (ListedObject) async throws(Failure) -> Void
    ) async throws(Failure) {
        var after: String?
        var rest = most
        while rest > 0 {
            let page = try await client.list(prefix: start, after: after)
            for object in page.objects.prefix(rest) { try await body(object) }
            rest -= page.objects.count
            after = page.objects.last?.key
            guard !page.isLast else { return }
        }
    }
}

/// Walks a bucket in the order of its keys' bytes, without Dray's own objects; a page at a time.
/// Safe from any thread.
package final class BucketWalk: Sendable {
    private struct State {
        var after: String?
        var isDone = false
    }

    private let storage: S3Storage
    private let state: Mutex<State>

    init(_ storage: S3Storage, after key: String?) {
        self.storage = storage
        state = Mutex(State(after: key))
    }

    /// Returns the next objects, at most 1,000; nil at the end. One caller at a time.
    func next() async throws(Failure) -> WalkBatch? {
        while true {
            let (after, isDone) = state.withLock { ($0.after, $0.isDone) }
            guard !isDone else { return nil }
            let page = try await storage.list(after: after)
            state.withLock { state in
                state.after = page.next.map { Self.beyondPrivate($0) }
                state.isDone = page.next == nil
            }
            guard !page.objects.isEmpty else { continue }
            var batch = WalkBatch()
            // Names are whole keys.
            [UInt8]().withUnsafeBufferPointer { batch.append(.directory, length: 0, $0) }
            for object in page.objects {
                Array(object.key.utf8).withUnsafeBufferPointer {
                    batch.append(.file, length: object.bytes, $0)
                }
            }
            return batch
        }
    }

    /// Skips the rest of Dray's own objects.
    private static func beyondPrivate(_ key: String) -> String {
        let own = "\(ObjectKey.privateDirectory)/"
        return key.hasPrefix(own) ? own + "\u{10FFFF}" : key
    }
}
