import Foundation
import Model
import Storage
import TestSupport
import Testing

/// What a site may not use: its floor of free bytes, and what its quota leaves.
@Suite struct SpaceTests {
    private func code(_ body: () throws -> Void) -> FailureCode? {
        do {
            try body()
            return nil
        } catch { return (error as? Failure)?.code }
    }

    /// More than any file system has.
    private static let everything: Int64 = 1 << 60

    @Test func nothingBeginsBelowTheFloor() throws {
        let site = try Site()
        let part: MultipartID = "part"
        site.storage.setBounds(floorBytes: Self.everything, quotaLeftBytes: nil)
        #expect(site.codeOfStoring("h/a") == "storage.full")
        #expect(
            code {
                _ = try site.storage.openMultipart(
                    id: part, offset: 0, length: 5, of: 5, isNew: true)
            }
                == "storage.full")
        #expect(code { try site.storage.probe() } == "storage.full")
        #expect(code { try site.storage.checkSpace(for: 0) } == "storage.full")
        #expect(try site.visibleFiles().isEmpty)
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: nil)
        try site.storage.probe()
        try site.store("h/a", [1])
        #expect(try site.privateFiles() == [".dray/multipart/\(part)"])
    }

    /// The quota counts a multipart file from its start, whichever worker has the parts.
    @Test func aFileInPartsTakesOfTheQuotaOnce() throws {
        let site = try Site()
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: 100)
        func begin(_ id: MultipartID, isNew: Bool) -> FailureCode? {
            code {
                _ = try site.storage.openMultipart(
                    id: id, offset: 0, length: 20, of: 60, isNew: isNew)
            }
        }
        #expect(begin("a", isNew: true) == nil)
        #expect(begin("b", isNew: true) == "storage.noRoom")
        #expect(site.storage.refusedByQuota)
        #expect(begin("a", isNew: false) == nil)
        #expect(code { try site.storage.checkSpace(for: 40) } == nil)
    }

    @Test func filesLargerThanTheSpaceCountAgainstTheSiteOnlyIfAProbeFails() throws {
        let site = try Site()
        let full = Failure("storage.full", "")
        func judged(_ bytes: Int64, isLengthKnown: Bool) -> FailureCode {
            site.storage.judge(full, bytes: bytes, isLengthKnown: isLengthKnown).code
        }
        #expect(judged(2 << 20, isLengthKnown: true) == "storage.noRoom")
        #expect(judged(2 << 20, isLengthKnown: false) == "storage.outgrown")
        // Smaller than a probe: there is space for almost nothing.
        #expect(judged(1_000, isLengthKnown: true) == "storage.full")
        site.storage.setBounds(floorBytes: Self.everything, quotaLeftBytes: nil)
        #expect(judged(2 << 20, isLengthKnown: true) == "storage.full")
        let other = Failure("storage.io", "")
        #expect(site.storage.judge(other, bytes: 2 << 20, isLengthKnown: true) == other)
    }

    @Test func anObjectOfUnknownLengthIsStoppedWhileItGrows() throws {
        let site = try Site(in: "/dev/shm")
        let object = try site.storage.createTemporary(
            lease: Site.lease, job: JobID(1), key: "h/long")
        site.storage.setBounds(floorBytes: Self.everything, quotaLeftBytes: nil)
        let block = [UInt8](repeating: 1, count: 1 << 20)
        var written: Int64 = 0
        let stopped = code {
            while written < 64 << 20 {
                try block.withUnsafeBytes { try object.write($0, at: written) }
                written += 1 << 20
            }
        }
        #expect(stopped == "storage.full")
        #expect(written < 32 << 20)
    }

    @Test func filesWithReservedSpaceContinue() throws {
        // In memory nothing is reserved.
        let site = try Site(in: "/var/tmp")
        let bytes = 20 << 20
        let object = try site.storage.createTemporary(
            lease: Site.lease, job: JobID(1), key: "h/long", reservingBytes: Int64(bytes))
        site.storage.setBounds(floorBytes: Self.everything, quotaLeftBytes: nil)
        try [UInt8](repeating: 1, count: bytes).withUnsafeBytes { try object.write($0, at: 0) }
        for result in site.storage.commit([object]) { try result.get() }
    }

    @Test func anObjectLongerThanTheQuotaLeavesDoesNotBegin() throws {
        let site = try Site()
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: 100)
        #expect(code { try site.storage.checkSpace(for: 101) } == "storage.noRoom")
        try site.storage.checkSpace(for: 100)
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: 0)
        #expect(code { try site.storage.checkSpace(for: 1) } == "storage.noRoom")
    }

    /// An object of unknown length.
    @Test func aGrowingFileUsesQuotaByItsSize() throws {
        let site = try Site()
        func begin(_ job: Int64) throws -> PendingObject {
            try site.storage.createTemporary(
                lease: Site.lease, job: JobID(job), key: "h/\(job)", reservingBytes: nil)
        }
        func write(_ count: Int, at offset: Int64, of object: PendingObject) -> FailureCode? {
            code {
                try [UInt8](repeating: 1, count: count).withUnsafeBytes {
                    try object.write($0, at: offset)
                }
            }
        }
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: 100)
        let (first, second) = (try begin(1), try begin(2))
        #expect(write(60, at: 0, of: first) == nil)
        #expect(write(30, at: 0, of: second) == nil)
        #expect(write(11, at: 30, of: second) == "storage.outgrown")
        #expect(code { try site.storage.checkSpace(for: 11) } == "storage.noRoom")
        second.discard()
        #expect(code { try site.storage.checkSpace(for: 41) } == "storage.noRoom")
        try site.storage.checkSpace(for: 40)
        for result in site.storage.commit([first]) { try result.get() }
        #expect(code { try site.storage.checkSpace(for: 41) } == "storage.noRoom")
        #expect(try site.visibleFiles() == ["h/1"] && site.privateFiles().isEmpty)
        // Dray's own lists belong to no catalog, and sites without a limit have no quota.
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: 0)
        try site.store("h/SHA256SUMS", [1])
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: nil)
        #expect(write(1_000, at: 0, of: try begin(3)) == nil)
    }

    @Test func whatHasBegunIsTakenOffTheQuota() throws {
        let site = try Site()
        func begin(_ job: Int64) -> FailureCode? {
            code {
                objects.append(
                    try site.storage.createTemporary(
                        lease: Site.lease, job: JobID(job), key: "h/\(job)", reservingBytes: 60))
            }
        }
        var objects: [PendingObject] = []
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: 100)
        #expect(begin(1) == nil)
        #expect(begin(2) == "storage.noRoom")
        // The last report counts.
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: 60)
        #expect(begin(2) == nil)
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: nil)
        #expect(begin(3) == nil && objects.count == 3)
    }
}
