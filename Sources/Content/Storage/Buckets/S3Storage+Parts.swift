internal import Digest
internal import FileSystem
internal import Model
internal import S3

/// A body whose parts are all in the bucket; the object is not visible yet.
struct SentBody: Sendable {
    let upload: String
    /// In order.
    let parts: [UploadedPart]
    /// What was read of the spool, and sent.
    let sha256: String
}

/// A body in the spool that is sent in parts.
struct SpooledBody: Sendable {
    let file: FileDescriptor
    let bytes: Int64
    let partBytes: Int64
    /// Number of its first part.
    var firstNumber = 1
    /// Nil for a body that is received already.
    var stream: BodyStream?
    let isOurs: @Sendable () -> Bool
}

// An object in parts: they are sent while the body is received. The object becomes visible by the
// last request, after the whole body's digest is known.
extension S3Storage {
    /// Bytes of the parts of an object, which may have 10,000.
    static func partBytes(of bytes: Int64) -> Int64 {
        let mebibyte: Int64 = 1 << 20
        return max(partBytes, (bytes / maximumParts / mebibyte + 1) * mebibyte)
    }

    /// Sends the parts that the bucket lacks; nil if it has no such upload.
    ///
    /// The parts are read in order, once, for their own digests and that of the whole.
    func send(
        _ body: SpooledBody, to key: String, upload: String, having known: [Int: UploadedPart]
    ) async throws(Failure) -> SentBody? {
        let result = await withTaskGroup(of: Result<UploadedPart?, Failure>.self) { group in
            var collected = CollectedParts()
            var whole = SHA256Hasher()
            var running = 0
            var offset: Int64 = 0
            while offset < body.bytes, collected.isSound {
                let number = body.firstNumber + Int(offset / body.partBytes)
                let count = Int(min(body.partBytes, body.bytes - offset))
                if running == Self.partsAtATime, let part = await group.next() {
                    running -= 1
                    collected.add(part)
                    guard collected.isSound else { break }
                }
                if let stream = body.stream, await !stream.wait(for: offset + Int64(count)) {
                    collected.add(.failure(Failure(.workerCancelled, "the body has ended")))
                    break
                }
                await budget.take(min(count, budget.total))
                switch Self.readPart(body.file, at: offset, count: count, &whole) {
                case .failure(let failure):
                    budget.giveBack(min(count, budget.total))
                    collected.add(.failure(failure))
                case .success(let (content, hash)):
                    running += 1
                    group.addTask {
                        defer { self.budget.giveBack(min(count, self.budget.total)) }
                        if let known = known[number], Self.isSame(known, content, hash) {
                            return .success(known)
                        }
                        do throws(Failure) {
                            return .success(
                                try await self.client.putPart(
                                    key, upload: upload, number: number, content, sha256: hash,
                                    isWanted: body.isOurs))
                        } catch {
                            return .failure(error)
                        }
                    }
                }
                offset += Int64(count)
            }
            for await part in group { collected.add(part) }
            return collected.result(upload, whole.finish())
        }
        return try result.get()
    }

    /// Reads a part, and adds it to the digest of the whole.
    private static func readPart(
        _ file: FileDescriptor, at offset: Int64, count: Int, _ whole: inout SHA256Hasher
    ) -> Result<(UploadBody, String), Failure> {
        do throws(Failure) {
            let body = try read(file, at: offset, count: count)
            var part = SHA256Hasher()
            // Both digests of a block while it is in the cache.
            for start in stride(from: 0, to: count, by: hashedBytes) {
                let end = min(start + hashedBytes, count)
                let block = UnsafeRawBufferPointer(rebasing: body.bytes[start..<end])
                part.update(block)
                whole.update(block)
            }
            return .success((body, part.finish().description))
        } catch {
            return .failure(error)
        }
    }

    private static let hashedBytes = 128 << 10

    /// The parts of a body as they end. A value.
    private struct CollectedParts {
        private var parts: [UploadedPart] = []
        private var failure: Failure?
        private var isGone = false

        var isSound: Bool { failure == nil && !isGone }

        mutating func add(_ part: Result<UploadedPart?, Failure>) {
            switch part {
            case .success(let part?): parts.append(part)
            case .success(nil): isGone = true
            case .failure(let failure): if self.failure == nil { self.failure = failure }
            }
        }

