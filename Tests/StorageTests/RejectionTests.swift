import Foundation
import Model
import Storage
import TestSupport
import Testing

/// Paths that would leave the site, or that another file or folder stands in the way of.
@Suite struct RejectionTests {
    static let refusedKeys = [
        "", "/", "/etc/passwd", "..", "../x", "a/../../x", "a/..", "a/./b", ".", "a//b", "a/", "/a",
        "a/../\u{301}x",
        "a\0b", "a/b\0/../../x", ".dray", ".dray/tmp/x", ".dray/multipart/x",
        String(repeating: "n", count: 256), "a/\(String(repeating: "é", count: 128))/b",
        Array(repeating: String(repeating: "d", count: 200), count: 21).joined(separator: "/"),
        Array(repeating: "d", count: 129).joined(separator: "/"),
    ]

    @Test(arguments: refusedKeys)
    func aKeyThatLeavesTheSiteIsRefused(key: String) throws {
        let site = try Site()
        #expect(site.codeOfStoring(key) == "storage.pathRefused")
        #expect(!site.storage.reuse(key: key, expected: Site.expected([])))
        #expect(try site.directory.files().isEmpty)
    }

    @Test(arguments: [
        "a", "...", "..a/b..", "a/.dray/b", ".drayage", "with space/und ümlaut/%2e%2e", "a\nb\\c",
        String(repeating: "n", count: 255),
        Array(repeating: String(repeating: "d", count: 200), count: 20).joined(separator: "/"),
    ])
    func anOddKeyIsStoredAsItIs(key: String) throws {
        let site = try Site()
        try site.store(key, [7])
        #expect(try site.visibleFiles() == [key])
        #expect(site.storage.reuse(key: key, expected: Site.expected([7])))
    }

