import FileSystem
import Foundation
import TestSupport
import Testing

/// Output files in folders that others may write to. Runs as root: the others are other users' files there.
@Suite(.enabled(if: geteuid() == 0, "only root can make files of another user"))
struct OutputFileTests {
    let folder: TemporaryDirectory
    let path: String

    init() throws {
        folder = try TemporaryDirectory("output")
        path = folder.path("report.json")
    }

    private static let text = Array("whole".utf8)

    private func write(_ mode: UInt32? = nil, mustBeNew: Bool = false) throws {
        let file = try OutputFile(path)
        try file.write(Self.text)
        try file.keep(mode: mode, mustBeNew: mustBeNew)
    }

    private func reasonOfWriting() -> String? {
        do {
            try write()
            return nil
        } catch { return (error as? OutputFileError)?.reason }
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    private func mode(_ path: String) throws -> UInt32 {
        var status = stat()
        try #require(stat(path, &status) == 0)
        return status.st_mode & 0o777
    }

    /// As `/tmp`, and not the test's user's own.
    private func makePublic() throws {
        try #require(chown(folder.path, 1234, 1234) == 0)
        try #require(chmod(folder.path, 0o1777) == 0)
    }

    @Test func nothingHasTheNameBeforeAllIsThere() throws {
        try folder.write("old", to: "report.json")
        let file = try OutputFile(path)
        try file.write(Self.text)
        let temporary = try #require(try names().first { $0 != "report.json" })
        // 128 bits, and for its owner alone.
        #expect(temporary.hasPrefix(".dray-") && temporary.utf8.count == 38)
        #expect(try mode(folder.path(temporary)) == 0o600)
        #expect(try folder.read("report.json") == Array("old".utf8))
        try file.keep()
        #expect(try folder.read("report.json") == Self.text)
        #expect(try names() == ["report.json"])
        let mask = umask(0)
        umask(mask)
        #expect(try mode(path) == 0o666 & ~UInt32(mask))
    }

    @Test func whatIsAbandonedLeavesNothing() throws {
        let file = try OutputFile(path)
        try file.write(Self.text)
        file.abandon()
        try OutputFile.check(path)
        #expect(try names().isEmpty)
        // Where a folder took the name meanwhile.
        let late = try OutputFile(path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: OutputFileError.self) { try late.keep() }
        #expect(try names() == ["report.json"])
        #expect(reasonOfWriting() == "is a directory")
    }

    @Test func aNewFileTakesNoNameThatIsTaken() throws {
        try write(mustBeNew: true)
        #expect(throws: OutputFileError.self) { try write(mustBeNew: true) }
        #expect(try names() == ["report.json"])
        try write(0o640)
        #expect(try mode(path) == 0o640)
    }

    /// The user's own symlink is followed, wherever it leads, and stays.
    @Test func anOwnSymlinkIsFollowed() throws {
        try makePublic()
        try folder.write("old", to: "deeper/real.json")
        for target in ["deeper/real.json", folder.path("deeper/real.json")] {
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
            try write()
            #expect(try folder.read("deeper/real.json") == Self.text)
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: path) == target)
            try FileManager.default.removeItem(atPath: path)
        }
    }

    /// An attacker has put a symlink where the report is to be, in a folder as `/tmp`.
    @Test(arguments: ["victim", "missing"])
    func anothersSymlinkInAPublicFolderIsRefused(target: String) throws {
        let own = try TemporaryDirectory("own")
        try own.write("precious", to: "victim")
        try FileManager.default.createSymbolicLink(
            atPath: path, withDestinationPath: own.path(target))
        try #require(lchown(path, 4321, 4321) == 0)
        try makePublic()
        #expect(reasonOfWriting()?.contains("another user's symlink") == true)
        #expect(throws: OutputFileError.self) { try OutputFile.check(path) }
        #expect(throws: OutputFileError.self) { try OutputFile.emptied(path) }
        #expect(try own.read("victim") == Array("precious".utf8))
        #expect(try own.files() == ["victim"])
        #expect(try names() == ["report.json"])
        // In a folder that only its owner can write to, the owner decides.
        try #require(chmod(folder.path, 0o755) == 0)
        try write()
        #expect(try own.read(target) == Self.text)
    }

    /// `/dev/stdout` that leads to a file, say: what comes first stays, and so does the file.
    @Test func whatTheProcessHasOpenIsWrittenToWhereItIs() throws {
        try folder.write("before ", to: "report.json")
        let open = try FileDescriptor.open(path, O_WRONLY | O_APPEND)
        let before = try open.status().identity
        let link = folder.path("link")
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: "/dev/fd/\(open.rawValue)")
        for path in ["/proc/self/fd/\(open.rawValue)", "/dev/fd/\(open.rawValue)", link] {
            #expect(try FileLocation.ofFile(path) == nil)
            let file = try OutputFile(path)
            #expect(file.isSpecial)
            try file.write(Self.text)
            try file.keep()
        }
        #expect(try folder.read("report.json") == Array("before wholewholewhole".utf8))
        #expect(try FileStatus.of(path).identity == before)
        #expect(try names() == ["link", "report.json"])
    }

    /// Names that versions before have used.
    @Test func plantedNamesOfTemporaryFilesChangeNothing() throws {
        let own = try TemporaryDirectory("own")
        try own.write("precious", to: "victim")
        for name in ["report.json.\(getpid()).tmp", ".report.json.tmp"] {
            try FileManager.default.createSymbolicLink(
                atPath: folder.path(name), withDestinationPath: own.path("victim"))
            try #require(lchown(folder.path(name), 4321, 4321) == 0)
        }
        try makePublic()
        try write()
        #expect(try own.read("victim") == Array("precious".utf8))
        #expect(try folder.read("report.json") == Self.text)
    }

    @Test func anothersPipeInAPublicFolderIsRefused() throws {
        try #require(mkfifo(path, 0o666) == 0)
        try #require(chown(path, 4321, 4321) == 0)
        try makePublic()
        #expect(reasonOfWriting()?.contains("another user's") == true)
    }

    /// A hard link to one of the user's own files: it is replaced, not written over.
    @Test func aHardLinkIsReplaced() throws {
        let victim = try folder.write("precious", to: "victim")
        try #require(link(victim, path) == 0)
        try makePublic()
        #expect(throws: OutputFileError.self) { try OutputFile.emptied(path) }
        try write()
        #expect(try folder.read("victim") == Array("precious".utf8))
    }

    @Test func linesAreWrittenUnderTheNameItself() throws {
        try folder.write("much older text", to: "report.json")
        let file = try OutputFile.emptied(path)
        try Self.text.withUnsafeBytes { try file.write($0, at: 0) }
        #expect(try folder.read("report.json") == Self.text)
    }

    @Test func aDeviceIsWrittenToAsItIs() throws {
        let file = try OutputFile("/dev/null")
        #expect(file.isSpecial)
        try file.write(Self.text)
        try file.keep()
        try OutputFile.check("/dev/null")
        var status = stat()
        #expect(stat("/dev/null", &status) == 0 && status.st_mode & S_IFMT == S_IFCHR)
    }
}
