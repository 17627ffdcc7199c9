import Digest
import Model
import S3
import TestSupport
import Testing

@testable import Storage

/// Storage in buckets of the servers that are installed.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketTests {
    static let servers = S3Server.installed
    static let lease: LeaseID = "6f1f2a9e-6d9c-4c44-9c07-3f7f9f0b8f11"
    static let attempt = ObjectAttempt(lease: lease, job: JobID(1), asset: AssetID(1))
    /// Three parts.
    static let large = sampleBytes(40 << 20 | 4_321)

    /// A site below a prefix of its own, and the spool of one worker.
    struct Bucket {
        let storage: S3Storage
        private let spool: TemporaryDirectory

        init(
            _ url: String, environment: [String: String] = S3Server.environment
        ) throws {
            spool = try TemporaryDirectory("spool")
            let parsed = try StorageURL(url)
            storage = try S3Storage(
                parsed, try #require(parsed.bucket),
                access: BucketAccess(BucketOptions(spool: spool.path, environment: environment)))
        }

        func pending(_ key: String, _ bytes: [UInt8], job: Int64 = 1) throws -> PendingObject {
            let object = try storage.spool.createTemporary(
                lease: lease, job: JobID(job), key: key)
            try bytes.withUnsafeBytes { try object.write($0, at: 0) }
            return object
        }

        func store(
            _ key: String, _ bytes: [UInt8], isOurs: @escaping @Sendable () -> Bool = { true }
        ) async throws {
            try await store(pending(key, bytes), stored(bytes), isOurs: isOurs)
        }

        func store(
            _ object: PendingObject, _ stored: StoredObject,
            isOurs: @escaping @Sendable () -> Bool = { true }
        ) async throws {
            let outcome = await storage.upload(
                object, stored, by: attempt, isOurs: isOurs)
            if case .failure = outcome { object.discard() }
            try outcome.get()
        }

        /// Objects that only Dray reads.
        func privateKeys() async throws -> [String] {
            try await storage.client.list(prefix: storage.privateKey("")).objects.map(\.key)
        }

        func has(_ key: String, _ bytes: [UInt8]) async -> Bool {
            let digest = ExpectedDigest(SHA256Digest(hashing: bytes))
            return await storage.reuse(
                key: key, bytes: Int64(bytes.count), digests: [digest])
                == stored(bytes)
        }

        /// True if the object has these very bytes, which are read for it: MD5 is recorded nowhere.
        func holds(_ key: String, _ bytes: [UInt8]) async -> Bool {
            var digests = DigestSet([.md5])
            bytes.withUnsafeBytes { digests.update($0) }
            let expected = digests.finish()
            return await storage.reuse(
                key: key, bytes: Int64(bytes.count),
                digests: expected.others + [ExpectedDigest(expected.sha256)]) == stored(bytes)
        }

        func keys() async throws -> [String] {
            var (keys, after) = ([String](), String?.none)
            repeat {
                let page = try await storage.list(after: after)
                keys += page.objects.map(\.key)
                after = page.next
            } while after != nil
            return keys
        }

        func spooledFiles() throws -> [String] { try spool.files() }
    }

    static func stored(_ bytes: [UInt8]) -> StoredObject {
        StoredObject(
            bytes: Int64(bytes.count), sha256: SHA256Digest(hashing: bytes).description)
    }

    private static func code(_ body: () async throws -> Void) async -> FailureCode? {
        do {
            try await body()
            return nil
        } catch { return (error as? Failure)?.code }
    }

    @Test(arguments: servers)
    func objectsOfAllSizesAreStoredWhole(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let bucket = try Bucket(server.url("sizes"))
        let bodies: [String: [UInt8]] = [
            "host/empty": [], "host/a b/ü+%41.m4s": sampleBytes(64 << 10),
            "host/large.mp4": Self.large,
        ]
        for (key, bytes) in bodies { try await bucket.store(key, bytes) }
        for (key, bytes) in bodies {
            #expect(await bucket.has(key, bytes), "\(key)")
            let hasOther = await bucket.has(key, bytes + [1])
            #expect(!hasOther)
        }
        #expect(try await bucket.keys() == bodies.keys.sorted())
        #expect(try bucket.spooledFiles().isEmpty)
        // Replaced as a whole.
        try await bucket.store("host/empty", [7])
        #expect(await bucket.has("host/empty", [7]))
        let deletions = try await bucket.storage.delete(keys: Array(bodies.keys) + ["host/none"])
        #expect(deletions.allSatisfy { $0 == .deleted })
        #expect(try await bucket.keys().isEmpty)
    }

    /// Objects of one request, of an upload in parts, and of a copy. The radosgw of the tests has neither a
    /// key service nor storage classes.
    @Test(
        .enabled(if: S3Server.Kind.moto.isInstalled, S3Server.needs),
        arguments: [("AES256", nil), ("aws:kms", "k/1")] as [(String, String?)])
    func objectsHaveTheEncryptionAndTheClassOfTheSite(
        _ encryption: String, _ key: String?
    ) async throws {
        let server = try await S3Server.shared(.moto)
        let prefix = "settings-\(key == nil)"
        let bucket = try Bucket(
            server.url(prefix) + "&encryption=\(encryption)&storage-class=STANDARD_IA"
                + (key.map { "&kms-key=\($0)" } ?? ""))
        try await bucket.store("small", [1, 2, 3])
        try await bucket.store("large", Self.large)
        let staged = try await bucket.storage.stage(
            [try bucket.pending("copied", [4])], by: Self.attempt
        ) { true }
        #expect(try await bucket.storage.publish(staged) { true } == [])
        for name in ["small", "large", "copied"] {
            let headers = try await server.head("\(prefix)/\(name)")
            #expect(headers["x-amz-server-side-encryption"] == encryption, "\(name)")
            #expect(headers["x-amz-server-side-encryption-aws-kms-key-id"] == key, "\(name)")
            #expect(headers["x-amz-storage-class"] == "STANDARD_IA", "\(name)")
            // That of an upload in parts ends with their number.
            #expect(headers["etag"]?.contains("-3") == (name == "large"), "\(name)")
        }
    }

    /// Other digests than SHA-256, and objects of other programs, are read.
    @Test(arguments: servers)
    func furtherDigestsAreComputed(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("digests"))
        try await bucket.store("a", Array("hello\n".utf8))
        let md5 = try #require(ExpectedDigest(.md5, hex: "b1946ac92492d2347c6235b4d2611184"))
        #expect(await bucket.storage.reuse(key: "a", bytes: nil, digests: [md5]) != nil)
        let other = try #require(ExpectedDigest(.md5, hex: "00000000000000000000000000000000"))
        #expect(await bucket.storage.reuse(key: "a", bytes: nil, digests: [other]) == nil)
    }

    @Test(arguments: servers)
    func aWorkerWithoutItsLeaseStoresNothing(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("lease"))
        for bytes in [sampleBytes(1_000), Self.large] {
            let code = await Self.code { try await bucket.store("a", bytes) { false } }
            #expect(code == .workerLeaseLost)
        }
        #expect(try await bucket.keys().isEmpty)
        #expect(try bucket.spooledFiles().isEmpty)
    }

    /// What a worker leaves that is killed after it has sent a part.
    private static func beginUpload(
        _ key: String, of bytes: [UInt8], in bucket: Bucket, part: [UInt8]
    ) async throws -> UploadRecord {
        let storage = bucket.storage
        let key = storage.key(try ObjectKey(key))
        let id = try await storage.client.beginUpload(key, sha256: nil)
        let record = UploadRecord(
            .begun(id: id), key: key, bytes: Int64(bytes.count), partBytes: S3Storage.partBytes,
            owner: .attempt(attempt))
        let content = record.content
        _ = try await storage.client.put(
            storage.recordKey(of: key), UploadBody(content),
            sha256: SHA256Digest(hashing: content).description)
        _ = try await storage.client.putPart(
            key, upload: id, number: 1, UploadBody(part),
            sha256: SHA256Digest(hashing: part).description, isWanted: { true })
        return record
    }

    /// Another worker ends the upload of a killed one. It sends a part again that differs.
    @Test(arguments: servers, [true, false])
    func anUploadIsResumedByItsParts(_ kind: S3Server.Kind, isRight: Bool) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("resume-\(isRight)"))
        var part = Array(Self.large.prefix(Int(S3Storage.partBytes)))
        if !isRight { part[5] ^= 1 }
        let record = try await Self.beginUpload("big", of: Self.large, in: bucket, part: part)
        #expect(try await bucket.keys().isEmpty)
        try await bucket.store("big", Self.large)
        // A second upload would have left the first one.
        #expect(try await bucket.storage.client.uploads(prefix: record.key).isEmpty)
        var hasher = SHA256Hasher()
        let read = try #require(try await bucket.storage.hash(record.key, []))
        Self.large.withUnsafeBytes { hasher.update($0) }
        #expect(read.sha256 == hasher.finish().description)
    }

    @Test(arguments: servers)
    func onlyUploadsOfDrayAreAborted(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("abandoned"))
        let client = bucket.storage.client
        let part = Array(Self.large.prefix(Int(S3Storage.partBytes)))
        _ = try await Self.beginUpload("big", of: Self.large, in: bucket, part: part)
        let foreign = try await client.beginUpload("abandoned/foreign", sha256: nil)
        let now: Int64 = 4_000_000_000
        #expect(try await bucket.storage.sweepBucket(olderThanSeconds: 1, now: 0) == 0)
        #expect(try await bucket.storage.sweepBucket(olderThanSeconds: 1, now: now) == 1)
        #expect(try await bucket.storage.sweepBucket(olderThanSeconds: 1, now: now) == 0)
        #expect(try await client.uploads(prefix: "abandoned/").map(\.id) == [foreign])
    }

    @Test(arguments: servers)
    func newVersionsReplaceTheOldOnesInOrder(_ kind: S3Server.Kind) async throws {
        let bucket = try Bucket(try await S3Server.shared(kind).url("replace"))
        try await bucket.store("a.ts", [1])
        try await bucket.store("a.m3u8", [2])
        let objects = [
            try bucket.pending("a.ts", [3, 3], job: 1),
            try bucket.pending("a.m3u8", [4, 4], job: 2),
        ]
        let staged = try await bucket.storage.stage(objects, by: Self.attempt) { true }
        #expect(await bucket.has("a.ts", [1]))
        #expect(await bucket.has("a.m3u8", [2]))
        let code = await Self.code {
            _ = try await bucket.storage.publish(staged) { false }
        }
        #expect(code == .workerLeaseLost)
        #expect(await bucket.has("a.ts", [1]))
        #expect(await bucket.has("a.m3u8", [2]))
        #expect(try await bucket.storage.publish(staged) { true } == [])
        #expect(await bucket.has("a.ts", [3, 3]))
        #expect(await bucket.has("a.m3u8", [4, 4]))
        #expect(try await bucket.storage.publish(staged) { true } == [0, 1])
    }

    @Test(arguments: servers)
    func aCheckNeedsAllOperations(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let check = try await Bucket(server.url("check")).storage.check()
        #expect(check.staleUploads == 0)
        #expect(abs(check.clockSkewSeconds ?? 0) <= 2)
        let none = try Bucket("s3://none-such?endpoint=http://127.0.0.1:\(server.port)")
        #expect(await Self.code { _ = try await none.storage.check() } == .storageNoBucket)
        #expect(await Self.code { try await none.store("a", [1]) } == .storageNoBucket)
    }

    @Test(.enabled(if: S3Server.Kind.radosgw.isInstalled, S3Server.needs))
    func wrongCredentialsAndClocksAreNamed() async throws {
        let server = try await S3Server.shared(.radosgw)
        var environment = S3Server.environment
        environment["AWS_SECRET_ACCESS_KEY"] = "wrongsecret"
        let refused = try Bucket(server.url("keys"), environment: environment)
        #expect(await Self.code { try await refused.store("a", [1]) } == .storageCredentials)
        let none = try Bucket(
            server.url("keys"), environment: ["AWS_EC2_METADATA_DISABLED": "true"])
        #expect(await Self.code { try await none.store("a", [1]) } == .storageCredentials)
    }

    @Test func whatIsNotS3IsNamed() async throws {
        let origin = try FaultOrigin()
        let bucket = try Bucket("s3://edge/a?endpoint=http://127.0.0.1:\(origin.port)")
        #expect(await Self.code { try await bucket.store("a", [1]) } == .storageNotS3)
        let closed = try Bucket("s3://edge/a?endpoint=http://127.0.0.1:1")
        #expect(await Self.code { try await closed.store("a", [1]) } == .storageUnavailable)
    }
}