    /// The name of an object whose URL had a query holds what was signed.
    @Test func aRejectionDoesNotShowAQueryOrAToken() throws {
        let site = try Site()
        try site.store("h/hdnts=exp=1~hmac=secret", [1])
        let failure = #expect(throws: Failure.self) {
            try site.store("h/hdnts=exp=1~hmac=secret/a.ts", [1])
        }
        #expect(failure?.message.contains("h/…") == true, "\(String(describing: failure))")
        #expect(failure?.message.contains("secret") == false)
        try site.store("h/a.ts?sig=secret/x", [1])
        for key in ["h/a.ts?sig=secret", "h/a.ts?sig=secret/x/y", "h/../a.ts?sig=secret"] {
            let failure = #expect(throws: Failure.self) { try site.store(key, [1]) }
            #expect(failure?.message.contains("h/") == true)
            #expect(failure?.message.contains("secret") == false, "\(String(describing: failure))")
        }
    }

    // MARK: - Symlinks

    @Test func aSymlinkOnTheWayIsRefused() throws {
        let site = try Site()
        let outside = try TemporaryDirectory("outside")
        try site.store("real/x", [1])
        let files = FileManager.default
        try files.createSymbolicLink(
            atPath: site.directory.path("out"), withDestinationPath: outside.path)
        try files.createSymbolicLink(
            atPath: site.directory.path("in"), withDestinationPath: "real")
        try files.createSymbolicLink(
            atPath: site.directory.path("dangling"), withDestinationPath: "nowhere")
        for key in ["out/x", "out/new/x", "in/y", "dangling/x"] {
            #expect(site.codeOfStoring(key)?.rawValue.hasPrefix("storage.path") == true)
        }
        // It names the symlink and its target.
        for (key, link, target) in [("out/a/b/x", "out", outside.path), ("in/y", "in", "real")] {
            let failure = #expect(throws: Failure.self) { try site.store(key, [1]) }
            #expect(
                failure?.message.contains("\(link) is a symlink to \(target)") == true,
                "\(String(describing: failure))")
        }
        #expect(try outside.files().isEmpty)
        #expect(try site.directory.read("real/x") == [1])
        #expect(try site.privateFiles().isEmpty)
    }

    @Test func aSymlinkUnderTheKeyIsReplacedAndItsTargetStays() throws {
        let site = try Site()
        let outside = try TemporaryDirectory("outside")
        try outside.write("precious", to: "file")
        try FileManager.default.createSymbolicLink(
            atPath: site.directory.path("x"), withDestinationPath: outside.path("file"))
        #expect(!site.storage.reuse(key: "x", expected: Site.expected(Array("precious".utf8))))
        try site.store("x", [1])
        #expect(try outside.read("file") == Array("precious".utf8))
        #expect(try site.directory.read("x") == [1])
    }

    @Test func aSymlinkInPlaceOfDraysOwnDirectoryIsRefused() throws {
        let directory = try TemporaryDirectory("site")
        let outside = try TemporaryDirectory("outside")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path(".dray"), withDestinationPath: outside.path)
        let failure = #expect(throws: Failure.self) {
            try DirectoryStorage(StorageURL(directory: directory.path))
        }
        #expect(failure?.code == "storage.foreignDirectory")
        #expect(try outside.files().isEmpty)
    }

    /// Dray's own directories, and what else they may be: of another owner, open to others.
    static let foreign: [(name: String, mode: mode_t, owner: uid_t?)] = [
        (".dray", 0o755, nil), (".dray", 0o770, nil), (".dray", 0o702, nil),
        (".dray/tmp", 0o755, nil), (".dray/multipart", 0o701, nil), (".dray/partial", 0o720, nil),
        (".dray", 0o700, 65_534), (".dray/tmp", 0o700, 65_534), (".dray/partial", 0o700, 65_534),
    ]

    @Test(arguments: foreign.indices)
    func whatOthersCanReachIsNotTakenForDraysOwnDirectory(index: Int) throws {
        let (name, mode, owner) = Self.foreign[index]
        // Only root can give a directory away.
        guard owner == nil || geteuid() == 0 else { return }
        let site = try Site()
        let path = site.directory.path(name)
        #expect(chmod(path, mode) == 0)
        if let owner { #expect(chown(path, owner, owner) == 0) }
        let failure = #expect(throws: Failure.self) {
            try DirectoryStorage(StorageURL(directory: site.directory.path))
        }
        #expect(failure?.code == "storage.foreignDirectory")
        let message = failure?.message ?? ""
        #expect(message.contains("\(path) belongs to user \(owner ?? geteuid()) with mode "))
        let isForeign = owner.map { $0 != geteuid() } ?? false
        #expect(
            message.contains("chown -R \(geteuid()) '\(site.directory.path)/.dray'") == isForeign)
        #expect(message.contains("chmod -R u+rwX,go= '\(site.directory.path)/.dray'"))
        // Its hint helps.
        chown(path, geteuid(), getegid())
        chmod(path, 0o700)
        _ = try DirectoryStorage(StorageURL(directory: site.directory.path))
    }

    @Test func aFileInPlaceOfDraysOwnDirectoryIsRefused() throws {
        let directory = try TemporaryDirectory("site")
        try directory.write("x", to: ".dray")
        let failure = #expect(throws: Failure.self) {
            try DirectoryStorage(StorageURL(directory: directory.path))
        }
        #expect(failure?.code == "storage.foreignDirectory")
    }

    @Test func theRootMayBeASymlink() throws {
        let real = try TemporaryDirectory("real")
        let place = try TemporaryDirectory("place")
        try FileManager.default.createSymbolicLink(
            atPath: place.path("link"), withDestinationPath: real.path)
        let storage = try DirectoryStorage(StorageURL(directory: place.path("link")))
        try storage.writeGeneratedFile(
            key: "a", lease: Site.lease, job: JobID(1), chunks: [[1], [2, 3]])
        #expect(try real.read("a") == [1, 2, 3])
    }

    @Test func aSymlinkThatLeadsNowhereIsNamed() throws {
        let place = try TemporaryDirectory("place")
        for (link, target) in [("dangling", "no/where"), ("circle", "circle")] {
            try FileManager.default.createSymbolicLink(
                atPath: place.path(link), withDestinationPath: target)
            let failure = #expect(throws: Failure.self) {
                try DirectoryStorage(StorageURL(directory: place.path("\(link)/edge")))
            }
            #expect(failure?.code == "storage.pathRefused")
            #expect(
                failure?.message.contains("\(place.path(link)) is a symlink to \(target): ")
                    == true,
                "\(String(describing: failure))")
        }
    }

    // MARK: - The root

    @Test func missingParentsOfTheRootAreMade() throws {
        let directory = try TemporaryDirectory("parents")
        let storage = try DirectoryStorage(StorageURL(directory: directory.path("a/b/c")))
        #expect(try storage.availableBytes() > 0)
        #expect(try directory.files().isEmpty)
        #expect(FileManager.default.fileExists(atPath: directory.path("a/b/c")))
    }

    @Test func aFileInPlaceOfTheRootIsAConflict() throws {
        let directory = try TemporaryDirectory("parents")
        try directory.write("x", to: "file")
        for path in ["file", "file/below"] {
            let failure = #expect(throws: Failure.self) {
                try DirectoryStorage(StorageURL(directory: directory.path(path)))
            }
            #expect(failure?.code == "storage.pathConflict")
        }
    }

    @Test func anUnwritableRootIsReported() throws {
        // sysfs takes no directory from anybody, root included.
        let failure = #expect(throws: Failure.self) {
            try DirectoryStorage(StorageURL(directory: "/sys/dray-test"))
        }
        #expect(
            ["storage.sitePermission", "storage.readOnly"].contains(failure?.code.rawValue))
    }
}
