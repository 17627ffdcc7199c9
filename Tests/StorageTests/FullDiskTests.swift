import Digest
import Foundation
import Glibc
import Model
import Storage
import TestSupport
import Testing

@Suite(.enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
struct FullDiskTests {
    private func code(_ body: () throws -> Void) -> FailureCode? {
        do {
            try body()
            return nil
        } catch { return (error as? Failure)?.code }
    }

    @Test func aFullDiskFailsTheObjectAndTheNextOneFits() async throws {
        let disk = try await SmallFileSystem(options: "size=1m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        let large = [UInt8](repeating: 1, count: 2 << 20)
        let failure = code {
            let object = try storage.createTemporary(
                lease: Site.lease, job: JobID(1), key: "h/large")
            try large.withUnsafeBytes { try object.write($0, at: 0) }
        }
        #expect(failure == "storage.full")
        // The half-written object was removed with its reference, and its space was released.
        #expect(try disk.directory.files().isEmpty)
        let object = try storage.createTemporary(lease: Site.lease, job: JobID(2), key: "h/small")
        try large.prefix(500_000).withUnsafeBytes { try object.write($0, at: 0) }
        for result in storage.commit([object]) { try result.get() }
        #expect(try storage.availableBytes() < 600_000)
    }

    @Test func aReservationFindsOutBeforeTheDownload() async throws {
        let disk = try await SmallFileSystem(options: "size=6m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        let part: MultipartID = "part"
        func failures(_ bytes: Int64) -> [FailureCode?] {
            [
                code {
                    _ = try storage.createTemporary(
                        lease: Site.lease, job: JobID(1), key: "h/large", reservingBytes: bytes)
                },
                code {
                    _ = try storage.openMultipart(
                        id: part, offset: 0, length: bytes, of: bytes, isNew: true)
                },
            ]
        }
        #expect(failures(8 << 20) == ["storage.tooLarge", "storage.tooLarge"])
        try disk.directory.write([UInt8](repeating: 1, count: 3 << 20), to: "filler")
        #expect(failures(4 << 20) == ["storage.noRoom", "storage.noRoom"])
        try disk.directory.write([UInt8](repeating: 1, count: 11 << 19), to: "filler")
        #expect(failures(4 << 20) == ["storage.full", "storage.full"])
        #expect(try disk.directory.files() == [".dray/multipart/\(part)", "filler"])
    }

    @Test func theFloorIsOfWhatIsLeftAfterwards() async throws {
        let disk = try await SmallFileSystem(options: "size=64m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        try disk.directory.write([UInt8](repeating: 1, count: 32 << 20), to: "filler")
        storage.setBounds(floorBytes: 8 << 20, quotaLeftBytes: nil)
        try storage.checkSpace(for: 16 << 20)
        // Others fit, this one does not, or never will.
        #expect(code { try storage.checkSpace(for: 28 << 20) } == "storage.noRoom")
        #expect(code { try storage.checkSpace(for: 60 << 20) } == "storage.tooLarge")
        try storage.probe()
    }

    /// A site is full only if a probe finds no space: else it would be paused for one object,
    /// resume after the probe, and be paused for it again.
    @Test func aSiteIsFullIfAProbeFindsNoSpace() async throws {
        let disk = try await SmallFileSystem(options: "size=64m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        try disk.directory.write([UInt8](repeating: 1, count: 32 << 20), to: "filler")
        let free = try storage.availableBytes()
        storage.setBounds(floorBytes: free - (512 << 10), quotaLeftBytes: nil)
        #expect(code { try storage.checkSpace(for: 600 << 10) } == "storage.full")
        #expect(code { try storage.probe() } == "storage.full")
        storage.setBounds(floorBytes: free - (8 << 20), quotaLeftBytes: nil)
        #expect(code { try storage.checkSpace(for: 10 << 20) } == "storage.noRoom")
        try storage.probe()
    }

    /// In memory nothing can be reserved: what has begun is counted with its whole length.
    @Test(arguments: [false, true])
    func simultaneousObjectsHaveAllTheirSpaceOrNone(isInParts: Bool) async throws {
        let disk = try await SmallFileSystem(options: "size=10m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        let total: Int64 = 6 << 20
        func begin(_ number: Int64, at storage: DirectoryStorage) throws -> PendingObject {
            isInParts
                ? try storage.openMultipart(
                    id: "file-\(number)", offset: 0, length: total, of: total, isNew: true)
                : try storage.createTemporary(
                    lease: Site.lease, job: JobID(number), key: "h/\(number)",
                    reservingBytes: total)
        }
        var first: PendingObject? = try begin(1, at: storage)
        #expect(code { _ = try begin(2, at: storage) } == "storage.noRoom")
        // A multipart file has its space for every worker.
        if isInParts {
            let other = try DirectoryStorage(storage.url)
            #expect(code { _ = try begin(2, at: other) } == "storage.noRoom")
            for part in 0..<3 {
                let object = try other.openMultipart(
                    id: "file-1", offset: Int64(part) << 21, length: 2 << 20, of: total, isNew: true
                )
                try Self.fill(object, from: part << 21, bytes: 2 << 20)
            }
        } else if let first {
            try Self.fill(first, from: 0, bytes: Int(total))
        }
        for result in storage.commit([first].compactMap(\.self)) { try result.get() }
        first = nil
        #expect(code { _ = try begin(2, at: storage) } == "storage.noRoom")
        if isInParts {
            storage.removeMultipart(id: "file-1")
        } else {
            try FileManager.default.removeItem(atPath: disk.directory.path("h/1"))
        }
        // One that ends releases its unused space.
        for number in 2..<5 {
            // A process that another test starts may have the removed file open for a moment.
            try await waitUntil(deadlineSeconds: 60, "its room") {
                let next = try? begin(Int64(number), at: storage)
                next?.discard()
                storage.removeMultipart(id: "file-\(number)")
                return next != nil
            }
        }
    }

    private static func fill(_ object: PendingObject, from start: Int, bytes: Int) throws {
        let block = [UInt8](repeating: 7, count: 1 << 20)
        for offset in stride(from: start, to: start + bytes, by: block.count) {
            try block.withUnsafeBytes { try object.write($0, at: Int64(offset)) }
        }
    }

    /// Kept, or left by a worker that was killed: it waits for its rest, and for no more.
    @Test(arguments: [true, false])
    func anInterruptedFileWaitsForTheSpaceOfItsRest(isKept: Bool) async throws {
        let disk = try await SmallFileSystem(options: "size=12m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        let (bytes, total) = (5 << 20, 10 << 20)
        let identity = PartialIdentity(url: "http://h/a", key: "h/a", cluster: "c")
        func attempt(_ number: Int64) -> ObjectAttempt {
            ObjectAttempt(lease: "lease-\(number)", job: JobID(number), asset: AssetID(1))
        }
        let record = PartialRecord(
            bytes: Int64(bytes), sha256: SHA256Digest(hashing: Array(repeating: 7, count: bytes)),
            totalBytes: Int64(total), validator: "\"v1\"", source: SHA256Digest(hashing: []))
        let object = try storage.createTemporary(
            lease: "lease-1", job: JobID(1), key: "h/a", reservingBytes: Int64(total))
        try Self.fill(object, from: 0, bytes: bytes)
        if isKept {
            storage.keep(record, of: object, as: identity, by: attempt(1))
        } else {
            storage.note(record, of: object, as: identity, by: attempt(1))
            object.leave()
        }
        func take(_ number: Int64) throws -> PartialBody? {
            try storage.takePartial(
                identity, of: try storage.partials(), for: attempt(number), location: .key("h/a"))
        }
        try disk.directory.write([UInt8](repeating: 1, count: 4 << 20), to: "filler")
        for number in 2..<4 {
            #expect(code { _ = try take(Int64(number)) } == "storage.noRoom")
        }
        // Not twice the object: there is no space for that.
        try FileManager.default.removeItem(atPath: disk.directory.path("filler"))
        var (taken, number): (PartialBody?, Int64) = (nil, 3)
        try await waitUntil(deadlineSeconds: 60, "its room") {
            number += 1
            taken = try? take(number)
            return taken != nil
        }
        let body = try #require(taken)
        #expect(body.record == record)
        let rest = try #require(body.object)
        try Self.fill(rest, from: bytes, bytes: total - bytes)
        for result in storage.commit([rest]) { try result.get() }
        #expect(try disk.directory.read("h/a") == [UInt8](repeating: 7, count: total))
        #expect(try disk.directory.files() == ["h/a"])
    }

    /// Before its first block, or after its copy has most of its space.
    @Test(arguments: [false, true])
    func aCopyWithoutSpaceKeepsWhatItCan(isUnderWay: Bool) async throws {
        let disk = try await SmallFileSystem(options: "size=24m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        let (bytes, total) = (20 << 20, (20 << 20) + 1)
        let identity = PartialIdentity(url: "http://h/a", key: "h/a", cluster: "c")
        func attempt(_ number: Int64) -> ObjectAttempt {
            ObjectAttempt(lease: "lease-\(number)", job: JobID(number), asset: AssetID(1))
        }
        func take(_ number: Int64) throws -> PartialBody? {
            try storage.takePartial(
                identity, of: try storage.partials(), for: attempt(number), location: .key("h/a"))
        }
        let record = PartialRecord(
            bytes: Int64(bytes), sha256: SHA256Digest(hashing: Array(repeating: 7, count: bytes)),
            totalBytes: Int64(total), validator: "\"v1\"", source: SHA256Digest(hashing: []))
        let object = try storage.createTemporary(lease: "lease-1", job: JobID(1), key: "h/a")
        try Self.fill(object, from: 0, bytes: bytes)
        storage.note(record, of: object, as: identity, by: attempt(1))
        object.leave()
        let free = try storage.availableBytes()
        if isUnderWay {
            // Looked at every 16 MiB, when there is one block more than there was.
            storage.setBounds(floorBytes: free - (512 << 10), quotaLeftBytes: nil)
        } else {
            try disk.directory.write(
                [UInt8](repeating: 1, count: Int(free) - (256 << 10)), to: "filler")
        }
        #expect(code { _ = try take(2) } == "storage.full")
        storage.setBounds(floorBytes: 0, quotaLeftBytes: nil)
        if !isUnderWay {
            try FileManager.default.removeItem(atPath: disk.directory.path("filler"))
        }
        var (taken, number): (PartialBody?, Int64) = (nil, 2)
        try await waitUntil(deadlineSeconds: 60, "its room") {
            number += 1
            taken = try? take(number)
            return taken != nil
        }
        let body = try #require(taken)
        let kept = isUnderWay ? 15 << 20 : bytes
        #expect(body.record.bytes == Int64(kept))
        let rest = try #require(body.object)
        try [UInt8](repeating: 7, count: total - kept).withUnsafeBytes {
            try rest.write($0, at: Int64(kept))
        }
        for result in storage.commit([rest]) { try result.get() }
        #expect(try disk.directory.read("h/a") == [UInt8](repeating: 7, count: total))
        #expect(try disk.directory.files().filter { $0 != "h/a" }.isEmpty)
    }

    @Test func ofManySimultaneousObjectsThoseWithSpaceBegin() async throws {
        let disk = try await SmallFileSystem(options: "size=10m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        let begun = await withTaskGroup(of: PendingObject?.self) { group in
            for number in 1...8 {
                group.addTask {
                    try? storage.createTemporary(
                        lease: Site.lease, job: JobID(Int64(number)), key: "h/\(number)",
                        reservingBytes: 4 << 20)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(begun.compactMap(\.self).count == 2)
    }

    @Test func theProbeFindsFreeSpace() async throws {
        let disk = try await SmallFileSystem(options: "size=4m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        try storage.probe()
        let filler = [UInt8](repeating: 1, count: (4 << 20) - (200 << 10))
        try disk.directory.write(filler, to: "filler")
        #expect(code { try storage.probe() } == "storage.full")
        try await disk.remount("ro")
        #expect(code { try storage.probe() } == "storage.readOnly")
        try await disk.remount("rw,size=8m")
        try storage.probe()
        #expect(try disk.directory.files() == ["filler"])
    }

    @Test func noSpaceForAFolderFailsThatObjectAlone() async throws {
        let disk = try await SmallFileSystem(options: "size=1m,nr_inodes=9")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        // Taken: the root, .dray, tmp and multipart; two objects; one folder.
        let keys = ["a/x", "a/b/c/d/y"]
        let batch = try keys.enumerated().map { index, key in
            try storage.createTemporary(lease: Site.lease, job: JobID(Int64(index)), key: key)
        }
        let codes = storage.commit(batch).map { result in
            if case .failure(let failure) = result { failure.code.rawValue } else { "" }
        }
        #expect(codes == ["", "storage.full"])
        #expect(try disk.directory.files() == ["a/x"])
    }

    @Test func aReadOnlyDiskIsReported() async throws {
        let disk = try await SmallFileSystem(options: "size=1m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        try storage.writeGeneratedFile(key: "x", lease: Site.lease, job: JobID(1), chunks: [[1]])
        try await disk.remount("ro")
        #expect(
            code { _ = try storage.createTemporary(lease: Site.lease, job: JobID(2), key: "y") }
                == "storage.readOnly")
        #expect(
            code { _ = try DirectoryStorage(StorageURL(directory: disk.directory.path)) }
                == "storage.readOnly")
        // What is there can still be recognised.
        #expect(storage.reuse(key: "x", expected: Site.expected([1])))
    }

    @Test func aMountBelowTheRootIsRefused() async throws {
        let site = try Site()
        let disk = try await SmallFileSystem(options: "size=1m")
        mkdir(site.directory.path("mounted"), 0o755)
        try await ChildProcess.run(
            ["mount", "--bind", disk.directory.path, site.directory.path("mounted")])
        defer { umount2(site.directory.path("mounted"), 2) }
        #expect(site.codeOfStoring("mounted/x") == "storage.pathRefused")
        #expect(try site.privateFiles().isEmpty)
    }
}
