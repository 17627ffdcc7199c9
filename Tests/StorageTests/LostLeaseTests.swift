import Foundation
import Model
import Storage
import Synchronization
import TestSupport
import Testing

/// An owner that was frozen, and whose job another worker has meanwhile.
@Suite struct LostLeaseTests {
    private func code(_ results: [Result<Void, Failure>]) -> [FailureCode?] {
        results.map { result in
            if case .failure(let failure) = result { failure.code } else { nil }
        }
    }

    @Test func whatIsNotOursIsNotStored() throws {
        let site = try Site()
        try site.store("h/b", [1])
        let batch = try ["h/a", "h/b", "h/c"].enumerated().map { index, key in
            try site.pending(key, [9], job: Int64(index + 2))
        }
        let results = site.storage.commit(batch) { $0 == 2 }
        #expect(code(results) == ["worker.leaseLost", "worker.leaseLost", nil])
        #expect(try site.visibleFiles() == ["h/b", "h/c"])
        #expect(try site.directory.read("h/b") == [1])
        #expect(try site.privateFiles().isEmpty)
    }

    /// Frozen after its last look at the lease and before the rename: the winner comes in between.
    @Test(arguments: Durability.allCases)
    func whoIsFrozenBeforeItsRenameTakesNothingFromTheWinner(durability: Durability) throws {
        let site = try Site(durability)
        let winner = try DirectoryStorage(site.storage.url)
        let zombie = try site.pending("h/a", [6, 6, 6])
        let looks = Atomic<Int>(0)
        let results = site.storage.commit([zombie]) { _ in
            guard looks.add(1, ordering: .relaxed).newValue == 1 else { return false }
            do {
                let object = try winner.createTemporary(
                    lease: .random(), job: JobID(7), key: "h/a")
                try [UInt8]([7, 7]).withUnsafeBytes { try object.write($0, at: 0) }
                #expect(code(winner.commit([object]) { _ in true }) == [nil])
            } catch { Issue.record(error) }
            return true
        }
        #expect(code(results) == ["worker.leaseLost"])
        #expect(looks.load(ordering: .relaxed) == 2)
        #expect(try site.directory.read("h/a") == [7, 7])
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func whatStoodThereBeforeIsReplacedAndLeavesNothingBehind() throws {
        let site = try Site()
        try site.store("h/a", [1, 2, 3])
        symlink("elsewhere", site.directory.path("h/b"))
        let batch = [
            try site.pending("h/a", [4], job: 2), try site.pending("h/b", [5], job: 3),
        ]
        #expect(code(site.storage.commit(batch) { _ in true }) == [nil, nil])
        #expect(try site.directory.read("h/a") == [4])
        #expect(try site.directory.read("h/b") == [5])
        #expect(try site.privateFiles().isEmpty)
    }

    /// A third one may have replaced what the frozen one put there: its file stays.
    @Test func aThirdOneIsNotUndone() throws {
        let site = try Site()
        try site.store("h/a", [1])
        let zombie = try site.pending("h/a", [6], job: 2)
        let looks = Atomic<Int>(0)
        let results = site.storage.commit([zombie]) { _ in
            guard looks.add(1, ordering: .relaxed).newValue == 2 else { return true }
            do { try site.store("h/a", [3]) } catch { Issue.record(error) }
            return false
        }
        #expect(code(results) == ["worker.leaseLost"])
        #expect(try site.directory.read("h/a") == [3])
        #expect(try site.privateFiles().isEmpty)
    }

    /// Whatever the order of their exchanges, those that lost their leases remove nothing of the winner's.
    @Test func manyThatLostTheirLeasesRemoveNothing() async throws {
        let site = try Site(.none)
        for round in 0..<100 {
            let key = "h/\(round)"
            let winner = [UInt8](repeating: UInt8(round), count: 5)
            try site.store(key, winner)
            let zombies = try (0..<3).map { number in
                try site.pending(key, [6], job: Int64(round * 10 + number + 2))
            }
            await withTaskGroup { group in
                for zombie in zombies {
                    group.addTask {
                        let looks = Atomic<Int>(0)
                        let results = site.storage.commit([zombie]) { _ in
                            looks.add(1, ordering: .relaxed).newValue == 1
                        }
                        #expect(code(results) == ["worker.leaseLost"])
                    }
                }
            }
            // Those that could not run may have timed out.
            let kept = try ([key] + site.privateFiles()).map { try site.directory.read($0) }
            #expect(kept.contains(winner))
        }
    }

    /// One times out waiting for another that is frozen between its two exchanges.
    @Test func whoCannotPutBackLeavesTheWinnersFileForTheSweep() async throws {
        let site = try Site()
        try site.store("h/a", [7, 7])
        let (first, second) = (
            try site.pending("h/a", [6], job: 2), try site.pending("h/a", [5], job: 3)
        )
        let looks = Atomic<Int>(0)
        let secondLooks = Atomic<Int>(0)
        let ended = DispatchSemaphore(value: 0)
        let secondIsIn = DispatchSemaphore(value: 0)
        let results = site.storage.commit([first]) { _ in
            guard looks.add(1, ordering: .relaxed).newValue == 2 else { return true }
            DispatchQueue.global().async {
                let results = site.storage.commit([second]) { _ in
                    guard secondLooks.add(1, ordering: .relaxed).newValue == 2 else { return true }
                    secondIsIn.signal()
                    ended.wait()
                    return false
                }
                #expect(code(results) == ["worker.leaseLost"])
                secondIsIn.signal()
            }
            secondIsIn.wait()
            return false
        }
        #expect(code(results) == ["worker.leaseLost"])
        #expect(try site.directory.read("h/a") == [5])
        ended.signal()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                secondIsIn.wait()
                continuation.resume()
            }
        }
        let left = try site.privateFiles()
        #expect(try left.map { try site.directory.read($0) } == [[7, 7]])
    }

    @Test func aGeneratedFileOfALostLeaseIsNotWritten() throws {
        let site = try Site()
        #expect(throws: Failure.self) {
            try site.storage.writeGeneratedFile(
                key: "SHA256SUMS", lease: Site.lease, job: JobID(1), chunks: [[1]]
            ) { false }
        }
        #expect(try site.directory.files().isEmpty)
    }
}
