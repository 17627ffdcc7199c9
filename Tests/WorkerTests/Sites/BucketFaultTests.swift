import API
import CoordinatorClient
import Digest
import Model
import S3
import Synchronization
import TestSupport
import Testing

@testable import Storage
@testable import Worker

/// Catalogs in buckets whose server slows its clients down, or whose replies are lost.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketFaultTests {
    typealias C = Cluster
    typealias Request = FaultOrigin.Request

    enum Fault: CaseIterable, Sendable {
        case slowDown
        case lostReply

        var treatment: RequestProxy.Treatment {
            switch self {
            case .slowDown: BucketFaultTests.slowDown
            case .lostReply: .loseReply
            }
        }
    }

    private static let slowDown = RequestProxy.Treatment.answer(
        FaultOrigin.Response(
            503, text: "<?xml version=\"1.0\"?><Error><Code>SlowDown</Code></Error>"))

    /// Returns how many of the first requests for a target fail: up to two, by a seed and its name.
    private static func faults(_ request: Request, seed: UInt64 = 25) -> Int {
        let name = request.path.utf8.reversed().prefix { $0 != UInt8(ascii: "/") }
        let hash = name.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        return Int((hash >> 24) % 3)
    }

    private static func reader(_ url: String) throws -> S3Storage {
        let parsed = try StorageURL(url)
        return try S3Storage(
            parsed, try #require(parsed.bucket),
            access: BucketAccess(BucketOptions(environment: S3Server.environment)))
    }

    private static func start(_ cluster: C, _ spool: TemporaryDirectory) throws {
        var configuration = cluster.configuration()
        configuration.buckets = BucketOptions(
            spool: spool.path, environment: S3Server.environment)
        try cluster.startWorker(configuration)
    }

    /// Forty small files, and one in parts.
    private static func serve(_ cluster: C) throws -> [String: [UInt8]] {
        var bodies = ["/v/large.mp4": sampleBytes(20 << 20 | 77)]
        for number in 0..<40 {
            bodies["/v/\(number).ts"] = sampleBytes(1_000 + number, seed: UInt64(number + 1))
        }
        for (path, body) in bodies { cluster.origin.serve(path, body, etag: "\"1\"") }
        return bodies
    }

    /// Each file is stored once with its digest, was fetched once, and no upload is left.
    private static func expectStored(
        _ bodies: [String: [UInt8]], _ ended: [String: AssetStatus], _ cluster: C, at site: String
    ) async throws {
        #expect(ended.count == bodies.count)
        #expect(
            ended.values.allSatisfy { $0.state == .completed }, "\(ended)")
        let storage = try reader(site)
        for (path, body) in bodies {
            let digest = try #require(ExpectedDigest(.sha256, hex: C.sha256(body)))
            let found = await storage.reuse(
                key: cluster.root + path, bytes: nil, digests: [digest])
            #expect(found?.bytes == Int64(body.count), "\(path)")
            #expect(cluster.origin.count(path) == 1, "\(path)")
        }
        let keys = try await storage.list().objects.map(\.key)
            .filter { !$0.hasSuffix("SHA256SUMS") }
        #expect(Set(keys) == Set(bodies.keys.map { cluster.root + $0 }))
        #expect(try await storage.client.uploads(prefix: storage.prefix).isEmpty)
        #expect(try await storage.abandonedUploads(olderThanSeconds: -1, now: .max).isEmpty)
    }

    @Test(arguments: S3Server.installed, Fault.allCases)
    func aShareOfRequestsFails(_ kind: S3Server.Kind, _ fault: Fault) async throws {
        let server = try await S3Server.shared(kind)
        let proxy = try RequestProxy(to: server.port) { request in
            request.number <= Self.faults(request) ? fault.treatment : .forward
        }
        let name = "share-\(UInt32.random(in: 0...999_999))"
        let spool = try TemporaryDirectory("spool")
        try await C.with(workers: 0) { cluster in
            try Self.start(cluster, spool)
            let bodies = try Self.serve(cluster)
            let assets = try bodies.keys.sorted().map { try cluster.file($0) }
            let ended = try await cluster.end(
                of: try await cluster.submit(
                    assets, to: server.url(name, port: Int(proxy.port))))
            try await Self.expectStored(bodies, ended, cluster, at: server.url(name))
            // The catalog has met the fault, and each repetition waited for it, longer each time.
            let files = Dictionary(grouping: proxy.requests.filter { $0.path.hasSuffix(".ts") }) {
                $0.target
            }
            let counts = files.values.compactMap { $0.first.map { Self.faults($0) } }
            #expect(counts.contains(1) && counts.contains(2))
            guard fault == .slowDown else { return }
            for requests in files.values {
                for index in 0..<Self.faults(requests[0]) {
                    let waited = requests[index + 1].receivedAt - requests[index].receivedAt
                    #expect(waited >= (index == 0 ? 0.05 : 0.15))
                }
            }
        }
    }

    /// The site is paused for a time, and resumes by itself.
    @Test(arguments: S3Server.installed)
    func aServerThatIsBusyForLongPausesItsSite(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let isBusy = Atomic(true)
        let proxy = try RequestProxy(to: server.port) { _ in
            isBusy.load(ordering: .relaxed) ? Self.slowDown : .forward
        }
        let name = "busy-\(UInt32.random(in: 0...999_999))"
        let spool = try TemporaryDirectory("spool")
        try await C.with(workers: 0) { cluster in
            try Self.start(cluster, spool)
            let bodies = try Self.serve(cluster)
            let assets = try bodies.keys.sorted().map { try cluster.file($0) }
            let catalog = try await cluster.submit(
                assets, to: server.url(name, port: Int(proxy.port)))
            try await waitUntil(deadlineSeconds: 60, "the paused site") {
                try await cluster.client.sites().sites.first?.fault?.code == .storageSlowDown
            }
            #expect(try await Self.reader(server.url(name)).list().objects.isEmpty)
            isBusy.store(false, ordering: .relaxed)
            let ended = try await cluster.end(of: catalog)
            try await Self.expectStored(bodies, ended, cluster, at: server.url(name))
            try await waitUntil(deadlineSeconds: 60, "the resumed site") {
                try await cluster.client.sites().sites.first?.fault == nil
            }
        }
    }
}
