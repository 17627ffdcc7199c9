import API
import Coordinator
import CoordinatorClient
import Foundation
import JobQueue
import Model
import TestSupport
import Testing

@testable import Worker

@Suite struct SourceTests {
    private func list(_ paths: [String], _ cluster: Cluster) -> [UInt8] {
        [UInt8](paths.map { cluster.origin.url($0) + "\n" }.joined().utf8)
    }

    /// Creates a catalog without assets, as before the first reading.
    private func emptyCatalog(_ cluster: Cluster) async throws -> CatalogID {
        let handle = try await cluster.client.openCatalog(
            CatalogSubmission(name: "test", storageURL: "file://\(cluster.edge.path)"))
        try await cluster.client.start(
            handle.id, CatalogStartRequest(generation: handle.generation))
        return handle.id
    }

    private func source(
        _ cluster: Cluster, prunes: Bool = true, format: String? = "urls", url: String? = nil
    ) -> SourceSubmission {
        var source = SourceSubmission(
            url: url ?? cluster.origin.url("/list"), everySeconds: 3_600)
        source.format = format
        source.prunes = prunes
        return source
    }

    /// Makes the source due, and waits until it was read once more.
    private func read(_ catalog: CatalogID, _ cluster: Cluster) async throws -> SourceStatus {
        let before = try await cluster.client.source(of: catalog).read
        // As if the interval had passed.
        try await cluster.execute("UPDATE source SET next_at = now()")
        return try await next(catalog, after: before, cluster)
    }

    private func next(
        _ catalog: CatalogID, after before: Double?, _ cluster: Cluster
    ) async throws -> SourceStatus {
        var status = try await cluster.client.source(of: catalog)
        try await waitUntil(deadlineSeconds: 60, "a reading of the source") {
            status = try await cluster.client.source(of: catalog)
            return status.read != before && !status.isReading
        }
        return status
    }

    private func stored(_ cluster: Cluster) throws -> [String] {
        try cluster.storedPaths().sorted()
    }

    private func serve(_ paths: [String], etag: String, _ cluster: Cluster) {
        for path in paths { cluster.origin.serve(path, sampleBytes(100, seed: 7)) }
        let body = list(paths, cluster)
        cluster.origin.route("/list") { $0.serve(body, etag: etag, type: "text/plain") }
    }

    @Test func aListThatChangesIsAppliedAndOneThatDoesNotIsNot() async throws {
        try await Cluster.with { cluster in
            serve(["/a", "/b", "/c"], etag: "\"1\"", cluster)
            let catalog = try await emptyCatalog(cluster)
            let set = try await cluster.client.set(source(cluster), of: catalog)
            #expect(set.read == nil && set.everySeconds == 3_600)
            var status = try await next(catalog, after: nil, cluster)
            #expect(status.result == .applied && status.failure == nil, "\(status)")
            #expect(status.assets == 3 && status.added == 3 && status.dropped == 0)
            // The next time is an interval away, give or take 5 %.
            #expect((3_400...3_800).contains(status.next - status.now))
            _ = try await cluster.end(of: catalog)
            #expect(try stored(cluster) == ["/a", "/b", "/c"])
            let generation = try await cluster.client.status(of: catalog).generation

            // 304: nothing is submitted.
            status = try await read(catalog, cluster)
            #expect(status.result == .unchanged && status.assets == 3)
            let conditional = cluster.origin.requests(for: "/list").last
            #expect(conditional?.headers["if-none-match"] == "\"1\"")
            // The same bytes under another validator.
            serve(["/a", "/b", "/c"], etag: "\"2\"", cluster)
            status = try await read(catalog, cluster)
            #expect(status.result == .unchanged)
            #expect(try await cluster.client.status(of: catalog).generation == generation)

            serve(["/b", "/c", "/d"], etag: "\"3\"", cluster)
            status = try await read(catalog, cluster)
            #expect(status.result == .applied && status.added == 1 && status.dropped == 1)
            let assets = try await cluster.end(of: catalog)
            #expect(assets.values.filter { $0.state == .completed }.count == 3)
            try await waitUntil(deadlineSeconds: 30, "the removal of a file") {
                try stored(cluster) == ["/b", "/c", "/d"]
            }
            // What is stored already was neither fetched nor read again.
            #expect(cluster.origin.count("/b") == 1)
            let events = try await cluster.execute(
                "SELECT count(*) FROM event WHERE kind = 'catalog.listApplied'")
            #expect(events.hasPrefix("2"))
        }
    }

