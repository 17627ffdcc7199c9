import Foundation
import Model
import Storage
import TestSupport
import Testing

/// Sites within the directories that a worker may write to, and others.
@Suite struct SiteRootsTests {
    let folder: TemporaryDirectory
    let roots: SiteRoots

    init() throws {
        folder = try TemporaryDirectory("roots")
        for name in ["edge", "outside"] {
            try FileManager.default.createDirectory(
                atPath: folder.path(name), withIntermediateDirectories: true)
        }
        roots = try SiteRoots(existing: [folder.path("edge")])
    }

    private func open(_ path: String, _ roots: SiteRoots? = nil) throws -> DirectoryStorage {
        try DirectoryStorage(
            StorageURL(directory: folder.path(path)), durability: .none,
            roots: roots ?? self.roots)
    }

    private func codeOfOpening(_ path: String, _ roots: SiteRoots? = nil) -> FailureCode? {
        do {
            _ = try open(path, roots)
            return nil
        } catch { return (error as? Failure)?.code }
    }

    private func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.path(path), withDestinationPath: target)
    }

    private func listing(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path(path)).sorted()
    }

    @Test func aRootIsASiteAndSoIsWhatLiesBelow() throws {
        for path in ["edge", "edge/a", "edge/b/c/d"] {
            let storage = try open(path)
            let object = try storage.createTemporary(
                lease: Site.lease, job: JobID(1), key: "h/f")
            try [UInt8]([7]).withUnsafeBytes { try object.write($0, at: 0) }
            for result in storage.commit([object]) { try result.get() }
            #expect(try folder.read("\(path)/h/f") == [7])
        }
    }

    @Test(arguments: ["outside", "edgeways", "edg", "."])
    func anotherDirectoryIsRefusedAndNothingIsMade(path: String) throws {
        let before = try folder.files()
        let url = try StorageURL(directory: path == "." ? folder.path : folder.path(path))
        let failure = #expect(throws: Failure.self) {
            try DirectoryStorage(url, roots: self.roots)
        }
        #expect(failure?.code == "storage.outsideRoots")
        #expect(failure?.message.contains(url.description) == true)
        #expect(failure?.message.contains("file://\(folder.path("edge"))") == true)
        #expect(try folder.files() == before)
        #expect(try listing(".") == ["edge", "outside"])
    }

    /// A name that is canonically the same for Unicode is another directory for the file system.
    @Test func namesAreComparedByTheirBytes() throws {
        let (composed, decomposed) = ("r\u{e9}", "r\u{65}\u{301}")
        for name in [composed, decomposed] {
            try FileManager.default.createDirectory(
                atPath: folder.path(name), withIntermediateDirectories: true)
        }
        let one = try SiteRoots(existing: [folder.path(composed)])
        #expect(codeOfOpening("\(composed)/a", one) == nil)
        #expect(codeOfOpening("\(decomposed)/a", one) == "storage.outsideRoots")
    }

    @Test(arguments: ["../outside", "../outside/deeper", "..", "/etc"])
    func aSymlinkThatLeadsOutsideIsRefused(target: String) throws {
        try link("edge/site", to: target)
        #expect(codeOfOpening("edge/site") == "storage.outsideRoots")
        #expect(codeOfOpening("edge/site/new/er") == "storage.outsideRoots")
        try link("edge/absolute", to: folder.path("outside"))
        #expect(codeOfOpening("edge/absolute/new") == "storage.outsideRoots")
        #expect(try listing("outside").isEmpty && listing(".") == ["edge", "outside"])
    }

    @Test func aSymlinkThatStaysInsideIsFollowed() throws {
        _ = try open("edge/disk")
        try link("edge/site", to: "disk")
        _ = try open("edge/site/new")
        #expect(try listing("edge/disk") == [".dray", "new"])
        // What leads nowhere is in the way, and no fault of the disk.
        try link("edge/dangling", to: "none")
        #expect(codeOfOpening("edge/dangling/new") == "storage.pathRefused")
    }

    /// The site was moved away, and a symlink stands where it was.
    @Test func aSiteIsLookedUpWithinItsRootEachTime() throws {
        let storage = try open("edge/site")
        let manager = FileManager.default
        try manager.moveItem(atPath: folder.path("edge/site"), toPath: folder.path("edge/old"))
        try link("edge/site", to: "../outside")
        let failure = #expect(throws: Failure.self) {
            let object = try storage.createTemporary(
                lease: Site.lease, job: JobID(1), key: "h/f")
            for result in storage.commit([object]) { try result.get() }
        }
        #expect(failure?.code == "storage.outsideRoots")
        #expect(try listing("outside").isEmpty)
    }

    @Test func theRootItselfMayBeASymlinkWhenTheWorkerStarts() throws {
        try link("name", to: "edge")
        let named = try SiteRoots(existing: [folder.path("name")])
        #expect(
            named.urls == ["file://\(folder.path("name"))", "file://\(folder.path("edge"))"])
        _ = try open("name/a", named)
        _ = try open("edge/b", named)
        #expect(try listing("edge") == ["a", "b"])
        // Followed once: what the name leads to later is not looked at.
        try FileManager.default.removeItem(atPath: folder.path("name"))
        try link("name", to: "outside")
        _ = try open("name/c", named)
        #expect(try listing("edge") == ["a", "b", "c"])
        #expect(try listing("outside").isEmpty)
    }

    /// A disk that is not mounted: its directory must not be made on the disk below.
    @Test func aRootThatHasGoneIsNotMade() throws {
        try FileManager.default.removeItem(atPath: folder.path("edge"))
        #expect(codeOfOpening("edge/a") == "storage.io")
        #expect(try listing(".") == ["outside"])
        // Put back as a symlink it is another directory.
        try link("edge", to: "outside")
        #expect(codeOfOpening("edge/a") == "storage.outsideRoots")
        #expect(try listing("outside").isEmpty)
    }

    @Test(arguments: ["edge", "./edge", "/", "/..", "/no/such/directory", "/etc/passwd", ""])
    func whatCanBeNoRootIsRefused(path: String) {
        let failure = #expect(throws: Failure.self) { try SiteRoots(existing: [path]) }
        #expect(failure?.code == "input.destination")
        #expect(failure?.message.contains(path.debugDescription) == true)
    }

    @Test func aRootOfItsOwnIsMadeAndIsTheOnlyOne() throws {
        let made = SiteRoots(making: try StorageURL(directory: folder.path("new/edge")))
        #expect(try listing(".") == ["edge", "outside"])
        _ = try open("new/edge", made)
        #expect(codeOfOpening("edge", made) == "storage.outsideRoots")
    }
}
