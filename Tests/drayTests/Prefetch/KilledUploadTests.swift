import Digest
import Foundation
import Model
import S3
import TestSupport
import Testing

@testable import Storage

extension EndToEnd {
    /// Workers that are killed while they send an object to a bucket.
    @Suite(.enabled(if: !S3Server.installed.isEmpty, S3Server.needs)) struct KilledUploadTests {
        private static func storage(_ url: String, _ spool: String) throws -> S3Storage {
            let parsed = try StorageURL(url)
            return try S3Storage(
                parsed, try #require(parsed.bucket),
                access: BucketAccess(
                    BucketOptions(spool: spool, environment: S3Server.environment)))
        }

        /// Another worker, with a spool of its own, continues the upload by its recorded parts.
        @Test(arguments: S3Server.installed)
        func theNextWorkerEndsTheUpload(_ kind: S3Server.Kind) async throws {
            let origin = try FaultOrigin()
            let gate = Gate()
            defer { gate.open() }
            let body = sampleBytes(56 << 20 | 5)
            origin.route("/files/a.bin") { request in
                let answer = request.serve(body, etag: "\"v1\"")
                return request.number == 1 ? answer.held(after: 40 << 20, at: gate) : answer
            }
            let site = try await S3Server.shared(kind)
                .url("killed-\(UInt32.random(in: 0...999_999))")
            let spools = try (0..<3).map { _ in try TemporaryDirectory("spool") }
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 2, leaseSeconds: 5)
            for spool in spools.prefix(2) {
                var environment = S3Server.environment
                environment["DRAY_SPOOL"] = spool.path
                try cluster.startWorker(
                    ["--connections", "2", "--allow-addresses", "127.0.0.0/8"], roots: [site],
                    environment: environment)
            }
            try await cluster.waitForWorkers(2)
            let prefetch = try cluster.start([
                "prefetch", origin.url("/files/a.bin"), "--to", site, "--name", "one",
            ])
            let storage = try Self.storage(site, spools[2].path)
            let key = storage.key(try ObjectKey("127.0.0.1:\(origin.port)/files/a.bin"))
            var begun: String?
            try await waitUntil(deadlineSeconds: 60, "two parts in the bucket") {
                guard
                    let content = try await storage.client.getSmall(storage.recordKey(of: key)),
                    let record = UploadRecord(content)
                else { return false }
                guard case .begun(let id) = record.state else { return false }
                begun = id
                return try await storage.client.parts(of: key, upload: id)?.count == 2
            }
            let upload = try #require(begun)
            var holder: ChildProcess?
            for worker in cluster.workers where try await cluster.jobsHeld(by: worker) > 0 {
                holder = worker
            }
            let killed = try #require(holder)
            killed.signal(SIGKILL)
            #expect(try await killed.wait() == .signalled(SIGKILL))
            #expect(try await storage.list().objects.isEmpty)
            #expect(try await prefetch.wait(deadlineSeconds: 60) == .exited(0))
            let digest = ExpectedDigest(SHA256Digest(hashing: body))
            let found = await storage.reuse(
                key: "127.0.0.1:\(origin.port)/files/a.bin", bytes: nil, digests: [digest])
            #expect(found?.bytes == Int64(body.count))
            // The parts of the killed worker were used: its upload is the one that ended.
            #expect(try await storage.client.parts(of: key, upload: upload) == nil)
            #expect(try await storage.client.uploads(prefix: storage.prefix).isEmpty)
            let own = try await storage.client.list(prefix: storage.privateKey("")).objects
            #expect(own.map(\.key) == [storage.digestKey(of: key)])
            try await cluster.stop()
        }
    }
}
