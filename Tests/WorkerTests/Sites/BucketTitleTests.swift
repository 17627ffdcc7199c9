import API
import CoordinatorClient
import Foundation
import Model
import S3
import TestSupport
import Testing

@testable import Storage
@testable import Worker

/// A title in a bucket, from its first file until its rights expire.
@Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct BucketTitleTests {
    typealias C = Cluster
    typealias R = RefreshFixture

    /// Paths of the title, each after those that it names.
    private static let paths = R.segments + ["/t/low/index.m3u8", "/t/main.m3u8"]

    /// A title at a site behind a proxy.
    private struct Title {
        let cluster: C
        let proxy: RequestProxy
        let site: String
        let storage: S3Storage
        private let spool: TemporaryDirectory

        init(_ cluster: C, at server: S3Server) throws {
            self.cluster = cluster
            proxy = try RequestProxy(to: server.port) { _ in .forward }
            site = server.url("title-\(UInt32.random(in: 0...999_999))", port: Int(proxy.port))
            spool = try TemporaryDirectory("spool")
            let buckets = BucketOptions(
                spool: spool.path, environment: S3Server.environment)
            let url = try StorageURL(site)
            storage = try S3Storage(
                url, try #require(url.bucket), access: BucketAccess(buckets))
            // One file at a time, in the order of the jobs.
            var configuration = cluster.configuration(connections: 1)
            configuration.buckets = buckets
            try cluster.startWorker(configuration)
        }

        /// Objects of the title by path.
        func objects() async throws -> [String: [UInt8]] {
            var found: [String: [UInt8]] = [:]
            for key in try await storage.list().objects.map(\.key)
            where !key.hasSuffix("SHA256SUMS") {
                let name = storage.key(try ObjectKey(key))
                let path = String(key.dropFirst(cluster.root.count))
                found[path] = try await storage.client.getSmall(name)
            }
            return found
        }

        func apply(_ action: SelectionAction.Action, _ catalog: CatalogID) async throws {
            let answer = try await cluster.client.apply(
                SelectionAction(action, catalog: CatalogReference(catalog)))
            #expect(answer.assets == 1)
        }

        /// The server's copies to files of the title since a number of requests: the path, and the
        /// times of the request and of its reply.
        func copies(
            after first: Int
        ) -> [(path: String, requested: Double, replied: Double)] {
            let start = proxy.requests.dropFirst(first).first?.receivedAt ?? .infinity
            return proxy.replies.compactMap { reply in
                let request = reply.request
                guard request.headers["x-amz-copy-source"] != nil, reply.status == 200,
                    request.receivedAt >= start,
                    let path = BucketTitleTests.paths.first(where: { request.path.hasSuffix($0) })
                else { return nil }
                return (path, request.receivedAt, reply.receivedAt)
            }
        }
    }

    private typealias Write = (path: String, requested: Double, replied: Double)

    /// Each file was written once, by a copy, after what it names: segments, their playlist, and the
    /// entry last.
    private static func expectOrder(_ writes: [Write], _ paths: [String]) {
        #expect(writes.map(\.path).sorted() == paths.sorted(), "\(writes)")
        for (lower, upper) in [(".ts", "index.m3u8"), ("index.m3u8", "main.m3u8")] {
            let before = writes.filter { $0.path.hasSuffix(lower) }.map(\.replied).max()
            let after = writes.filter { $0.path.hasSuffix(upper) }.map(\.requested).min()
            #expect(before ?? .infinity <= after ?? 0, "\(writes)")
        }
    }

    private static func body(_ objects: R.Objects) -> [String: [UInt8]] {
        Dictionary(uniqueKeysWithValues: paths.map { ($0, objects[$0]?.body ?? []) })
    }

    @Test(arguments: S3Server.installed)
    func aTitleIsPausedRefreshedAndExpires(_ kind: S3Server.Kind) async throws {
        let server = try await S3Server.shared(kind)
        let gate = Gate()
        defer { gate.open() }
        try await C.with(workers: 0) { cluster in
            let title = try Title(cluster, at: server)
            let objects = R.Objects(cluster.origin)
            R.serveTitle(objects)
            for (index, path) in R.segments.enumerated() {
                objects.set(
                    path, sampleBytes(4_000, seed: UInt64(index + 1)),
                    gate: index == 2 ? gate : nil)
            }

            // A pause while a segment is missing: no manifest leads to it.
            let catalog = try await cluster.submit(
                [try cluster.title("/t/main.m3u8")], to: title.site)
            try await gate.waitUntilReached()
            try await title.apply(.pause, catalog)
            try await waitUntil(deadlineSeconds: 60, "the end of what is held") {
                try await cluster.client.clusterStatus().queues.first?.leased == 0
            }
            let partial = try await title.objects()
            #expect(partial["/t/main.m3u8"] == nil && partial[R.segments[2]] == nil)
            for (path, body) in partial { #expect(body == objects[path]?.body, "\(path)") }
            gate.open()
            try await title.apply(.resume, catalog)
            let stored = try await cluster.end(of: catalog)
            #expect(stored.values.map(\.state) == [.completed])
            #expect(try await title.objects() == Self.body(objects))

            // A refresh: the files are staged, then copied to their keys, the entry last.
            for (index, path) in R.segments.prefix(2).enumerated() {
                objects.set(path, sampleBytes(5_000, seed: UInt64(index + 20)))
            }
            R.serveTitle(objects, note: "## packaged again\n")
            let main = objects["/t/main.m3u8"]?.body ?? []
            objects.set("/t/main.m3u8", main + Array("## packaged again\n".utf8))
            let before = title.proxy.requests.count
            let refreshed = try await R.refresh(cluster, catalog)
            #expect(refreshed.values.map(\.refreshed) == [.changed])
            #expect(try await title.objects() == Self.body(objects))
            Self.expectOrder(
                title.copies(after: before),
                R.segments.prefix(2) + ["/t/low/index.m3u8", "/t/main.m3u8"])

            // The title's rights end: all of it is deleted.
            var expiring = try cluster.title("/t/main.m3u8")
            expiring.expiresAt = Date().timeIntervalSince1970 + 2
            try await cluster.submit([expiring], to: title.site)
            try await waitUntil(deadlineSeconds: 60, "the end of the rights") {
                try await cluster.client.assets(of: catalog, state: .expired).assets.count == 1
            }
            try await waitUntil(deadlineSeconds: 60, "an empty bucket") {
                try await title.storage.client.list(prefix: title.storage.prefix).objects.isEmpty
            }
        }
    }
}
