import API
import CoordinatorClient
import Foundation
import Model
import TestSupport
import Testing

/// Files that workers delete from the edge.
@Suite struct RemovalTests {
    private typealias C = Cluster

    private func remove(
        _ cluster: C, _ catalog: CatalogID, asset: String? = nil
    ) async throws -> SelectionAnswer {
        try await cluster.client.apply(
            SelectionAction(.remove, catalog: CatalogReference(catalog), asset: asset))
    }

    /// Everything at the edge but Dray's own files.
    private func files(_ cluster: C) throws -> [String] {
        try cluster.edge.files().filter { !$0.hasPrefix(".dray/") }
            .map { String($0.dropFirst(cluster.root.count)) }.sorted()
    }

    @Test func whatIsRemovedIsGoneWithItsChecksumsAndDirectories() async throws {
        try await C.with(workers: 2) { cluster in
            _ = EndToEndTests.serveTitle(cluster.origin, at: "/title")
            for path in ["/files/a", "/files/b"] {
                cluster.origin.serve(path, sampleBytes(1_000))
            }
            let assets = [
                try cluster.title("/title/main.m3u8"), try cluster.file("/files/a"),
                try cluster.file("/files/b"),
            ]
            let catalog = try await cluster.submit(assets)
            _ = try await cluster.end(of: catalog)
            try cluster.edge.write([1], to: "\(cluster.root)/files/foreign")
            _ = try await remove(cluster, catalog, asset: "/title/main.m3u8")
            let removed = try await cluster.end(of: catalog)["/title/main.m3u8"]
            #expect(removed?.state == .removed && removed?.freedFiles == 9)
            #expect(
                try files(cluster) == [
                    "/files/SHA256SUMS", "/files/a", "/files/b", "/files/foreign",
                ])
            #expect(
                !FileManager.default.fileExists(
                    atPath: cluster.edge.path("\(cluster.root)/title")))

            _ = try await remove(cluster, catalog, asset: "/files/a")
            _ = try await cluster.end(of: catalog)
            #expect(try await cluster.checkSums("/files") == 1)

            _ = try await remove(cluster, catalog)
            let status = try await cluster.client.status(of: catalog)
            #expect(status.totals.assets <= 1)
            _ = try await cluster.end(of: catalog)
            #expect(try files(cluster) == ["/files/foreign"])
            #expect(try cluster.temporaryFiles().allSatisfy { $0.hasSuffix("/volume") })
        }
    }

    /// Files that were damaged since, and that their origin no longer has.
    @Test func whatIsStoredGoesWithItsAssetAlthoughItsCheckFailed() async throws {
        try await C.with { cluster in
            let title = EndToEndTests.serveTitle(cluster.origin, at: "/title")
            for path in ["/files/a", "/files/b"] {
                cluster.origin.serve(path, sampleBytes(1_000))
            }
            let assets = [
                try cluster.title("/title/main.m3u8"), try cluster.file("/files/a"),
                try cluster.file("/files/b"),
            ]
            _ = try await cluster.run(assets)
            let segment = try #require(title.keys.sorted().first { !$0.hasSuffix("m3u8") })
            for path in ["/files/a", segment] {
                try cluster.edge.write([1, 2, 3], to: cluster.root + path)
                cluster.origin.route(path, .init(404))
            }
            let catalog = try await cluster.submit(assets)
            let failed = try await cluster.end(of: catalog)
            for name in ["/title/main.m3u8", "/files/a"] {
                #expect(failed[name]?.state == .failed)
                #expect(failed[name]?.failure?.code == "origin.http.404")
            }
            // They may be tried again.
            for path in ["/files/a", segment] { #expect(cluster.stored(path) == [1, 2, 3]) }

            for name in ["/title/main.m3u8", "/files/a"] {
                _ = try await remove(cluster, catalog, asset: name)
            }
            let removed = try await cluster.end(of: catalog)
            #expect(removed["/files/a"]?.freedFiles == 1)
            #expect(removed["/title/main.m3u8"]?.freedFiles == title.count)
            #expect(try files(cluster) == ["/files/SHA256SUMS", "/files/b"])
        }
    }

    /// Nobody asks for it; another catalog keeps what it shares.
    @Test func whatHasExpiredIsGoneByItselfWithinAMinute() async throws {
        try await C.with(workers: 2) { cluster in
            _ = EndToEndTests.serveTitle(cluster.origin, at: "/title")
            for path in ["/files/a", "/files/b", "/files/c"] {
                cluster.origin.serve(path, sampleBytes(1_000))
            }
            let other = try await cluster.submit([cluster.file("/files/b")], catalog: "other")
            _ = try await cluster.end(of: other)
            let end = Date().timeIntervalSince1970 + 5
            var assets = [
                try cluster.title("/title/main.m3u8"), try cluster.file("/files/a"),
                try cluster.file("/files/b"), try cluster.file("/files/c"),
            ]
            (assets[0].expiresAt, assets[2].expiresAt) = (end, end)
            assets[1].keepSeconds = 5
            let catalog = try await cluster.submit(assets)
            let ending = Set(assets[0..<3].map(\.name))
            try await waitUntil(deadlineSeconds: 65, "the end of the rights") {
                let expired = try await cluster.client.assets(of: catalog, state: .expired)
                return Set(expired.assets.map(\.name)) == ending
            }
            #expect(Date().timeIntervalSince1970 - end < 60)
            _ = try await cluster.end(of: catalog)
            #expect(
                try files(cluster) == ["/files/SHA256SUMS", "/files/b", "/files/c"])
            #expect(try await cluster.checkSums("/files") == 2)
            let events = try await cluster.execute(
                "SELECT sum(coalesce(assets, 1)) FROM dray.event WHERE kind = 'asset.expired'")
            #expect(events.contains("3"), "\(events)")
        }
    }

    /// Two catalogs want the same files again and again, while one of them is removed: what is done
    /// is stored, whatever the order.
    @Test func whatIsWantedWhileItIsDeletedIsStoredInTheEnd() async throws {
        try await C.with(workers: 2) { cluster in
            let paths = (1...20).map { "/files/f\($0)" }
            for path in paths { cluster.origin.serve(path, sampleBytes(500)) }
            let assets = try paths.map { try cluster.file($0) }
            let first = try await cluster.submit(assets, catalog: "first")
            _ = try await cluster.end(of: first)
            for round in 0..<12 {
                let (gone, wanted) = round % 2 == 0 ? ("first", "second") : ("second", "first")
                let selection = SelectionAction(.remove, catalog: CatalogReference(name: gone))
                let removal = Task { [client = cluster.client] in try await client.apply(selection)
                }
                let catalog = try await cluster.submit(assets, catalog: wanted)
                _ = try await removal.value
                let ended = try await cluster.end(of: catalog)
                #expect(ended.values.allSatisfy { $0.state == .completed })
                for path in paths {
                    #expect(cluster.stored(path) == sampleBytes(500), "\(path) in round \(round)")
                }
            }
        }
    }
}
