import CoordinatorClient
import Foundation
import Model
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Worker

/// Assets that are asked for again when they are at the edge.
@Suite struct RefreshTests {
    typealias C = Cluster

    /// What an origin has, which may change.
    private final class Objects: Sendable {
        struct Object: Sendable {
            var body: [UInt8]
            var etag: String?
            var status = 200
            var gate: Gate?
        }

        private let objects = Mutex<[String: Object]>([:])
        private let origin: FaultOrigin

        init(_ origin: FaultOrigin) { self.origin = origin }

        subscript(path: String) -> Object? { objects.withLock { $0[path] } }

        /// Serves `body` under a tag of its own, or none.
        func set(
            _ path: String, _ body: [UInt8], tag: (String) -> String? = { "\"\($0)\"" },
            status: Int = 200, gate: Gate? = nil
        ) {
            let object = Object(
                body: body, etag: tag(String(C.sha256(body).prefix(8))), status: status, gate: gate)
            objects.withLock { $0[path] = object }
            let type = path.hasSuffix("m3u8") ? "application/vnd.apple.mpegurl" : "video/mp2t"
            origin.route(path) { request in
                guard let object = self[path] else { return .init(404) }
                guard object.status == 200 else { return .init(object.status) }
                var response = request.serve(object.body, etag: object.etag, type: type)
                response.gate = object.gate
                return response
            }
        }
    }

    /// Refreshes a catalog and answers its assets at the end.
    private func refresh(
        _ cluster: Cluster, _ catalog: CatalogID
    ) async throws -> [String: AssetStatus] {
        let answer = try await cluster.client.apply(
            SelectionAction(.refresh, catalog: CatalogReference(catalog)))
        #expect(answer.catalog == catalog)
        return try await cluster.end(of: catalog)
    }

    /// Bytes of bodies that the origin sent in answer to requests after the first `count`.
    private func bodies(_ cluster: Cluster, after count: Int, _ objects: Objects) -> [String] {
        cluster.origin.requests.dropFirst(count).filter { request in
            let tag = objects[request.path]?.etag
            return tag == nil || request.headers["if-none-match"] != tag
        }.map(\.path)
    }

    @Test func whatHasNotChangedCostsNoBodyAndWhatHasIsFetched() async throws {
        try await C.with(workers: 2) { cluster in
            let objects = Objects(cluster.origin)
            let paths = (1...12).map { "/f/\($0).bin" }
            for (index, path) in paths.enumerated() {
                // Weak tags are as good here.
                objects.set(path, C.bytes(3_000, seed: UInt64(index + 1))) {
                    index % 2 == 0 ? "\"\($0)\"" : "W/\"\($0)\""
                }
            }
            let catalog = try await cluster.submit(try paths.map { try cluster.file($0) })
            _ = try await cluster.end(of: catalog)
            let before = cluster.origin.requests.count
            objects.set(paths[3], C.bytes(4_000, seed: 99)) { "W/\"\($0)\"" }

            let ended = try await refresh(cluster, catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.failure == nil })
            #expect(ended.values.filter { $0.refreshed == .changed }.map(\.name) == [paths[3]])
            #expect(ended.values.count { $0.refreshed == .unchanged } == 11)
            #expect(bodies(cluster, after: before, objects) == [paths[3]])
            #expect(cluster.origin.requests.count == before + 12)
            for path in paths { #expect(cluster.stored(path) == objects[path]?.body) }
            #expect(try await cluster.checkSums("/f") == 12)
            #expect(try cluster.temporaryFiles().isEmpty)
            let summary = try await cluster.client.refreshSummary(of: catalog)
            #expect(summary.unchanged == 11 && summary.changed == 1 && summary.failed == 0)

            // What it is called now is what it is asked for with next time.
            let second = cluster.origin.requests.count
            _ = try await refresh(cluster, catalog)
            #expect(bodies(cluster, after: second, objects).isEmpty)
        }
    }

