import Digest
import Model
import Storage
import TestSupport
import Testing

/// What attempts have left of objects, as a removal of their assets finds it.
@Suite struct InterruptedBodyTests {
    private static let own: ClusterID = "own"
    private let site: Site
    private let storage: SiteStorage

    init() throws {
        site = try Site()
        storage = .directory(site.storage)
    }

    private func record(_ bytes: [UInt8]) -> PartialRecord {
        PartialRecord(
            bytes: Int64(bytes.count), sha256: SHA256Digest(hashing: bytes),
            totalBytes: Int64(bytes.count) + 100, validator: "\"v1\"",
            source: SHA256Digest(hashing: []))
    }

    private func attempt(_ asset: Int64, _ cluster: ClusterID?) -> ObjectAttempt {
        ObjectAttempt(
            lease: Site.lease, job: JobID(asset), asset: AssetID(asset), cluster: cluster)
    }

    /// Leaves a body of some bytes, as an interruption does.
    private func leave(_ count: Int, asset: Int64, cluster: ClusterID?) throws {
        let (key, bytes) = ("h/\(asset)", sampleBytes(count))
        site.storage.keep(
            record(bytes), of: try site.pending(key, bytes, job: asset),
            as: PartialIdentity(url: "http://\(key)", key: key, cluster: cluster),
            by: attempt(asset, cluster))
    }

    @Test func thoseOfTheClusterAreFoundAndRemoved() throws {
        try leave(5_000, asset: 1, cluster: Self.own)
        try leave(6_000, asset: 2, cluster: "other")
        try leave(7_000, asset: 3, cluster: nil)
        let bodies = try storage.interruptedBodies(of: Self.own)
        #expect(bodies.map(\.asset) == [AssetID(1)])
        #expect(bodies.map(\.bytes) == [5_000] && bodies.allSatisfy(\.isStored))
        let body = try #require(bodies.first)
        #expect(storage.remove(body))
        #expect(!storage.remove(body))
        #expect(try storage.interruptedBodies(of: Self.own).isEmpty)
        #expect(try site.privateFiles().count == 4)
        #expect(try storage.interruptedBodies(of: "other").map(\.bytes) == [6_000])
    }

    @Test func oneThatIsStillWrittenStays() throws {
        let bytes = sampleBytes(5_000)
        let object = try site.pending("h/1", bytes)
        site.storage.note(
            record(bytes), of: object,
            as: PartialIdentity(url: "http://h/1", key: "h/1", cluster: Self.own),
            by: attempt(1, Self.own))
        let body = try #require(try storage.interruptedBodies(of: Self.own).first)
        #expect(!storage.remove(body))
        #expect(try site.privateFiles().count == 2)
        object.discard()
    }

    @Test func oneThatAnotherAttemptHasTakenOverStays() throws {
        try leave(5_000, asset: 1, cluster: Self.own)
        let body = try #require(try storage.interruptedBodies(of: Self.own).first)
        let identity = PartialIdentity(url: "http://h/1", key: "h/1", cluster: Self.own)
        var next = attempt(1, Self.own)
        next.job = JobID(9)
        let taken = try #require(
            try site.storage.takePartial(
                identity, of: try site.storage.partials(), for: next, location: .key("h/1")))
        #expect(!storage.remove(body))
        let object = try #require(taken.object)
        #expect(try site.privateFiles().count == 2)
        object.discard()
    }
}
