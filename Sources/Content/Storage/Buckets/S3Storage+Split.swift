package import Digest
internal import FileSystem
package import Model
internal import S3
import Synchronization

// One large file by several workers: each receives parts of it, and sends them as parts of one
// upload. Its object gets a temporary key first, where it is read once for the digests of its parts
// and of the whole; then the server copies it to its final key.
extension S3Storage {
    /// Minimum length of a part of a file for several workers; longer ones are multiples of it.
    package static let sharedPartBytes = partBytes

    /// Returns the length of a file's parts for workers that would take `bytes`.
    package static func sharedPartBytes(for bytes: Int64) -> Int64 {
        (max(bytes, 1) + sharedPartBytes - 1) / sharedPartBytes * sharedPartBytes
    }

    /// Length of the largest file that several workers send.
    package static func maximumSharedBytes(partBytes: Int64) -> Int64 { maximumParts * partBytes }

    private func stagedKey(of id: MultipartID) -> String { privateKey("tmp/\(id)") }

    /// Begins the upload of a file, before the others know of it.
    ///
    /// - Parameter partBytes: Length of the parts that workers fetch.
    package func beginShared(
        _ id: MultipartID, totalBytes: Int64, partBytes: Int64
    ) async throws(Failure) {
        let sent =
            totalBytes <= Self.maximumSharedBytes(partBytes: Self.partBytes)
            ? Self.partBytes : partBytes
        let record = UploadRecord(
            .beginning(others: []), key: stagedKey(of: id), bytes: totalBytes, partBytes: sent,
            owner: .multipart(id))
        _ = try await begin(record, at: recordKey(of: id), sha256: nil) { true }
    }

    /// Creates the temporary object that receives a part; it is written at the part's offsets.
    package func createPart(
        lease: LeaseID, job: JobID, of id: MultipartID, offset: Int64, length: Int64
    ) throws(Failure) -> PendingObject {
        try spool.createTemporary(
            PrivateName.temporary(lease: lease, job: job),
            for: .uploadedPart(id, offset: offset), reservingBytes: length)
    }

    /// Turns an object whose first bytes were written into its file's first part.
    package func makePart(
        of object: PendingObject, id: MultipartID
    ) throws(Failure) -> PendingObject {
        guard object.settle() else { throw Failure(.workerInternal, "the object has ended") }
        object.bodyStream?.discard()
        object.record.remove()
        return PendingObject(
            destination: .uploadedPart(id, offset: 0), descriptor: object.descriptor,
            site: object.site, temporaryName: object.temporaryName, ordinal: object.ordinal)
    }

    /// Aborts the upload of a file that no worker continues, and removes what there is of it.
    package func removeShared(_ id: MultipartID) async throws(Failure) {
        let recordKey = recordKey(of: id)
        if let content = try await client.getSmall(recordKey), let record = UploadRecord(content),
            record.owner == .multipart(id)
        {
            try await abort(record)
        }
        try await client.delete([stagedKey(of: id), recordKey])
    }

    private func shared(
        _ id: MultipartID
    ) async throws(Failure) -> (record: UploadRecord, upload: String)? {
        guard let content = try await client.getSmall(recordKey(of: id)),
            let record = UploadRecord(content), record.owner == .multipart(id),
            record.key == stagedKey(of: id), case .begun(let upload) = record.state
        else { return nil }
        return (record, upload)
    }

    /// Sends one part of a file: some parts of its upload.
    func sendPart(
        _ file: FileDescriptor, _ stored: StoredObject, of id: MultipartID, at offset: Int64,
        _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) {
        guard let (record, upload) = try await shared(id), offset % record.partBytes == 0 else {
            throw Self.mismatch("the upload of the part at \(offset) is not in the bucket")
        }
        let body = SpooledBody(
            file: file, bytes: stored.bytes, partBytes: record.partBytes,
            firstNumber: Int(offset / record.partBytes) + 1, isOurs: isOurs)
        guard let sent = try await send(body, to: record.key, upload: upload, having: [:]) else {
            throw Self.mismatch("the upload of the part at \(offset) was aborted")
        }
        guard sent.isOf(stored) else {
            throw Failure(.storageIO, "a body in the spool has changed since it was received")
        }
    }

    private static func mismatch(_ message: String) -> Failure {
        Failure(.integrityMultipartMismatch, message)
    }

    // MARK: The whole

