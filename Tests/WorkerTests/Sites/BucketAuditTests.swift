import API
import CoordinatorClient
import Digest
import Model
import S3
import TestSupport
import Testing

@testable import Client
@testable import Storage
@testable import Worker

/// Audits of buckets, and adoption of their objects.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketAuditTests {
    typealias C = Cluster

    /// A bucket without Dray, as another program sees it.
    private struct Bucket {
        /// Keeps the connections of its client open.
        private let storage: S3Storage
        let prefix: String
        let site: String

        init(_ kind: S3Server.Kind, _ name: String) async throws {
            let server = try await S3Server.shared(kind)
            prefix = "\(name)-\(UInt32.random(in: 0...999_999))"
            site = server.url(prefix)
            let access = try BucketAccess(BucketOptions(environment: S3Server.environment))
            let url = try StorageURL(site)
            storage = try S3Storage(url, try #require(url.bucket), access: access)
        }

        var client: S3Client { storage.client }

        func put(_ key: String, _ bytes: [UInt8]) async throws {
            _ = try await client.put(
                "\(prefix)/\(key)", UploadBody(bytes),
                sha256: SHA256Digest(hashing: bytes).description)
        }

        func get(_ key: String) async throws -> [UInt8]? {
            try await client.getSmall("\(prefix)/\(key)")
        }

        /// Path of the record of an object's digest.
        func digestName(of key: String) -> String {
            String(storage.digestKey(of: "\(prefix)/\(key)").dropFirst(prefix.count + 1))
        }

        func delete(_ key: String) async throws { try await client.delete(["\(prefix)/\(key)"]) }
    }

    private static func start(_ cluster: C, _ spool: TemporaryDirectory) throws {
        var configuration = cluster.configuration()
        configuration.buckets = BucketOptions(
            spool: spool.path, environment: S3Server.environment)
        try cluster.startWorker(configuration)
    }

    private static func audit(
        _ cluster: C, _ bucket: Bucket, deep: Bool = true, repair: Bool = false
    ) async throws -> [AuditFindingKind: Set<String>] {
        var status = try await cluster.client.create(
            SiteAuditSubmission(site: bucket.site, isDeep: deep, repairs: repair))
        try await waitUntil(deadlineSeconds: 60, "the end of an audit") {
            status = try await cluster.client.siteAudit(status.id)
            return status.state.hasEnded
        }
        #expect(status.state == .completed, "\(String(describing: status.failure))")
        var found: [AuditFindingKind: Set<String>] = [:]
        var after: String?
        repeat {
            let page = try await cluster.client.findings(of: status.id, after: after, limit: 300)
            for finding in page.findings {
                found[finding.kind, default: []].insert(finding.path)
            }
            after = page.next
        } while after != nil
        return found
    }

    @Test(arguments: S3Server.installed)
    func damageIsFoundNamedAndRepaired(_ kind: S3Server.Kind) async throws {
        let bucket = try await Bucket(kind, "audit")
        let spool = try TemporaryDirectory("spool")
        try await C.with(workers: 0) { cluster in
            try Self.start(cluster, spool)
            var bodies: [String: [UInt8]] = [:]
            var assets: [AssetSubmission] = []
            for number in 0..<250 {
                let path = "/d\(number % 7)/f\(number)"
                bodies[path] = sampleBytes(100 + number, seed: UInt64(number + 1))
                cluster.origin.serve(path, bodies[path] ?? [])
                assets.append(try cluster.file(path))
            }
            let large = sampleBytes(17 << 20 | 3)
            bodies["/d0/large"] = large
            cluster.origin.serve("/d0/large", large, etag: "\"1\"")
            assets.append(try cluster.file("/d0/large"))
            let catalog = try await cluster.submit(assets, to: bucket.site)
            _ = try await cluster.end(of: catalog)
            #expect(try await Self.audit(cluster, bucket) == [:])

            let (root, lease) = (cluster.root, LeaseID.random())
            let site = try await cluster.client.sites().sites[0].id
            try await cluster.execute(
                "INSERT INTO dray.lost_lease (id, site_id, is_swept) VALUES ('\(lease)', "
                    + "\(site), true)")
            var expected: [AuditFindingKind: Set<String>] = [:]
            for number in 0..<20 {
                let path = "/d\(number % 7)/f\(number)"
                var bytes = bodies[path] ?? []
                switch number % 3 {
                case 0:
                    try await bucket.delete(root + path)
                    expected[.missing, default: []].insert(root + path)
                case 1:
                    try await bucket.put(root + path, bytes.dropLast())
                    expected[.truncated, default: []].insert(root + path)
                default:
                    bytes[7] ^= 1
                    try await bucket.put(root + path, bytes)
                    expected[.changed, default: []].insert(root + path)
                }
            }
            var damaged = large
            damaged[16 << 20] ^= 1
            try await bucket.put(root + "/d0/large", damaged)
            expected[.changed, default: []].insert(root + "/d0/large")
            for key in ["foreign", "a b/\u{FC}", "\(root)/d0/~"] {
                try await bucket.put(key, [1, 2, 3])
                expected[.foreign, default: []].insert(key)
            }
            // What a killed worker leaves: an upload, and a staged object.
            let key = "\(bucket.prefix)/gone"
            let upload = try await bucket.client.beginUpload(key, sha256: nil)
            let foreignUpload = try await bucket.client.beginUpload(key, sha256: nil)
            let record = "dray upload 3\nbegun \(upload)\n9\n9\nlease \(lease) 0\n\(key)"
            try await bucket.put(".dray/uploads/1", Array(record.utf8))
            try await bucket.put(".dray/tmp/\(lease)-7-1", [1])
            // An upload whose number was not recorded before a worker was killed.
            let unnamed = "\(bucket.prefix)/unnamed"
            _ = try await bucket.client.beginUpload(unnamed, sha256: nil)
            let beginning = "dray upload 3\nbeginning\n9\n9\nlease \(lease) 0\n\(unnamed)"
            try await bucket.put(".dray/uploads/2", Array(beginning.utf8))
            expected[.leftover] = [
                ".dray/uploads/1", ".dray/uploads/2", ".dray/tmp/\(lease)-7-1",
                // The digest of the object that was replaced.
                bucket.digestName(of: root + "/d0/large"),
            ]

            let shallow = try await Self.audit(cluster, bucket, deep: false)
            var light = expected
            light[.changed] = nil
            #expect(shallow == light)
            #expect(try await Self.audit(cluster, bucket) == expected)
            let before = cluster.origin.requests.count
            var repaired = try await Self.audit(cluster, bucket, repair: true)
            // The object may be fetched again before its digest is looked at.
            repaired[.leftover]?.insert(bucket.digestName(of: root + "/d0/large"))
            #expect(repaired == expected)
            _ = try await cluster.end(of: catalog)
            // Only what was damaged was fetched again.
            #expect(cluster.origin.requests.count == before + 21)
            #expect(
                try await Self.audit(cluster, bucket) == [.foreign: expected[.foreign] ?? []])
            #expect(try await bucket.get("foreign") == [1, 2, 3])
            #expect(try await bucket.client.uploads(prefix: key).map(\.id) == [foreignUpload])
            #expect(try await bucket.client.uploads(prefix: unnamed).isEmpty)
            for number in 0..<20 {
                let path = "/d\(number % 7)/f\(number)"
                #expect(try await bucket.get(root + path) == bodies[path])
            }
        }
    }

    /// A mirror in a bucket: nothing that is right is downloaded.
    @Test(arguments: S3Server.installed)
    func rightObjectsAreAdopted(_ kind: S3Server.Kind) async throws {
        let bucket = try await Bucket(kind, "adopt")
        let spool = try TemporaryDirectory("spool")
        let url = try StorageURL(bucket.site)
        let storage = try S3Storage(
            url, try #require(url.bucket),
            access: BucketAccess(BucketOptions(environment: S3Server.environment)))
        let adoption = Adoption(storage)
        try await C.with(workers: 0) { cluster in
            try Self.start(cluster, spool)
            var assets: [AssetSubmission] = []
            for number in 0..<30 {
                let path = "/m/f\(number)"
                let body = sampleBytes(200 + number, seed: UInt64(number + 1))
                cluster.origin.route(path) {
                    $0.serve(body, lastModified: "Thu, 01 Jan 2015 00:00:00 GMT")
                }
                // One is cut, and one differs from the list's digest.
                let stored = number == 3 ? body.dropLast() : number == 4 ? body.reversed() : body
                try await bucket.put(cluster.root + path, Array(stored))
                let digest = number < 10 && number != 3 ? C.sha256(body) : nil
                assets += try await adoption.offer([try cluster.file(path, sha256: digest)])
            }
            let catalog = try await cluster.submit(assets, to: bucket.site)
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed }, "\(ended)")
            let fetched = cluster.origin.requests.filter { $0.method == "GET" }.map(\.path)
            #expect(Set(fetched) == ["/m/f3", "/m/f4"])
            #expect(
                try await bucket.get(cluster.root + "/m/f4")
                    == sampleBytes(204, seed: 5))
        }
    }
}
