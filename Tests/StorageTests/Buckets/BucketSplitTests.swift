import Digest
import Model
import S3
import TestSupport
import Testing

@testable import Storage

/// Files in buckets whose parts several workers send.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketSplitTests {
    typealias Bucket = BucketTests.Bucket

    private static let body = BucketTests.large
    private static let partBytes = Int(S3Storage.sharedPartBytes)
    private static let id: MultipartID = "0b0f7a1c-6d9c-4c44-9c07-3f7f9f0b8f11"

    private static var ranges: [Range<Int>] {
        stride(from: 0, to: body.count, by: partBytes).map {
            $0..<min($0 + partBytes, body.count)
        }
    }

    private static func file(_ id: MultipartID, damaging index: Int? = nil) -> MultipartFile {
        var file = MultipartFile(id: id, totalBytes: Int64(body.count), validator: "\"v\"")
        file.parts = ranges.enumerated().map { number, range in
            MultipartFile.Part(
                offset: Int64(range.lowerBound), length: Int64(range.count),
                sha256: SHA256Digest(
                    hashing: Array(body[range]) + (number == index ? [1] : [])
                ).description)
        }
        return file
    }

    private static func send(_ index: Int, of id: MultipartID, by bucket: Bucket) async throws {
        let range = ranges[index]
        let object = try bucket.storage.createPart(
            lease: BucketTests.lease, job: JobID(Int64(index + 1)), of: id,
            offset: Int64(range.lowerBound), length: Int64(range.count))
        try body[range].withUnsafeBytes { try object.write($0, at: Int64(range.lowerBound)) }
        try await bucket.store(object, BucketTests.stored(Array(body[range])))
    }

    private static func code(_ body: () async throws -> Void) async -> FailureCode? {
        do {
            try await body()
            return nil
        } catch { return (error as? Failure)?.code }
    }

    @Test(arguments: S3Server.installed)
    func theWholeIsVisibleAfterItsVerification(_ kind: S3Server.Kind) async throws {
        let url = try await S3Server.shared(kind).url("split")
        let (first, second) = (try Bucket(url), try Bucket(url))
        try await first.storage.beginShared(
            Self.id, totalBytes: Int64(Self.body.count), partBytes: Int64(Self.partBytes))
        for index in Self.ranges.indices.reversed() {
            try await Self.send(index, of: Self.id, by: index == 1 ? second : first)
        }
        #expect(try await first.keys().isEmpty)
        let lost = await Self.code {
            _ = try await second.storage.promoteShared(Self.file(Self.id), key: "big") { false }
        }
        #expect(lost == .workerLeaseLost)
        #expect(try await first.keys().isEmpty)
        // By another worker, after one that ended the upload and was killed.
        let stored = try await first.storage.promoteShared(
            Self.file(Self.id), key: "big",
            expectedSHA256: BucketTests.stored(Self.body).sha256)
        #expect(stored == BucketTests.stored(Self.body))
        #expect(await second.has("big", Self.body))
        #expect(try await first.privateKeys().isEmpty)
        #expect(try first.spooledFiles().isEmpty)
        // Its report was lost.
        let again = try await second.storage.promoteShared(Self.file(Self.id), key: "big")
        #expect(again == stored)
    }

    @Test(arguments: S3Server.installed)
    func whatIsMissingOrDiffersIsNotVisible(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("split-bad"))
        try await bucket.storage.beginShared(
            Self.id, totalBytes: Int64(Self.body.count), partBytes: Int64(Self.partBytes))
        try await Self.send(0, of: Self.id, by: bucket)
        try await Self.send(1, of: Self.id, by: bucket)
        let missing = await Self.code {
            _ = try await bucket.storage.promoteShared(Self.file(Self.id), key: "big")
        }
        #expect(missing == .integrityMultipartMismatch)
        try await Self.send(2, of: Self.id, by: bucket)
        let differs = await Self.code {
            _ = try await bucket.storage.promoteShared(
                Self.file(Self.id, damaging: 1), key: "big")
        }
        #expect(differs == .integrityMultipartMismatch)
        let stated = await Self.code {
            _ = try await bucket.storage.promoteShared(
                Self.file(Self.id), key: "big",
                expectedSHA256: SHA256Digest(hashing: [1]).description)
        }
        #expect(stated == .integrityDigestMismatch)
        #expect(try await bucket.keys().isEmpty)
        try await bucket.storage.removeShared(Self.id)
        #expect(try await bucket.privateKeys().isEmpty)
    }

    /// A worker whose file was abandoned finds no upload, and reports that.
    @Test(arguments: S3Server.installed)
    func partsOfAFileThatWasGivenUpAreRefused(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("split-none"))
        let code = await Self.code { try await Self.send(1, of: Self.id, by: bucket) }
        #expect(code == .integrityMultipartMismatch)
        try await bucket.storage.beginShared(
            Self.id, totalBytes: Int64(Self.body.count), partBytes: Int64(Self.partBytes))
        try await bucket.storage.removeShared(Self.id)
        let prefix = bucket.storage.prefix
        #expect(try await bucket.storage.client.uploads(prefix: prefix).isEmpty)
        #expect(try await bucket.privateKeys().isEmpty)
    }
}
