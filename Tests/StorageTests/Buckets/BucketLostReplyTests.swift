import Digest
import Model
import S3
import Synchronization
import TestSupport
import Testing

@testable import Storage

/// Requests that a real server carries out without the worker's knowledge: their reply is lost, or
/// they arrive after another worker has stored the object.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketLostReplyTests {
    typealias Bucket = BucketTests.Bucket
    typealias Request = FaultOrigin.Request

    private static func isPut(_ request: Request, of name: String) -> Bool {
        request.method == "PUT" && request.target.hasSuffix("/\(name)")
    }

    private static func isBeginning(_ request: Request) -> Bool {
        request.method == "POST" && request.target.contains("?uploads")
    }

    private static func isPart(_ request: Request, _ number: Int) -> Bool {
        request.method == "PUT" && request.target.contains("partNumber=\(number)&")
    }

    private static func isCompletion(_ request: Request) -> Bool {
        request.method == "POST" && request.target.contains("?uploadId=")
    }

    /// Returns a proxy that loses the reply to the first request of each kind.
    private static func proxy(
        to server: S3Server, losing kinds: [@Sendable (Request) -> Bool]
    ) throws -> RequestProxy {
        let lost = Mutex<Set<Int>>([])
        return try RequestProxy(to: server.port) { request in
            guard let kind = kinds.firstIndex(where: { $0(request) }) else { return .forward }
            return lost.withLock { $0.insert(kind).inserted } ? .loseReply : .forward
        }
    }

    private static func uploads(in bucket: Bucket) async throws -> [UnfinishedUpload] {
        try await bucket.storage.client.uploads(prefix: bucket.storage.prefix)
    }

    // MARK: Lost replies

    /// The repeated request finds its own object, also where it replaces another one.
    @Test(arguments: BucketTests.servers)
    func anObjectWhoseReplyWasLostIsStoredOnce(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let proxy = try Self.proxy(
            to: server,
            losing: [
                { Self.isPut($0, of: "new") },
                { request in
                    // Ceph's gateway accepts the tag without its quotes.
                    guard let tag = request.headers["if-match"] else { return false }
                    return Self.isPut(request, of: "old") && (kind == .moto || tag.first != "\"")
                },
            ])
        let earlier = try Bucket(server.url("lost-put"))
        try await earlier.store("old", sampleBytes(900, seed: 7))
        let bucket = try Bucket(server.url("lost-put", port: Int(proxy.port)))
        for (name, bytes) in [("new", sampleBytes(70_000)), ("old", sampleBytes(1_000))] {
            try await bucket.store(name, bytes)
            #expect(await bucket.has(name, bytes), "\(name)")
            let statuses = proxy.replies.filter { Self.isPut($0.request, of: name) }
                .map(\.status)
            #expect(statuses.suffix(2) == [200, 412], "\(name): \(statuses)")
            #expect(statuses.count { $0 == 200 } == 1, "\(name): \(statuses)")
        }
        #expect(try await bucket.keys() == ["new", "old"])
        #expect(try await bucket.privateKeys().isEmpty)
        #expect(try bucket.spooledFiles().isEmpty)
    }

    /// The beginning, a part and the end of an upload.
    @Test(arguments: BucketTests.servers)
    func anUploadWhoseRepliesWereLostEndsOnce(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let proxy = try Self.proxy(
            to: server,
            losing: [
                { Self.isBeginning($0) }, { Self.isPart($0, 2) }, { Self.isCompletion($0) },
            ])
        let bucket = try Bucket(server.url("lost-upload", port: Int(proxy.port)))
        try await bucket.store("big", BucketTests.large)
        #expect(await bucket.has("big", BucketTests.large))
        let requests = proxy.requests
        #expect(requests.count { Self.isBeginning($0) } == 2)
        #expect((1...3).map { number in requests.count { Self.isPart($0, number) } } == [1, 2, 1])
        let ends = proxy.replies.filter { Self.isCompletion($0.request) }.map(\.status)
        #expect(ends.first == 200 && ends.count >= 2, "\(ends)")
        #expect(try await bucket.keys() == ["big"])
        #expect(try await Self.uploads(in: bucket).isEmpty)
        let key = bucket.storage.key(try ObjectKey("big"))
        #expect(try await bucket.privateKeys() == [bucket.storage.digestKey(of: key)])
        #expect(try bucket.spooledFiles().isEmpty)
    }

    // MARK: Late requests

    /// The rest of a PUT, or of the end of an upload, arrives after the next worker has stored other
    /// bytes.
    @Test(arguments: BucketTests.servers, [false, true])
    func aLateRequestReplacesNoNewerObject(_ kind: S3Server.Kind, isLarge: Bool) async throws {
        let server = try await S3Server.shared(kind)
        let gate = Gate()
        defer { gate.open() }
        let isLast: @Sendable (Request) -> Bool = {
            isLarge ? Self.isCompletion($0) : Self.isPut($0, of: "a")
        }
        let proxy = try RequestProxy(to: server.port) { isLast($0) ? .hold(gate) : .forward }
        let name = "late-\(isLarge)"
        let first = try Bucket(server.url(name, port: Int(proxy.port)))
        let next = try Bucket(server.url(name))
        let older = isLarge ? BucketTests.large : sampleBytes(1_000)
        var newer = older
        newer[5] ^= 1
        // Its lease ends once the server has half of the request.
        await #expect(throws: Failure.self) {
            try await first.store("a", older) { gate.waiting == 0 }
        }
        #expect(gate.waiting == 1)
        #expect(try await next.keys().isEmpty)
        try await next.store("a", newer)
        gate.open()
        try await waitUntil(deadlineSeconds: 60, "the reply to the late request") {
            proxy.replies.contains { isLast($0.request) }
        }
        let late = proxy.replies.filter { isLast($0.request) }.map(\.status)
        // Without its upload, moto answers with the object that there is.
        #expect(isLarge ? late.count == 1 : late == [412], "\(late)")
        #expect(await next.has("a", newer))
        #expect(try await next.keys() == ["a"])
        #expect(try await Self.uploads(in: next).isEmpty)
    }
}
