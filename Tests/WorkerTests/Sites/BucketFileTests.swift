import API
import Digest
import Model
import S3
import TestSupport
import Testing

@testable import Storage
@testable import Worker

/// Large files in buckets, and bodies that cannot be stored at once.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketFileTests {
    typealias C = Cluster

    private static func reader(_ url: String) throws -> S3Storage {
        let parsed = try StorageURL(url)
        let spool = try TemporaryDirectory("spool")
        return try S3Storage(
            parsed, try #require(parsed.bucket),
            access: BucketAccess(
                BucketOptions(spool: spool.path, environment: S3Server.environment)))
    }

    private static func start(_ cluster: C, _ spool: TemporaryDirectory) throws {
        var configuration = cluster.configuration()
        configuration.partBytes = 16 << 20
        configuration.buckets = BucketOptions(
            spool: spool.path, environment: S3Server.environment)
        try cluster.startWorker(configuration)
    }

    /// Two workers with a spool each: every part comes from the origin once.
    @Test(arguments: S3Server.installed)
    func aLargeFileIsSentBySeveralWorkers(_ kind: S3Server.Kind) async throws {
        let site = try await S3Server.shared(kind).url("several-\(UInt32.random(in: 0...9_999))")
        let spools = [try TemporaryDirectory("spool"), try TemporaryDirectory("spool")]
        try await C.with(workers: 0) { cluster in
            for spool in spools { try Self.start(cluster, spool) }
            let body = sampleBytes(70 << 20 | 77)
            cluster.origin.serve("/v/large.mp4", body, etag: "\"1\"")
            let ended = try await cluster.end(
                of: try await cluster.submit([try cluster.file("/v/large.mp4")], to: site))
            #expect(ended.values.allSatisfy { $0.state == .completed }, "\(ended)")
            #expect(cluster.origin.count("/v/large.mp4") == 5)
            let storage = try Self.reader(site)
            let digest = try #require(ExpectedDigest(.sha256, hex: C.sha256(body)))
            let found = await storage.reuse(
                key: "\(cluster.root)/v/large.mp4", bytes: nil, digests: [digest])
            #expect(found?.bytes == Int64(body.count))
            #expect(try await storage.abandonedUploads(olderThanSeconds: -1, now: .max).isEmpty)
            for spool in spools {
                #expect(try spool.files().allSatisfy { !$0.contains("/tmp/") })
            }
        }
    }

    /// The bucket cannot be reached while the body arrives: it is fetched once all the same.
    @Test(arguments: S3Server.installed)
    func aBodyThatCouldNotBeStoredIsNotFetchedAgain(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let proxy = try TCPProxy(to: .port(UInt16(server.port)))
        let site = server.url(
            "kept-\(UInt32.random(in: 0...9_999))", port: Int(proxy.port))
        let spool = try TemporaryDirectory("spool")
        try await C.with(workers: 0) { cluster in
            try Self.start(cluster, spool)
            let body = sampleBytes(100_000)
            let gate = Gate()
            cluster.origin.route("/v/a.ts") { request in
                request.serve(body, etag: "\"1\"").held(after: 50_000, at: gate)
            }
            let catalog = try await cluster.submit([try cluster.file("/v/a.ts")], to: site)
            try await gate.waitUntilReached()
            proxy.refuse()
            proxy.cut()
            gate.open()
            try await waitUntil(deadlineSeconds: 60, "a kept body") {
                try spool.files().contains { $0.contains(".dray/partial/") }
            }
            try proxy.accept()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed }, "\(ended)")
            #expect(cluster.origin.count("/v/a.ts") == 1)
            let digest = try #require(ExpectedDigest(.sha256, hex: C.sha256(body)))
            let found = await (try Self.reader(site)).reuse(
                key: "\(cluster.root)/v/a.ts", bytes: nil, digests: [digest])
            #expect(found?.bytes == 100_000)
        }
    }
}
