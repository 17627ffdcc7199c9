import Digest
import FileSystem
import Foundation
import Glibc
import Model
import S3
import Synchronization
import TestSupport
import Testing

@testable import Storage

/// Reads of objects that break, and bodies that do not fit in memory.
@Suite struct BucketReadTests {
    typealias Bucket = BucketTests.Bucket

    private static let body = sampleBytes(300_000)

    /// The outcome of a read that breaks after 100,000 bytes, and the bytes it has brought.
    private static func read(
        _ second: @escaping @Sendable (FaultOrigin.Request) -> FaultOrigin.Response,
        etag: String? = "\"1\""
    ) async throws -> (code: FailureCode?, bytes: [UInt8], ranges: [FaultOrigin.Request]) {
        let origin = try FaultOrigin()
        origin.route("/edge/p/a") { request in
            request.number == 1
                ? request.serve(body, etag: etag).cut(after: 100_000) : second(request)
        }
        let bucket = try Bucket("s3://edge/p?endpoint=http://127.0.0.1:\(origin.port)")
        let bytes = Mutex<[UInt8]>([])
        var code: FailureCode?
        do throws(Failure) {
            _ = try await bucket.storage.client.get("p/a") { block in
                bytes.withLock { $0 += block }
                return true
            }
        } catch { code = error.code }
        return (
            code, bytes.withLock { $0 }, Array(origin.requests(for: "/edge/p/a").dropFirst())
        )
    }

    @Test func aBrokenReadIsContinuedByTheSameObject() async throws {
        let (code, bytes, ranges) = try await Self.read { $0.serve(Self.body, etag: "\"1\"") }
        #expect(code == nil)
        #expect(bytes == Self.body)
        #expect(ranges.map { $0.headers["if-match"] } == ["\"1\""])
        #expect(ranges.map { $0.headers["range"] } == ["bytes=100000-"])
    }

    /// Also by servers that know no condition.
    @Test(arguments: [true, false])
    func aReadIsNotContinuedByAnotherObject(knowsConditions: Bool) async throws {
        let (code, bytes, ranges) = try await Self.read { request in
            knowsConditions
                ? FaultOrigin.Response(412, text: "") : request.serve(Self.body, etag: "\"2\"")
        }
        #expect(code == .contentChanged)
        #expect(bytes == Array(Self.body.prefix(100_000)))
        #expect(ranges.count == 1)
    }

    @Test func aReadWithoutAnETagIsNotContinued() async throws {
        let (code, bytes, ranges) = try await Self.read({ $0.serve(Self.body) }, etag: nil)
        #expect(code == .storageUnavailable)
        #expect(bytes == Array(Self.body.prefix(100_000)))
        #expect(ranges.isEmpty)
    }

    /// A deep audit reads large objects in pieces.
    @Test(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs), arguments: S3Server.installed)
    func piecesOfTwoObjectsAreNotOne(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("pieces"))
        try await bucket.store("a", Self.body)
        let file = try #require(try await bucket.storage.openForAudit(key: "a"))
        #expect(try await Self.piece(of: file) == nil)
        try await bucket.store("a", Self.body.reversed())
        let failure = await #expect(throws: Failure.self) { try await Self.piece(of: file) }
        #expect(failure?.code == .contentChanged)
        #expect(file.readBytes == 100_000)
    }

    private static func piece(of file: AuditedFile) async throws -> SHA256Digest? {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try file.read(atMost: 100_000) })
            }
        }
    }

    // MARK: Sizes

    @Test func objectsHaveAtMostTenThousandParts() throws {
        let mebibyte: Int64 = 1 << 20
        let lengths: [Int64] = [
            17 << 20, 156 << 30, 157 << 30, 1 << 40, 1 << 40 | 1, S3Storage.maximumBytes,
        ]
        for bytes in lengths {
            let part = S3Storage.partBytes(of: bytes)
            let count = (bytes + part - 1) / part
            #expect(count <= 10_000, "\(bytes)")
            // What S3 allows.
            #expect(part >= 5 * mebibyte && part <= 5 * mebibyte << 10, "\(bytes)")
        }
        #expect(S3Storage.partBytes(of: 156 << 30) == 16 * mebibyte)
        #expect(S3Storage.partBytes(of: S3Storage.maximumBytes) == 525 * mebibyte)
        try S3Storage.require(bytes: S3Storage.maximumBytes)
        let failure = #expect(throws: Failure.self) {
            try S3Storage.require(bytes: S3Storage.maximumBytes + 1)
        }
        #expect(failure?.code == .storageTooLarge)
    }

    /// Parts are sent from the file, in blocks.
    @Test(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs), arguments: S3Server.installed)
    func partsOfAnyLengthAreSentFromTheFile(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("large-parts"))
        let (storage, body) = (bucket.storage, BucketTests.large)
        let object = try bucket.pending("big", body)
        let file = try object.site.temporary.open(object.temporaryName, O_RDONLY)
        let key = storage.key(try ObjectKey("big"))
        let upload = try await storage.client.beginUpload(key, sha256: nil)
        let spooled = SpooledBody(
            file: file, bytes: Int64(body.count), partBytes: 37 << 20 | 1, isOurs: { true })
        let sent = try #require(
            try await storage.send(spooled, to: key, upload: upload, having: [:]))
        #expect(sent.parts.map(\.bytes) == [37 << 20 | 1, Int64(body.count) - (37 << 20 | 1)])
        #expect(sent.isOf(BucketTests.stored(body)))
        #expect(try await storage.publish(sent, BucketTests.stored(body), under: key) { true })
        #expect(try await storage.hash(key, [])?.sha256 == BucketTests.stored(body).sha256)
    }

    /// A file that is shorter than its body ends the upload, and is no fault of the server.
    @Test(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs), arguments: S3Server.installed)
    func aFileThatIsCutShortIsNotSent(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("cut-short"))
        let object = try bucket.pending("big", [1, 2, 3])
        let file = try object.site.temporary.open(object.temporaryName, O_RDONLY)
        let key = bucket.storage.key(try ObjectKey("big"))
        let upload = try await bucket.storage.client.beginUpload(key, sha256: nil)
        let failure = await #expect(throws: Failure.self) {
            try await bucket.storage.client.putPart(
                key, upload: upload, number: 1, .file(file, offset: 0, count: 4),
                sha256: SHA256Digest(hashing: [1, 2, 3, 4]).description, isWanted: { true })
        }
        #expect(failure?.code == .storageIO)
        try await bucket.storage.client.abort(key, upload: upload)
    }
}
