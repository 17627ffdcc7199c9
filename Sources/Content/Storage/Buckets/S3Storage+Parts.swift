internal import Digest
internal import FileSystem
internal import Model
internal import S3

/// A body whose parts are all in the bucket; the object is not visible yet.
struct SentBody: Sendable {
    /// Proves that the bytes that were stored are those that were received.
    enum Proof: Sendable {
        /// Each part was hashed while it arrived, and the server has checked what was sent by that.
        case received
        /// The SHA-256 of what was read of the spool, and sent.
        case read(sha256: String)
    }

    let upload: String
    /// In order.
    let parts: [UploadedPart]
    let proof: Proof

    func isOf(_ stored: StoredObject) -> Bool {
        switch proof {
        case .received: true
        case .read(let sha256): sha256 == stored.sha256
        }
    }
}

/// A body in the spool that is sent in parts.
struct SpooledBody: Sendable {
    let file: FileDescriptor
    let bytes: Int64
    let partBytes: Int64
    /// Number of its first part.
    var firstNumber = 1
    /// Returns the start that the file no longer has.
    var released: @Sendable () -> SentStart? = { nil }
    /// Nil for a body that is received already.
    var stream: BodyStream?
    let isOurs: @Sendable () -> Bool

    var partCount: Int { Int((bytes + partBytes - 1) / partBytes) }

    func range(ofPart index: Int) -> Range<Int64> {
        let start = Int64(index) * partBytes
        return start..<min(start + partBytes, bytes)
    }
}

// An object in parts: they are sent while the body is received. The object becomes visible by the
// last request, after the whole body's digest is known.
extension S3Storage {
    /// Bytes of the parts of an object: 16 MiB, or as many as 10,000 parts need.
    static func partBytes(of bytes: Int64) -> Int64 {
        let mebibyte: Int64 = 1 << 20
        return max(partBytes, (bytes / maximumParts / mebibyte + 1) * mebibyte)
    }

    /// Sends the parts that the bucket lacks; nil if it has no such upload.
    ///
    /// The digests of parts are those of their bytes as they arrived. Parts of a body with bytes of
    /// an earlier attempt are read first, in order, for their own digests and that of the whole.
    func send(
        _ body: SpooledBody, to key: String, upload: String, having known: [Int: UploadedPart]
    ) async throws(Failure) -> SentBody? {
        let result = await withTaskGroup(of: Result<UploadedPart?, Failure>.self) { group in
            var collected = CollectedParts()
            var read = DigestSet()
            read.beginParts()
            var first = 0
            if let released = body.released() {
                guard let parts = released.parts(of: known, partBytes: body.partBytes),
                    let resumed = DigestSet(resuming: released.state)
                else { return Result<SentBody?, Failure>.failure(Self.partsLost(key)) }
                for part in parts { collected.add(.success(part)) }
                read = resumed
                first = parts.count
                body.stream?.begin(having: parts)
            } else {
                body.stream?.begin(having: [])
            }
            // A body is hashed as it arrives either from its start or not at all.
            var isRead = true
            var running = 0
            for index in first..<body.partCount {
                if running == Self.partsAtATime, let part = await group.next() {
                    running -= 1
                    collected.add(part)
                }
                guard collected.isSound else { break }
                let range = body.range(ofPart: index)
                if let stream = body.stream, await !stream.wait(for: range.upperBound) {
                    collected.add(.failure(Failure(.workerCancelled, "the body has ended")))
                    break
                }
                let content = UploadBody.file(
                    body.file, offset: range.lowerBound, count: Int(range.count))
                let received = body.stream?.sha256(ofPart: index)
                if index == first { isRead = received == nil }
                let hash =
                    isRead ? Self.hash(body.file, range, &read) : Self.require(received)
                running += 1
                let number = body.firstNumber + index
                group.addTask {
                    do throws(Failure) {
                        let hash = try hash.get()
                        if let known = known[number], try Self.isSame(known, body, range, hash) {
                            body.stream?.sent(index, etag: known.etag)
                            return .success(known)
                        }
                        let part = try await self.client.putPart(
                            key, upload: upload, number: number, content, sha256: hash,
                            isWanted: body.isOurs)
                        if let part { body.stream?.sent(index, etag: part.etag) }
                        return .success(part)
                    } catch {
                        return .failure(error)
                    }
                }
            }
            for await part in group { collected.add(part) }
            let proof: SentBody.Proof =
                isRead ? .read(sha256: read.finish().sha256.description) : .received
            return collected.result(upload, proof)
        }
        return try result.get()
    }

