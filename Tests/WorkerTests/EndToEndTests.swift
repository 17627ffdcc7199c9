import API
import CoordinatorClient
import Model
import TestSupport
import Testing

@testable import Worker

@Suite struct EndToEndTests {
    typealias C = Cluster

    /// A title of two renditions with three segments each.
    static func serveTitle(_ origin: FaultOrigin, at folder: String) -> [String: [UInt8]] {
        var objects: [String: [UInt8]] = [:]
        var main = "#EXTM3U\n"
        for (index, name) in ["low", "high"].enumerated() {
            main += "#EXT-X-STREAM-INF:BANDWIDTH=\(1_000 * (index + 1))\n\(name)/index.m3u8\n"
            var list = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n#EXT-X-VERSION:3\n"
            for number in 1...3 {
                list += "#EXTINF:4,\ns\(number).ts\n"
                objects["\(folder)/\(name)/s\(number).ts"] = sampleBytes(
                    5_000 + number, seed: UInt64(10 * index + number))
            }
            objects["\(folder)/\(name)/index.m3u8"] = Array("\(list)#EXT-X-ENDLIST\n".utf8)
        }
        objects["\(folder)/main.m3u8"] = Array(main.utf8)
        for (path, body) in objects {
            let type =
                path.hasSuffix("m3u8") ? "application/vnd.apple.mpegurl" : "video/mp2t"
            origin.route(path) { $0.serve(body, type: type) }
        }
        return objects
    }

