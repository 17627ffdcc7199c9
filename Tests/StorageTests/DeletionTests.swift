import Foundation
import Model
import Storage
import Synchronization
import TestSupport
import Testing

/// Deleted keys.
@Suite struct DeletionTests {
    private func delete(
        _ keys: [String], at site: Site, isOurs: () -> Bool = { true }
    ) throws -> [Deletion] {
        try site.storage.delete(keys, lease: Site.lease, job: JobID(9), isOurs: isOurs)
    }

    private func code(_ deletion: Deletion?) -> FailureCode? {
        if case .failed(let failure)? = deletion { failure.code } else { nil }
    }

    @Test(arguments: Durability.allCases)
    func filesAndEmptyDirectoriesGo(durability: Durability) throws {
        let site = try Site(durability)
        for key in ["h/t/v/1.ts", "h/t/v/2.ts", "h/t/main.m3u8", "h/f", "top"] {
            try site.store(key, [1])
        }
        #expect(
            try delete(["h/t/main.m3u8", "h/t/v/2.ts", "h/t/v/1.ts", "top"], at: site)
                == [.deleted, .deleted, .deleted, .deleted])
        #expect(try site.visibleFiles() == ["h/f"])
        #expect(try site.privateFiles().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: site.directory.path("h/t")))
        // A second time nothing is there.
        #expect(
            try delete(["h/t/main.m3u8", "h/x", "h/f/below"], at: site)
                == [.absent, .absent, .absent])
        #expect(try site.visibleFiles() == ["h/f"])
    }

    @Test func whatIsNoFileOfASiteStays() throws {
        let site = try Site()
        let outside = try TemporaryDirectory("outside")
        try outside.write([7], to: "victim")
        try site.store("h/a", [1])
        symlink(outside.path, site.directory.path("h/link"))
        symlink(outside.path("victim"), site.directory.path("h/file"))
        try FileManager.default.createDirectory(
            atPath: site.directory.path("h/dir"), withIntermediateDirectories: false)
        let keys = ["h/link/victim", "h/file", "h/dir", "../victim", ".dray/tmp/x", "h//a"]
        let codes = try delete(keys, at: site).map { code($0) }
        #expect(
            codes == [
                "storage.pathRefused", "storage.pathConflict", "storage.pathConflict",
                "storage.pathRefused", "storage.pathRefused", "storage.pathRefused",
            ])
        #expect(try outside.read("victim") == [7])
        #expect(try site.directory.read("h/a") == [1])
    }

    /// Frozen between its look at the lease and the deletion, while another stored the key anew.
    @Test func whoIsFrozenDeletesNothingOfItsSuccessor() throws {
        let site = try Site()
        try site.store("h/a", [1])
        let looks = Atomic<Int>(0)
        let deletions = try delete(["h/a", "h/b"], at: site) {
            guard looks.add(1, ordering: .relaxed).newValue == 1 else { return false }
            do {
                try site.store("h/a", [2, 2])
            } catch { Issue.record(error) }
            return true
        }
        #expect(code(deletions.first) == "worker.leaseLost")
        #expect(deletions.last == .absent)
        #expect(try site.directory.read("h/a") == [2, 2])
        #expect(try site.privateFiles().isEmpty)
    }

    /// A directory goes with its last file while another worker stores a new one there.
    @Test func aDirectoryThatGoesMeanwhileIsMadeAgain() throws {
        let site = try Site()
        try site.store("h/t/old", [1])
        let object = try site.pending("h/t/new", [2], job: 3)
        let looks = Atomic<Int>(0)
        let results = site.storage.commit([object]) { _ in
            guard looks.add(1, ordering: .relaxed).newValue == 1 else { return true }
            do {
                #expect(try delete(["h/t/old"], at: site) == [.deleted])
            } catch { Issue.record(error) }
            return true
        }
        for result in results { try result.get() }
        #expect(try site.visibleFiles() == ["h/t/new"])
        #expect(try site.directory.read("h/t/new") == [2])
    }
}
