import Digest
import Foundation
import Model
import Storage
import Synchronization
import TestSupport
import Testing

/// Failing disks: the tests of `UnderInjection` run once more in a process of their own whose system
/// calls strace makes fail.
@Suite(.enabled("needs strace and leave to trace") { await TracedTest.isPossible() })
struct InjectedFaultTests {
    @Test(arguments: [
        ("fsync,fdatasync,syncfs", "EIO", "storage.io"),
        ("fsync,fdatasync,syncfs", "ENOSPC", "storage.full"),
        ("fsync,fdatasync,syncfs", "EDQUOT", "storage.full"),
        ("rename,renameat,renameat2", "EIO", "storage.io"),
        ("rename,renameat,renameat2", "EXDEV", "storage.pathRefused"),
        ("pwrite64", "EIO", "storage.io"),
        ("pwrite64", "ENOSPC", "storage.full"),
    ])
    func nothingIsReportedAsStored(calls: String, error: String, code: String) async throws {
        let visible = try await Injection.run("fails", calls, error, expecting: code)
        #expect(visible.isEmpty)
    }

    @Test func aDirectoryThatCannotBeSyncedFailsItsObjects() async throws {
        // The objects are whole and have their keys; a power cut may take the keys back, so they
        // do not count as stored.
        let visible = try await Injection.run("fails", "fsync", "EIO", expecting: "storage.io")
        #expect(visible.count == 6)
    }

    /// What `--durability` waits for: no sync at all, one of each file, one of all.
    @Test(arguments: [
        (Durability.none, "fsync,fdatasync,syncfs", "succeeds", ""),
        (.file, "syncfs", "succeeds", ""), (.file, "fdatasync", "fails", "storage.io"),
        (.batch, "syncfs", "failsTogether", "storage.io"),
    ])
    func durabilityIsWhatIsWaitedFor(
        durability: Durability, calls: String, test: String, code: String
    ) async throws {
        let site = try Site()
        // One that is not called is not in the trace, and has nothing to fail.
        try await Injection.run(test, calls, "EIO", at: site, code, durability)
        #expect(try site.visibleFiles().count == (test == "succeeds" ? 5 : 0))
        #expect(try site.privateFiles().isEmpty)
    }

