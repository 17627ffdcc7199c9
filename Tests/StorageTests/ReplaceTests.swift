import Foundation
import Model
import Storage
import TestSupport
import Testing

/// Several files of one asset that take the place of others together.
@Suite struct ReplaceTests {
    private static let job = JobID(9)

    private func staged(_ site: Site, _ files: [(String, [UInt8])]) throws -> [StagedObject] {
        try site.storage.stage(
            files.enumerated().map { index, file in
                let object = try site.storage.createTemporary(
                    lease: Site.lease, job: Self.job, key: file.0, number: index + 1)
                try file.1.withUnsafeBytes { try object.write($0, at: 0) }
                return object
            })
    }

    private func code(_ body: () throws -> Void) -> FailureCode? {
        do {
            try body()
            return nil
        } catch { return (error as? Failure)?.code }
    }

    @Test(arguments: Durability.allCases)
    func nothingChangesBeforeAllDoes(durability: Durability) throws {
        let site = try Site(durability)
        try site.store("h/a", [1])
        try site.store("h/b", [1])
        let files = try staged(site, [("h/a", [2]), ("h/b", [2, 2]), ("h/new/c", [2, 2, 2])])
        try site.storage.makeWay(for: files)
        #expect(try site.visibleFiles() == ["h/a", "h/b"])
        #expect(try site.directory.read("h/a") == [1])
        #expect(try site.storage.publish(files) == [])
        #expect(try site.directory.read("h/a") == [2])
        #expect(try site.directory.read("h/b") == [2, 2])
        #expect(try site.directory.read("h/new/c") == [2, 2, 2])
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func whatIsNotWantedLeavesEverythingAsItWas() throws {
        let site = try Site()
        try site.store("h/a", [1])
        site.storage.discard(try staged(site, [("h/a", [2]), ("h/b", [2])]))
        #expect(try site.visibleFiles() == ["h/a"] && site.directory.read("h/a") == [1])
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func whatIsInTheWayIsFoundBeforeAnythingIsMoved() throws {
        let site = try Site()
        try site.store("h/a", [1])
        try site.store("h/b/x", [1])
        let files = try staged(site, [("h/a", [2]), ("h/b", [2])])
        #expect(code { try site.storage.makeWay(for: files) } == "storage.pathConflict")
        #expect(try site.directory.read("h/a") == [1])
    }

    /// Whoever comes next needs nothing but the names of what was staged.
    @Test func anInterruptedFileIsResumedByAnotherWorker() throws {
        let site = try Site()
        try site.store("h/a", [1])
        try site.store("h/b", [1])
        let files = try staged(site, [("h/a", [2]), ("h/b", [2]), ("h/c", [2])])
        // A folder comes into the way: the second of three steps fails.
        unlink(site.directory.path("h/b"))
        #expect(mkdir(site.directory.path("h/b"), 0o777) == 0)
        #expect(code { _ = try site.storage.publish(files) } != nil)
        #expect(try site.directory.read("h/a") == [2])
        #expect(try site.visibleFiles() == ["h/a"])

        rmdir(site.directory.path("h/b"))
        let next = try DirectoryStorage(site.storage.url)
        let named = try ["h/a", "h/b", "h/c"].enumerated().map { index, key in
            try StagedObject(lease: Site.lease, job: Self.job, number: index + 1, key: key)
        }
        #expect(try next.publish(named) == [0])
        for key in ["h/a", "h/b", "h/c"] { #expect(try site.directory.read(key) == [2]) }
        #expect(try site.privateFiles().isEmpty)
    }

    /// One that was stopped in the middle, and wakes when all is done and was replaced again.
    @Test func whoComesTooLateTakesNothingAway() throws {
        let site = try Site()
        let files = try staged(site, [("h/a", [2]), ("h/b", [2])])
        #expect(try site.storage.publish(files) == [])
        try site.store("h/a", [3])
        #expect(try site.storage.publish(files) == [0, 1])
        #expect(try site.directory.read("h/a") == [3])
    }

    @Test func whoHasLostItsLeaseMovesNoMore() throws {
        let site = try Site()
        let files = try staged(site, [("h/a", [2]), ("h/b", [2])])
        var looks = 0
        let lost = code {
            _ = try site.storage.publish(files) {
                looks += 1
                return looks < 2
            }
        }
        #expect(lost == "worker.leaseLost")
        #expect(try site.visibleFiles() == ["h/a"])
        // Its present owner continues.
        #expect(try site.storage.publish(files) == [0])
        #expect(try site.visibleFiles() == ["h/a", "h/b"])
    }

    @Test(arguments: ["../../a", "h/.dray/../../a"])
    func namesThatLeadOutOfTheSiteAreRefused(key: String) {
        #expect(
            code { _ = try StagedObject(lease: Site.lease, job: Self.job, number: 1, key: key) }
                == "storage.pathRefused")
    }

    /// What was not stored after all is there for others to take.
    @Test func whatIsDiscardedGivesItsPartOfTheQuotaBack() throws {
        let site = try Site()
        site.storage.setBounds(floorBytes: 0, quotaLeftBytes: 100)
        func object(_ number: Int) throws -> PendingObject {
            try site.storage.createTemporary(
                lease: Site.lease, job: Self.job, key: "h/\(number)", number: number,
                reservingBytes: 80)
        }
        for number in 1...3 { try object(number).discard() }
        let kept = try object(4)
        #expect(code { _ = try object(5) } == "storage.noRoom")
        kept.discard()
    }

    @Test func storedFilesAreRecognizedByTheirLength() throws {
        let site = try Site()
        try site.store("h/a", [1, 2, 3])
        #expect(site.storage.isStored(key: "h/a", bytes: 3))
        #expect(!site.storage.isStored(key: "h/a", bytes: 2))
        #expect(!site.storage.isStored(key: "h/b", bytes: 3))
        #expect(!site.storage.isStored(key: "h", bytes: 3))
    }
}