    @Test func aListThatIsNotWholeChangesNothing() async throws {
        try await Cluster.with { cluster in
            serve(["/a", "/b", "/c"], etag: "\"1\"", cluster)
            let catalog = try await emptyCatalog(cluster)
            try await cluster.client.set(source(cluster, format: nil), of: catalog)
            _ = try await next(catalog, after: nil, cluster)
            _ = try await cluster.end(of: catalog)
            let page = FaultOrigin.Response(
                200, headers: [("Content-Type", "text/html")],
                text: "<html><body>We are back soon</body></html>")
            let cut = FaultOrigin.Response(
                200, body: list(["/a", "/b", "/c", "/d"], cluster)
            ).cut(after: 20)
            let json = FaultOrigin.Response(200, text: "[\"\(cluster.origin.url("/a"))\",")
            let cases: [(FaultOrigin.Response, FailureCode)] = [
                (page, "content.unexpectedType"), (cut, "origin.reset"),
                (FaultOrigin.Response(200, text: "\n"), "input.empty"),
                (json, "input.malformed"), (FaultOrigin.Response(404, text: ""), "origin.http.404"),
                (FaultOrigin.Response(200, body: list(["/a"], cluster)), "input.listShrunk"),
            ]
            let generation = try await cluster.client.status(of: catalog).generation
            for (index, (response, code)) in cases.enumerated() {
                cluster.origin.route("/list", response)
                let status = try await read(catalog, cluster)
                #expect(status.result == .failed)
                if code == "origin.reset" {
                    #expect(status.failure?.code.family == "origin", "\(status)")
                } else {
                    #expect(status.failure?.code == code, "\(status)")
                }
                #expect(status.failures == index + 1)
                // It is tried again sooner.
                #expect(status.next - status.now < 3_800)
                #expect(status.assets == 3)
                #expect(try await cluster.client.status(of: catalog).generation == generation)
                #expect(try stored(cluster) == ["/a", "/b", "/c"])
            }
            let shrunk = try await cluster.execute(
                "SELECT count(*) FROM event WHERE kind = 'catalog.listFailed' "
                    + "AND code = 'input.listShrunk'")
            #expect(shrunk.hasPrefix("1"))
            // What an operator allows is applied.
            var allowed = source(cluster, format: nil)
            allowed.maxDropPercent = 100
            let before = try await cluster.client.source(of: catalog).read
            try await cluster.client.set(allowed, of: catalog)
            let status = try await next(catalog, after: before, cluster)
            #expect(status.result == .applied && status.dropped == 2 && status.failures == 0)
            try await waitUntil(deadlineSeconds: 30, "the removal of two files") {
                try stored(cluster) == ["/a"]
            }
        }
    }

