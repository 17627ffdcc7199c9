import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

@testable import Worker

/// Assets that are refreshed at the edge.
@Suite struct RefreshTests {
    typealias C = Cluster
    typealias R = RefreshFixture

    /// Bytes of bodies that the origin sent in answer to requests after the first `count`.
    private func bodies(_ cluster: Cluster, after count: Int, _ objects: R.Objects) -> [String] {
        cluster.origin.requests.dropFirst(count).filter { request in
            let tag = objects[request.path]?.etag
            return tag == nil || request.headers["if-none-match"] != tag
        }.map(\.path)
    }

    @Test func whatHasNotChangedCostsNoBodyAndWhatHasIsFetched() async throws {
        try await C.with(workers: 2) { cluster in
            let objects = R.Objects(cluster.origin)
            let paths = (1...12).map { "/f/\($0).bin" }
            for (index, path) in paths.enumerated() {
                // Weak tags are as good here.
                objects.set(path, sampleBytes(3_000, seed: UInt64(index + 1))) {
                    index % 2 == 0 ? "\"\($0)\"" : "W/\"\($0)\""
                }
            }
            let catalog = try await cluster.submit(try paths.map { try cluster.file($0) })
            _ = try await cluster.end(of: catalog)
            let before = cluster.origin.requests.count
            objects.set(paths[3], sampleBytes(4_000, seed: 99)) { "W/\"\($0)\"" }

            let ended = try await R.refresh(cluster, catalog)
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

            // The next request uses its new validator.
            let second = cluster.origin.requests.count
            _ = try await R.refresh(cluster, catalog)
            #expect(bodies(cluster, after: second, objects).isEmpty)
        }
    }

    @Test func aPosterThatWasChangedUnderItsURLIsNoticed() async throws {
        try await C.with { cluster in
            let objects = R.Objects(cluster.origin)
            objects.set("/v/film.mp4", sampleBytes(50_000))
            objects.set("/v/poster.jpg", sampleBytes(2_000, seed: 2))
            var asset = try cluster.file("/v/film.mp4")
            asset.sidecars = [
                SidecarSubmission(
                    url: cluster.origin.url("/v/poster.jpg"), key: "\(cluster.root)/v/poster.jpg",
                    role: .image, required: false)
            ]
            let catalog = try await cluster.submit([asset])
            _ = try await cluster.end(of: catalog)
            let before = cluster.origin.requests.count
            objects.set("/v/poster.jpg", sampleBytes(2_500, seed: 3))

            let ended = try await R.refresh(cluster, catalog)
            #expect(ended.values.map(\.refreshed) == [.changed])
            #expect(cluster.stored("/v/poster.jpg") == sampleBytes(2_500, seed: 3))
            #expect(bodies(cluster, after: before, objects) == ["/v/poster.jpg"])
            #expect(try await cluster.checkSums("/v") == 2)

            // The asset does without it, and keeps the one that it has.
            objects.set("/v/poster.jpg", [], status: 404)
            let without = try await R.refresh(cluster, catalog)
            #expect(without.values.map(\.refreshed) == [.unchanged])
            #expect(cluster.stored("/v/poster.jpg") == sampleBytes(2_500, seed: 3))
        }
    }

