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
        // The half-written object went away with its reference, and its room came back.
        #expect(try disk.directory.files().isEmpty)
        let object = try storage.createTemporary(lease: Site.lease, job: JobID(2), key: "h/small")
        try large.prefix(500_000).withUnsafeBytes { try object.write($0, at: 0) }
        for result in storage.commit([object]) { try result.get() }
        #expect(try storage.availableBytes() < 600_000)
    }

    @Test func aReservationFindsOutBeforeTheDownload() async throws {
        let disk = try await SmallFileSystem(options: "size=6m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        func failures(_ bytes: Int64) -> [FailureCode?] {
            [
                code {
                    _ = try storage.createTemporary(
                        lease: Site.lease, job: JobID(1), key: "h/large", reservingBytes: bytes)
                },
                code { _ = try storage.openAssembly(id: "part", offset: 0, length: bytes) },
            ]
        }
        #expect(failures(8 << 20) == ["storage.tooLarge", "storage.tooLarge"])
        try disk.directory.write([UInt8](repeating: 1, count: 3 << 20), to: "filler")
        #expect(failures(4 << 20) == ["storage.noRoom", "storage.noRoom"])
        try disk.directory.write([UInt8](repeating: 1, count: 11 << 19), to: "filler")
        #expect(failures(4 << 20) == ["storage.full", "storage.full"])
        #expect(try disk.directory.files() == [".dray/assembly/part", "filler"])
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

    /// A site is full where a probe finds no room, and only there: else it would be paused for one object,
    /// go on after the probe, and be paused for it again.
    @Test func aSiteIsFullWhereAProbeFindsNoRoom() async throws {
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

    @Test func theProbeSaysWhetherThereIsRoomAgain() async throws {
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

    @Test func noRoomForAFolderFailsThatObjectAlone() async throws {
        let disk = try await SmallFileSystem(options: "size=1m,nr_inodes=9")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        // Taken: the root, .dray, tmp and assembly; two objects; one folder.
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

    @Test func aReadOnlyDiskSaysSo() async throws {
        let disk = try await SmallFileSystem(options: "size=1m")
        let storage = try DirectoryStorage(StorageURL(directory: disk.directory.path))
        try storage.writeDocument(key: "x", lease: Site.lease, job: JobID(1), chunks: [[1]])
        try await disk.remount("ro")
        #expect(
            code { _ = try storage.createTemporary(lease: Site.lease, job: JobID(2), key: "y") }
                == "storage.readOnly")
        #expect(
            code { _ = try DirectoryStorage(StorageURL(directory: disk.directory.path)) }
                == "storage.readOnly")
        // What is there can still be recognised.
        #expect(storage.adopt(key: "x", expected: Site.expected([1])))
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
