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
        #expect(try site.visibleFiles() == ["h/a", "h/b"])
        #expect(try site.directory.read("h/a") == [1])
        try site.storage.replace(files, lease: Site.lease, job: Self.job) { true }
        #expect(try site.directory.read("h/a") == [2])
        #expect(try site.directory.read("h/b") == [2, 2])
        #expect(try site.directory.read("h/new/c") == [2, 2, 2])
        #expect(try site.privateFiles().isEmpty)
        #expect(try site.storage.finishReplacements() == 0)
    }

    @Test func whatIsNotOursIsLeft() throws {
        let site = try Site()
        try site.store("h/a", [1])
        let files = try staged(site, [("h/a", [2]), ("h/b", [2])])
        #expect(
            code { try site.storage.replace(files, lease: Site.lease, job: Self.job) { false } }
                == "worker.leaseLost")
        #expect(try site.visibleFiles() == ["h/a"] && site.directory.read("h/a") == [1])
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func whatIsInTheWayIsFoundBeforeAnythingIsMoved() throws {
        let site = try Site()
        try site.store("h/a", [1])
        try site.store("h/b/x", [1])
        let files = try staged(site, [("h/a", [2]), ("h/b", [2])])
        #expect(
            code { try site.storage.replace(files, lease: Site.lease, job: Self.job) { true } }
                == "storage.pathConflict")
        #expect(try site.directory.read("h/a") == [1])
        #expect(try site.privateFiles().isEmpty)
    }

    /// Whoever comes next needs nothing but the site to bring it to its end.
    @Test func whatBrokeOffIsFinished() throws {
        let site = try Site()
        try site.store("h/a", [1])
        try site.store("h/b", [1])
        let files = try staged(site, [("h/a", [2]), ("h/b", [2]), ("h/c", [2])])
        // After the last look a folder comes into the way: the second of three steps fails.
        let failed = code {
            try site.storage.replace(files, lease: Site.lease, job: Self.job) {
                unlink(site.directory.path("h/b"))
                return mkdir(site.directory.path("h/b"), 0o777) == 0
            }
        }
        #expect(failed == "storage.pathConflict")
        #expect(try site.directory.read("h/a") == [2])
        #expect(try site.visibleFiles() == ["h/a"])

        rmdir(site.directory.path("h/b"))
        let next = try DirectoryStorage(site.storage.url)
        #expect(try next.finishReplacements() == 1)
        for key in ["h/a", "h/b", "h/c"] { #expect(try site.directory.read(key) == [2]) }
        #expect(try site.privateFiles().isEmpty)
        #expect(try next.finishReplacements() == 0)
    }

    /// A record that was cut short, or is none, moves nothing.
    @Test(arguments: [
        "", "dray replacement 1\0", "dray replacement 1\0x\0h/a\0",
        "dray replacement 2\0x\0h/a\0end\0",
        "dray replacement 1\0x\0end\0",
    ])
    func whatIsNoRecordIsLeft(text: String) throws {
        let site = try Site()
        try site.directory.write([2], to: ".dray/tmp/x")
        try site.directory.write(text, to: ".dray/switch/r")
        #expect(try site.storage.finishReplacements() == 0)
        #expect(try site.visibleFiles().isEmpty)
    }

    @Test func aRecordThatLeadsOutOfTheSiteIsRefused() throws {
        let site = try Site()
        try site.directory.write([2], to: ".dray/tmp/x")
        try site.directory.write("dray replacement 1\0x\0../../a\0end\0", to: ".dray/switch/r")
        #expect(code { try site.storage.finishReplacements() } == "storage.pathRefused")
    }

    @Test func whatIsThereIsToldByItsLength() throws {
        let site = try Site()
        try site.store("h/a", [1, 2, 3])
        #expect(site.storage.isStored(key: "h/a", bytes: 3))
        #expect(!site.storage.isStored(key: "h/a", bytes: 2))
        #expect(!site.storage.isStored(key: "h/b", bytes: 3))
        #expect(!site.storage.isStored(key: "h", bytes: 3))
    }
}