    /// The start of a file is neither in the spool nor in the bucket.
    private static func partsLost(_ key: String) -> Failure {
        Failure(
            .integrityMultipartMismatch,
            "\(Redaction.path(key)): the bucket has lost parts of its upload; the next attempt fetches the file from its start"
        )
    }

    private static func require(_ received: String?) -> Result<String, Failure> {
        guard let received else {
            return .failure(Failure(.workerInternal, "a part that has arrived is not hashed"))
        }
        return .success(received)
    }

    /// Reads a part for its digest, as the next part of the whole.
    private static func hash(
        _ file: FileDescriptor, _ range: Range<Int64>, _ read: inout DigestSet
    ) -> Result<String, Failure> {
        do throws(Failure) {
            try forEachBlock(of: file, range) { read.update($0) }
            return .success(read.finishPart().description)
        } catch {
            return .failure(error)
        }
    }

    private static func forEachBlock(
        of file: FileDescriptor, _ range: Range<Int64>, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(Failure) {
        let isThere = try asFailure { () throws(SystemError) in
            try file.forEachBlock(offset: range.lowerBound, length: Int64(range.count), body)
        }
        guard isThere else { throw Failure(.storageIO, "a body in the spool is cut short") }
    }

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

        func result(_ upload: String, _ proof: SentBody.Proof) -> Result<SentBody?, Failure> {
            if isGone { return .success(nil) }
            if let failure { return .failure(failure) }
            return .success(
                SentBody(
                    upload: upload, parts: parts.sorted { $0.number < $1.number },
                    proof: proof))
        }
    }

    /// Returns true if a part at the server has these bytes, by its checksum or its ETag.
    private static func isSame(
        _ part: UploadedPart, _ body: SpooledBody, _ range: Range<Int64>, _ hash: String
    ) throws(Failure) -> Bool {
        guard part.bytes == Int64(range.count) else { return false }
        if let sha256 = part.sha256 { return sha256 == hash }
        var digests = DigestSet([.md5])
        try forEachBlock(of: body.file, range) { digests.update($0) }
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
        let wanted = UploadRecord(
            .beginning(others: []), key: key, bytes: body.bytes, partBytes: body.partBytes,
            owner: owner)
        if let bytes = try await client.getSmall(recordKey), var record = UploadRecord(bytes),
            record.key == key
        {
            if case .begun(let id) = record.state, record.bytes == body.bytes,
                record.partBytes == body.partBytes,
                let parts = try await client.parts(of: key, upload: id)
            {
                if record.owner != owner {
                    record.owner = owner
                    try await putRecord(recordKey, record.content, body.isOurs)
                }
                return (id, parts)
            }
            try? await abort(record)
        }
        // No digest in its metadata: another attempt may complete it with other bytes.
        return (try await begin(wanted, at: recordKey, sha256: nil, isOurs: body.isOurs), [:])
    }

    /// Aborts the upload of a key, unless another attempt has taken it over or it has ended.
    func removeUpload(of key: String, by owner: UploadRecord.Owner) async throws(Failure) {
        guard let content = try await client.getSmall(recordKey(of: key)),
            let record = UploadRecord(content), record.key == key, record.owner == owner
        else { return }
        try await abort(record)
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
