import Foundation
import Model
import Storage
import TestSupport
import Testing

@Suite struct CommitTests {
    @Test(arguments: Durability.allCases)
    func aBatchGetsItsFinalKeysAndLeavesNothingBehind(durability: Durability) throws {
        let site = try Site(durability)
        let keys = (0..<5).map { "origin.example/a/\($0 % 2)/segment-\($0).ts" }
        let batch = try keys.enumerated().map { index, key in
            try site.pending(
                key, [UInt8](repeating: UInt8(index), count: 70_000), job: Int64(index))
        }
        #expect(try site.visibleFiles().isEmpty)
        for result in site.storage.commit(batch) { try result.get() }
        #expect(try site.visibleFiles() == keys.sorted())
        #expect(try site.privateFiles().isEmpty)
        for (index, key) in keys.enumerated() {
            let bytes = try site.directory.read(key)
            #expect(bytes == [UInt8](repeating: UInt8(index), count: 70_000))
        }
    }

    @Test func anEmptyBatchIsNoWork() throws {
        #expect(try Site().storage.commit([]).isEmpty)
    }

    @Test func anObjectInTheRootAndAnEmptyObject() throws {
        let site = try Site()
        try site.store("list.txt", [])
        #expect(try site.directory.read("list.txt").isEmpty)
    }

    @Test func aCommitReplacesTheObjectBefore() throws {
        let site = try Site()
        try site.store("h/a", [1, 2, 3])
        try site.store("h/a", [4])
        #expect(try site.directory.read("h/a") == [4])
    }

    @Test func whatIsDiscardedOrDroppedIsGone() throws {
        let site = try Site()
        let object = try site.pending("h/a", [1])
        #expect(try site.privateFiles().count == 1)
        site.storage.discard(object)
        #expect(try site.directory.files().isEmpty)
        _ = try site.pending("h/b", [1])
        #expect(try site.directory.files().isEmpty)
    }

    @Test func theSameLeaseMayTryAJobAgain() throws {
        let site = try Site()
        let first = try site.pending("h/a", [UInt8](repeating: 1, count: 100))
        let second = try site.pending("h/a", [2])
        try [UInt8](repeating: 1, count: 100).withUnsafeBytes { try first.write($0, at: 0) }
        for result in site.storage.commit([second]) { try result.get() }
        #expect(try site.directory.read("h/a") == [2])
    }

    @Test func oneBadObjectDoesNotStopItsBatch() throws {
        let site = try Site()
        try site.store("h/folder/x", [1])
        try site.store("h/file", [1])
        let batch = [
            try site.pending("h/good", [1], job: 1),
            try site.pending("h/folder", [2], job: 2),
            try site.pending("h/file/below", [3], job: 3),
            try site.pending("h/other", [4], job: 4),
        ]
        let codes = site.storage.commit(batch).map { result in
            if case .failure(let failure) = result { failure.code.rawValue } else { "" }
        }
        #expect(codes == ["", "storage.pathConflict", "storage.pathConflict", ""])
        #expect(try site.visibleFiles() == ["h/file", "h/folder/x", "h/good", "h/other"])
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func aRemovedSiteIsCreatedAgainForTheNextObject() throws {
        let site = try Site()
        try site.store("h/a", [1])
        let late = try site.pending("h/late", [1])
        site.directory.remove()
        for result in site.storage.commit([late]) {
            #expect(throws: Failure.self) { try result.get() }
        }
        try site.store("h/b", [2])
        #expect(try site.directory.read("h/b") == [2])
    }

    @Test func aSiteThatWasMovedAwayTakesNothing() throws {
        let site = try Site()
        let parent = try TemporaryDirectory("elsewhere")
        let object = try site.pending("h/a", [1])
        try FileManager.default.moveItem(
            atPath: site.directory.path, toPath: parent.path("moved"))
        for result in site.storage.commit([object]) {
            #expect(throws: Failure.self) { try result.get() }
        }
        #expect(!FileManager.default.fileExists(atPath: parent.path("moved/h/a")))
        try site.store("h/a", [2])
        #expect(try site.directory.read("h/a") == [2])
    }

    @Test func manyThreadsCommitAtOnce() async throws {
        let site = try Site()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<10 {
                        let batch = try (0..<10).map { index in
                            let number = task * 1000 + round * 10 + index
                            return try site.pending(
                                "h/\(index % 3)/deep/\(round)/\(number)", [UInt8(task)],
                                job: Int64(number))
                        }
                        for result in site.storage.commit(batch) { try result.get() }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try site.visibleFiles().count == 800)
        #expect(try site.privateFiles().isEmpty)
    }
}
