internal import Digest
internal import FileSystem
internal import Glibc
package import Model
internal import S3

extension S3Storage {
    /// Stores a received body under its key, and removes it from the spool. The object ends with the
    /// call, and is durable in the bucket if it succeeds.
    ///
    /// - Parameters:
    ///   - stored: Length and SHA-256 of the body, as they were computed while it arrived.
    ///   - isOurs: Returns true while the caller may store the object. Asked before each request and
    ///     while it is sent; once false, the call ends with `worker.leaseLost` and the key is
    ///     unchanged.
    package func upload(
        _ object: PendingObject, _ stored: StoredObject,
        isOurs: @escaping @Sendable () -> Bool = { true }
    ) async -> Result<Void, Failure> {
        do throws(Failure) {
            guard case .key(let key) = object.destination else {
                throw Failure(.workerInternal, "a part of a file in a bucket")
            }
            let file = try asFailure { () throws(SystemError) in
                try object.site.temporary.open(object.temporaryName, O_RDONLY | O_NONBLOCK)
            }
            try await store(file, stored, under: self.key(key), isOurs)
            object.removeStored()
            return .success(())
        } catch {
            object.discard()
            return .failure(error)
        }
    }

    /// Stores a file's bytes under a key of the bucket: by one request, or in parts.
    func store(
        _ file: FileDescriptor, _ stored: StoredObject, under key: String,
        _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) {
        guard stored.bytes <= Self.partBytes else {
            return try await storeInParts(file, stored, under: key, isOurs)
        }
        try await budget.with(Int(stored.bytes)) { () async -> Result<Void, Failure> in
            do throws(Failure) {
                let body = try Self.read(file, at: 0, count: Int(stored.bytes))
                return .success(try await self.publish(body, stored, under: key, isOurs))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// Stores a body under a key that has no object, or one that no other worker has replaced since.
    ///
    /// A worker that was frozen between its look at its lease and the request does not replace what
    /// the next one has stored meanwhile, where the server knows conditions.
    private func publish(
        _ body: UploadBody, _ stored: StoredObject, under key: String,
        _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) {
        var condition = S3Client.Condition.missing
        for _ in 0..<Self.maximumConditions {
            let isStored = try await client.put(
                key, body, sha256: stored.sha256, if: condition, isWanted: isOurs)
            if isStored { return }
            guard let head = try await client.head(key) else {
                condition = .missing
                continue
            }
            if head.bytes == stored.bytes, head.sha256 == stored.sha256 { return }
            guard let etag = head.etag else { break }
            // Ceph's gateway compares the tag without its quotes.
            let isRefused = condition == .etag(etag)
            condition = .etag(isRefused ? etag.filter { $0 != "\"" } : etag)
        }
        throw Failure(
            .storageUnavailable, "\(Redaction.path(key)) is replaced by others again and again")
    }

    private static let maximumConditions = 5

    static func read(
        _ file: FileDescriptor, at offset: Int64, count: Int
    ) throws(Failure) -> UploadBody {
        let body = UploadBody(byteCount: count)
        var done = 0
        while done < count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: body.bytes[done...])
            let read = try asFailure { () throws(SystemError) in
                try file.read(into: rest, at: offset + Int64(done))
            }
            guard read > 0 else { throw Failure(.storageIO, "a body in the spool is cut short") }
            done += read
        }
        return body
    }

    // MARK: In parts

    /// Sends a large file in parts, and ends the upload once all are there.
    ///
    /// A record in the bucket names the upload, so that another worker that has the same bytes sends
    /// only the parts that are missing.
    private func storeInParts(
        _ file: FileDescriptor, _ stored: StoredObject, under key: String,
        _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) {
        let mebibyte: Int64 = 1 << 20
        let least = (stored.bytes / Self.maximumParts / mebibyte + 1) * mebibyte
        let partBytes = max(Self.partBytes, least)
        let (upload, present) = try await resumeUpload(key, stored, partBytes, isOurs)
        let parts: [UploadedPart]
        do {
            parts = try await sendParts(of: stored.bytes, partBytes) { number, offset, bytes in
                try await self.budget.with(bytes) { () async -> Result<UploadedPart, Failure> in
                    await self.sendPart(
                        PartPlace(key: key, upload: upload, number: number), present[number],
                        isOurs
                    ) { () throws(Failure) in try Self.read(file, at: offset, count: bytes) }
                }.get()
            }
        } catch {
            throw error as? Failure ?? Failure(.workerCancelled, "\(error)")
        }
        // The server has checked each part, but not whether the spool still had the received bytes.
        guard try Self.hash(file) == stored else {
            try? await client.abort(key, upload: upload)
            throw Failure(.storageIO, "a body in the spool has changed since it was received")
        }
        guard isOurs() else {
            throw Failure(
                .workerLeaseLost, "the lease is lost; \(Redaction.path(key)) is unchanged")
        }
        try await client.complete(key, upload: upload, parts, isWanted: isOurs)
        try? await client.delete([recordKey(of: key)])
    }

    /// Calls `send` for each part, some at a time; returns the parts in order.
    private func sendParts(
        of bytes: Int64, _ partBytes: Int64,
        _ send:
            @escaping @Sendable (_ number: Int, _ offset: Int64, _ bytes: Int) async throws ->
            UploadedPart
    ) async throws -> [UploadedPart] {
        try await withThrowingTaskGroup(of: UploadedPart.self) { group in
            var parts: [UploadedPart] = []
            for (index, offset) in stride(from: 0, to: bytes, by: Int(partBytes)).enumerated() {
                if index >= Self.partsAtATime, let part = try await group.next() {
                    parts.append(part)
                }
                group.addTask {
                    try await send(index + 1, offset, Int(min(partBytes, bytes - offset)))
                }
            }
            for try await part in group { parts.append(part) }
            return parts.sorted { $0.number < $1.number }
        }
    }

    /// One part of an upload.
    private struct PartPlace: Sendable {
        let key: String
        let upload: String
        let number: Int
    }

    /// Sends a part, unless the server has the same bytes.
    private func sendPart(
        _ place: PartPlace, _ known: UploadedPart?, _ isOurs: @escaping @Sendable () -> Bool,
        _ read: () throws(Failure) -> UploadBody
    ) async -> Result<UploadedPart, Failure> {
        do throws(Failure) {
            let body = try read()
            let hash = SHA256Digest(hashing: UnsafeRawBufferPointer(body.bytes)).description
            if let known, Self.isSame(known, body, hash) { return .success(known) }
            return .success(
                try await client.putPart(
                    place.key, upload: place.upload, number: place.number, body, sha256: hash,
                    isWanted: isOurs))
        } catch {
            return .failure(error)
        }
    }

    /// Returns true if a part at the server has these bytes, by its checksum or its ETag.
    private static func isSame(_ part: UploadedPart, _ body: UploadBody, _ hash: String) -> Bool {
        guard part.bytes == Int64(body.bytes.count) else { return false }
        if let sha256 = part.sha256 { return sha256 == hash }
        var digests = DigestSet([.md5])
        digests.update(UnsafeRawBufferPointer(body.bytes))
        return digests.finish().others.first.map { part.etag.contains($0.hex) } ?? false
    }

    /// Returns the upload of an earlier attempt at the same bytes with its parts, or a new one.
    private func resumeUpload(
        _ key: String, _ stored: StoredObject, _ partBytes: Int64,
        _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> (id: String, parts: [Int: UploadedPart]) {
        let recordKey = recordKey(of: key)
        if let bytes = try await client.getSmall(recordKey), let record = UploadRecord(bytes),
            record.key == key
        {
            if record.isOf(key, stored, partBytes),
                let parts = try await client.parts(of: key, upload: record.id)
            {
                return (record.id, parts)
            }
            try? await client.abort(key, upload: record.id)
        }
        let id = try await client.beginUpload(key, sha256: stored.sha256)
        let record = UploadRecord(id: id, key: key, stored: stored, partBytes: partBytes)
        let content = record.content
        _ = try await client.put(
            recordKey, UploadBody(content), sha256: SHA256Digest(hashing: content).description,
            isWanted: isOurs)
        return (id, [:])
    }

    func recordKey(of key: String) -> String {
        privateKey("uploads/\(SHA256Digest(hashing: Array(key.utf8)))")
    }
}

/// What Dray records of an upload in parts: lines of text.
struct UploadRecord: Sendable, Hashable {
    let id: String
    let key: String
    let sha256: String
    let bytes: Int64
    let partBytes: Int64

    init(id: String, key: String, stored: StoredObject, partBytes: Int64) {
        (self.id, self.key, self.partBytes) = (id, key, partBytes)
        (sha256, bytes) = (stored.sha256, stored.bytes)
    }

    /// Returns nil for other content.
    init?(_ content: [UInt8]) {
        let lines = String(decoding: content, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 6, lines[0] == "dray upload 1", let bytes = Int64(lines[3]),
            let partBytes = Int64(lines[4])
        else { return nil }
        (id, sha256) = (String(lines[1]), String(lines[2]))
        (self.bytes, self.partBytes) = (bytes, partBytes)
        key = lines[5...].joined(separator: "\n")
    }

    var content: [UInt8] {
        Array("dray upload 1\n\(id)\n\(sha256)\n\(bytes)\n\(partBytes)\n\(key)".utf8)
    }

    func isOf(_ key: String, _ stored: StoredObject, _ partBytes: Int64) -> Bool {
        (key, stored.sha256, stored.bytes, partBytes) == (self.key, sha256, bytes, self.partBytes)
    }
}
