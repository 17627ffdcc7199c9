import CoordinatorClient
import Foundation
import Model
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Worker

/// Workers whose site is on another volume than its cluster recorded.
@Suite(.timeLimit(.minutes(5))) struct VolumeTests {
    private static func site(_ cluster: Cluster) async throws -> SiteStatus {
        try #require(try await cluster.client.sites().sites.first)
    }

    /// Lets a cluster know the volume of its edge, whose directory is empty and another one then.
    private static func replace(_ cluster: Cluster) async throws -> String {
        cluster.origin.serve("/first", [1])
        let first = try await cluster.run([try cluster.file("/first")], catalog: "first")
        #expect(first["/first"]?.state == .completed)
        let volume = try #require(try await site(cluster).volume)
        #expect(cluster.edge.volumeMarks() == [volume])
        let away = cluster.edge.path + "-away"
        try FileManager.default.moveItem(atPath: cluster.edge.path, toPath: away)
        mkdir(cluster.edge.path, 0o755)
        return away
    }

    private static func waitForFault(_ cluster: Cluster) async throws {
        try await waitUntil(deadlineSeconds: 60, "the fault") {
            try await site(cluster).fault?.code == "storage.otherVolume"
        }
    }

    @Test func nothingIsWrittenUntilTheVolumeIsThereAgain() async throws {
        try await Cluster.with(workers: 2) { cluster in
            let away = try await Self.replace(cluster)
            defer { try? FileManager.default.removeItem(atPath: away) }
            let catalog = try await cluster.submit(
                try (0..<20).map { number in
                    cluster.origin.serve("/d/\(number)", [1, UInt8(number)])
                    return try cluster.file("/d/\(number)")
                })
            try await Self.waitForFault(cluster)
            let status = try await cluster.client.status(of: catalog)
            #expect(status.trouble?.code == "storage.otherVolume" && status.totals.failed == 0)
            #expect(status.trouble?.message.contains("worker w") == true)
            for worker in cluster.runningWorkers {
                for sweep in worker.service.sweepDue(now: .now + .seconds(100)) {
                    await sweep.value
                }
            }
            let entries = try FileManager.default.contentsOfDirectory(atPath: cluster.edge.path)
            #expect(entries.isEmpty)
            #expect(!cluster.origin.requests.contains { $0.target.hasPrefix("/d/") })

            rmdir(cluster.edge.path)
            try FileManager.default.moveItem(atPath: away, toPath: cluster.edge.path)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 150)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.failure == nil })
            #expect(try cluster.storedPaths().count == 21)
            try await waitUntil(deadlineSeconds: 60, "the end of the fault") {
                try await Self.site(cluster).fault == nil
            }
        }
    }

    @Test func whatAnOperatorAcceptsIsUsed() async throws {
        try await Cluster.with { cluster in
            let away = try await Self.replace(cluster)
            defer { try? FileManager.default.removeItem(atPath: away) }
            let former = try #require(try await Self.site(cluster).volume)
            cluster.origin.serve("/second", [2])
            let catalog = try await cluster.submit([try cluster.file("/second")])
            try await Self.waitForFault(cluster)
            var settings = SiteSettings(site: "file://\(cluster.edge.path)")
            settings.acceptsVolume = true
            #expect(try await cluster.client.configure(settings).fault == nil)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 150)
            #expect(ended["/second"]?.state == .completed)
            let volume = try #require(try await Self.site(cluster).volume)
            #expect(volume != former && cluster.edge.volumeMarks() == [volume])
            #expect(try cluster.storedPaths() == ["/second"])
        }
    }

    /// Two clusters that store to one directory know it by the same mark.
    @Test func twoClustersShareADirectory() async throws {
        try await Cluster.with { one in
            one.origin.serve("/a", [1])
            _ = try await one.run([try one.file("/a")])
            try await Cluster.with { other in
                other.origin.serve("/b", [1])
                let catalog = try await other.submit(
                    [try other.file("/b")], to: "file://\(one.edge.path)")
                #expect(try await other.end(of: catalog)["/b"]?.state == .completed)
                #expect(try await Self.site(other).volume == Self.site(one).volume)
            }
            one.origin.serve("/c", [1])
            #expect(
                try await one.run([try one.file("/c")], catalog: "c")["/c"]?.state == .completed)
        }
    }

    /// Others may have the volume: they get the site's jobs meanwhile.
    @Test func aWorkerLeasesNothingOfSuchASiteUntilItFindsTheVolume() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1, 2, 3])
        let volume = UUID().uuidString.lowercased()
        try await ScriptedCoordinator.with { coordinator in
            let jobs = coordinator.grant([origin.url("/a")], volume: volume)
            try await waitUntil(deadlineSeconds: 30, "the job's failure") {
                coordinator.jobs(.failed) == jobs
            }
            #expect(coordinator.reports.compactMap(\.failure?.code) == ["storage.otherVolume"])
            try await waitUntil(deadlineSeconds: 30, "a request that names the site") {
                coordinator.requests.last?.refusedSites == [SiteID(1)]
            }
            #expect(coordinator.requests.last?.waitMilliseconds == 5_000)
            // It lies within the roots all the same.
            #expect(coordinator.heartbeats.allSatisfy { $0.refusedSites == nil })
            #expect(try coordinator.edge.files().isEmpty && origin.requests.isEmpty)
            coordinator.edge.makePrivateDirectories()
            mkdir(coordinator.edge.path(".dray/volume"), 0o700)
            try coordinator.edge.write([], to: ".dray/volume/\(volume)")
            for check in coordinator.worker.checkUnusableSites() { await check.value }
            #expect(coordinator.worker.volumes.withLock { $0.unusable() }.isEmpty)
            let next = coordinator.grant([origin.url("/a")], volume: volume)
            try await waitUntil(deadlineSeconds: 30, "the next job's end") {
                coordinator.jobs(.done) == next
            }
        }
    }

    @Test func anUnusableSiteIsTriedAgainAfterAMinute() {
        var sites = SiteVolumes()
        let start = HeldWork.Instant.now
        sites.record("v", of: SiteID(1), at: "file:///a")
        sites.setUnusable(SiteID(1), now: start)
        let first = sites.toCheck(now: start).map(\.url)
        #expect(first == ["file:///a"])
        // While a check is under way, which may take for ever, there is no other.
        let second = sites.toCheck(now: start + .seconds(10)).map(\.url)
        #expect(second.isEmpty)
        let named = [59, 60].map { sites.unusable(now: start + .seconds($0)) }
        #expect(named == [[SiteID(1)], []])
        // Twice as long after each further failure, until a check finds it usable.
        sites.setUnusable(SiteID(1), now: start + .seconds(60))
        let longer = [179, 180].map { sites.unusable(now: start + .seconds($0)) }
        #expect(longer == [[SiteID(1)], []])
        sites.setUsable(SiteID(1))
        sites.setUnusable(SiteID(1), now: start + .seconds(200))
        #expect(sites.unusable(now: start + .seconds(260)).isEmpty)
    }

    @Test func anIdleWorkerHoldsNoDirectoryOpen() async throws {
        try await Cluster.with { cluster in
            cluster.origin.serve("/a", [1])
            _ = try await cluster.run([try cluster.file("/a")])
            let worker = try #require(cluster.runningWorkers.first).service
            try await waitUntil(deadlineSeconds: 60, "the closing of the site's directories") {
                worker.openedStorages.allSatisfy { !$0.isOpen }
            }
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .compactMap {
                    try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/self/fd/\($0)")
                }
            #expect(!open.contains { $0.hasPrefix(cluster.edge.path) })
        }
    }
}