        func result(_ upload: String, _ whole: SHA256Digest) -> Result<SentBody?, Failure> {
            if isGone { return .success(nil) }
            if let failure { return .failure(failure) }
            return .success(
                SentBody(
                    upload: upload, parts: parts.sorted { $0.number < $1.number },
                    sha256: whole.description))
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

    // MARK: The object of one worker

    /// Sends a body to an upload of its own, which earlier attempts at the key may have begun.
    func send(
        _ body: SpooledBody, to key: String, by owner: UploadRecord.Owner
    ) async throws(Failure) -> SentBody {
        for _ in 0..<Self.maximumUploads {
            let (upload, known) = try await resumeUpload(key, body, owner)
            if let sent = try await send(body, to: key, upload: upload, having: known) {
                return sent
            }
            try? await client.delete([recordKey(of: key)])
        }
        throw Failure(
            .storageUnavailable,
            "\(Redaction.path(key)): the server forgets uploads that have just begun")
    }

    /// Times that an upload of one attempt begins.
    static let maximumUploads = 3

    /// Returns the upload of an earlier attempt with its parts, or a new one.
    private func resumeUpload(
        _ key: String, _ body: SpooledBody, _ owner: UploadRecord.Owner
    ) async throws(Failure) -> (id: String, parts: [Int: UploadedPart]) {
        let recordKey = recordKey(of: key)
        if let bytes = try await client.getSmall(recordKey), let record = UploadRecord(bytes),
            record.key == key
        {
            if record.bytes == body.bytes, record.partBytes == body.partBytes,
                let parts = try await client.parts(of: key, upload: record.id)
            {
                if record.owner != owner {
                    let taken = UploadRecord(
                        id: record.id, key: key, bytes: body.bytes, partBytes: body.partBytes,
                        owner: owner)
                    try await putRecord(recordKey, taken.content, body.isOurs)
                }
                return (record.id, parts)
            }
            try? await client.abort(key, upload: record.id)
        }
        // No digest in its metadata: another attempt may complete it with other bytes.
        let id = try await client.beginUpload(key, sha256: nil)
        let record = UploadRecord(
            id: id, key: key, bytes: body.bytes, partBytes: body.partBytes, owner: owner)
        do throws(Failure) {
            try await putRecord(recordKey, record.content, body.isOurs)
        } catch {
            try? await client.abort(key, upload: id)
            throw error
        }
        return (id, [:])
    }

    /// Aborts the upload of a key, unless another attempt has taken it over or it has ended.
    func removeUpload(of key: String, by owner: UploadRecord.Owner) async throws(Failure) {
        guard let content = try await client.getSmall(recordKey(of: key)),
            let record = UploadRecord(content), record.key == key, record.owner == owner
        else { return }
        try await client.abort(key, upload: record.id)
        try await client.delete([recordKey(of: key)])
    }

    /// Makes an object of the parts, and records its digest. Returns false if the upload is gone.
    ///
    /// The key must have no object, or the one that is there now: as a PUT.
    func publish(
        _ sent: SentBody, _ stored: StoredObject, under key: String,
        _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> Bool {
        var condition = S3Client.Condition.missing
        for _ in 0..<Self.maximumConditions {
            guard isOurs() else {
                throw Failure(
                    .workerLeaseLost, "the lease is lost; \(Redaction.path(key)) is unchanged")
            }
            switch try await client.complete(
                key, upload: sent.upload, sent.parts, if: condition, isWanted: isOurs)
            {
            case .done(let etag):
                let record = DigestRecord(etag: etag, stored: stored, key: key)
                // Without it the object is read where its digest is needed.
                try? await putRecord(digestKey(of: key), record.content) { true }
                try? await client.delete([recordKey(of: key)])
                return true
            case .gone: return false
            case .conditionFailed:
                condition = try await self.condition(for: key, after: condition)
            }
        }
        throw Failure(
            .storageUnavailable, "\(Redaction.path(key)) is replaced by others again and again")
    }

    static let maximumConditions = 5

    /// Returns the condition for the next write after one that was not met.
    func condition(
        for key: String, after refused: S3Client.Condition
    ) async throws(Failure) -> S3Client.Condition {
        guard let head = try await client.head(key) else { return .missing }
        guard let etag = head.etag else { return .none }
        // Ceph's gateway compares the tag without its quotes.
        return .etag(refused == .etag(etag) ? etag.filter { $0 != "\"" } : etag)
    }
}