    @Test func aPosterThatWasChangedUnderItsURLIsNoticed() async throws {
        try await C.with { cluster in
            let objects = Objects(cluster.origin)
            objects.set("/v/film.mp4", C.bytes(50_000))
            objects.set("/v/poster.jpg", C.bytes(2_000, seed: 2))
            var asset = try cluster.file("/v/film.mp4")
            asset.sidecars = [
                SidecarSubmission(
                    url: cluster.origin.url("/v/poster.jpg"), key: "\(cluster.root)/v/poster.jpg",
                    role: .image, required: false)
            ]
            let catalog = try await cluster.submit([asset])
            _ = try await cluster.end(of: catalog)
            let before = cluster.origin.requests.count
            objects.set("/v/poster.jpg", C.bytes(2_500, seed: 3))

            let ended = try await refresh(cluster, catalog)
            #expect(ended.values.map(\.refreshed) == [.changed])
            #expect(cluster.stored("/v/poster.jpg") == C.bytes(2_500, seed: 3))
            #expect(bodies(cluster, after: before, objects) == ["/v/poster.jpg"])
            #expect(try await cluster.checkSums("/v") == 2)

            // The asset does without it, and keeps the one that it has.
            objects.set("/v/poster.jpg", [], status: 404)
            let without = try await refresh(cluster, catalog)
            #expect(without.values.map(\.refreshed) == [.unchanged])
            #expect(cluster.stored("/v/poster.jpg") == C.bytes(2_500, seed: 3))
        }
    }

