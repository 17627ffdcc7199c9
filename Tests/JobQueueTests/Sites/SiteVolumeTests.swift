import API
import Model
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The volume that a site is on: recorded once, until an operator accepts another one.
@Suite(.timeLimit(.minutes(2))) struct SiteVolumeTests {
    typealias F = QueueFixture

    private static func site(_ fixture: F) async throws -> SiteStatus {
        try #require(try await fixture.queue.sites.list().sites.first { $0.storageURL == F.site })
    }

    private static func record(
        _ volume: VolumeID?, _ grant: LeaseGrant, _ fixture: F, site: SiteID? = nil,
        as worker: WorkerID? = nil
    ) async throws -> VolumeID? {
        let own = try await Self.site(fixture).id
        return try await fixture.queue.sites.volumes.volume(
            SiteVolumeRequest(
                worker: worker ?? fixture.worker, site: site ?? own, lease: grant.lease,
                volume: volume)
        ).volume
    }

    @Test func theFirstWorkerRecordsIt() async throws {
        try await F.with { fixture in
            try await fixture.submit((0..<3).map { F.file("f\($0)") })
            let first = try await fixture.lease(1)
            let second = try await fixture.lease(1)
            #expect(first.site?.volume == nil && second.site?.volume == nil)
            let (one, other) = (VolumeID.random(), VolumeID.random())
            #expect(try await Self.record(nil, first, fixture) == nil)
            #expect(try await Self.record(one, first, fixture) == one)
            // The same again, and another worker that was on its way.
            #expect(try await Self.record(one, first, fixture) == one)
            #expect(try await Self.record(other, second, fixture) == one)
            #expect(try await fixture.lease(1).site?.volume == one)
            #expect(try await Self.site(fixture).volume == one)
        }
    }

    /// A worker without a job of a site cannot report its volume.
    @Test func aLeaseOfTheSiteIsNeeded() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let grant = try await fixture.lease()
            try await fixture.submit([F.file("x")], catalog: "other", site: "file:///srv/other")
            let other = try await fixture.lease()
            let volume = VolumeID.random()
            for (lease, worker) in [(other, fixture.worker), (grant, WorkerID.random())] {
                await #expect(throws: Failure.self) {
                    try await Self.record(volume, lease, fixture, as: worker)
                }
            }
            await #expect(throws: Failure.self) {
                try await Self.record(volume, grant, fixture, site: SiteID(99))
            }
            await #expect(throws: Failure.self) {
                try await Self.record(nil, grant, fixture, site: SiteID(99))
            }
            #expect(try await Self.site(fixture).volume == nil)
        }
    }

    /// Wherever the recorded volume was last found; another volume's file system is none of the site's.
    @Test func theFileSystemOfTheVolumeIsRecorded() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let grant = try await fixture.lease()
            let (one, other) = (VolumeID.random(), VolumeID.random())
            func record(_ volume: VolumeID, on fileSystem: FileSystemID?) async throws
                -> FileSystemID?
            {
                let site = try await Self.site(fixture).id
                return try await fixture.queue.sites.volumes.volume(
                    SiteVolumeRequest(
                        worker: fixture.worker, site: site, lease: grant.lease, volume: volume,
                        fileSystem: fileSystem)
                ).fileSystem
            }
            #expect(try await record(one, on: "ef53:1") == "ef53:1")
            #expect(try await record(other, on: "ef53:2") == "ef53:1")
            // A copy of the volume, mark included.
            #expect(try await record(one, on: "ef53:3") == "ef53:3")
            let read = SiteVolumeRequest(
                worker: fixture.worker, site: try await Self.site(fixture).id)
            let answer = try await fixture.queue.sites.volumes.volume(read)
            #expect(answer.volume == one && answer.fileSystem == "ef53:3")
            #expect(answer.resumedSeconds == nil)
            #expect(try await record(one, on: nil) == nil)
            var settings = SiteSettings(site: F.site)
            settings.resumes = true
            _ = try await fixture.queue.sites.configure(settings)
            let seconds = try #require(
                try await fixture.queue.sites.volumes.volume(read).resumedSeconds)
            #expect(0...60 ~= seconds)
        }
    }

    /// A worker that finds a site's volume again ends the fault at once, before the next job is leased.
    @Test func aFoundVolumeEndsTheFault() async throws {
        try await F.with { fixture in
            try await fixture.submit([F.file("a")])
            let grant = try await fixture.lease()
            _ = try await fixture.report([F.failed(grant.jobs[0], grant, "storage.otherVolume")])
            let site = try await Self.site(fixture)
            #expect(site.fault != nil)
            func beat(isSound: Bool) async throws {
                var beat = Heartbeat(
                    worker: fixture.worker, leases: [], progress: [:], name: "w",
                    activeTransfers: 0)
                beat.sites = [SiteReport(site: site.id, availableBytes: 1, isSound: isSound)]
                _ = try await fixture.queue.jobs.leases.heartbeat(beat)
            }
            try await beat(isSound: false)
            #expect(try await Self.site(fixture).fault != nil)
            try await beat(isSound: true)
            #expect(try await Self.site(fixture).fault == nil)
            try await fixture.pool.query("UPDATE delayed_job SET available_at = now()")
            #expect(try await fixture.lease().jobs.map(\.attempt) == [1])
        }
    }

    /// A worker that finds another volume pauses the site, uses up no attempt, and an operator may accept it.
    @Test func anAcceptedVolumeIsRecordedAgain() async throws {
        try await F.with { fixture in
            let catalog = try await fixture.submit([F.file("a")])
            let first = try await fixture.lease()
            let (one, other) = (VolumeID.random(), VolumeID.random())
            _ = try await Self.record(one, first, fixture)
            _ = try await fixture.report([F.failed(first.jobs[0], first, "storage.otherVolume")])
            #expect(try await Self.site(fixture).fault?.code == "storage.otherVolume")
            let issue = try await fixture.queue.catalogs.status(of: catalog).issue
            #expect(issue?.code == "storage.otherVolume")
            #expect(try await fixture.lease().lease == nil)
            // It resumes only by that, or by a worker that finds the right volume.
            var settings = SiteSettings(site: F.site)
            settings.acceptsVolume = true
            let set = try await fixture.queue.sites.configure(settings)
            #expect(set.volume == nil && set.fault == nil)
            try await fixture.pool.query("UPDATE delayed_job SET available_at = now()")
            let again = try await fixture.lease()
            #expect(again.site?.volume == nil && again.jobs.map(\.attempt) == [1])
            #expect(try await Self.record(other, again, fixture) == other)
            // Other settings leave it.
            settings = SiteSettings(site: F.site)
            settings.floorBytes = 1
            #expect(try await fixture.queue.sites.configure(settings).volume == other)
        }
    }

    /// Two paths of one directory, as a symlink is one, have one mark.
    @Test func twoSitesWithCatalogsNeverHaveOneVolume() async throws {
        try await F.with { fixture in
            let other = "file:///srv/link"
            let catalog = try await fixture.submit([F.file("a")])
            let first = try await fixture.lease()
            try await fixture.submit([F.file("x")], catalog: "other", site: other)
            let second = try await fixture.lease()
            let volume = VolumeID.random()
            _ = try await Self.record(volume, first, fixture)
            let sites = try await fixture.queue.sites.list().sites
            let link = try #require(sites.first { $0.storageURL == other }).id
            func others(_ site: SiteID) async throws -> [String] {
                try await fixture.queue.sites.volumes.volume(
                    SiteVolumeRequest(
                        worker: fixture.worker, site: site, marks: [.random(), volume])
                ).others?.map(\.storageURL) ?? []
            }
            #expect(try await others(link) == [F.site])
            #expect(try await others(try await Self.site(fixture).id).isEmpty)
            let failure = await #expect(throws: Failure.self) {
                try await Self.record(volume, second, fixture, site: link)
            }
            #expect(failure?.code == .storageSharedDirectory)
            let message = failure?.message ?? ""
            #expect(message.contains(F.site) && message.contains(other), "\(message)")
            // Without catalogs, a site has no records that others could contradict.
            _ = try await fixture.report(first.jobs.map { F.done($0, first) })
            try await fixture.queue.catalogs.submissions.interruptAll()
            try await fixture.drain()
            _ = try await fixture.queue.catalogs.selections.apply(
                SelectionAction(.forget, catalog: CatalogReference(catalog)))
            #expect(try await others(link).isEmpty)
            try await fixture.submit([F.file("x")], catalog: "other", site: other)
            let again = try await fixture.lease()
            #expect(try await Self.record(volume, again, fixture, site: link) == volume)
            #expect(try await Self.site(fixture).volume == nil)
        }
    }

    /// Sites that an earlier version accepted on one directory: the later one waits.
    @Test func sitesThatHaveOneVolumeAlreadyAreFound() async throws {
        try await F.with { fixture in
            let other = "file:///srv/link"
            try await fixture.submit([F.file("a")])
            try await fixture.submit([F.file("x")], catalog: "other", site: other)
            let volume = VolumeID.random()
            try await fixture.pool.query("UPDATE site SET volume_id = '\(volume)'")
            let sites = try await fixture.queue.sites.list().sites
            var found: [String: [String]] = [:]
            for site in sites {
                found[site.storageURL] = try await fixture.queue.sites.volumes.volume(
                    SiteVolumeRequest(worker: fixture.worker, site: site.id, marks: [volume])
                ).others?.map(\.storageURL)
            }
            #expect(found == [other: [F.site]])
        }
    }
}
