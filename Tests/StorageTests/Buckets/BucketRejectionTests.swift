import Glibc
import Model
import S3
import Synchronization
import TestSupport
import Testing

@testable import Storage

/// Requests that real servers reject: each has its code, and the body stays for the next attempt.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketRejectionTests {
    typealias Bucket = BucketTests.Bucket
    typealias Response = FaultOrigin.Response

    private static func failure(_ body: () async throws -> Void) async -> Failure? {
        do {
            try await body()
            return nil
        } catch { return error as? Failure }
    }

    private static func error(_ status: Int, _ code: String, _ rest: String = "") -> Response {
        Response(
            status, text: "<?xml version=\"1.0\"?><Error><Code>\(code)</Code>\(rest)</Error>")
    }

    /// A body in the spool, and attempts to store it.
    private struct Body {
        let bucket: Bucket
        let bytes: [UInt8]
        let object: PendingObject

        init(_ bytes: [UInt8], in bucket: Bucket) throws {
            (self.bucket, self.bytes) = (bucket, bytes)
            object = try bucket.pending("a", bytes)
        }

        /// The failure of an attempt, which keeps the body.
        func attempt() async -> Failure? {
            let outcome = await bucket.storage.upload(
                object, BucketTests.stored(bytes), by: BucketTests.attempt)
            if case .failure(let failure) = outcome { return failure }
            return nil
        }
    }

    // MARK: The bucket

    /// Its owner lets others write later.
    @Test(.enabled(if: S3Server.Kind.radosgw.isInstalled, S3Server.needs))
    func aBucketOfAnotherUserIsRefused() async throws {
        let server = try await S3Server.shared(.radosgw)
        let url =
            "s3://foreign-\(UInt32.random(in: 0...999_999))/p"
            + "?endpoint=http://127.0.0.1:\(server.port)"
        let owner = try Bucket(url, environment: S3Server.otherEnvironment)
        var creation = S3Request("PUT", "")
        creation.headers = [("content-length", "0")]
        _ = try await owner.storage.client.send(creation)
        let bucket = try Bucket(url)
        let body = try Body(sampleBytes(1_000), in: bucket)
        #expect(await body.attempt()?.code == .storageAccessDenied)
        let probe = await Self.failure { try await bucket.storage.probe() }
        #expect(probe?.code == .storageAccessDenied)
        let listing = await Self.failure { _ = try await bucket.keys() }
        #expect(listing?.code == .storageAccessDenied)
        #expect(try await owner.keys().isEmpty)
        #expect(try bucket.spooledFiles().count == 1)

        var grant = S3Request("PUT", "")
        grant.query = [("acl", "")]
        grant.headers = [("content-length", "0"), ("x-amz-acl", "public-read-write")]
        _ = try await owner.storage.client.send(grant)
        #expect(await body.attempt() == nil)
        #expect(await bucket.has("a", body.bytes))
        #expect(try bucket.spooledFiles().isEmpty)
    }

    // MARK: The signature

    /// A clock that differs by more than the server allows.
    @Test(
        .enabled(if: S3Server.Kind.radosgw.isInstalled, S3Server.needs),
        arguments: [3_600, -3_600] as [Int64])
    func aWrongClockIsRefused(seconds: Int64) async throws {
        let server = try await S3Server.shared(.radosgw)
        let bucket = try Bucket(server.url("clock\(seconds)"))
        let access = try BucketAccess(BucketOptions(environment: S3Server.environment))
        let client = S3Client(
            bucket.storage.client.bucket, provider: access.provider, loop: access.loop,
            now: { Int64(time(nil)) + seconds })
        let key = bucket.storage.key(try ObjectKey("a"))
        let failure = await Self.failure {
            _ = try await client.put(
                key, UploadBody([1, 2]), sha256: BucketTests.stored([1, 2]).sha256)
        }
        #expect(failure?.code == .storageClockSkew, "\(failure as Any)")
        #expect(failure?.message.contains("the server's clock has") == true)
        #expect(try await bucket.keys().isEmpty)
        // The same request by the right clock.
        try await bucket.store("a", [1, 2])
        #expect(await bucket.has("a", [1, 2]))
    }

    /// Neither server compares the region of a signature: the proxy does, as AWS does.
    @Test(arguments: BucketTests.servers)
    func aWrongRegionIsRefused(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let proxy = try RequestProxy(to: server.port) { request in
            let scope = request.headers["authorization"]?.split(separator: "/") ?? []
            guard scope.count > 2, scope[2] != "us-east-1" else { return .forward }
            return .answer(
                Self.error(400, "AuthorizationHeaderMalformed", "<Region>us-east-1</Region>"))
        }
        let url = server.url("region", port: Int(proxy.port))
        let elsewhere = try Bucket(url + "&region=eu-west-1")
        let body = try Body(sampleBytes(1_000), in: elsewhere)
        let failure = await body.attempt()
        #expect(failure?.code == .storageOtherRegion)
        #expect(failure?.message.contains("the bucket is in us-east-1") == true)
        #expect(try elsewhere.spooledFiles().count == 1)
        let bucket = try Bucket(url + "&region=us-east-1")
        #expect(try await bucket.keys().isEmpty)
        try await bucket.store("a", body.bytes)
        #expect(await bucket.has("a", body.bytes))
    }

    // MARK: One part of an upload

    private static func parts(_ proxy: RequestProxy, _ number: Int) -> Int {
        proxy.requests.count { $0.method == "PUT" && $0.target.contains("partNumber=\(number)") }
    }

    private static func beginnings(_ proxy: RequestProxy) -> Int {
        proxy.requests.count { $0.method == "POST" && $0.target.hasSuffix("?uploads=") }
            + proxy.requests.count { $0.method == "POST" && $0.target.hasSuffix("?uploads") }
    }

    /// It alone is sent again.
    @Test(arguments: BucketTests.servers)
    func aPartThatFailsIsSentAgain(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let proxy = try RequestProxy(to: server.port) { request in
            guard request.target.contains("partNumber=2"), request.number <= 2 else {
                return .forward
            }
            return .answer(Self.error(500, "InternalError"))
        }
        let bucket = try Bucket(server.url("part-again", port: Int(proxy.port)))
        try await bucket.store("big", BucketTests.large)
        #expect((1...3).map { Self.parts(proxy, $0) } == [1, 3, 1])
        #expect(Self.beginnings(proxy) == 1)
        #expect(await bucket.has("big", BucketTests.large))
        let key = bucket.storage.key(try ObjectKey("big"))
        #expect(try await bucket.storage.client.uploads(prefix: key).isEmpty)
    }

    /// Nothing is visible; the next attempt continues the upload, and sends no other part again.
    @Test(arguments: BucketTests.servers)
    func aPartThatIsRefusedIsAllThatTheNextAttemptSends(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let isRefused = Mutex(true)
        let proxy = try RequestProxy(to: server.port) { request in
            guard request.target.contains("partNumber=3"), isRefused.withLock({ $0 }) else {
                return .forward
            }
            return .answer(Self.error(403, "AccessDenied"))
        }
        let bucket = try Bucket(server.url("part-rejected", port: Int(proxy.port)))
        let body = try Body(BucketTests.large, in: bucket)
        #expect(await body.attempt()?.code == .storageAccessDenied)
        #expect(try await bucket.keys().isEmpty)
        #expect(try bucket.spooledFiles().count == 1)
        isRefused.withLock { $0 = false }
        #expect(await body.attempt() == nil)
        #expect((1...3).map { Self.parts(proxy, $0) } == [1, 1, 2])
        #expect(Self.beginnings(proxy) == 1)
        #expect(await bucket.has("a", BucketTests.large))
        #expect(try bucket.spooledFiles().isEmpty)
        let key = bucket.storage.key(try ObjectKey("a"))
        #expect(try await bucket.storage.client.uploads(prefix: key).isEmpty)
    }
}
