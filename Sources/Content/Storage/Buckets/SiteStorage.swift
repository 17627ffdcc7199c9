package import Digest
internal import Dispatch
internal import Glibc
package import Model
import Synchronization

/// A site's storage: a directory or a bucket.
///
/// Bodies are received in `receiving`; what names final keys differs. Every method may be called
/// from any thread and blocks, for file I/O or for requests.
package enum SiteStorage: Sendable {
    case directory(DirectoryStorage)
    case bucket(S3Storage)

    /// Opens the storage of a site within `roots`.
    ///
    /// Throws `input.cacheSite` for a cache.
    ///
    /// - Parameter access: Called for a bucket.
    package static func open(
        _ url: StorageURL, durability: Durability, roots: SiteRoots, volume: SiteVolume?,
        access: () throws(Failure) -> BucketAccess
    ) throws(Failure) -> SiteStorage {
        switch url.location {
        case .directory:
            return .directory(
                try DirectoryStorage(url, durability: durability, roots: roots, volume: volume))
        case .bucket(let bucket):
            try roots.check(url)
            return .bucket(try S3Storage(url, bucket, access: access(), volume: volume))
        case .cache:
            throw Failure(.inputCacheSite, "\(url) is a cache, which has no storage")
        }
    }

    /// The directory that receives bodies: the site's own, or the spool of a bucket.
    package var receiving: DirectoryStorage {
        switch self {
        case .directory(let storage): storage
        case .bucket(let storage): storage.spool
        }
    }

    package var url: StorageURL {
        switch self {
        case .directory(let storage): storage.url
        case .bucket(let storage): storage.url
        }
    }

    package var isBucket: Bool {
        if case .bucket = self { true } else { false }
    }

    // MARK: The volume and its space

    /// Marks the volume; see `DirectoryStorage.markVolume`.
    package func markVolume(besides others: [VolumeID] = []) throws(Failure) -> SiteVolume {
        switch self {
        case .directory(let storage): try storage.markVolume(besides: others)
        case .bucket(let storage): storage.markVolume()
        }
    }

    /// Checks the volume; see `DirectoryStorage.require`.
    package func require(volume: SiteVolume?) throws(Failure) {
        switch self {
        case .directory(let storage): try storage.require(volume: volume)
        case .bucket(let storage): try storage.require(volume: volume)
        }
    }

    /// Sets the bounds; see `DirectoryStorage.setBounds`. A bucket has no floor.
    package func setBounds(floorBytes: Int64, quotaLeftBytes: Int64?) {
        switch self {
        case .directory(let storage):
            storage.setBounds(floorBytes: floorBytes, quotaLeftBytes: quotaLeftBytes)
        case .bucket(let storage): storage.setBounds(quotaLeftBytes: quotaLeftBytes)
        }
    }

    /// Returns the bytes that may still be written; nil for a bucket, which has no such limit.
    package func availableBytes() throws(Failure) -> Int64? {
        switch self {
        case .directory(let storage): try storage.availableBytes()
        case .bucket: nil
        }
    }

    /// Throws `storage.tooLarge` for a file that is longer than any object of a bucket.
    package func require(bytes: Int64) throws(Failure) {
        if case .bucket = self { try S3Storage.require(bytes: bytes) }
    }

    /// Tests whether the site can be written; see `DirectoryStorage.probe`. In a bucket, puts and
    /// deletes an object.
    package func probe() throws(Failure) {
        switch self {
        case .directory(let storage): try storage.probe()
        case .bucket(let storage):
            try Self.wait { () async throws(Failure) in try await storage.probe() }
        }
    }

    /// Removes old temporary files; see `DirectoryStorage.sweepTemporaries`. The bucket itself is
    /// swept once an hour.
    package func sweepTemporaries(
        olderThanSeconds seconds: Double, most: Int
    ) throws(Failure) -> SweepOutcome {
        var outcome = try receiving.sweepTemporaries(olderThanSeconds: seconds, most: most)
        if case .bucket(let storage) = self, storage.isSweepDue() {
            outcome.removed += try Self.wait { () async throws(Failure) in
                try await storage.sweepBucket(olderThanSeconds: seconds, now: Int64(time(nil)))
            }
        }
        return outcome
    }

    // MARK: Stored objects

    /// Returns the stored objects that have the expected length and digests, as
    /// `DirectoryStorage.reuse`; nil for others, and where nothing is expected.
    package func reuse(
        _ expected: [(key: String, bytes: Int64?, digests: [ExpectedDigest])?]
    ) -> [StoredObject?] {
        switch self {
        case .directory(let storage):
            expected.map { expected in
                expected.flatMap {
                    storage.reuse(key: $0.key, bytes: $0.bytes, digests: $0.digests)
                }
            }
        case .bucket(let storage): Self.wait { await storage.reuse(expected) }
        }
    }

    /// Describes the files under some keys, which another tool stored, as `DirectoryStorage.foundFile`;
    /// nil where there is none, and for none wanted.
    package func foundFiles(_ wanted: [(key: String, bytes: Int64?)?]) -> [FoundFile?] {
        switch self {
        case .directory(let storage):
            wanted.map { wanted in
                wanted.flatMap { storage.foundFile(key: $0.key, bytes: $0.bytes) }
            }
        case .bucket(let storage): Self.wait { await storage.foundFiles(wanted) }
        }
    }

    /// Returns true if the object under `key` has the expected length and SHA-256.
    package func reuse(key: String, expected: StoredObject) -> Bool {
        guard let digest = SHA256Digest(hex: expected.sha256) else { return false }
        return reuse([(key, expected.bytes, [ExpectedDigest(digest)])])[0] != nil
    }

    /// Returns which objects have their keys and lengths; does not read them.
    package func areStored(_ objects: [(key: String, bytes: Int64)]) -> [Bool] {
        switch self {
        case .directory(let storage):
            objects.map { storage.isStored(key: $0.key, bytes: $0.bytes) }
        case .bucket(let storage): Self.wait { await storage.areStored(objects) }
        }
    }

    /// Writes a generated file; see `DirectoryStorage.writeGeneratedFile`.
    package func writeGeneratedFile(
        key: String, lease: LeaseID, job: JobID, chunks: some Sequence<[UInt8]> & Sendable,
        isOurs: @escaping @Sendable () -> Bool
    ) throws(Failure) {
        switch self {
        case .directory(let storage):
            try storage.writeGeneratedFile(
                key: key, lease: lease, job: job, chunks: chunks, isOurs: isOurs)
        case .bucket(let storage):
            try Self.wait { () async throws(Failure) in
                try await storage.writeGeneratedFile(
                    key: key, lease: lease, job: job, chunks: chunks, isOurs: isOurs)
            }
        }
    }

    /// Deletes objects; see `DirectoryStorage.delete`. A bucket does not report which keys had no
    /// object.
    package func delete(
        _ keys: [String], lease: LeaseID, job: JobID, isOurs: @escaping @Sendable () -> Bool
    ) throws(Failure) -> [Deletion] {
        switch self {
        case .directory(let storage):
            return try storage.delete(keys, lease: lease, job: job, isOurs: isOurs)
        case .bucket(let storage):
            return try Self.wait { () async throws(Failure) in
                try await storage.delete(keys: keys, isOurs: isOurs)
            }
        }
    }

    // MARK: New versions

    /// Stages objects; see `DirectoryStorage.stage`.
    package func stage(
        _ objects: [PendingObject], by attempt: ObjectAttempt,
        isOurs: @escaping @Sendable () -> Bool
    ) throws(Failure) -> [StagedObject] {
        switch self {
        case .directory(let storage): try storage.stage(objects)
        case .bucket(let storage):
            try Self.wait { () async throws(Failure) in
                try await storage.stage(objects, by: attempt, isOurs: isOurs)
            }
        }
    }

    /// Discards staged objects; see `DirectoryStorage.discard`.
    package func discard(_ staged: [StagedObject]) {
        switch self {
        case .directory(let storage): storage.discard(staged)
        case .bucket(let storage): Self.wait { await storage.discard(staged) }
        }
    }

    /// Makes way for staged objects; see `DirectoryStorage.makeWay`. Keys of a bucket are never in
    /// each other's way.
    package func makeWay(for staged: [StagedObject]) throws(Failure) {
        if case .directory(let storage) = self { try storage.makeWay(for: staged) }
    }

    /// Publishes staged objects; see `DirectoryStorage.publish`.
    package func publish(
        _ staged: [StagedObject], isOurs: @escaping @Sendable () -> Bool
    ) throws(Failure) -> [Int] {
        switch self {
        case .directory(let storage): try storage.publish(staged, isOurs: isOurs)
        case .bucket(let storage):
            try Self.wait { () async throws(Failure) in
                try await storage.publish(staged, isOurs: isOurs)
            }
        }
    }

    // MARK: Files in parts

    /// Removes a multipart file; see `DirectoryStorage.removeMultipart`.
    package func removeMultipart(id: MultipartID) {
        switch self {
        case .directory(let storage): storage.removeMultipart(id: id)
        case .bucket(let storage): Self.wait { try? await storage.removeShared(id) }
        }
    }

    /// Checks a file in parts and gives it its final key, as `DirectoryStorage.promoteMultipart`.
    package func promoteMultipart(
        _ multipart: MultipartFile, key: String, expectedSHA256: String?,
        digests: [ExpectedDigest], stated: [ExpectedDigest],
        isOurs: @escaping @Sendable () -> Bool
    ) throws(Failure) -> StoredObject {
        switch self {
        case .directory(let storage):
            try storage.promoteMultipart(
                multipart, key: key, expectedSHA256: expectedSHA256, digests: digests,
                stated: stated, isOurs: isOurs)
        case .bucket(let storage):
            try Self.wait { () async throws(Failure) in
                try await storage.promoteShared(
                    multipart, key: key, expectedSHA256: expectedSHA256, digests: digests,
                    stated: stated, isOurs: isOurs)
            }
        }
    }

    /// Opens the object that receives one part of a file, as `DirectoryStorage.openMultipart`.
    package func openPart(
        lease: LeaseID, job: JobID, of multipart: MultipartFile, offset: Int64, length: Int64,
        isFirstTry: Bool
    ) throws(Failure) -> PendingObject {
        switch self {
        case .directory(let storage):
            try storage.openMultipart(
                id: multipart.id, offset: offset, length: length, of: multipart.totalBytes,
                isFirstTry: isFirstTry)
        case .bucket(let storage):
            try storage.createPart(
                lease: lease, job: job, of: multipart.id, offset: offset, length: length)
        }
    }

    // MARK: Waiting

    /// Runs requests for a thread that may block, which is none of Swift's tasks.
    static func wait<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let result: Result<Value, Failure> = wait {
            do throws(Failure) { return .success(try await body()) } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    static func wait<Value: Sendable>(
        _ body: @escaping @Sendable () async -> Value
    ) -> Value {
        let slot = Slot<Value>()
        Task { slot.set(await body()) }
        return slot.wait()
    }

    /// The result of a call that a thread waits for.
    private final class Slot<Value: Sendable>: Sendable {
        private let value = Mutex<Value?>(nil)
        private let isSet = DispatchSemaphore(value: 0)

        func set(_ value: Value) {
            self.value.withLock { $0 = value }
            isSet.signal()
        }

        func wait() -> Value {
            isSet.wait()
            guard let value = value.withLock({ $0 }) else {
                preconditionFailure("a signalled slot has a value")
            }
            return value
        }
    }
}
