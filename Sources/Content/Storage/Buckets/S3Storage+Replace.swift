internal import Digest
internal import FileSystem
internal import Glibc
package import Model
internal import S3

// New versions of an asset's files: all are staged in `.dray/tmp` of the bucket, and are copied to
// their keys by the server once the last one is staged.
extension S3Storage {
    private func stagedKey(_ object: StagedObject) -> String { privateKey("tmp/\(object.name)") }

    /// Stores objects under their temporary names, as `DirectoryStorage.stage`.
    package func stage(
        _ objects: [PendingObject], by attempt: ObjectAttempt,
        isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> [StagedObject] {
        var staged: [StagedObject] = []
        do throws(Failure) {
            for object in objects {
                guard case .key(let key) = object.destination else { continue }
                let file = try asFailure { () throws(SystemError) in
                    try object.site.temporary.open(object.temporaryName, O_RDONLY | O_NONBLOCK)
                }
                let entry = StagedObject(
                    name: object.temporaryName, key: key, takenBytes: object.space.quotaBytes)
                try await store(
                    file, Self.hash(file), under: stagedKey(entry), by: attempt, isOurs)
                staged.append(entry)
                object.removeStored()
            }
            return staged
        } catch {
            for object in objects { object.discard() }
            await discard(staged)
            throw error
        }
    }

    static func hash(_ file: FileDescriptor) throws(Failure) -> StoredObject {
        var hasher = SHA256Hasher()
        let length = try asFailure { () throws(SystemError) in try file.status().bytes }
        _ = try asFailure { () throws(SystemError) in
            try file.forEachBlock(offset: 0, length: length) { hasher.update($0) }
        }
        return StoredObject(bytes: length, sha256: hasher.finish().description)
    }

    /// Removes unwanted staged objects. Best effort: remaining ones are swept.
    package func discard(_ staged: [StagedObject]) async {
        guard !staged.isEmpty else { return }
        try? await client.delete(staged.map(stagedKey))
        for object in staged { spool.bounds.giveBack(object.takenBytes) }
    }

    /// Copies staged objects to their keys, in order, and removes them; as
    /// `DirectoryStorage.publish`. Returns the indices of objects that were missing.
    package func publish(
        _ staged: [StagedObject], isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) -> [Int] {
        var missing: [Int] = []
        for (index, object) in staged.enumerated() {
            guard isOurs() else {
                throw Failure(.workerLeaseLost, "the lease of the publishing job is lost")
            }
            let source = stagedKey(object)
            guard let head = try await head(source),
                try await copy(
                    source, to: key(object.key), bytes: head.bytes, sha256: head.sha256,
                    by: .staged(object.name), isOurs: isOurs)
            else {
                missing.append(index)
                continue
            }
            try await client.delete([source, digestKey(of: source)])
        }
        return missing
    }

    /// Writes a small generated file, as `DirectoryStorage.writeGeneratedFile`.
    package func writeGeneratedFile(
        key: String, lease: LeaseID, job: JobID, chunks: some Sequence<[UInt8]>,
        isOurs: @escaping @Sendable () -> Bool
    ) async throws(Failure) {
        let object = try spool.createTemporary(lease: lease, job: job, key: key)
        var hasher = SHA256Hasher()
        var offset: Int64 = 0
        for chunk in chunks {
            try chunk.withUnsafeBufferPointer { (bytes) throws(Failure) in
                hasher.update(UnsafeRawBufferPointer(bytes))
                try object.write(UnsafeRawBufferPointer(bytes), at: offset)
            }
            offset += Int64(chunk.count)
        }
        let stored = StoredObject(bytes: offset, sha256: hasher.finish().description)
        do throws(Failure) {
            let attempt = ObjectAttempt(lease: lease, job: job, asset: AssetID(0))
            try await upload(object, stored, by: attempt, isOurs: isOurs).get()
        } catch {
            object.discard()
            throw error
        }
    }
}
