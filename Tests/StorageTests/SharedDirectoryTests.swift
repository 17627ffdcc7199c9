import Foundation
import Model
import Storage
import TestSupport
import Testing

/// Paths that lead to one directory, and marks that only say so.
@Suite struct SharedDirectoryTests {
    private let parent: TemporaryDirectory
    private let original: VolumeID

    init() throws {
        parent = try TemporaryDirectory("parent")
        let site = try StorageURL(directory: parent.path("one"))
        original = try DirectoryStorage(site, durability: .none).markVolume().id
    }

    private func url(_ name: String) throws -> StorageURL {
        try StorageURL(directory: parent.path(name))
    }

    private func isShared(_ name: String, within roots: SiteRoots = .anySite) throws -> Bool {
        DirectoryStorage.isShared(try url(name), with: try url("one"), within: roots)
    }

    @Test func aSymlinkIsTheSameDirectory() throws {
        try FileManager.default.createSymbolicLink(
            atPath: parent.path("link"), withDestinationPath: "one")
        #expect(DirectoryStorage.marks(of: try url("link"), within: .anySite) == [original])
        #expect(try isShared("link"))
    }

    @Test func aDirectoryBelowASymlinkLiesInIt() throws {
        mkdir(parent.path("one/below"), 0o755)
        try FileManager.default.createSymbolicLink(
            atPath: parent.path("link"), withDestinationPath: "one/below")
        #expect(DirectoryStorage.marks(of: try url("link"), within: .anySite) == [original])
        #expect(try isShared("link"))
    }

    @Test func aCopyIsAnother() async throws {
        _ = try await ChildProcess.run(["cp", "-a", parent.path("one"), parent.path("copy")])
        let copy = try url("copy")
        #expect(DirectoryStorage.marks(of: copy, within: .anySite) == [original])
        #expect(try !isShared("copy"))
        // It gets a mark of its own, and keeps it.
        let storage = try DirectoryStorage(copy, durability: .none)
        let own = try storage.markVolume(besides: [original]).id
        #expect(own != original)
        #expect(try storage.markVolume(besides: [original]).id == own)
    }

    @Test func aDirectoryThatWasMovedIsAnother() throws {
        try FileManager.default.moveItem(atPath: parent.path("one"), toPath: parent.path("moved"))
        #expect(DirectoryStorage.marks(of: try url("moved"), within: .anySite) == [original])
        #expect(try !isShared("moved"))
        #expect(DirectoryStorage.marks(of: try url("missing"), within: .anySite).isEmpty)
    }

    /// As in a container that has the directory under another path.
    @Test func aSiteOutsideTheRootsMayBeTheSame() throws {
        mkdir(parent.path("two"), 0o755)
        let roots = try SiteRoots(existing: [parent.path("two")])
        #expect(try isShared("two", within: roots))
    }
}
