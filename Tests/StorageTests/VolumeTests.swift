import Foundation
import Model
import Storage
import TestSupport
import Testing

/// A site is on one volume, and nothing is written to another one.
@Suite struct VolumeTests {
    private static let unknown = "0b8f4a52-5f0e-4c07-9d38-5a4d0f4b1c11"

    private static func open(
        _ path: String, on volume: VolumeID?, roots: SiteRoots = .anySite
    ) throws -> DirectoryStorage {
        try DirectoryStorage(
            StorageURL(directory: path), durability: .none, roots: roots, volume: volume)
    }

    private static func store(_ key: String, in storage: DirectoryStorage) throws {
        let object = try storage.createTemporary(lease: Site.lease, job: JobID(1), key: key)
        try [UInt8(1)].withUnsafeBytes { try object.write($0, at: 0) }
        for result in storage.commit([object]) { try result.get() }
    }

    private static func code(_ body: () throws -> Void) -> FailureCode? {
        do {
            try body()
            return nil
        } catch { return (error as? Failure)?.code }
    }

    /// How many descriptors of this process lead to what is in a directory.
    private static func descriptors(of directory: TemporaryDirectory) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { number in
            let target = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\(number)")
            return target?.hasPrefix(directory.path) == true
        }
    }

    @Test func aMarkIsMadeOnceAndFoundAgain() throws {
        let directory = try TemporaryDirectory("site")
        let volume = try Self.open(directory.path, on: nil).markVolume()
        #expect(directory.volumeMarks() == [volume])
        // Another cluster that stores there as well.
        #expect(try Self.open(directory.path, on: nil).markVolume() == volume)
        #expect(directory.volumeMarks() == [volume])
        try Self.store("a", in: try Self.open(directory.path, on: volume))
        #expect(try directory.files() == ["a"])
    }

    /// Of two workers that mark a new directory at once, both marks stay, and either is good.
    @Test func aDirectoryMayHaveSeveralMarks() throws {
        let directory = try TemporaryDirectory("site")
        let volume = try Self.open(directory.path, on: nil).markVolume()
        try directory.write([], to: ".dray/volume/\(Self.unknown)")
        try Self.store("a", in: try Self.open(directory.path, on: volume))
        try Self.store("b", in: try Self.open(directory.path, on: Self.unknown))
        #expect(try directory.files() == ["a", "b"])
    }

    @Test(arguments: ["", "missing", "missing/below"])
    func nothingIsWrittenWhereTheMarkIsMissing(below: String) throws {
        let directory = try TemporaryDirectory("site")
        let path = below.isEmpty ? directory.path : directory.path(below)
        for roots in [SiteRoots.anySite, try SiteRoots(existing: [directory.path])] {
            let code = Self.code { _ = try Self.open(path, on: Self.unknown, roots: roots) }
            #expect(code == "storage.otherVolume")
        }
        let entries = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(entries.isEmpty)
    }

    @Test func anotherMarkIsNotEnough() throws {
        let directory = try TemporaryDirectory("site")
        let storage = try Self.open(directory.path, on: nil)
        let volume = try storage.markVolume()
        let failure = #expect(throws: Failure.self) {
            try Self.open(directory.path, on: Self.unknown)
        }
        #expect(failure?.code == "storage.otherVolume")
        #expect(failure?.message.contains(".dray/volume/\(Self.unknown)") == true)
        // What is open is looked at as well, and can be used again when it is right.
        #expect(Self.code { try storage.require(volume: Self.unknown) } == "storage.otherVolume")
        #expect(Self.code { try Self.store("a", in: storage) } == "storage.otherVolume")
        #expect(Self.code { _ = try storage.sweepTemporaries(olderThanSeconds: 0) } != nil)
        try storage.require(volume: volume)
        try Self.store("a", in: storage)
        #expect(try directory.files() == ["a"])
    }

    /// As when its file system is unmounted lazily under a worker.
    @Test func aDirectoryThatGoesAwayIsNotMadeAnew() throws {
        let parent = try TemporaryDirectory("parent")
        let path = parent.path("site")
        let storage = try Self.open(path, on: nil)
        let volume = try storage.markVolume()
        try storage.require(volume: volume)
        let object = try storage.createTemporary(lease: Site.lease, job: JobID(1), key: "a")
        try FileManager.default.moveItem(atPath: path, toPath: parent.path("away"))
        let commit = Self.code { for result in storage.commit([object]) { try result.get() } }
        #expect(commit == "storage.otherVolume")
        #expect(!FileManager.default.fileExists(atPath: path))
        // An empty mount point.
        mkdir(path, 0o755)
        for _ in 0..<2 {
            #expect(Self.code { try Self.store("b", in: storage) } == "storage.otherVolume")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        rmdir(path)
        try FileManager.default.moveItem(atPath: parent.path("away"), toPath: path)
        try Self.store("c", in: storage)
        #expect(try parent.files() == ["site/.dray/volume/\(volume)", "site/c"])
    }

    @Test func directoriesThatNothingUsesAreClosed() throws {
        let directory = try TemporaryDirectory("site")
        let storage = try Self.open(directory.path, on: nil)
        #expect(try Self.descriptors(of: directory) > 0)
        storage.closeIdle(now: .now + .seconds(4))
        #expect(storage.isOpen)
        storage.closeIdle(now: .now + .seconds(6))
        #expect(!storage.isOpen)
        #expect(try Self.descriptors(of: directory) == 0)
        // The next use opens them, and an object under way keeps what it needs.
        let object = try storage.createTemporary(lease: Site.lease, job: JobID(1), key: "a")
        storage.closeIdle(now: .now + .seconds(6))
        try [UInt8(1)].withUnsafeBytes { try object.write($0, at: 0) }
        for result in storage.commit([object]) { try result.get() }
        #expect(try directory.files() == ["a"])
    }

    @Test(.enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
    func aVolumeThatIsNotInUseCanBeUnmounted() async throws {
        let disk = try await SmallFileSystem(options: "size=1m")
        let storage = try Self.open(disk.directory.path, on: nil)
        let volume = try storage.markVolume()
        try storage.require(volume: volume)
        try Self.store("a", in: storage)
        await #expect(throws: (any Error).self) { try await disk.unmount(tries: 1) }
        storage.closeIdle(now: .now + .seconds(6))
        try await disk.unmount()
        #expect(Self.code { try Self.store("b", in: storage) } == "storage.otherVolume")
        #expect(try disk.directory.files().isEmpty)
        try await disk.mountAnother(options: "size=1m")
        #expect(Self.code { try Self.store("b", in: storage) } == "storage.otherVolume")
        let entries = try FileManager.default.contentsOfDirectory(atPath: disk.directory.path)
        #expect(entries.isEmpty)
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
    func aSiteThatTheUserMayNotWriteToNamesBoth() throws {
        let directory = try TemporaryDirectory("site")
        chmod(directory.path, 0o555)
        defer { chmod(directory.path, 0o755) }
        let failure = #expect(throws: Failure.self) { try Self.open(directory.path, on: nil) }
        #expect(failure?.code == "storage.sitePermission")
        let message = failure?.message ?? ""
        #expect(message.contains("\(geteuid())") && message.contains(directory.path), "\(message)")
        #expect(message.contains("with mode 555"), "\(message)")
    }
}
