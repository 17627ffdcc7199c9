import Foundation
import Model
import Storage
import TestSupport
import Testing

/// A site is on one volume, and nothing is written to another one.
@Suite struct VolumeTests {
    private static let unknown: VolumeID = "0b8f4a52-5f0e-4c07-9d38-5a4d0f4b1c11"

    private static func open(
        _ path: String, on volume: VolumeID?, fileSystem: FileSystemID? = nil,
        roots: SiteRoots = .anySite
    ) throws -> DirectoryStorage {
        try DirectoryStorage(
            StorageURL(directory: path), durability: .none, roots: roots,
            volume: volume.map { SiteVolume(id: $0, fileSystem: fileSystem) })
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
        let volume = try Self.open(directory.path, on: nil).markVolume().id
        #expect(directory.volumeMarks() == [volume])
        // Another cluster that stores there as well.
        #expect(try Self.open(directory.path, on: nil).markVolume().id == volume)
        #expect(directory.volumeMarks() == [volume])
        try Self.store("a", in: try Self.open(directory.path, on: volume))
        #expect(try directory.files() == ["a"])
    }

    /// Of several workers that mark a new directory at once, one does: sites of one directory find one mark.
    @Test func workersAtOnceMakeOneMark() async throws {
        for _ in 0..<20 {
            let directory = try TemporaryDirectory("site")
            let path = directory.path
            let made = try await withThrowingTaskGroup(of: VolumeID.self) { group in
                for _ in 0..<4 {
                    group.addTask { try Self.open(path, on: nil).markVolume().id }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(made.count == 1 && directory.volumeMarks() == Array(made))
            let entries = try FileManager.default.contentsOfDirectory(
                atPath: directory.path(".dray"))
            #expect(entries.sorted() == ["multipart", "partial", "tmp", "volume"])
        }
    }

    /// A directory that was replaced by another site's keeps that site's files.
    @Test func nothingIsWrittenWhereAnotherMarkIs() throws {
        let parent = try TemporaryDirectory("parent")
        let first = try Self.open(parent.path("one"), on: nil).markVolume()
        let second = try Self.open(parent.path("two"), on: nil).markVolume()
        try FileManager.default.removeItem(atPath: parent.path("two"))
        try FileManager.default.createSymbolicLink(
            atPath: parent.path("two"), withDestinationPath: parent.path("one"))
        let failure = #expect(throws: Failure.self) {
            try Self.open(parent.path("two"), on: second.id, fileSystem: second.fileSystem)
        }
        #expect(failure?.code == "storage.otherVolume")
        #expect(failure?.message.contains(".dray/volume/\(first.id)") == true)
        #expect(try parent.files() == ["one/.dray/volume/\(first.id)"])
    }

    /// Earlier versions made several, and a copy has those of its original. Either is good.
    @Test func aDirectoryMayHaveSeveralMarks() throws {
        let directory = try TemporaryDirectory("site")
        let volume = try Self.open(directory.path, on: nil).markVolume().id
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
        let volume = try storage.markVolume().id
        let failure = #expect(throws: Failure.self) {
            try Self.open(directory.path, on: Self.unknown)
        }
        #expect(failure?.code == "storage.otherVolume")
        #expect(failure?.message.contains(".dray/volume/\(Self.unknown)") == true)
        // What is open is looked at as well, and can be used again when it is right.
        let required = Self.code { try storage.require(volume: SiteVolume(id: Self.unknown)) }
        #expect(required == "storage.otherVolume")
        #expect(Self.code { try Self.store("a", in: storage) } == "storage.otherVolume")
        #expect(Self.code { _ = try storage.sweepTemporaries(olderThanSeconds: 0) } != nil)
        try storage.require(volume: SiteVolume(id: volume))
        try Self.store("a", in: storage)
        #expect(try directory.files() == ["a"])
    }