    /// A power cut at any moment finds under a final key nothing that is not on the disk: what is
    /// written is synced before any of it is renamed, and the names before anything is answered.
    @Test(arguments: Durability.allCases)
    func namesComeAfterTheirBytesAreOnTheDisk(durability: Durability) async throws {
        let site = try Site()
        let calls = try await Injection.trace("succeeds", at: site, durability)
        func positions(_ name: String) -> [Int] {
            calls.indices.filter { calls[$0].contains(" \(name)(") }
        }
        let (writes, names) = (positions("pwrite64"), positions("renameat2"))
        let barriers = durability == .batch ? positions("syncfs") : positions("fdatasync")
        try #require(writes.count >= 5 && names.count == 5)
        guard durability != .none else {
            #expect((barriers + positions("fsync") + positions("syncfs")).isEmpty)
            return
        }
        #expect(barriers.count == (durability == .batch ? 1 : 5))
        let (firstBarrier, lastBarrier) = (barriers[0], try #require(barriers.last))
        #expect(writes.allSatisfy { $0 < firstBarrier })
        #expect(names.allSatisfy { $0 > lastBarrier })
        let lastName = try #require(names.last)
        #expect(try #require(positions("fsync").last) > lastName)
    }

    /// The same of a file that came in parts: the whole of it is synced once more, for it may have been
    /// written by others, then it has its name, then every directory that is new or changed is synced.
    @Test(arguments: Durability.allCases)
    func aMultipartFilesNameComesAfterItsBytes(durability: Durability) async throws {
        let site = try Site()
        let calls = try await Injection.trace("promotesIntoNewFolders", at: site, durability)
        let (root, file) = (
            "<\(site.directory.path)", "/.dray/multipart/\(UnderInjection.multipart)>"
        )
        func positions(_ name: String, _ path: String) -> [Int] {
            calls.indices.filter { calls[$0].contains(" \(name)(") && calls[$0].contains(path) }
        }
        let name = try #require(positions("renameat", "\"large\"").last)
        let synced = positions("fdatasync", file)
        guard durability != .none else {
            #expect(["fsync", "fdatasync", "syncfs"].allSatisfy { positions($0, "").isEmpty })
            return
        }
        let lastWrite = try #require(positions("pwrite64", file).last)
        #expect(synced.contains { $0 > lastWrite && $0 < name }, "\(calls)")
        for directory in [root + ">", root + "/h>", root + "/h/new>"] {
            #expect(positions("fsync", directory).contains { $0 > name }, "\(directory): \(calls)")
        }
    }

    /// What a disk dropped must not be found to be well by the next try.
    @Test func aMultipartFileThatCannotBeSyncedIsFetchedAgain() async throws {
        let site = try Site(.none)
        let part = try site.storage.openMultipart(
            id: UnderInjection.multipart, offset: 0, length: 3, of: 3, isNew: true)
        try UnderInjection.bytes.withUnsafeBytes { try part.write($0, at: 0) }
        for result in site.storage.commit([part]) { try result.get() }
        try await Injection.run("promotes", "fdatasync", "EIO", at: site, "storage.syncFailed")
        #expect(try site.directory.files().isEmpty)
        try await Injection.run(
            "promotes", "fdatasync", "EIO", at: site, "integrity.multipartMismatch")
    }

    /// The ranges came in their order: nothing is read, so that a disk that cannot be read is no matter.
    @Test func rangesInTheirOrderNeedNoSecondRead() async throws {
        let site = try Site()
        let paths = [0, 1].flatMap { number in
            ["-P", site.directory.path(".dray/multipart/\(UnderInjection.ranged(number))")]
        }
        try await Injection.run("promotesRanges", "pread64", "EIO", at: site, "", paths: paths)
        #expect(try site.directory.read("h/0") == UnderInjection.bytes + UnderInjection.bytes)
        // Those that did not were read for nothing.
        #expect(try site.visibleFiles() == ["h/0"])
    }

    /// The third rename of a worker that lost its lease is the one that puts the winner's file back.
    @Test func theWinnersFileOutlivesAWorkerThatCannotPutItBack() async throws {
        let site = try Site()
        try site.store("h/a", [7, 7])
        try await Injection.run("losesItsLease", "renameat2", "EIO:when=3+", at: site, "storage.io")
        #expect(try site.visibleFiles() == ["h/a"])
        let left = try site.privateFiles()
        try #require(left.count == 1)
        #expect(try site.directory.read(left[0]) == [7, 7])
    }

    @Test func puttingBackIsTriedAgain() async throws {
        let site = try Site()
        try site.store("h/a", [7, 7])
        try await Injection.run(
            "losesItsLease", "renameat2", "EIO:when=3..4", at: site, "worker.leaseLost")
        #expect(try site.directory.read("h/a") == [7, 7])
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func interruptedCallsAreStartedAgain() async throws {
        let visible = try await Injection.run(
            "succeeds", "pwrite64,fdatasync,fsync,syncfs", "EINTR:when=1+2", expecting: "")
        #expect(visible.count == 5)
    }
}

/// Runs one test of `UnderInjection` under strace.
private enum Injection {
    static let codeVariable = "DRAY_TEST_EXPECTED_CODE"
    static let siteVariable = "DRAY_TEST_SITE"
    static let durabilityVariable = "DRAY_TEST_DURABILITY"

    static func run(
        _ test: String, _ calls: String, _ error: String, expecting code: String
    ) async throws -> [String] {
        // Opened once without faults, so that what fails is the work on objects.
        let site = try Site()
        try await run(test, calls, error, at: site, code)
        #expect(try site.privateFiles().isEmpty)
        return try site.visibleFiles()
    }

    static func run(
        _ test: String, _ calls: String, _ error: String, at site: Site, _ code: String,
        _ durability: Durability = .batch, paths: [String] = []
    ) async throws {
        let inject = paths + ["-e", "trace=\(calls)", "-e", "inject=\(calls):error=\(error)"]
        let trace = try await run(test, under: inject, at: site, code, durability)
        // Of a test that does without the calls, none is there.
        if test != "succeeds", code != "integrity.multipartMismatch" { #expect(!trace.isEmpty) }
    }

    /// The calls of a test in their order, those of its thread, as strace prints them.
    static func trace(
        _ test: String, at site: Site, _ durability: Durability
    ) async throws -> [Substring] {
        let calls = ["-y", "-e", "trace=pwrite64,fsync,fdatasync,syncfs,renameat,renameat2"]
        let trace = try await run(test, under: calls, at: site, "", durability)
        return trace.split(separator: "\n")
    }

    private static func run(
        _ test: String, under options: [String], at site: Site, _ code: String,
        _ durability: Durability
    ) async throws -> String {
        try await TracedTest.run(
            "UnderInjection/\(test)", under: options,
            environment: [
                codeVariable: code, siteVariable: site.directory.path,
                durabilityVariable: durability.rawValue,
            ])
    }
}

@Suite(
    .enabled(
        if: ProcessInfo.processInfo.environment[Injection.codeVariable] != nil,
        "run by InjectedFaultTests"))
struct UnderInjection {
    private let environment = ProcessInfo.processInfo.environment

    private func storage() throws -> DirectoryStorage {
        let path = try #require(environment[Injection.siteVariable])
        let durability = environment[Injection.durabilityVariable].flatMap(Durability.init)
        return try DirectoryStorage(
            StorageURL(directory: path), durability: durability ?? .batch)
    }

    private func pending(_ key: String, in storage: DirectoryStorage) throws -> PendingObject {
        let job = JobID(Int64.random(in: 0...Int64.max))
        let object = try storage.createTemporary(lease: Site.lease, job: job, key: key)
        try [UInt8]([1, 2, 3]).withUnsafeBytes { try object.write($0, at: 0) }
        return object
    }

    /// Whatever fails, one object and a batch are rejected with the code.
    @Test func fails() throws {
        let code = environment[Injection.codeVariable]
        let storage: DirectoryStorage
        do {
            storage = try self.storage()
        } catch {
            // Opening the site writes a probe, which a failing pwrite finds out.
            #expect((error as? Failure)?.code.rawValue == code)
            return
        }
        for count in [1, 5] {
            let batch = try (0..<count).map { try pending("h/\(count)/\($0)", in: storage) }
            for result in storage.commit(batch) {
                let failure = #expect(throws: Failure.self) { try result.get() }
                #expect(failure?.code.rawValue == code)
            }
        }
    }

    /// A batch fails as one.
    @Test func failsTogether() throws {
        let storage = try storage()
        let batch = try (0..<5).map { try pending("h/\($0)", in: storage) }
        for result in storage.commit(batch) {
            let failure = #expect(throws: Failure.self) { try result.get() }
            #expect(failure?.code.rawValue == environment[Injection.codeVariable])
        }
    }

    static let multipart: MultipartID = "0c6f8a52-0b55-4f4e-9a87-0c7d9f0f8f56"
    static let bytes: [UInt8] = [1, 2, 3]

    @Test func promotes() throws {
        let part = MultipartFile.Part(
            offset: 0, length: 3, sha256: SHA256Digest(hashing: Self.bytes).description)
        let multipart = MultipartFile(
            id: Self.multipart, totalBytes: 3, validator: "\"v1\"", parts: [part])
        let storage = try storage()
        let failure = #expect(throws: Failure.self) {
            try storage.promoteMultipart(multipart, key: "h/large")
        }
        #expect(failure?.code.rawValue == environment[Injection.codeVariable])
    }

    @Test func promotesIntoNewFolders() throws {
        let storage = try storage()
        let digest = SHA256Digest(hashing: Self.bytes).description
        let offsets = [0, 3] as [Int64]
        for offset in offsets {
            let part = try storage.openMultipart(
                id: Self.multipart, offset: offset, length: 3, of: 6, isNew: offset == 0)
            try write(to: part, at: offset)
            for result in storage.commit([part]) { try result.get() }
        }
        let multipart = MultipartFile(
            id: Self.multipart, totalBytes: 6, validator: "\"v1\"",
            parts: offsets.map { MultipartFile.Part(offset: $0, length: 3, sha256: digest) })
        _ = try storage.promoteMultipart(multipart, key: "h/new/large")
    }

    static func ranged(_ number: Int) -> MultipartID {
        "\(number)c6f8a52-0b55-4f4e-9a87-0c7d9f0f8f57"
    }

    /// Of two files, the first one's ranges are written in their order.
    @Test func promotesRanges() throws {
        let storage = try storage()
        let digest = SHA256Digest(hashing: Self.bytes).description
        for (number, isOrdered) in [(0, true), (1, false)] {
            let id = Self.ranged(number)
            let opened = try ([0, 3] as [Int64]).map { offset in
                let part = try storage.openMultipart(
                    id: id, offset: offset, length: 3, of: 6, isFirstTry: true, isNew: true)
                if isOrdered { try write(to: part, at: offset) }
                return part
            }
            if !isOrdered {
                for (part, offset) in zip(opened, [0, 3] as [Int64]) {
                    try write(to: part, at: offset)
                }
            }
            for part in opened { part.note(sha256: digest) }
            for result in storage.commit(opened) { try result.get() }
            let multipart = MultipartFile(
                id: id, totalBytes: 6, validator: "\"v1\"",
                parts: [0, 3].map { MultipartFile.Part(offset: $0, length: 3, sha256: digest) })
            let stored = Result { try storage.promoteMultipart(multipart, key: "h/\(number)") }
            if isOrdered {
                #expect(
                    try stored.get().sha256
                        == SHA256Digest(hashing: Self.bytes + Self.bytes).description)
            } else {
                let failure = #expect(throws: Failure.self) { try stored.get() }
                #expect(failure?.code == "storage.io")
            }
        }
    }

    private func write(to part: PendingObject, at offset: Int64) throws {
        try Self.bytes.withUnsafeBytes { try part.write($0, at: offset) }
    }

    /// What stands under the key is the winner's; the lease is lost between two looks.
    @Test func losesItsLease() throws {
        let storage = try storage()
        let looks = Atomic<Int>(0)
        let results = storage.commit([try pending("h/a", in: storage)]) { _ in
            looks.add(1, ordering: .relaxed).newValue == 1
        }
        for result in results {
            let failure = #expect(throws: Failure.self) { try result.get() }
            #expect(failure?.code.rawValue == environment[Injection.codeVariable])
        }
    }

    @Test func succeeds() throws {
        let storage = try storage()
        let batch = try (0..<5).map { try pending("h/\($0)", in: storage) }
        for result in storage.commit(batch) { try result.get() }
    }
}