    @Test func anOriginThatSaysNothingOfItsBytesIsAskedForThem() async throws {
        try await C.with { cluster in
            let objects = Objects(cluster.origin)
            for path in ["/f/a", "/f/b"] { objects.set(path, C.bytes(5_000)) { _ in nil } }
            let catalog = try await cluster.submit(
                try ["/f/a", "/f/b"].map { try cluster.file($0) })
            _ = try await cluster.end(of: catalog)
            objects.set("/f/b", C.bytes(5_000, seed: 7)) { _ in nil }
            let ended = try await refresh(cluster, catalog)
            #expect(ended["/f/a"]?.refreshed == .unchanged)
            #expect(ended["/f/b"]?.refreshed == .changed)
            #expect(cluster.stored("/f/b") == C.bytes(5_000, seed: 7))
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// The origin is right that nothing has changed, and the edge has lost it all the same.
    @Test func whatIsMissingOrShortAtTheEdgeIsFetched() async throws {
        try await C.with { cluster in
            let objects = Objects(cluster.origin)
            for (index, path) in ["/f/a", "/f/b", "/f/c"].enumerated() {
                objects.set(path, C.bytes(5_000, seed: UInt64(index + 1)))
            }
            let catalog = try await cluster.submit(
                try ["/f/a", "/f/b", "/f/c"].map { try cluster.file($0) })
            _ = try await cluster.end(of: catalog)
            unlink(cluster.edge.path("\(cluster.root)/f/a"))
            truncate(cluster.edge.path("\(cluster.root)/f/b"), 17)
            let ended = try await refresh(cluster, catalog)
            #expect(ended["/f/a"]?.refreshed == .changed && ended["/f/b"]?.refreshed == .changed)
            #expect(ended["/f/c"]?.refreshed == .unchanged)
            for path in ["/f/a", "/f/b", "/f/c"] {
                #expect(cluster.stored(path) == objects[path]?.body)
            }
        }
    }

    // MARK: Titles

    private static let segments = (1...6).map { "/t/low/s\($0).ts" }

    /// A title of one rendition; its playlist names `count` segments.
    private func serveTitle(_ objects: Objects, count: Int = 6, note: String = "") {
        objects.set(
            "/t/main.m3u8",
            Array("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000\nlow/index.m3u8\n".utf8))
        var list = "#EXTM3U\n#EXT-X-TARGETDURATION:4\n\(note)"
        for number in 1...count { list += "#EXTINF:4,\ns\(number).ts\n" }
        objects.set("/t/low/index.m3u8", Array("\(list)#EXT-X-ENDLIST\n".utf8))
    }

    private func storeTitle(_ cluster: Cluster, _ objects: Objects) async throws -> CatalogID {
        serveTitle(objects)
        for (index, path) in Self.segments.enumerated() {
            objects.set(path, C.bytes(4_000, seed: UInt64(index + 1)))
        }
        let catalog = try await cluster.submit([try cluster.title("/t/main.m3u8")])
        let ended = try await cluster.end(of: catalog)
        #expect(ended.values.map(\.state) == [.completed])
        return catalog
    }

    /// All that lies at the edge, by path.
    private func edge(_ cluster: Cluster) throws -> [String: [UInt8]] {
        Dictionary(
            uniqueKeysWithValues: try cluster.storedPaths().map { ($0, cluster.stored($0) ?? []) })
    }

    @Test func aTitleChangesAtOnceOrNotAtAll() async throws {
        try await C.with { cluster in
            let objects = Objects(cluster.origin)
            let catalog = try await storeTitle(cluster, objects)
            let old = try edge(cluster)
            #expect(old.count == 8)

            // As it is, it costs no body.
            let before = cluster.origin.requests.count
            let same = try await refresh(cluster, catalog)
            #expect(same.values.map(\.refreshed) == [.unchanged])
            #expect(bodies(cluster, after: before, objects).isEmpty)
            #expect(cluster.origin.requests.count == before + 8)

            // Two segments and the playlist are new; the last one to come waits.
            let gate = Gate()
            objects.set(Self.segments[1], C.bytes(4_500, seed: 20))
            objects.set(Self.segments[4], C.bytes(4_600, seed: 50), gate: gate)
            serveTitle(objects, note: "#EXT-X-VERSION:3\n")
            let answer = try await cluster.client.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            #expect(answer.jobs == 1)
            try await gate.waitUntilReached(deadlineSeconds: 60)
            try await waitUntil(deadlineSeconds: 60, "the other segment beside the old one") {
                cluster.origin.count(Self.segments[1]) == 3
            }
            #expect(try edge(cluster) == old)
            gate.open()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.map(\.refreshed) == [.changed])
            let now = try edge(cluster)
            #expect(now.keys.sorted() == old.keys.sorted())
            for (path, body) in now { #expect(body == objects[path]?.body, "\(path)") }
            #expect(now != old)
            #expect(try await cluster.checkSums("/t") == 8)
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test func aFailureInTheMiddleLeavesTheOldTitle() async throws {
        try await C.with { cluster in
            let objects = Objects(cluster.origin)
            let catalog = try await storeTitle(cluster, objects)
            let old = try edge(cluster)
            objects.set(Self.segments[0], C.bytes(4_500, seed: 20))
            objects.set(Self.segments[5], [], status: 404)
            serveTitle(objects, note: "#EXT-X-VERSION:3\n")
            let failed = try await refresh(cluster, catalog)
            #expect(failed.values.map(\.state) == [.completed])
            #expect(failed.values.map(\.refreshed) == [.failed])
            #expect(failed.values.map(\.failure?.code) == ["origin.http.404"])
            #expect(try edge(cluster) == old)
            #expect(try cluster.temporaryFiles().isEmpty)
            #expect(try await cluster.checkSums("/t") == 8)
            let summary = try await cluster.client.refreshSummary(of: catalog)
            #expect(summary.failed == 1 && summary.failures.map(\.name) == ["/t/main.m3u8"])

            // When the origin is well again, the next one has it all.
            objects.set(Self.segments[5], C.bytes(4_700, seed: 60))
            let mended = try await refresh(cluster, catalog)
            #expect(mended.values.map(\.refreshed) == [.changed])
            #expect(mended.values.allSatisfy { $0.failure == nil })
            for (path, body) in try edge(cluster) { #expect(body == objects[path]?.body) }
        }
    }

    /// Its list grows or shrinks: what is new comes, and what is not named any more stays where it is.
    @Test func aTitleThatListsOtherSegmentsHasThem() async throws {
        try await C.with { cluster in
            let objects = Objects(cluster.origin)
            let catalog = try await storeTitle(cluster, objects)
            objects.set("/t/low/s7.ts", C.bytes(4_000, seed: 7))
            serveTitle(objects, count: 7)
            let longer = try await refresh(cluster, catalog)
            #expect(longer.values.map(\.refreshed) == [.changed])
            #expect(longer.values.map(\.segments) == [9])
            #expect(cluster.stored("/t/low/s7.ts") == C.bytes(4_000, seed: 7))
            #expect(try await cluster.checkSums("/t") == 9)

            serveTitle(objects, count: 2)
            let shorter = try await refresh(cluster, catalog)
            #expect(shorter.values.map(\.segments) == [4])
            #expect(try await cluster.checkSums("/t") == 4)
            #expect(cluster.stored("/t/low/s7.ts") != nil)
            let again = try await refresh(cluster, catalog)
            #expect(again.values.map(\.refreshed) == [.unchanged])
        }
    }

    /// A refresh in the hands of a worker that has been granted its switch, and does nothing more.
    private struct StoppedSwitch {
        let storage: DirectoryStorage
        let worker: WorkerID
        let job: Job
        let lease: LeaseID
        let changed: [(path: String, body: [UInt8])]
        let staged: [StagedObject]
    }

    /// Stops the cluster's worker and takes its place, step by step: the first two segments of the title have
    /// changed, for this worker at least.
    private func stopInSwitch(
        _ cluster: Cluster, _ catalog: CatalogID
    ) async throws -> StoppedSwitch {
        try await cluster.runningWorkers[0].drain()
        let storage = try DirectoryStorage(try StorageURL("file://\(cluster.edge.path)"))
        let changed = [(Self.segments[0], 20), (Self.segments[1], 21)].map { path, seed in
            (path: path, body: C.bytes(5_000, seed: UInt64(seed)))
        }
        let answer = try await cluster.client.apply(
            SelectionAction(.refresh, catalog: CatalogReference(catalog)))
        #expect(answer.jobs == 1)
        let id = cluster.runningWorkers[0].service.id
        let grant = try await cluster.client.lease(
            LeaseRequest(worker: id, queues: [], maxJobs: 10, waitMilliseconds: 20_000))
        let (job, lease) = (try #require(grant.jobs.first), try #require(grant.lease))
        let known = try await cluster.client.refreshFiles(
            RefreshFilesRequest(worker: id, job: job.id, lease: lease)
        ).files
        let staged = try storage.stage(
            changed.enumerated().map { index, file in
                let object = try storage.createTemporary(
                    lease: lease, job: job.id, key: "\(cluster.root)\(file.path)",
                    number: index + 1)
                try file.body.withUnsafeBytes { try object.write($0, at: 0) }
                return object
            })
        let told = try changed.enumerated().map { index, file in
            let segment = try #require(
                known.first { $0.segment.key == "\(cluster.root)\(file.path)" }?.segment)
            return RefreshedFile(
                segment: segment,
                stored: StoredObject(bytes: Int64(file.body.count), sha256: C.sha256(file.body)),
                staged: index + 1)
        }
        let verdict = try await cluster.client.refreshed(
            RefreshBatch(
                worker: id, job: job.id, lease: lease, files: told,
                switchOver: RefreshBatch.Switch()))
        #expect(verdict.verdict == .accepted)
        return StoppedSwitch(
            storage: storage, worker: id, job: job, lease: lease, changed: changed, staged: staged)
    }

    /// One that is stopped in the midst of a switch, for longer than its lease, finds when it wakes that another has
    /// ended it, and takes nothing away from whoever came after.
    @Test func aWorkerThatStoppedInTheMiddleIsHarmless() async throws {
        try await C.with(leaseSeconds: 2) { cluster in
            let objects = Objects(cluster.origin)
            let catalog = try await storeTitle(cluster, objects)
            let stopped = try await stopInSwitch(cluster, catalog)
            // It moves the first, and is stopped.
            #expect(try stopped.storage.place([stopped.staged[0]]) == [])
            #expect(cluster.stored(Self.segments[1]) == C.bytes(4_000, seed: 2))

            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.map(\.state) == [.completed])
            #expect(ended.values.map(\.refreshed) == [.changed])
            for file in stopped.changed { #expect(cluster.stored(file.path) == file.body) }
            #expect(try cluster.temporaryFiles().isEmpty)
            #expect(try await cluster.checkSums("/t") == 8)

            // Replaced again, by what the origin has; then the first one wakes.
            let again = try await refresh(cluster, catalog)
            #expect(again.values.map(\.refreshed) == [.changed])
            let whole = try edge(cluster)
            #expect(whole[Self.segments[1]] == C.bytes(4_000, seed: 2))
            #expect(try stopped.storage.place(stopped.staged) == [0, 1])
            #expect(try edge(cluster) == whole)
            var late = JobReport(job: stopped.job.id, lease: stopped.lease, outcome: .done)
            late.refreshed = .changed
            let stale = try await cluster.client.report(
                ReportRequest(worker: stopped.worker, results: [late]))
            #expect(stale.answers == [.stale])
            #expect(try await cluster.checkSums("/t") == 8)
        }
    }

    /// What was staged is gone, and what lies there is not it: the asset is not called whole, and is mended by the
    /// next submission.
    @Test func aSwitchWhoseFilesAreGoneFails() async throws {
        try await C.with(leaseSeconds: 2) { cluster in
            let objects = Objects(cluster.origin)
            let catalog = try await storeTitle(cluster, objects)
            let stopped = try await stopInSwitch(cluster, catalog)
            #expect(try stopped.storage.place([stopped.staged[0]]) == [])
            stopped.storage.discard([stopped.staged[1]])

            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.map(\.state) == [.failed])
            #expect(ended.values.map(\.refreshed) == [.failed])
            #expect(ended.values.map(\.failure?.code) == ["integrity.digestMismatch"])

            try await cluster.submit([try cluster.title("/t/main.m3u8")])
            let mended = try await cluster.end(of: catalog)
            #expect(mended.values.map(\.state) == [.completed])
            for (path, body) in try edge(cluster) {
                #expect(body == objects[path]?.body, "\(path)")
            }
            #expect(try await cluster.checkSums("/t") == 8)
        }
    }

    /// What stands in the way is found before anything is moved.
    @Test func aSwitchThatCannotBeDoneIsNotBegun() async throws {
        try await C.with { cluster in
            let objects = Objects(cluster.origin)
            let catalog = try await storeTitle(cluster, objects)
            let gate = Gate()
            for (index, path) in Self.segments.enumerated() {
                objects.set(
                    path, C.bytes(4_500, seed: UInt64(index + 20)), gate: index == 5 ? gate : nil)
            }
            _ = try await cluster.client.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            try await gate.waitUntilReached(deadlineSeconds: 60)
            // A folder stands where a file is to go: some files move, and then one cannot.
            let key = cluster.edge.path("\(cluster.root)/t/low/s6.ts")
            unlink(key)
            #expect(mkdir(key, 0o777) == 0)
            gate.open()
            let failed = try await cluster.end(of: catalog)
            #expect(failed.values.map(\.state) == [.completed])
            #expect(failed.values.map(\.failure?.code) == ["storage.pathConflict"])
            for path in Self.segments.dropLast() {
                #expect(cluster.stored(path) != objects[path]?.body)
            }
            #expect(try cluster.temporaryFiles().isEmpty)
            rmdir(key)
            let ended = try await refresh(cluster, catalog)
            #expect(ended.values.map(\.refreshed) == [.changed])
            for path in Self.segments { #expect(cluster.stored(path) == objects[path]?.body) }
        }
    }

    /// Its lease runs out in the middle; what the first one had staged is nobody's.
    @Test func whoDrainsGivesItBack() async throws {
        try await C.with { cluster in
            let objects = Objects(cluster.origin)
            let catalog = try await storeTitle(cluster, objects)
            let gate = Gate()
            objects.set(Self.segments[2], C.bytes(4_500, seed: 20), gate: gate)
            _ = try await cluster.client.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            try await gate.waitUntilReached(deadlineSeconds: 60)
            let first = cluster.runningWorkers[0]
            first.task.cancel()
            _ = try? await first.task.value
            #expect(cluster.stored(Self.segments[2]) == C.bytes(4_000, seed: 3))
            gate.open()
            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.map(\.refreshed) == [.changed])
            #expect(cluster.stored(Self.segments[2]) == C.bytes(4_500, seed: 20))
        }
    }
}
