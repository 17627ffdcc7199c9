internal import Digest
internal import FileSystem
package import Model
package import S3
import Synchronization

/// A site's storage in an S3 bucket.
///
/// Bodies arrive in a spool, a directory on this host, like those of a directory; `upload` then
/// stores them under their keys. A PUT is visible whole or not at all, and so is an upload in parts,
/// by its last request. Safe from any thread.
package final class S3Storage: Sendable {
    package let url: StorageURL
    /// Bodies on their way. Never durable: an object counts once the bucket has it.
    package let spool: DirectoryStorage
    let client: S3Client
    /// Ends its connections with the last of its storages.
    private let access: BucketAccess
    /// The identity of bucket, prefix and endpoint.
    let volume: VolumeID
    let budget = UploadBudget(bytes: S3Storage.memoryBytes)
    let prefix: String
    let sweptAt = Mutex<ContinuousClock.Instant?>(nil)

    /// Bytes of bodies in memory at a time: those that one request stores.
    private static let memoryBytes = 128 << 20
    /// Bytes of the largest object that one request stores, and of the parts of larger ones.
    static let partBytes: Int64 = 16 << 20
    static let maximumParts: Int64 = 10_000
    /// Bytes of the largest object of S3, 5 TiB.
    static let maximumBytes: Int64 = 5 << 40
    /// Parts of one object that are sent at a time.
    static let partsAtATime = 8
    /// Bytes of the spool's file system that are left to others.
    static let spoolFloorBytes: Int64 = 256 << 20

    /// Opens the spool. Sends nothing: the first object or probe finds whether the bucket can be
    /// used. Throws `storage.otherVolume` if the site was recorded for another bucket.
    package init(
        _ url: StorageURL, _ bucket: BucketLocation, access: BucketAccess,
        volume: SiteVolume? = nil
    ) throws(Failure) {
        self.url = url
        self.access = access
        client = S3Client(bucket, provider: access.provider, loop: access.loop)
        prefix = bucket.prefix.isEmpty ? "" : bucket.prefix + "/"
        self.volume = Self.identity(of: bucket)
        spool = try DirectoryStorage(access.spool(of: self.volume), durability: .none)
        spool.setBounds(floorBytes: Self.spoolFloorBytes, quotaLeftBytes: nil)
        try require(volume: volume)
    }

    private static func identity(of bucket: BucketLocation) -> VolumeID {
        let text = "\(bucket.endpointURL)/\(bucket.bucket)/\(bucket.prefix)"
        let hex = SHA256Digest(hashing: Array(text.utf8)).description
        var digits = Array(hex.utf8.prefix(32))
        digits[12] = UInt8(ascii: "4")
        digits[16] = UInt8(ascii: "8")
        var uuid = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { uuid += "-" }
            uuid.unicodeScalars.append(UnicodeScalar(digit))
        }
        return VolumeID(uuid) ?? .zero
    }

    /// Returns the key in the bucket of an object of the site.
    func key(_ key: ObjectKey) -> String { prefix + key.path }

    /// Returns the key of one of Dray's own objects.
    func privateKey(_ name: String) -> String { "\(prefix)\(ObjectKey.privateDirectory)/\(name)" }

    // MARK: The volume

    /// Returns the identity of the bucket and prefix.
    package func markVolume() -> SiteVolume { SiteVolume(id: volume) }

    /// Throws `storage.otherVolume` if the site was recorded for another bucket or directory.
    package func require(volume: SiteVolume?) throws(Failure) {
        guard let volume, volume.id != self.volume else { return }
        throw Failure(.storageOtherVolume, "\(url) is another bucket or prefix than the site's")
    }

    // MARK: Checking

    /// Puts and deletes a small object. Throws the failure that storing an object would have.
    package func probe() async throws(Failure) {
        let key = privateKey("\(Self.probeStart)\(UInt64.random(in: 0...UInt64.max))")
        let content = Array("dray\n".utf8)
        _ = try await client.put(
            key, UploadBody(content), sha256: SHA256Digest(hashing: content).description)
        try await client.delete([key])
    }

    /// Sets the quota. The floor is that of the spool's file system: a bucket has none.
    package func setBounds(quotaLeftBytes: Int64?) {
        spool.setBounds(floorBytes: Self.spoolFloorBytes, quotaLeftBytes: quotaLeftBytes)
    }

    // MARK: Listing and deleting

    /// Returns the next objects of the site in the order of their keys' bytes, without Dray's own.
    ///
    /// - Parameter after: The last key of the page before; nil for the first page.
    package func list(
        after: String? = nil
    ) async throws(Failure) -> (objects: [ListedObject], next: String?) {
        let page = try await client.list(prefix: prefix, after: after.map { prefix + $0 })
        let own = "\(ObjectKey.privateDirectory)/"
        let objects = page.objects.map { object in
            var object = object
            object.key = String(object.key.dropFirst(prefix.count))
            return object
        }
        return (
            objects.filter { !$0.key.hasPrefix(own) },
            page.isLast ? nil : objects.last?.key
        )
    }

    /// Deletes objects; a missing one counts as deleted. Returns one result per key, in order.
    package func delete(
        keys: [String], isOurs: @escaping @Sendable () -> Bool = { true }
    ) async throws(Failure) -> [Deletion] {
        let names = try keys.map { (text) throws(Failure) in key(try ObjectKey(text)) }
        let failures = try await client.deleteEach(names, isWanted: isOurs)
        // Records of digests hold for these objects alone: one that stays names another ETag than
        // whatever comes under the key.
        let gone = names.filter { failures[$0] == nil }
        if isOurs() { try? await client.delete(gone.map { digestKey(of: $0) }) }
        return names.map { failures[$0].map(Deletion.failed) ?? .deleted }
    }
}
