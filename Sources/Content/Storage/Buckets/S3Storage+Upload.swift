internal import Digest
internal import FileSystem
internal import Glibc
package import Model
internal import S3

extension S3Storage {
    /// Sends a body of known length while it is received, if it is sent in parts. `upload` of the
    /// object makes it visible. Does not block.
    ///
    /// - Parameters:
    ///   - written: Bytes of an earlier attempt in the object.
    ///   - kept: The file keeps its start until so many bytes have arrived.
    ///   - isOurs: As that of `upload`.
    package func stream(
        _ object: PendingObject, bytes: Int64, written: Int64 = 0, kept: Int64 = 0,
        by attempt: ObjectAttempt,
        isOurs: @escaping @Sendable () -> Bool
    ) {
        guard bytes > Self.partBytes, case .key(let key) = object.destination,
            let file = try? object.site.temporary.open(
                object.temporaryName, O_RDONLY | O_NONBLOCK)
        else { return }
        let name = self.key(key)
        let partBytes = Self.partBytes(of: bytes)
        let stream = BodyStream(
            totalBytes: bytes, writtenBytes: written, partBytes: partBytes, keptBytes: kept,
            noteSent: { [weak object] in if isOurs() { object?.noteSent() } }
        ) {
            try? await self.removeUpload(of: name, by: .attempt(attempt))
        }
        let body = SpooledBody(
            file: file, bytes: bytes, partBytes: partBytes,
            released: { [weak object] in object?.released },
            stream: stream, isOurs: isOurs)
        object.send(with: stream)
        stream.start {
            do throws(Failure) {
                // A body may fail before its first part, and need no upload.
                guard await stream.wait(for: body.partBytes) else {
                    throw Failure(.workerCancelled, "the body has ended")
                }
                return .success(try await self.send(body, to: name, by: .attempt(attempt)))
            } catch {
                return .failure(error)
            }
        }
    }

    /// Stores a received body under its key, and removes it from the spool. It is durable in the
    /// bucket if this succeeds. Otherwise the caller ends the object, or keeps it for the next
    /// attempt.
    ///
    /// - Parameters:
    ///   - stored: Length and SHA-256 of the body, as they were computed while it arrived.
    ///   - isOurs: Returns true while the caller may store the object. Asked before each request and
    ///     while it is sent; once false, the call ends with `worker.leaseLost` and the key is
    ///     unchanged.
    package func upload(
        _ object: PendingObject, _ stored: StoredObject, by attempt: ObjectAttempt,
        isOurs: @escaping @Sendable () -> Bool = { true }
    ) async -> Result<Void, Failure> {
        do throws(Failure) {
            let file = try asFailure { () throws(SystemError) in
                try object.site.temporary.open(object.temporaryName, O_RDONLY | O_NONBLOCK)
            }
            switch object.destination {
            case .key(let key):
                try await store(
                    file, stored, under: self.key(key), by: attempt, isOurs,
                    released: { object.endReleases() }, sentBy: object.bodyStream)
            case .uploadedPart(let multipart, let offset):
                try await sendPart(file, stored, of: multipart, at: offset, isOurs)
            case .multipart:
                throw Failure(.workerInternal, "a part of a directory's file in a bucket")
            }
            object.removeStored()
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Stores a file's bytes under a key of the bucket: by one request, or in parts.
    func store(
        _ file: FileDescriptor, _ stored: StoredObject, under key: String,
        by attempt: ObjectAttempt,
        _ isOurs: @escaping @Sendable () -> Bool,
        released: @escaping @Sendable () -> SentStart? = { nil },
        sentBy stream: BodyStream? = nil
    ) async throws(Failure) {
        try Self.require(bytes: stored.bytes)
        guard stored.bytes <= Self.partBytes else {
            let body = SpooledBody(
                file: file, bytes: stored.bytes, partBytes: Self.partBytes(of: stored.bytes),
                released: released, isOurs: isOurs)
            return try await storeInParts(body, stored, under: key, attempt, stream)
        }
        try await budget.with(Int(stored.bytes)) { () async -> Result<Void, Failure> in
            do throws(Failure) {
                let body = try Self.read(file, count: Int(stored.bytes))
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
            if let head = try await client.head(key), head.bytes == stored.bytes,
                head.sha256 == stored.sha256
            {
                return
            }
            condition = try await self.condition(for: key, after: condition)
        }
        throw Failure(
            .storageUnavailable, "\(Redaction.path(key)) is replaced by others again and again")
    }

    /// Sends the parts of a large file that its stream has not sent, and ends the upload.
    ///
    /// A record in the bucket names the upload, so that another worker that has the same bytes sends
    /// only the parts that are missing.
    private func storeInParts(
        _ body: SpooledBody, _ stored: StoredObject, under key: String, _ attempt: ObjectAttempt,
        _ stream: BodyStream?
    ) async throws(Failure) {
        // What failed while the body arrived may succeed now.
        var sent = stream?.totalBytes == stored.bytes ? try? await stream?.result().get() : nil
        for _ in 0..<Self.maximumUploads {
            let whole: SentBody
            if let present = sent {
                whole = present
            } else {
                whole = try await send(body, to: key, by: .attempt(attempt))
            }
            // The server has checked each part, but not whether the spool still had the received
            // bytes, if these were read for it.
            guard whole.isOf(stored) else {
                try? await client.abort(key, upload: whole.upload)
                try? await client.delete([recordKey(of: key)])
                throw Failure(.storageIO, "a body in the spool has changed since it was received")
            }
            if try await publish(whole, stored, under: key, body.isOurs) { return }
            sent = nil
            try? await client.abort(key, upload: whole.upload)
            try? await client.delete([recordKey(of: key)])
        }
        throw Failure(
            .storageUnavailable, "\(Redaction.path(key)): the server forgets parts of uploads")
    }

    /// Throws `storage.tooLarge` for a body that S3 stores in no number of parts.
    static func require(bytes: Int64) throws(Failure) {
        guard bytes > maximumBytes else { return }
        throw Failure(
            .storageTooLarge,
            "\(bytes) bytes; an object in a bucket has at most \(maximumBytes), 5 TiB")
    }

    private static func read(
        _ file: FileDescriptor, count: Int
    ) throws(Failure) -> UploadBody {
        let body = UploadBytes(count: count)
        var done = 0
        while done < count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: body.buffer[done...])
            let read = try asFailure { () throws(SystemError) in
                try file.read(into: rest, at: Int64(done))
            }
            guard read > 0 else { throw Failure(.storageIO, "a body in the spool is cut short") }
            done += read
        }
        return .memory(body)
    }
}
