import API
import CoordinatorClient
import Digest
import Model
import S3
import Storage
import TestSupport
import Testing

@testable import Worker

/// Workers that store in buckets.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketTests {
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
        configuration.buckets = BucketOptions(
            spool: spool.path, environment: S3Server.environment)
        try cluster.startWorker(configuration)
    }

    @Test(arguments: S3Server.installed)
    func aCatalogIsStoredAndReusedInABucket(_ kind: S3Server.Kind) async throws {
        let site = try await S3Server.shared(kind).url("cluster-\(UInt32.random(in: 0...9_999))")
        let spool = try TemporaryDirectory("spool")
        try await C.with(workers: 0) { cluster in
            try Self.start(cluster, spool)
            let large = sampleBytes(20 << 20 | 77)
            cluster.origin.serve("/v/large.mp4", large, etag: "\"1\"")
            var assets = [try cluster.file("/v/large.mp4")]
            for index in 0..<40 {
                cluster.origin.serve(
                    "/v/\(index).ts", sampleBytes(1_000 + index), etag: "\"\(index)\"")
                assets.append(try cluster.file("/v/\(index).ts"))
            }
            let ended = try await cluster.end(of: try await cluster.submit(assets, to: site))
            #expect(ended.values.allSatisfy { $0.state == .completed })
            let storage = try Self.reader(site)
            let keys = try await storage.list().objects.map(\.key)
            #expect(keys.filter { $0.hasSuffix("SHA256SUMS") }.count == 1)
            #expect(keys.count == assets.count + 1)
            let digest = try #require(ExpectedDigest(.sha256, hex: C.sha256(large)))
            let found = await storage.reuse(
                key: "\(cluster.root)/v/large.mp4", bytes: nil, digests: [digest])
            #expect(found?.bytes == Int64(large.count))
            #expect(
                try spool.files().allSatisfy { $0.contains("/volume/") || !$0.contains(".dray/") })

            // Nothing is fetched again but what was deleted.
            _ = try await storage.delete(keys: ["\(cluster.root)/v/3.ts"])
            let before = cluster.origin.requests.count
            _ = try await cluster.end(of: try await cluster.submit(assets, to: site))
            #expect(cluster.origin.requests.count == before + 1)
        }
    }

    /// A quota holds for a bucket too, and what was wanted the longest time ago makes room.
    @Test(arguments: S3Server.installed)
    func aBucketMakesRoomForNewFiles(_ kind: S3Server.Kind) async throws {
        let site = try await S3Server.shared(kind).url("room-\(UInt32.random(in: 0...9_999))")
        let spool = try TemporaryDirectory("spool")
        try await C.with(workers: 0) { cluster in
            try Self.start(cluster, spool)
            func files(_ directory: String, _ count: Int) throws -> [AssetSubmission] {
                try (0..<count).map { number in
                    let path = "/\(directory)/\(number).ts"
                    cluster.origin.serve(path, sampleBytes(1_000, seed: UInt64(number + 1)))
                    return try cluster.file(path, bytes: 1_000)
                }
            }
            let old = try await cluster.submit(try files("old", 5), catalog: "old", to: site)
            _ = try await cluster.end(of: old)
            // By the canonical form of its URL.
            let known = try #require(try await cluster.client.sites().sites.first).storageURL
            var settings = SiteSettings(site: known)
            (settings.quotaBytes, settings.evict) = (6_000, .leastRecentlyWanted)
            _ = try await cluster.client.configure(settings)
            let new = try await cluster.submit(try files("new", 4), catalog: "new", to: site)
            let ended = try await cluster.end(of: new, deadlineSeconds: 90)
            #expect(ended.values.allSatisfy { $0.state == .completed }, "\(ended)")
            // Nine tenths of the quota.
            try await waitUntil(deadlineSeconds: 60, "the end of evictions") {
                let used = try await cluster.client.sites().sites.first?.usedBytes
                return try #require(used) <= 5_400
            }
            let left = try await cluster.end(of: old)
            let removed = Set(left.filter { $0.value.state == .removed }.keys)
            #expect(removed.count >= 4, "\(left)")
            let keys = Set(
                try await Self.reader(site).list().objects.map(\.key)
                    .filter { !$0.hasSuffix("SHA256SUMS") })
            let stored = Set(left.keys).subtracting(removed).union(ended.keys)
            #expect(keys == Set(stored.map { cluster.root + $0 }))
        }
    }

    /// A worker that has other roots, or none in the bucket, gets none of its jobs.
    @Test func aWorkerStoresOnlyWithinItsRoots() throws {
        let root = "s3://edge/a?endpoint=http://127.0.0.1:9000"
        let roots = try SiteRoots(existing: [root])
        #expect(roots.urls == [root])
        try roots.check(try StorageURL(root))
        try roots.check(try StorageURL("s3://edge/a/b?endpoint=http://127.0.0.1:9000"))
        for other in [
            "s3://edge/ab?endpoint=http://127.0.0.1:9000", "s3://edge/a", "file:///edge/a",
            "s3://edge?endpoint=http://127.0.0.1:9000",
            "s3://edge/a?endpoint=http://127.0.0.2:9000",
        ] {
            let url = try StorageURL(other)
            #expect(throws: Failure.self) { try roots.check(url) }
        }
    }
}
