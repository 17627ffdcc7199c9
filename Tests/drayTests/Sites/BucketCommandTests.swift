import API
import Foundation
import Model
import S3
import TestSupport
import Testing

@testable import Storage

extension EndToEnd {
    /// `dray site` of a bucket, and a load test of what the bucket serves.
    @Suite(
        .enabled(if: !S3Server.installed.isEmpty, S3Server.needs), .timeLimit(.minutes(3)))
    struct BucketCommandTests {
        /// A cluster with one worker, and a bucket that it has filled with five files of 1, 38, 75, 112
        /// and 149 bytes.
        private struct Filled {
            let origin: FileOrigin
            let cluster: ProcessCluster
            let server: S3Server
            let storage: S3Storage
            private let spool: TemporaryDirectory

            init(_ kind: S3Server.Kind) async throws {
                origin = try await FileOrigin(files: 5)
                server = try await S3Server.shared(kind)
                spool = try TemporaryDirectory("spool")
                let url = server.url("commands-\(UInt32.random(in: 0...999_999))")
                let parsed = try StorageURL(url)
                storage = try S3Storage(
                    parsed, try #require(parsed.bucket),
                    access: BucketAccess(
                        BucketOptions(spool: spool.path, environment: S3Server.environment)))
                cluster = try await ProcessCluster(
                    coordinators: 1, workers: 0, connections: 2, leaseSeconds: 10)
                var environment = S3Server.environment
                environment["DRAY_SPOOL"] = spool.path("worker")
                try FileManager.default.createDirectory(
                    atPath: spool.path("worker"), withIntermediateDirectories: true)
                try cluster.startWorker(
                    ["--connections", "2", "--allow-addresses", "127.0.0.0/8"], roots: [url],
                    environment: environment)
                try await cluster.waitForWorkers(1)
                let added = try await run("site", "add", url, "--name", "bucket-1")
                #expect(added.hasPrefix("Site bucket-1: "), "\(added)")
                _ = try await run("prefetch", origin.list, "--to", url, "--name", "movies")
            }

            func run(_ words: String..., exits code: Int32 = 0) async throws -> String {
                let process = try cluster.start(words)
                #expect(try await process.wait() == .exited(code), "\(process.errors)")
                return code == 0 ? process.output : process.errors
            }

            func site() async throws -> SiteStatus {
                let text = try await run("site", "list", "--json")
                let list = try JSONDecoder().decode(SiteList.self, from: Data(text.utf8))
                return try #require(list.sites.first { $0.queue == "bucket-1" })
            }

            /// Keys of the files, without those of checksum files.
            func files() async throws -> [String] {
                try await storage.list().objects.map(\.key).filter { $0.hasSuffix(".bin") }
            }
        }

        @Test(arguments: S3Server.installed)
        func aSiteInABucketIsShownBoundedAndEvicted(_ kind: S3Server.Kind) async throws {
            let filled = try await Filled(kind)
            var site = try await filled.site()
            #expect(site.usedBytes == 375 && site.availableBytes == nil && site.fault == nil)
            #expect(try await filled.files().count == 5)
            let listed = try await filled.run("site")
            #expect(listed.contains("bucket-1"), "\(listed)")

            // Too small a quota pauses the site; evictions make room.
            let set = try await filled.run(
                "site", "set", "bucket-1", "--quota", "300", "--keep-for", "30d")
            #expect(set.contains("quota: ") && !set.contains("quota: none"), "\(set)")
            try await waitUntil(deadlineSeconds: 30, "the quota") {
                try await filled.site().fault?.code == .storageQuota
            }
            _ = try await filled.run(
                "site", "set", "bucket-1", "--evict", "least-recently-wanted")
            try await waitUntil(deadlineSeconds: 60, "room") {
                let site = try await filled.site()
                return site.fault == nil && (site.usedBytes ?? .max) <= 270
            }
            site = try await filled.site()
            #expect(site.quotaBytes == 300 && site.evict == .leastRecentlyWanted)
            let left = try await filled.files().count
            #expect(left > 0 && left < 5)

            let preview = try await filled.run(
                "site", "evict", "bucket-1", "--bytes", "1", "--dry-run")
            #expect(preview.contains("Would evict: 1 asset"), "\(preview)")
            #expect(try await filled.files().count == left)
            let evicted = try await filled.run(
                "site", "evict", "bucket-1", "--bytes", "1", "--yes")
            #expect(evicted.contains("Evicting: 1 asset"), "\(evicted)")
            try await waitUntil(deadlineSeconds: 30, "the object's end") {
                try await filled.files().count == left - 1
            }
            let resumed = try await filled.run("site", "resume", "bucket-1")
            #expect(resumed == "Site bucket-1 resumes.\n")
            let wider = try await filled.run(
                "site", "set", "bucket-1", "--quota", "none", "--evict", "off")
            #expect(wider.contains("quota: none") && wider.contains("evicts: off"), "\(wider)")
            let floor = try await filled.run(
                "site", "set", "bucket-1", "--accept-volume", "--maximum", "8MiB/s")
            #expect(floor.contains("maximum: 8MiB/s"), "\(floor)")
            // What was evicted is stored again.
            _ = try await filled.run(
                "prefetch", filled.origin.list, "--to", site.storageURL, "--name", "movies")
            #expect(try await filled.files().count == 5)
            try await filled.cluster.stop()
        }

