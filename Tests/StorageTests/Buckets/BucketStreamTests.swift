import Digest
import FileSystem
import Glibc
import Model
import S3
import TestSupport
import Testing

@testable import Storage

/// Large bodies that are sent to a bucket while they arrive.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketStreamTests {
    typealias Bucket = BucketTests.Bucket

    private static let body = BucketTests.large
    private static let firstTwo = 2 * Int(S3Storage.partBytes) + 5

    /// A body of which the first two parts and some bytes have arrived and are sent.
    private static func begin(
        _ key: String, in bucket: Bucket
    ) async throws -> (object: PendingObject, record: UploadRecord) {
        let object = try bucket.storage.spool.createTemporary(
            lease: BucketTests.lease, job: JobID(1), key: key, reservingBytes: Int64(body.count))
        bucket.storage.stream(
            object, bytes: Int64(body.count), by: BucketTests.attempt, isOurs: { true })
        try write(0..<firstTwo, to: object)
        return (object, try await sentRecord(key, in: bucket))
    }

    private static func write(_ range: Range<Int>, to object: PendingObject) throws {
        try body[range].withUnsafeBytes { try object.write($0, at: Int64(range.lowerBound)) }
    }

    /// Waits until the bucket has two parts.
    private static func sentRecord(
        _ key: String, in bucket: Bucket
    ) async throws -> UploadRecord {
        let storage = bucket.storage
        let name = storage.key(try ObjectKey(key))
        var found: UploadRecord?
        try await waitUntil(deadlineSeconds: 60, "two parts in the bucket") {
            guard let content = try await storage.client.getSmall(storage.recordKey(of: name)),
                let record = UploadRecord(content),
                let parts = try await storage.client.parts(of: name, upload: record.uploadID)
            else { return false }
            found = record
            return parts.count == 2
        }
        return try #require(found)
    }

    private static func finish(_ object: PendingObject, in bucket: Bucket) async throws {
        try write(firstTwo..<body.count, to: object)
        try await bucket.store(object, BucketTests.stored(body))
    }

    @Test(arguments: S3Server.installed)
    func partsAreSentBeforeTheBodyIsComplete(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("stream"))
        let (object, record) = try await Self.begin("big", in: bucket)
        #expect(try await bucket.keys().isEmpty)
        try await Self.finish(object, in: bucket)
        #expect(await bucket.has("big", Self.body))
        #expect(try await bucket.storage.client.uploads(prefix: record.key).isEmpty)
        #expect(try bucket.spooledFiles().isEmpty)
        // A HEAD and the record of the digest are enough to reuse it.
        #expect(
            try await bucket.storage.head(record.key)?.sha256
                == BucketTests.stored(Self.body).sha256)
        #expect(try await bucket.privateKeys() == [bucket.storage.digestKey(of: record.key)])
        _ = try await bucket.storage.delete(keys: ["big"])
        #expect(try await bucket.privateKeys().isEmpty)
    }

    /// Another program's object under the key is not the one whose digest was recorded.
    @Test(arguments: S3Server.installed)
    func theDigestIsThatOfOneObject(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("digest"))
        try await bucket.store("big", Self.body)
        let key = bucket.storage.key(try ObjectKey("big"))
        var other = Self.body
        other[7] ^= 1
        _ = try await bucket.storage.client.put(
            key, UploadBody(other), sha256: SHA256Digest(hashing: other).description)
        #expect(await !bucket.has("big", Self.body))
    }

    /// Nothing is visible of a body that ends early; the next worker sends what is missing.
    @Test(arguments: S3Server.installed)
    func theNextWorkerContinuesTheUpload(_ kind: S3Server.Kind) async throws {
        let url = try await S3Server.shared(kind).url("continued")
        let first = try Bucket(url)
        let (object, record) = try await Self.begin("big", in: first)
        object.leave()
        #expect(try await first.keys().isEmpty)
        let second = try Bucket(url)
        let (whole, again) = try await Self.begin("big", in: second)
        #expect(again.state == record.state)
        try await Self.finish(whole, in: second)
        #expect(await second.holds("big", Self.body))
        #expect(try await second.storage.client.uploads(prefix: record.key).isEmpty)
    }

    /// A discarded body leaves nothing.
    @Test(arguments: S3Server.installed)
    func aDiscardedBodyIsRemovedFromTheBucket(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("discarded"))
        let (object, record) = try await Self.begin("big", in: bucket)
        object.discard()
        try await waitUntil(deadlineSeconds: 30, "the end of its upload") {
            try await bucket.storage.client.uploads(prefix: record.key).isEmpty
        }
        try await waitUntil(deadlineSeconds: 30, "the end of its record") {
            try await bucket.privateKeys().isEmpty
        }
        #expect(try bucket.spooledFiles().isEmpty)
    }

    /// An upload that the server has forgotten begins again, from the spool.
    @Test(arguments: S3Server.installed)
    func aForgottenUploadBeginsAgain(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("forgotten"))
        let (object, record) = try await Self.begin("big", in: bucket)
        try await bucket.storage.client.abort(record.key, upload: record.uploadID)
        try await Self.finish(object, in: bucket)
        #expect(await bucket.has("big", Self.body))
        #expect(try await bucket.storage.client.uploads(prefix: record.key).isEmpty)
    }

    /// Bytes that differ from those that were received never become an object. The server compares
    /// them with the digest of the received ones; moto does not.
    @Test(.enabled(if: S3Server.Kind.radosgw.isInstalled, S3Server.needs))
    func aBodyThatChangedInTheSpoolIsNotStored() async throws {
        let bucket = try Bucket(try await S3Server.shared(.radosgw).url("changed"))
        let (object, record) = try await Self.begin("big", in: bucket)
        // Of the third part, which is not sent yet.
        let file = try object.site.temporary.open(object.temporaryName, O_RDWR)
        try [UInt8(Self.body[Self.firstTwo - 1] ^ 1)].withUnsafeBytes {
            try file.write($0, at: Int64(Self.firstTwo - 1))
        }
        try Self.write(Self.firstTwo..<Self.body.count, to: object)
        let failure = await #expect(throws: Failure.self) {
            try await bucket.store(object, BucketTests.stored(Self.body))
        }
        #expect(failure?.code == .storageIO)
        #expect(try await bucket.keys().isEmpty)
        #expect(try await bucket.storage.client.uploads(prefix: record.key).isEmpty)
    }

    /// A body that could not be stored is kept, and is what the next attempt stores.
    @Test(arguments: S3Server.installed)
    func aKeptBodyIsStoredByTheNextAttempt(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("kept"))
        let bytes = sampleBytes(70_000)
        let object = try bucket.pending("a", bytes)
        let identity = PartialIdentity(url: "http://o/a", key: "a", cluster: nil, asset: AssetID(1))
        let attempt = ObjectAttempt(lease: BucketTests.lease, job: JobID(1), asset: AssetID(1))
        bucket.storage.spool.keep(
            PartialRecord(
                bytes: 70_000, sha256: SHA256Digest(hashing: bytes), totalBytes: 70_000,
                validator: "\"v\"", source: SHA256Digest(hashing: [])),
            of: object, as: identity, by: attempt)
        let taken = try bucket.storage.spool.takePartial(
            identity, of: try bucket.storage.spool.partials(),
            for: ObjectAttempt(lease: BucketTests.lease, job: JobID(2), asset: AssetID(1)),
            location: .key("a"))
        let partial = try #require(taken)
        #expect(partial.record.isComplete(length: nil))
        try await bucket.store(try #require(partial.object), BucketTests.stored(bytes))
        #expect(await bucket.has("a", bytes))
        #expect(try bucket.spooledFiles().isEmpty)
    }
}