    /// Ends the upload of a file whose parts are all there, checks it and gives it its final key; as
    /// `DirectoryStorage.promoteMultipart`.
    package func promoteShared(
        _ multipart: MultipartFile, key: String, expectedSHA256: String? = nil,
        digests: [ExpectedDigest] = [], stated: [ExpectedDigest] = [],
        isOurs: @escaping @Sendable () -> Bool = { true }
    ) async throws(Failure) -> StoredObject {
        let key = self.key(try ObjectKey(key))
        let parts = try CheckedPart.of(multipart)
        let staged = stagedKey(of: multipart.id)
        let others = Set((digests + stated).map(\.algorithm))
        if try await client.head(staged) == nil {
            guard let (record, upload) = try await shared(multipart.id) else {
                // Another attempt may have ended after its last request.
                return try await read(key, multipart, parts, others, isOurs).stored
            }
            try await end(record, upload, isOurs)
        }
        let computed = try await read(staged, multipart, parts, others, isOurs)
        if let expectedSHA256, expectedSHA256 != computed.stored.sha256 {
            throw Failure(
                .integrityDigestMismatch,
                "SHA-256 is \(computed.stored.sha256); the list states \(expectedSHA256)")
        }
        try computed.check(digests, by: "the list")
        try computed.check(stated, by: "the origin")
        guard isOurs() else {
            throw Failure(
                .workerLeaseLost, "the lease is lost; \(Redaction.path(key)) is unchanged")
        }
        guard
            try await copy(
                staged, to: key, bytes: multipart.totalBytes, sha256: computed.stored.sha256,
                by: .multipart(multipart.id), isOurs: isOurs)
        else { throw Self.mismatch("the upload has left the bucket") }
        try? await client.delete([staged, recordKey(of: multipart.id)])
        return computed.stored
    }

    private func end(
        _ record: UploadRecord, _ upload: String, _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) {
        guard let present = try await client.parts(of: record.key, upload: upload) else {
            throw Self.mismatch("the upload was aborted")
        }
        var parts: [UploadedPart] = []
        for offset in stride(from: 0, to: record.bytes, by: Int(record.partBytes)) {
            let length = min(record.partBytes, record.bytes - offset)
            guard let part = present[parts.count + 1], part.bytes == length else {
                throw Self.mismatch("the bucket lacks the part at \(offset)")
            }
            parts.append(part)
        }
        let result = try await client.complete(
            record.key, upload: upload, parts, isWanted: isOurs)
        guard case .done = result else { throw Self.mismatch("the upload was aborted") }
    }

    /// Reads an object; throws `integrity.multipartMismatch` unless it consists of the parts.
    private func read(
        _ key: String, _ multipart: MultipartFile, _ parts: [CheckedPart],
        _ algorithms: Set<DigestAlgorithm>, _ isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> ComputedDigests {
        let reading = PartsReading(parts, algorithms)
        let isThere = try await client.get(key) { isOurs() && reading.update($0) }
        guard isOurs() else {
            throw Failure(.workerLeaseLost, "the lease is lost; the file is not checked")
        }
        guard isThere else {
            throw Self.mismatch("neither the parts nor the whole file are in the bucket")
        }
        guard let digests = reading.finish() else {
            throw Self.mismatch("the bytes in the bucket differ from the records of their parts")
        }
        return ComputedDigests(totalBytes: multipart.totalBytes, digests: digests)
    }
}

/// The digests of a file and of its parts while it is read.
private final class PartsReading: Sendable {
    private struct State: ~Copyable {
        var digests: DigestSet
        var index = 0
        var restBytes: Int64 = 0
        var isWrong = false
    }

    private let parts: [CheckedPart]
    private let state: Mutex<State>

    init(_ parts: [CheckedPart], _ algorithms: Set<DigestAlgorithm>) {
        self.parts = parts
        var digests = DigestSet(algorithms.subtracting([.sha256]))
        digests.beginParts()
        state = Mutex(State(digests: digests, restBytes: parts.first?.length ?? 0))
    }

    /// Returns false once the bytes are not those of the parts.
    func update(_ block: UnsafeRawBufferPointer) -> Bool {
        state.withLock { state in
            var rest = block
            while !rest.isEmpty, !state.isWrong {
                guard state.index < parts.count else {
                    state.isWrong = true
                    break
                }
                let count = min(rest.count, Int(state.restBytes))
                state.digests.update(UnsafeRawBufferPointer(rebasing: rest[..<count]))
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                state.restBytes -= Int64(count)
                guard state.restBytes == 0 else { continue }
                state.isWrong = state.digests.finishPart() != parts[state.index].digest
                state.index += 1
                state.restBytes = state.index < parts.count ? parts[state.index].length : 0
            }
            return !state.isWrong
        }
    }

    /// Returns SHA-256 and the further digests; nil if the parts differ.
    func finish() -> [ExpectedDigest]? {
        state.withLock { state in
            guard !state.isWrong, state.index == parts.count else { return nil }
            let computed = state.digests.finish()
            return [ExpectedDigest(computed.sha256)] + computed.others
        }
    }
}