        /// A worker looks at each record at the end of an audit; these are none.
        @Test(arguments: S3Server.installed)
        func anAuditLooksAtAllRecordsOfDigests(_ kind: S3Server.Kind) async throws {
            let filled = try await Filled(kind)
            let prefix = filled.storage.key(try ObjectKey("x")).dropLast()
            for number in 0..<40 {
                var put = S3Request("PUT", "\(prefix).dray/digests/\(number)")
                put.headers = [("content-length", "0")]
                _ = try await filled.storage.client.send(put)
            }
            let audited = try await filled.run("audit", "bucket-1", "--deep")
            #expect(audited.contains("completed"), "\(audited)")
            #expect(audited.contains("40 foreign"), "\(audited)")
            try await filled.cluster.stop()
        }

        /// As readers that need no credentials see it.
        @Test(arguments: S3Server.installed)
        func aLoadTestReadsWhatTheBucketServes(_ kind: S3Server.Kind) async throws {
            let filled = try await Filled(kind)
            let key =
                "127.0.0.1:\(filled.origin.server.port)/\(filled.origin.paths[4])"
            let name = filled.storage.key(try ObjectKey(key))
            let url = "http://127.0.0.1:\(filled.server.port)/edge/\(name)"
            let load = [
                "loadtest", url, "--users", "2", "--requests", "40", "--json", "--quiet",
            ]
            func run() async throws -> ChildProcess {
                let process = try DrayProcess.start(load, environment: ["LANG": "C.UTF-8"])
                _ = try await process.wait()
                return process
            }
            // The server rejects others until the object is public.
            let refused = try await run()
            #expect(try await refused.wait() != .exited(0), "\(refused.output)")
            try await readsSigned(filled, key: name)
            var grant = S3Request("PUT", name)
            grant.query = [("acl", "")]
            grant.headers = [("content-length", "0"), ("x-amz-acl", "public-read")]
            _ = try await filled.storage.client.send(grant)
            let process = try await run()
            #expect(try await process.wait() == .exited(0), "\(process.errors)")
            let result = try #require(
                try JSONSerialization.jsonObject(with: Data(process.output.utf8))
                    as? [String: Any])
            let counts = try #require(result["counts"] as? [String: Any])
            #expect(counts["succeeded"] as? Int == 40)
            #expect(counts["bytes"] as? Int == 40 * 149)
            try await filled.cluster.stop()
        }

        /// Requests a private object by the URL that the command signs, from the command and from a
        /// worker; no signature is shown.
        private func readsSigned(_ filled: Filled, key: String) async throws {
            let object = "s3://edge/\(key)?endpoint=http://127.0.0.1:\(filled.server.port)"
            let folder = try TemporaryDirectory("load")
            let html = folder.path("page.html")
            for options in [[], ["--cluster", "--workers", "1"]] {
                var environment = S3Server.environment
                environment["DRAY_COORDINATOR"] = filled.cluster.urls
                environment["LANG"] = "C.UTF-8"
                let process = try DrayProcess.start(
                    [
                        "loadtest", object, "--users", "2", "--requests", "40", "--json", "--html",
                        html,
                    ] + options, environment: environment)
                try #require(try await process.wait() == .exited(0), "\(process.errors)")
                let result = try #require(
                    try JSONSerialization.jsonObject(with: Data(process.output.utf8))
                        as? [String: Any])
                let counts = try #require(result["counts"] as? [String: Any])
                #expect(counts["succeeded"] as? Int == 40)
                #expect(process.output.contains("s3://edge/"))
                let page = try String(contentsOfFile: html, encoding: .utf8)
                for text in [process.output, process.errors, page] {
                    #expect(!text.contains("X-Amz-") && !text.contains("draytestsecret"), "\(text)")
                }
            }
            // Nothing is sent without credentials.
            let process = try DrayProcess.start(
                ["loadtest", object],
                environment: [
                    "AWS_EC2_METADATA_DISABLED": "true",
                    "AWS_SHARED_CREDENTIALS_FILE": folder.path("none"),
                ])
            #expect(try await process.wait() == .exited(2), "\(process.errors)")
            #expect(process.errors.contains("storage.credentials"), "\(process.errors)")
        }
    }
}
