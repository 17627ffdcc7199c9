import API
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

    /// Lets a cluster know the volume of its edge, in whose place an empty directory of another file system is then.
    private static func replace(
        _ cluster: Cluster
    ) async throws -> (away: String, other: TemporaryDirectory) {
        cluster.origin.serve("/first", [1])
        let first = try await cluster.run([try cluster.file("/first")], catalog: "first")
        #expect(first["/first"]?.state == .completed)
        let volume = try #require(try await site(cluster).volume)
        #expect(cluster.edge.volumeMarks() == [volume])
        let away = cluster.edge.path + "-away"
        try FileManager.default.moveItem(atPath: cluster.edge.path, toPath: away)
        let other = try TemporaryDirectory("other", in: "/dev/shm")
        try FileManager.default.createSymbolicLink(
            atPath: cluster.edge.path, withDestinationPath: other.path)
        return (away, other)
    }

    private static let hasOtherFileSystem = access("/dev/shm", W_OK) == 0

    /// What each worker does every few seconds.
    private static func check(_ cluster: Cluster) async {
        for worker in cluster.runningWorkers {
            for check in worker.service.sites.unusable.check() { await check.value }
        }
    }

    private static func waitForFault(_ cluster: Cluster) async throws {
        try await waitUntil(deadlineSeconds: 60, "the fault") {
            try await site(cluster).fault?.code == "storage.otherVolume"
        }
    }

    @Test(.enabled(if: hasOtherFileSystem))
    func nothingIsWrittenUntilTheVolumeIsThereAgain() async throws {
        try await Cluster.with(workers: 2) { cluster in
            let (away, other) = try await Self.replace(cluster)
            defer { try? FileManager.default.removeItem(atPath: away) }
            let catalog = try await cluster.submit(
                try (0..<20).map { number in
                    cluster.origin.serve("/d/\(number)", [1, UInt8(number)])
                    return try cluster.file("/d/\(number)")
                })
            try await Self.waitForFault(cluster)
            let status = try await cluster.client.status(of: catalog)
            #expect(status.issue?.code == "storage.otherVolume" && status.totals.failed == 0)
            #expect(status.issue?.message.contains("worker w") == true)
            for worker in cluster.runningWorkers {
                for sweep in worker.service.sites.storages.sweepDue(now: .now + .seconds(100)) {
                    await sweep.value
                }
            }
            let entries = try FileManager.default.contentsOfDirectory(atPath: other.path)
            #expect(entries.isEmpty)
            #expect(!cluster.origin.requests.contains { $0.target.hasPrefix("/d/") })

            unlink(cluster.edge.path)
            try FileManager.default.moveItem(atPath: away, toPath: cluster.edge.path)
            // A check that finds the volume ends the fault, without any job.
            let queue = try await Self.site(cluster).queue
            _ = try await cluster.client.control(queue: queue, QueueControl(.pause))
            await Self.check(cluster)
            try await waitUntil(deadlineSeconds: 30, "the end of the fault") {
                try await Self.site(cluster).fault == nil
            }
            _ = try await cluster.client.control(queue: queue, QueueControl(.resume))
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 30)
            #expect(ended.values.allSatisfy { $0.state == .completed && $0.failure == nil })
            #expect(try cluster.storedPaths().count == 21)
        }
    }

    @Test(.enabled(if: hasOtherFileSystem)) func whatAnOperatorAcceptsIsUsed() async throws {
        try await Cluster.with { cluster in
            let (away, other) = try await Self.replace(cluster)
            defer { try? FileManager.default.removeItem(atPath: away) }
            let former = try #require(try await Self.site(cluster).volume)
            cluster.origin.serve("/second", [2])
            let catalog = try await cluster.submit([try cluster.file("/second")])
            try await Self.waitForFault(cluster)
            var settings = SiteSettings(site: "file://\(cluster.edge.path)")
            settings.acceptsVolume = true
            #expect(try await cluster.client.configure(settings).fault == nil)
            await Self.check(cluster)
            let ended = try await cluster.end(of: catalog, deadlineSeconds: 30)
            #expect(ended["/second"]?.state == .completed)
            let volume = try #require(try await Self.site(cluster).volume)
            #expect(volume != former && other.volumeMarks() == [volume])
            #expect(try other.files().contains { $0.hasSuffix("/second") })
        }
    }

    /// An operator who resumes a site wants it tried: its worker leases a job at once, and reports the fault again.
    @Test(.enabled(if: hasOtherFileSystem)) func aResumedSiteIsTriedAtOnce() async throws {
        try await Cluster.with { cluster in
            let (away, other) = try await Self.replace(cluster)
            defer { try? FileManager.default.removeItem(atPath: away) }
            let catalog = try await cluster.submit([try cluster.file("/second")])
            try await Self.waitForFault(cluster)
            await Self.check(cluster)
            #expect(cluster.unusableSites == 1)
            var settings = SiteSettings(site: "file://\(cluster.edge.path)")
            settings.resumes = true
            #expect(try await cluster.client.configure(settings).fault == nil)
            await Self.check(cluster)
            try await waitUntil(deadlineSeconds: 60, "the fault, again") {
                try await Self.site(cluster).fault?.code == "storage.otherVolume"
            }
            #expect(try await cluster.client.status(of: catalog).totals.failed == 0)
            #expect(try other.files().isEmpty)
        }
    }

    /// Nothing else can be mounted there: what was removed is made again, and fetched again.
    @Test func aDirectoryThatWasRemovedIsMadeAgain() async throws {
        try await Cluster.with { cluster in
            cluster.origin.serve("/a", [1])
            cluster.origin.serve("/b", [2])
            _ = try await cluster.run([try cluster.file("/a")], catalog: "one")
            let volume = try #require(try await Self.site(cluster).volume)
            try FileManager.default.removeItem(atPath: cluster.edge.path)
            let other = try await cluster.run([try cluster.file("/b")], catalog: "two")
            #expect(other["/b"]?.state == .completed && other["/b"]?.failure == nil)
            let again = try await cluster.run([try cluster.file("/a")], catalog: "one")
            #expect(again["/a"]?.state == .completed)
            #expect(try cluster.storedPaths() == ["/a", "/b"])
            #expect(cluster.edge.volumeMarks() == [volume])
            #expect(try await Self.site(cluster).volume == volume)
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
        let volume = VolumeID.random()
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
            for check in coordinator.worker.sites.unusable.check() { await check.value }
            #expect(coordinator.worker.sites.volumes.withLock { $0.unusable() }.isEmpty)
            let next = coordinator.grant([origin.url("/a")], volume: volume)
            try await waitUntil(deadlineSeconds: 30, "the next job's end") {
                coordinator.jobs(.done) == next
            }
        }
    }

    @Test func anUnusableSiteIsTriedAgainAfterAMinute() {
        var sites = SiteVolumes()
        let start = HeldWork.Instant.now
        sites.record(SiteVolume(id: "v"), of: SiteID(1), at: "file:///a")
        sites.setUnusable(SiteID(1), now: start)
        let first = sites.toCheck(now: start).map(\.url)
        #expect(first == ["file:///a"])
        // While a check runs, which may take forever, there is no other.
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
            try await waitUntil(deadlineSeconds: 60, "the closing of the site's directories") {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                    .compactMap {
                        try? FileManager.default.destinationOfSymbolicLink(
                            atPath: "/proc/self/fd/\($0)")
                    }
                    .allSatisfy { !$0.hasPrefix(cluster.edge.path) }
            }
        }
    }
}