    /// As when its file system is unmounted lazily under a worker.
    @Test func aDirectoryThatDisappearsIsNotCreatedAgain() throws {
        let parent = try TemporaryDirectory("parent")
        let path = parent.path("site")
        let storage = try Self.open(path, on: nil)
        let volume = try storage.markVolume().id
        try storage.require(volume: SiteVolume(id: volume))
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

    // MARK: The same file system

    /// What `rm -r` has removed is made again where nothing else can be mounted.
    @Test(arguments: ["site", "deep/below/site"], [false, true])
    func aRemovedDirectoryOfTheSameFileSystemIsMadeAgain(name: String, isLeft: Bool) throws {
        let parent = try TemporaryDirectory("parent")
        let path = parent.path(name)
        let first = try Self.open(path, on: nil).markVolume()
        let fileSystem = try #require(first.fileSystem)
        let below = try SiteRoots(existing: [parent.path])
        let made = SiteRoots(making: try StorageURL(directory: path))
        for roots in [SiteRoots.anySite, made, below] {
            let top = parent.path(String(name.prefix { $0 != "/" }))
            try FileManager.default.removeItem(atPath: top)
            if isLeft {
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true)
            }
            let site = try StorageURL(directory: path)
            try DirectoryStorage.check(site, isOn: first)
            #expect(try parent.files().isEmpty)
            let again = try Self.open(path, on: first.id, fileSystem: fileSystem, roots: roots)
            #expect(try again.markVolume() == first)
            try Self.store("a", in: again)
            #expect(
                try parent.files() == ["\(name)/.dray/volume/\(first.id)", "\(name)/a"])
        }
    }

    /// What it leads to may be on a file system that is not mounted.
    @Test func nothingIsMadeForASymlinkThatLeadsNowhere() throws {
        let parent = try TemporaryDirectory("parent")
        let path = parent.path("site")
        let first = try Self.open(path, on: nil).markVolume()
        try FileManager.default.removeItem(atPath: path)
        for target in ["missing", "missing/site"] {
            unlink(path)
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: parent.path(target))
            let code = Self.code {
                _ = try Self.open(path, on: first.id, fileSystem: first.fileSystem)
            }
            #expect(code == "storage.otherVolume")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: parent.path) == ["site"])
    }

    @Test func aRemovedRootIsNotMadeAgain() throws {
        let parent = try TemporaryDirectory("parent")
        let path = parent.path("root")
        mkdir(path, 0o755)
        let roots = try SiteRoots(existing: [path])
        let first = try Self.open(path, on: nil, roots: roots).markVolume()
        try FileManager.default.removeItem(atPath: path)
        let code = Self.code {
            _ = try Self.open(path, on: first.id, fileSystem: first.fileSystem, roots: roots)
        }
        #expect(code == "storage.otherVolume")
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(.enabled(if: access("/dev/shm", W_OK) == 0, "a second file system"))
    func anotherFileSystemIsRefused() throws {
        let parent = try TemporaryDirectory("parent")
        let elsewhere = try TemporaryDirectory("elsewhere", in: "/dev/shm")
        let path = parent.path("site")
        let first = try Self.open(path, on: nil).markVolume()
        let other = try Self.open(elsewhere.path("other"), on: nil).markVolume()
        #expect(first.fileSystem != nil && first.fileSystem != other.fileSystem)
        // As when a mount point, or a directory below one, is on another file system than before.
        try FileManager.default.removeItem(atPath: path)
        for isLeft in [false, true] {
            if isLeft { mkdir(path, 0o755) }
            let code = Self.code {
                _ = try Self.open(path, on: first.id, fileSystem: other.fileSystem)
            }
            #expect(code == "storage.otherVolume")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        // A copy, mark and all.
        mkdir(path + "/.dray", 0o700)
        mkdir(path + "/.dray/volume", 0o700)
        try parent.write([], to: "site/.dray/volume/\(first.id)")
        let copy = try Self.open(path, on: first.id, fileSystem: other.fileSystem)
        #expect(try copy.markVolume() == first)
    }

    @Test(.enabled("needs root that may mount a tmpfs") { await SmallFileSystem.isAllowed() })
    func eachMountedFileSystemHasAnIdentityOfItsOwn() async throws {
        let one = try await SmallFileSystem(options: "size=1m")
        let other = try await SmallFileSystem(options: "size=1m")
        let plain = try TemporaryDirectory("site")
        let found = try [one.directory.path, other.directory.path, plain.path].map {
            try Self.open($0, on: nil).markVolume().fileSystem
        }
        #expect(Set(found).count == 3 && !found.contains(nil))
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
        // The next use opens them, and an open object keeps its descriptors.
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
        let volume = try storage.markVolume().id
        try storage.require(volume: SiteVolume(id: volume))
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