    @Test func anOriginWithoutValidatorsIsRequestedAgain() async throws {
        try await C.with { cluster in
            let objects = R.Objects(cluster.origin)
            for path in ["/f/a", "/f/b"] { objects.set(path, sampleBytes(5_000)) { _ in nil } }
            let catalog = try await cluster.submit(
                try ["/f/a", "/f/b"].map { try cluster.file($0) })
            _ = try await cluster.end(of: catalog)
            objects.set("/f/b", sampleBytes(5_000, seed: 7)) { _ in nil }
            let ended = try await R.refresh(cluster, catalog)
            #expect(ended["/f/a"]?.refreshed == .unchanged)
            #expect(ended["/f/b"]?.refreshed == .changed)
            #expect(cluster.stored("/f/b") == sampleBytes(5_000, seed: 7))
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    /// The origin is right that nothing has changed, and the edge has lost it all the same.
    @Test func whatIsMissingOrShortAtTheEdgeIsFetched() async throws {
        try await C.with { cluster in
            let objects = R.Objects(cluster.origin)
            for (index, path) in ["/f/a", "/f/b", "/f/c"].enumerated() {
                objects.set(path, sampleBytes(5_000, seed: UInt64(index + 1)))
            }
            let catalog = try await cluster.submit(
                try ["/f/a", "/f/b", "/f/c"].map { try cluster.file($0) })
            _ = try await cluster.end(of: catalog)
            unlink(cluster.edge.path("\(cluster.root)/f/a"))
            truncate(cluster.edge.path("\(cluster.root)/f/b"), 17)
            let ended = try await R.refresh(cluster, catalog)
            #expect(ended["/f/a"]?.refreshed == .changed && ended["/f/b"]?.refreshed == .changed)
            #expect(ended["/f/c"]?.refreshed == .unchanged)
            for path in ["/f/a", "/f/b", "/f/c"] {
                #expect(cluster.stored(path) == objects[path]?.body)
            }
        }
    }

    // MARK: Titles

    @Test func aTitleChangesAtOnceOrNotAtAll() async throws {
        try await C.with { cluster in
            let objects = R.Objects(cluster.origin)
            let catalog = try await R.storeTitle(cluster, objects)
            let old = try R.edge(cluster)
            #expect(old.count == 8)

            // As it is, it costs no body.
            let before = cluster.origin.requests.count
            let same = try await R.refresh(cluster, catalog)
            #expect(same.values.map(\.refreshed) == [.unchanged])
            #expect(bodies(cluster, after: before, objects).isEmpty)
            #expect(cluster.origin.requests.count == before + 8)

            // Two segments and the playlist are new; the last one to come waits.
            let gate = Gate()
            objects.set(R.segments[1], sampleBytes(4_500, seed: 20))
            objects.set(R.segments[4], sampleBytes(4_600, seed: 50), gate: gate)
            R.serveTitle(objects, note: "#EXT-X-VERSION:3\n")
            let answer = try await cluster.client.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            #expect(answer.jobs == 1)
            try await gate.waitUntilReached(deadlineSeconds: 60)
            try await waitUntil(deadlineSeconds: 60, "the other segment beside the old one") {
                cluster.origin.count(R.segments[1]) == 3
            }
            #expect(try R.edge(cluster) == old)
            gate.open()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.map(\.refreshed) == [.changed])
            let now = try R.edge(cluster)
            #expect(now.keys.sorted() == old.keys.sorted())
            for (path, body) in now { #expect(body == objects[path]?.body, "\(path)") }
            #expect(now != old)
            #expect(try await cluster.checkSums("/t") == 8)
            #expect(try cluster.temporaryFiles().isEmpty)
        }
    }

    @Test func aFailureInTheMiddleLeavesTheOldTitle() async throws {
        try await C.with { cluster in
            let objects = R.Objects(cluster.origin)
            let catalog = try await R.storeTitle(cluster, objects)
            let old = try R.edge(cluster)
            objects.set(R.segments[0], sampleBytes(4_500, seed: 20))
            objects.set(R.segments[5], [], status: 404)
            R.serveTitle(objects, note: "#EXT-X-VERSION:3\n")
            let failed = try await R.refresh(cluster, catalog)
            #expect(failed.values.map(\.state) == [.completed])
            #expect(failed.values.map(\.refreshed) == [.failed])
            #expect(failed.values.map(\.failure?.code) == ["origin.http.404"])
            #expect(try R.edge(cluster) == old)
            #expect(try cluster.temporaryFiles().isEmpty)
            #expect(try await cluster.checkSums("/t") == 8)
            let summary = try await cluster.client.refreshSummary(of: catalog)
            #expect(summary.failed == 1 && summary.failures.map(\.name) == ["/t/main.m3u8"])

            // When the origin is well again, the next one has it all.
            objects.set(R.segments[5], sampleBytes(4_700, seed: 60))
            let mended = try await R.refresh(cluster, catalog)
            #expect(mended.values.map(\.refreshed) == [.changed])
            #expect(mended.values.allSatisfy { $0.failure == nil })
            for (path, body) in try R.edge(cluster) { #expect(body == objects[path]?.body) }
        }
    }

    /// Its list grows or shrinks: what is new comes, and what is not named any more is deleted after it.
    @Test func aTitleThatListsOtherSegmentsHasThem() async throws {
        try await C.with { cluster in
            let objects = R.Objects(cluster.origin)
            let catalog = try await R.storeTitle(cluster, objects)
            objects.set("/t/low/s7.ts", sampleBytes(4_000, seed: 7))
            R.serveTitle(objects, count: 7)
            let longer = try await R.refresh(cluster, catalog)
            #expect(longer.values.map(\.refreshed) == [.changed])
            #expect(longer.values.map(\.segments) == [9])
            #expect(cluster.stored("/t/low/s7.ts") == sampleBytes(4_000, seed: 7))
            #expect(try await cluster.checkSums("/t") == 9)

            R.serveTitle(objects, count: 2)
            let shorter = try await R.refresh(cluster, catalog)
            #expect(shorter.values.map(\.segments) == [4])
            #expect(try await cluster.checkSums("/t") == 4)
            try await waitUntil(deadlineSeconds: 30, "the deletion of what is not named") {
                cluster.stored("/t/low/s7.ts") == nil
            }
            let again = try await R.refresh(cluster, catalog)
            #expect(again.values.map(\.refreshed) == [.unchanged])
        }
    }

    /// Its lease expires in the middle; files that the first one staged are unused.
    @Test func whoDrainsGivesItBack() async throws {
        try await C.with { cluster in
            let objects = R.Objects(cluster.origin)
            let catalog = try await R.storeTitle(cluster, objects)
            let gate = Gate()
            objects.set(R.segments[2], sampleBytes(4_500, seed: 20), gate: gate)
            _ = try await cluster.client.apply(
                SelectionAction(.refresh, catalog: CatalogReference(catalog)))
            try await gate.waitUntilReached(deadlineSeconds: 60)
            let first = cluster.runningWorkers[0]
            first.task.cancel()
            _ = try? await first.task.value
            #expect(cluster.stored(R.segments[2]) == sampleBytes(4_000, seed: 3))
            gate.open()
            try cluster.startWorker()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.map(\.refreshed) == [.changed])
            #expect(cluster.stored(R.segments[2]) == sampleBytes(4_500, seed: 20))
        }
    }
}
