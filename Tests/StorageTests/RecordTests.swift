import Digest
import Model
import Storage
import TestSupport
import Testing

/// Records of how far an object is, written by several threads beside its transfer.
@Suite struct RecordTests {
    private static let other: LeaseID = "other"
    private static let identity = PartialIdentity(url: "http://h/a", key: "h/a", cluster: "c")
    private static let content = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 5) }
    private let site: Site
    private let object: PendingObject
    private let attempt = ObjectAttempt(lease: Site.lease, job: JobID(1), asset: AssetID(1))

    init() throws {
        site = try Site()
        object = try site.pending("h/a", Self.content)
    }

    private func record(_ bytes: Int) -> PartialRecord {
        PartialRecord(
            bytes: Int64(bytes), sha256: SHA256Digest(hashing: Array(Self.content[..<bytes])),
            totalBytes: Int64(Self.content.count), validator: "\"v1\"",
            source: SHA256Digest(hashing: []))
    }

    private func note(_ bytes: Int) {
        site.storage.note(record(bytes), of: object, as: Self.identity, by: attempt)
    }

    /// What an attempt of another asset has of it, which may not trust that the writer has ended.
    private func taken(asset: Int64) throws -> PartialBody? {
        try site.storage.takePartial(
            Self.identity, of: try site.storage.partials(),
            for: ObjectAttempt(lease: Self.other, job: JobID(2), asset: AssetID(asset)),
            location: .key("h/a"))
    }

    @Test func theOneThatSpeaksOfMostCounts() throws {
        for bytes in [5_000, 15_000, 10_000] { note(bytes) }
        #expect(try taken(asset: 1)?.record.bytes == 15_000)
    }

    @Test(arguments: ["stored", "discarded"])
    func afterTheEndNoneIsWritten(end: String) throws {
        note(5_000)
        if end == "stored" {
            for result in site.storage.commit([object]) { try result.get() }
        } else {
            object.discard()
        }
        note(10_000)
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func theLastRecordShowsThatTheWriterHasEnded() throws {
        note(10_000)
        site.storage.keep(record(5_000), of: object, as: Self.identity, by: attempt)
        note(15_000)
        let body = try taken(asset: 2)
        #expect(body?.record.bytes == 5_000)
        // Taken as it is, and not copied.
        #expect(
            try site.privateFiles().filter { $0.contains("/tmp/") } == [".dray/tmp/\(Self.other)-2"]
        )
    }

    /// It had written all of it, and recorded a half; another reuses that, and waits for space.
    @Test func whoWasFrozenStoresNothingOfWhatWasTakenOver() throws {
        note(10_000)
        func take(_ job: Int64) throws -> PartialBody? {
            try site.storage.takePartial(
                Self.identity, of: try site.storage.partials(),
                for: ObjectAttempt(lease: Self.other, job: JobID(job), asset: AssetID(1)),
                location: .key("h/a"))
        }
        site.storage.setBounds(floorBytes: .max / 2, quotaLeftBytes: nil)
        #expect(throws: Failure.self) { _ = try take(2) }
        let codes = site.storage.commit([object]).map { result in
            if case .failure(let failure) = result { failure.code.rawValue } else { "" }
        }
        #expect(codes == ["worker.leaseLost"])
        #expect(try site.visibleFiles().isEmpty)
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: nil)
        let body = try #require(try take(3))
        #expect(body.record == record(10_000))
        let rest = try #require(body.object)
        try Self.content[10_000...].withUnsafeBytes { try rest.write($0, at: 10_000) }
        for result in site.storage.commit([rest]) { try result.get() }
        #expect(try site.directory.read("h/a") == Self.content)
        #expect(try site.privateFiles().isEmpty)
    }
}