    @Test func anotherWorkerBeginsAnewAfterALostOne() async throws {
        try await Cluster.with(workers: 0, leaseSeconds: 2, coordinators: 3) { cluster in
            serve(["/a", "/b", "/c", "/d"], etag: "\"1\"", cluster)
            let catalog = try await emptyCatalog(cluster)
            try await cluster.client.set(source(cluster), of: catalog)
            // A worker that dies after half of the list.
            let (worker, lease) = (WorkerID.random(), LeaseID.random())
            let request = WorkLeaseRequest(worker: worker, name: "dies", lease: lease)
            let grant = try await cluster.client.lease(sourceOf: catalog, request)
            #expect(grant.work?.assets == 0)
            let other = WorkLeaseRequest(worker: .random(), name: "late", lease: .random())
            #expect(try await cluster.client.lease(sourceOf: catalog, other).work == nil)
            let assets = try ["/b", "/half"].map { path in
                var asset = try cluster.file(path)
                asset.name = asset.key
                return asset
            }
            let half = AssetBatch(generation: 1, assets: assets)
            try await cluster.client.add(
                half, toSourceOf: catalog, worker: worker, lease: lease)
            for port in cluster.ports { try cluster.startWorker(port: port) }
            let status = try await next(catalog, after: nil, cluster)
            #expect(status.result == .applied && status.worker != "dies")
            _ = try await cluster.end(of: catalog)
            try await waitUntil(deadlineSeconds: 30, "the files of the list") {
                try stored(cluster) == ["/a", "/b", "/c", "/d"]
            }
            #expect(cluster.origin.count("/list") == 1)
            #expect(cluster.origin.count("/half") == 0)
            // What the dead worker still sends is rejected.
            var late = SourceReport(worker: worker, lease: lease, result: .applied)
            late.sha256 = String(repeating: "0", count: 64)
            late.assets = 2
            await #expect(throws: Failure.self) {
                try await cluster.client.report(late, ofSourceOf: catalog)
            }
        }
    }

    @Test func aCatalogThatIsBeingSubmittedIsLeftAlone() async throws {
        try await Cluster.with { cluster in
            serve(["/a"], etag: "\"1\"", cluster)
            let handle = try await cluster.client.openCatalog(
                CatalogSubmission(name: "test", storageURL: "file://\(cluster.edge.path)"))
            try await cluster.client.set(source(cluster), of: handle.id)
            var status = try await next(handle.id, after: nil, cluster)
            #expect(status.failure?.code == "cluster.busy")
            #expect(try await cluster.client.status(of: handle.id).generation == 0)
            // Its submitter never came back.
            try await cluster.execute("UPDATE catalog SET opened_at = now() - interval '2 hours'")
            status = try await read(handle.id, cluster)
            #expect(status.result == .applied && status.failures == 0)
            _ = try await cluster.end(of: handle.id)

            // A cancelled catalog is not read; a removed source neither.
            try await cluster.execute("UPDATE catalog SET state = 'cancelled'")
            #expect(try await cluster.client.source(of: handle.id).isSkipped)
            #expect(try await cluster.client.removeSource(of: handle.id).catalog == handle.id)
            #expect(try await cluster.client.sources().sources.isEmpty)
        }
    }

    @Test func filesAreCheckedAtTheirOriginsBySchedule() async throws {
        try await Cluster.with(coordinators: 2) { cluster in
            let old = sampleBytes(100, seed: 1)
            cluster.origin.serve("/a", old, etag: "\"1\"")
            let catalog = try await cluster.submit([try cluster.file("/a")])
            _ = try await cluster.end(of: catalog)
            var schedule = SelectionAction(.reschedule, catalog: CatalogReference(catalog))
            schedule.refreshSeconds = 3_600
            _ = try await cluster.client.apply(schedule)
            let new = sampleBytes(120, seed: 2)
            cluster.origin.serve("/a", new, etag: "\"2\"")
            // As if an hour had passed.
            try await cluster.execute("UPDATE catalog SET refresh_at = now()")
            try await waitUntil(deadlineSeconds: 30, "the refreshed file") {
                cluster.stored("/a") == new
            }
            let assets = try await cluster.end(of: catalog)
            #expect(assets["/a"]?.refreshed == .changed)
            #expect(cluster.origin.count("/a") == 2)
            let next = try await cluster.execute(
                "SELECT extract(epoch FROM refresh_at - now()) BETWEEN 3300 AND 3800 FROM catalog")
            #expect(next.hasPrefix("t"))
            // One that was cancelled is not.
            try await cluster.execute("UPDATE catalog SET state = 'cancelled', refresh_at = now()")
            let due = try await cluster.coordinator.queue.catalogs.sources.refreshDue()
            #expect(due == 0 && cluster.origin.count("/a") == 2)
        }
    }

    @Test(arguments: ["autoindex on;", "autoindex on; autoindex_format json;"])
    func directoriesOfNginxAreReadToTheirEnds(_ configuration: String) async throws {
        let root = try TemporaryDirectory("listed")
        _ = try root.write("one", to: "m/a b.bin")
        _ = try root.write("two", to: "m/s/t/c.m3u8")
        _ = try root.write("three", to: "other/d.bin")
        let nginx = try await NginxServer(root: root.path, configuration: configuration)
        try await Cluster.with { cluster in
            let catalog = try await emptyCatalog(cluster)
            try await cluster.client.set(
                source(cluster, format: "directory", url: nginx.url + "/m/"), of: catalog)
            var status = try await next(catalog, after: nil, cluster)
            #expect(status.result == .applied && status.assets == 2, "\(status)")
            _ = try await cluster.end(of: catalog)
            let host = "127.0.0.1:\(nginx.port)"
            #expect(try cluster.edge.read("\(host)/m/a b.bin") == [UInt8]("one".utf8))
            #expect(try cluster.edge.read("\(host)/m/s/t/c.m3u8") == [UInt8]("two".utf8))
            status = try await read(catalog, cluster)
            #expect(status.result == .unchanged)
            _ = try root.write("four", to: "m/s/e.bin")
            status = try await read(catalog, cluster)
            #expect(status.result == .applied && status.added == 1, "\(status)")
            _ = try await cluster.end(of: catalog)
            #expect(try cluster.edge.read("\(host)/m/s/e.bin") == [UInt8]("four".utf8))
        }
    }

    @Test func sitemapIndexesOfNginxAreFollowed() async throws {
        let root = try TemporaryDirectory("sitemaps")
        let nginx = try await NginxServer(root: root.path)
        let base = nginx.url
        _ = try root.write("one", to: "a")
        _ = try root.write("two", to: "b")
        _ = try root.write(
            "<sitemapindex><sitemap><loc>\(base)/1.xml.gz</loc><lastmod>2026-11-27</lastmod>"
                + "</sitemap></sitemapindex>", to: "index.xml")
        func child(_ names: [String]) async throws {
            let urls = names.map { "<url><loc>\(base)/\($0)</loc></url>" }.joined()
            let path = try root.write("<urlset>\(urls)</urlset>", to: "1.xml")
            _ = try await ChildProcess.run(["gzip", "-kfn", path])
        }
        try await child(["a"])
        try await Cluster.with { cluster in
            let catalog = try await emptyCatalog(cluster)
            try await cluster.client.set(
                source(cluster, format: "sitemap", url: base + "/index.xml"), of: catalog)
            var status = try await next(catalog, after: nil, cluster)
            #expect(status.result == .applied && status.assets == 1, "\(status)")
            _ = try await cluster.end(of: catalog)
            status = try await read(catalog, cluster)
            #expect(status.result == .unchanged)
            // The index is as before, and one of its sitemaps is not.
            try await child(["a", "b"])
            status = try await read(catalog, cluster)
            #expect(status.result == .applied && status.added == 1, "\(status)")
            _ = try await cluster.end(of: catalog)
            #expect(try cluster.edge.read("127.0.0.1:\(nginx.port)/b") == [UInt8]("two".utf8))
        }
    }
}
