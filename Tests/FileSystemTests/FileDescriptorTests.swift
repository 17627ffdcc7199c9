import FileSystem
import Glibc
import TestSupport
import Testing

@Suite struct FileDescriptorTests {
    let directory: TemporaryDirectory
    let root: FileDescriptor

    init() throws {
        directory = try TemporaryDirectory("files")
        root = try FileDescriptor.open(directory.path, O_RDONLY | O_DIRECTORY)
    }

    /// The errno of what `body` throws; nil when it does not.
    private func code(_ body: () throws -> Void) -> Int32? {
        do {
            try body()
            return nil
        } catch { return (error as? SystemError)?.code }
    }

    private func create(_ name: String, _ bytes: [UInt8] = []) throws -> FileDescriptor {
        let file = try root.open(name, O_RDWR | O_CREAT | O_EXCL, mode: 0o644)
        try bytes.withUnsafeBytes { try file.write($0, at: 0) }
        return file
    }

    // MARK: - Bytes

    @Test func writesAndReadsAtAnyOffset() throws {
        let file = try create("a", [1, 2, 3])
        try [UInt8]([9, 9]).withUnsafeBytes { try file.write($0, at: 5) }
        var buffer = [UInt8](repeating: 0xff, count: 10)
        let count = try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        #expect(count == 7)
        #expect(buffer.prefix(count) == [1, 2, 3, 0, 0, 9, 9])
        #expect(try buffer.withUnsafeMutableBytes { try file.read(into: $0, at: 7) } == 0)
        try file.syncData()
        try file.sync()
        try file.syncFileSystem()
        try root.sync()
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 200_000])
    func aFileIsReadUpToItsBound(count: Int) throws {
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        _ = try create("a", content)
        for (bound, expected) in [(count, content), (count + 1, content), (count - 1, nil)]
        where bound >= 0 {
            let file = try root.open("a", O_RDONLY)
            #expect(try readToEnd(file.rawValue, maximumBytes: bound) == expected)
        }
        #expect(throws: SystemError.self) { try readToEnd(root.rawValue, maximumBytes: 1) }
    }

    @Test func reservingLeavesTheLengthAlone() throws {
        let file = try create("a", [1])
        _ = try file.reserve(offset: 0, length: 1 << 20)
        #expect(try file.status().bytes == 1)
    }

    @Test func aDescriptorIsClosedWithItsLastReference() throws {
        var file: FileDescriptor? = try create("a")
        let number = try #require(file?.rawValue)
        #expect(fcntl(number, F_GETFD) & FD_CLOEXEC != 0)
        let identity = try file?.status().identity
        file = nil
        // Another test's thread may have got the number by now, but not this file.
        var status = stat()
        let isOpen = fstat(number, &status) == 0
        let now = isOpen ? try? FileStatus.of("/proc/self/fd/\(number)").identity : nil
        #expect(now != identity)
    }

    // MARK: - Directories

    @Test func makesRenamesAndRemoves() throws {
        #expect(try root.makeDirectory(named: "d"))
        #expect(try !root.makeDirectory(named: "d"))
        let inner = try root.openDirectory("d")
        _ = try create("a", [1])
        try root.rename("a", to: inner, named: "b")
        #expect(try inner.names() == ["b"])
        #expect(try root.names() == ["d"])
        #expect(try inner.status(of: "b").bytes == 1)
        #expect(try root.status(of: "d").kind == .directory)
        try inner.unlink("b")
        #expect(try inner.names().isEmpty)
        #expect(code { try inner.unlink("b") } == ENOENT)
        #expect(code { try root.unlink("d") } == EISDIR)
    }

    @Test func listsManyNames() throws {
        for number in 0..<500 { _ = try create("file-\(number)") }
        #expect(try root.names().count == 500)
        #expect(try root.names().count == 500)
    }

    @Test(arguments: ["", ".", "..", "a/b", "/a", "a\0b"])
    func aNameIsOneComponent(name: String) throws {
        #expect(code { _ = try root.makeDirectory(named: name) } == EINVAL)
        #expect(code { try root.unlink(name) } == EINVAL)
        #expect(code { _ = try root.status(of: name) } == EINVAL)
        #expect(code { try root.rename(name, to: root, named: "x") } == EINVAL)
        #expect(code { try root.rename("x", to: root, named: name) } == EINVAL)
    }

    // MARK: - Staying beneath

    @Test func aPathDoesNotLeaveTheDirectory() throws {
        #expect(code { _ = try root.open("../x", O_RDONLY) } == EXDEV)
        #expect(code { _ = try root.open("/etc/passwd", O_RDONLY) } == EXDEV)
        let inner = try directory.write("1", to: "d/inside")
        #expect(inner.hasSuffix("d/inside"))
        _ = try root.open("d/inside", O_RDONLY)
        #expect(code { _ = try root.open("d/../../x", O_RDONLY) } == EXDEV)
    }

    @Test func symlinksAreRefusedUnlessTheyStayBeneathAndAreAllowed() throws {
        try directory.write("1", to: "d/inside")
        symlink("d", directory.path("in"))
        symlink("/etc", directory.path("out"))
        symlink("/proc/self/root/etc", directory.path("magic"))
        for path in ["in/inside", "out/passwd", "magic/passwd", "in"] {
            #expect(code { _ = try root.open(path, O_RDONLY) } == ELOOP)
        }
        _ = try root.open("in/inside", O_RDONLY, resolution: .beneath)
        for path in ["out/passwd", "magic/passwd"] {
            #expect(code { _ = try root.open(path, O_RDONLY, resolution: .beneath) } == EXDEV)
        }
        #expect(code { _ = try root.open("out", O_WRONLY | O_CREAT, mode: 0o644) } == ELOOP)
        #expect(try root.status(of: "in").kind == .symbolicLink)
    }

    // MARK: - Facts and errors

    @Test func twoNamesOfOneFileHaveOneIdentity() throws {
        let file = try create("a")
        link(directory.path("a"), directory.path("b"))
        #expect(try file.status().identity == FileStatus.of(directory.path("b")).identity)
        #expect(try file.status().identity != FileStatus.of(directory.path).identity)
    }

    @Test func aFileSystemHasSpace() throws {
        let space = try root.space()
        #expect(space.totalBytes > 0)
        #expect((0...space.totalBytes).contains(space.availableBytes))
    }

    @Test func anErrorNamesTheCallAndTheReason() {
        let error = SystemError(code: ENOSPC, operation: "pwrite")
        #expect("\(error)" == "pwrite: No space left on device")
        #expect(SystemError(code: 9999, operation: "x").description == "x: error 9999")
    }
}
