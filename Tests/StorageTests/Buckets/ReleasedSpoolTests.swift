import Digest
import FileSystem
import Foundation
import Glibc
import Model
import S3
import TestSupport
import Testing

@testable import Storage

/// libcrypto's digests cannot continue without their bytes.
private let isReleased: Bool = {
    var digests = DigestSet()
    digests.beginParts()
    return digests.state() != nil && !S3Server.installed.isEmpty
}()

/// The spool has no space for what the bucket has: it is freed while a body arrives, and the body is
/// resumed without it.
@Suite(.enabled(if: isReleased, "S3 servers and SHA instructions are needed"))
struct ReleasedSpoolTests {
    typealias Bucket = BucketTests.Bucket

    private static let body = BucketTests.large
    private static let sentBytes = 2 * S3Storage.partBytes
    private static let identity = PartialIdentity(
        url: "http://o/big", key: "big", cluster: nil, asset: AssetID(1))

    /// How the attempt that began the body has ended.
    enum End: CaseIterable {
        case interrupted, killed
    }

    /// Two parts and some bytes have arrived; the bucket has the two parts.
    private static func begin(
        in bucket: Bucket
    ) async throws -> (object: PendingObject, record: PartialRecord, upload: UploadRecord) {
        let object = try bucket.storage.spool.createTemporary(
            lease: BucketTests.lease, job: JobID(1), key: "big", reservingBytes: nil)
        bucket.storage.stream(
            object, bytes: Int64(body.count), by: BucketTests.attempt, isOurs: { true })
        var digests = DigestSet()
        digests.beginParts()
        let parts = try #require(object.sentParts)
        let count = Int(sentBytes) + 5
        try body[..<count].withUnsafeBytes { bytes in
            parts.forEachPiece(of: bytes, at: 0) { piece, ended in
                digests.update(piece)
                guard let ended else { return }
                object.hashed(
                    part: ended, as: PartHash(digest: digests.finishPart(), state: digests.state()))
            }
            try object.write(bytes, at: 0)
        }
        let record = PartialRecord(
            bytes: Int64(count), sha256: digests.sha256SoFar(), totalBytes: Int64(body.count),
            validator: "\"v\"", source: SHA256Digest(hashing: []))
        bucket.storage.spool.note(record, of: object, as: identity, by: BucketTests.attempt)
        try await waitUntil(deadlineSeconds: 60, "the release of two parts") {
            object.released?.bytes == sentBytes
        }
        let storage = bucket.storage
        let key = storage.key(try ObjectKey("big"))
        let content = try await storage.client.getSmall(storage.recordKey(of: key))
        return (object, record, try #require(content.flatMap { UploadRecord($0) }))
    }

    private static func end(
        _ end: End, _ object: PendingObject, _ record: PartialRecord, in bucket: Bucket
    ) {
        switch end {
        case .interrupted:
            bucket.storage.spool.keep(record, of: object, as: identity, by: BucketTests.attempt)
        case .killed: object.leave()
        }
    }

    /// Takes the body over, and receives the rest.
    private static func resume(in bucket: Bucket) throws -> PendingObject {
        let attempt = ObjectAttempt(lease: BucketTests.lease, job: JobID(2), asset: AssetID(1))
        let taken = try bucket.storage.spool.takePartial(
            identity, of: try bucket.storage.spool.partials(), for: attempt, location: .key("big"))
        let partial = try #require(taken)
        let object = try #require(partial.object)
        bucket.storage.stream(
            object, bytes: Int64(body.count), written: partial.record.bytes, by: attempt,
            isOurs: { true })
        try body[Int(partial.record.bytes)...].withUnsafeBytes {
            try object.write($0, at: partial.record.bytes)
        }
        return object
    }

    private static func usedBytes(_ object: PendingObject, in bucket: Bucket) throws -> Int {
        var status = stat()
        try #require(fstat(object.descriptor.rawValue, &status) == 0)
        return Int(status.st_blocks) * 512
    }

    @Test(arguments: S3Server.installed, End.allCases)
    func aResumedBodyNeedsOnlyWhatIsNotSent(_ kind: S3Server.Kind, _ end: End) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("released-\(end)"))
        let (object, record, upload) = try await Self.begin(in: bucket)
        #expect(try Self.usedBytes(object, in: bucket) < 1 << 20)
        Self.end(end, object, record, in: bucket)
        let resumed = try Self.resume(in: bucket)
        #expect(resumed.released?.bytes == Self.sentBytes)
        try await bucket.store(resumed, BucketTests.stored(Self.body))
        #expect(await bucket.holds("big", Self.body))
        #expect(try await bucket.storage.client.uploads(prefix: upload.key).isEmpty)
        #expect(try bucket.spooledFiles().isEmpty)
    }

    @Test(arguments: S3Server.installed)
    func aStreamThatFailsIsContinuedAfterTheReleasedParts(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("released-failed"))
        let (object, record, _) = try await Self.begin(in: bucket)
        try Self.body[Int(record.bytes)...].withUnsafeBytes {
            try object.write($0, at: record.bytes)
        }
        // Without a digest of the last part the stream fails; the last part is read instead.
        try await bucket.store(object, BucketTests.stored(Self.body))
        #expect(await bucket.holds("big", Self.body))
    }

    /// The file is fetched from its start by the next attempt, because nothing else has its bytes.
    @Test(arguments: S3Server.installed)
    func aBodyWhosePartsAreLostIsDiscarded(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("released-lost"))
        let (object, record, upload) = try await Self.begin(in: bucket)
        Self.end(.interrupted, object, record, in: bucket)
        try await bucket.storage.client.abort(upload.key, upload: upload.uploadID)
        let resumed = try Self.resume(in: bucket)
        let failure = await #expect(throws: Failure.self) {
            try await bucket.store(resumed, BucketTests.stored(Self.body))
        }
        #expect(failure?.code == .integrityMultipartMismatch)
        #expect(try await bucket.keys().isEmpty)
    }

    /// The next upload of the same stream does not send the freed space for its first parts.
    @Test(arguments: S3Server.installed)
    func aStreamWhoseUploadIsLostStoresNothing(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("released-forgotten"))
        let (object, record, upload) = try await Self.begin(in: bucket)
        try await bucket.storage.client.abort(upload.key, upload: upload.uploadID)
        let last = Self.body[Int(Self.sentBytes)...]
        object.hashed(part: 2, as: PartHash(digest: SHA256Digest(hashing: Array(last)), state: nil))
        try Self.body[Int(record.bytes)...].withUnsafeBytes {
            try object.write($0, at: record.bytes)
        }
        let failure = await #expect(throws: Failure.self) {
            try await bucket.store(object, BucketTests.stored(Self.body))
        }
        #expect(failure?.code == .integrityMultipartMismatch)
        #expect(try await bucket.keys().isEmpty)
    }

    /// An attempt at other bytes of the same length has written to the same upload.
    @Test(arguments: S3Server.installed)
    func aBodyWithOthersPartsIsNotStored(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("released-others"))
        let (object, record, upload) = try await Self.begin(in: bucket)
        Self.end(.interrupted, object, record, in: bucket)
        let other = [UInt8](repeating: 7, count: Int(S3Storage.partBytes))
        _ = try await bucket.storage.client.putPart(
            upload.key, upload: upload.uploadID, number: 1, UploadBody(other),
            sha256: SHA256Digest(hashing: other).description, isWanted: { true })
        let resumed = try Self.resume(in: bucket)
        let failure = await #expect(throws: Failure.self) {
            try await bucket.store(resumed, BucketTests.stored(Self.body))
        }
        #expect(failure?.code == .integrityMultipartMismatch)
        #expect(try await bucket.keys().isEmpty)
    }

    /// A record that names another start than the file's is not believed.
    @Test func aRecordOfAnotherStartIsNotBelieved() async throws {
        let kind = try #require(S3Server.installed.first)
        let bucket = try Bucket(try await S3Server.shared(kind).url("released-wrong"))
        let (object, record, _) = try await Self.begin(in: bucket)
        Self.end(.interrupted, object, record, in: bucket)
        let directory = object.site.partial
        let name = try #require(try directory.names().first)
        let file = try directory.open(name, O_RDWR)
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        var text = String(decoding: bytes.prefix(count), as: UTF8.self)
        let sent = try #require(text.range(of: "sent \(Self.sentBytes) "))
        let digit = text[sent.upperBound]
        text.replaceSubrange(sent.upperBound...sent.upperBound, with: digit == "0" ? "1" : "0")
        try Array(text.utf8).withUnsafeBytes { try file.write($0, at: 0) }
        let taken = try bucket.storage.spool.takePartial(
            Self.identity, of: try bucket.storage.spool.partials(),
            for: ObjectAttempt(lease: BucketTests.lease, job: JobID(2), asset: AssetID(1)),
            location: .key("big"))
        #expect(taken == nil)
    }
}