    @Test func filesAndATitleArriveWholeWithTheirChecksums() async throws {
        try await C.with(workers: 2) { cluster in
            var objects = Self.serveTitle(cluster.origin, at: "/title")
            var assets = [try cluster.title("/title/main.m3u8")]
            for number in 1...20 {
                let path = "/files/f\(number).bin"
                objects[path] = sampleBytes(number * 997, seed: UInt64(number))
                cluster.origin.serve(path, objects[path] ?? [])
                assets.append(try cluster.file(path))
            }
            // An object without a byte, and one whose name a shell would trip over.
            for path in ["/files/empty", "/files/a%20b%5Cc"] {
                let body = path.hasSuffix("empty") ? [] : sampleBytes(10)
                cluster.origin.serve(path, body)
                objects[path == "/files/empty" ? path : "/files/a b\\c"] = body
                assets.append(try cluster.file(path))
            }
            let ended = try await cluster.run(assets)
            #expect(ended.count == 23)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.failure == nil })
            #expect(try cluster.storedPaths() == objects.keys.sorted())
            for (path, body) in objects { #expect(cluster.stored(path) == body, "\(path)") }
            #expect(try await cluster.checkSums("/files") == 22)
            #expect(try await cluster.checkSums("/title") == 9)
            // Each object was requested once except the playlists: to be read, and to be stored.
            for path in objects.keys where path.hasSuffix(".ts") || path.hasSuffix(".bin") {
                #expect(cluster.origin.count(path) == 1, "\(path)")
            }
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test func aSecondSubmissionAsksTheOriginForNothing() async throws {
        try await C.with { cluster in
            let objects = Self.serveTitle(cluster.origin, at: "/t")
            let body = sampleBytes(100_000)
            cluster.origin.serve("/f/a", body)
            cluster.origin.serve("/f/b", body)
            cluster.origin.serve("/f/c", body)
            let assets = [
                try cluster.title("/t/main.m3u8"), try cluster.file("/f/a"),
                try cluster.file("/f/b"), try cluster.file("/f/c"),
            ]
            _ = try await cluster.run(assets)
            let before = cluster.origin.requests.count

            let catalog = try await cluster.submit(assets)
            let again = try await cluster.end(of: catalog)
            #expect(again.values.allSatisfy { $0.state == .completed })
            #expect(cluster.origin.requests.count == before)
            let totals = try await cluster.client.status(of: catalog).totals
            #expect(totals.adoptedBytes == totals.bytes && totals.bytes > 300_000)
            #expect(totals.segmentsDone == objects.count + 3)

            // Damaged with its length kept, and removed: both are fetched again, the third is not.
            var damaged = body
            damaged[50_000] ^= 1
            try cluster.edge.write(damaged, to: cluster.root + "/f/a")
            _ = try await ChildProcess.run(["rm", cluster.edge.path(cluster.root + "/f/b")])
            let third = try await cluster.run(assets)
            #expect(third.values.allSatisfy { $0.state == .completed })
            #expect(cluster.origin.requests.count == before + 2)
            #expect(cluster.origin.count("/f/c") == 1)
            for path in ["/f/a", "/f/b", "/f/c"] { #expect(cluster.stored(path) == body) }
        }
    }

    /// Put there by another program, before anything was stored for the catalog.
    @Test func whatTheListPromisesAndLiesThereIsNotFetched() async throws {
        try await C.with { cluster in
            let body = sampleBytes(100_000)
            let paths = ["/f/whole", "/f/unmeasured", "/f/damaged", "/f/longer", "/f/missing"]
            for path in paths { cluster.origin.serve(path, body) }
            var damaged = body
            damaged[50_000] ^= 1
            try cluster.edge.write(body, to: cluster.root + "/f/whole")
            try cluster.edge.write(body, to: cluster.root + "/f/unmeasured")
            try cluster.edge.write(damaged, to: cluster.root + "/f/damaged")
            try cluster.edge.write(body + [1], to: cluster.root + "/f/longer")
            let catalog = try await cluster.submit(
                try paths.map { path in
                    try cluster.file(
                        path, bytes: path == "/f/unmeasured" ? nil : 100_000,
                        sha256: C.sha256(body))
                })
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed }, "\(ended)")
            #expect(
                paths.map { cluster.origin.count($0) } == [0, 0, 1, 1, 1])
            for path in paths { #expect(cluster.stored(path) == body) }
            let totals = try await cluster.client.status(of: catalog).totals
            #expect(totals.bytes == 500_000 && totals.adoptedBytes == 200_000)
            #expect(try await cluster.checkSums("/f") == 5)
        }
    }

    @Test func theChecksumFileHasTheLastStoredFileOfAKeyOfTwoCatalogs() async throws {
        try await C.with { cluster in
            let (old, new) = (sampleBytes(5_000, seed: 1), sampleBytes(6_000, seed: 2))
            cluster.origin.serve("/d/f", old)
            _ = try await cluster.run([try cluster.file("/d/f")], catalog: "one")
            _ = try await cluster.run([try cluster.file("/d/f")], catalog: "two")
            cluster.origin.serve("/d/f", new)
            // The older of the two shows the change.
            let file = try cluster.file("/d/f", sha256: C.sha256(new))
            _ = try await cluster.run([file], catalog: "one")
            #expect(cluster.stored("/d/f") == new)
            #expect(try await cluster.checkSums("/d") == 1)
        }
    }

    @Test func anObjectCalledSHA256SUMSKeepsItsName() async throws {
        try await C.with { cluster in
            let text = Array("the origin's own list\n".utf8)
            cluster.origin.serve("/d/SHA256SUMS", text)
            cluster.origin.serve("/d/f", sampleBytes(10))
            let ended = try await cluster.run([
                try cluster.file("/d/SHA256SUMS"), try cluster.file("/d/f"),
            ])
            #expect(ended.values.allSatisfy { $0.state == .completed })
            #expect(cluster.stored("/d/SHA256SUMS") == text)
            let list = String(decoding: cluster.stored("/d/SHA256SUMS.dray") ?? [], as: UTF8.self)
            #expect(list.split(separator: "\n").count == 2)
        }
    }

    @Test func aWorkerTakesNoMoreWhileItsConnectionsAreBusy() async throws {
        try await C.with(workers: 0) { cluster in
            let gate = Gate()
            var assets: [AssetSubmission] = []
            for number in 0..<2_500 {
                let path = "/f/\(number)"
                cluster.origin.route(path) { _ in
                    FaultOrigin.Response(200, text: "x").held(at: gate)
                }
                assets.append(try cluster.file(path))
            }
            let catalog = try await cluster.submit(assets)
            let worker = try cluster.startWorker(connections: 600, drainSeconds: 0)
            try await waitUntil(deadlineSeconds: 30, "the worker's fill") {
                worker.service.core.held.count >= 600
            }
            #expect(worker.service.core.held.count == 600)
            let queue = try await cluster.client.clusterStatus().queues[0]
            #expect(queue.leased == 600 && queue.waiting == 1_900)
            gate.open()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed })
            #expect(worker.service.core.held.isEmpty)
        }
    }
}
