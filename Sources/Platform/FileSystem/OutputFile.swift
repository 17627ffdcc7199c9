internal import CLinux
internal import Glibc

/// An output file of a command: complete under its name, or not at all. A pipe or a device is
/// written to directly.
///
/// The bytes go to a temporary file beside it with an unpredictable, new name (`O_EXCL |
/// O_NOFOLLOW`), readable by its owner only. `keep` makes it durable and gives it the final name,
/// `abandon` removes it.
///
/// In a folder that everybody may write to, such as `/tmp`, symlinks, pipes and devices of other
/// users are rejected, as Linux does with `fs.protected_symlinks`. Used by one thread at a time,
/// except for `descriptor`.
package final class OutputFile: Sendable {
    package let descriptor: FileDescriptor
    /// Directory and name of the temporary file; nil for a direct output.
    private let temporary: (location: FileLocation, name: String)?

    /// True for a pipe or a device.
    package var isSpecial: Bool { temporary == nil }

    /// Begins the file at `path`; an existing file of that name stays unchanged.
    package convenience init(_ path: String) throws(OutputFileError) {
        guard let location = try FileLocation.ofFile(path) else {
            try self.init(special: path)
            return
        }
        try self.init(location)
    }

    private init(special path: String) throws(OutputFileError) {
        let own = try FileLocation.ownDescriptor(path)
        descriptor = try OutputFileError.wrap { () throws(SystemError) in
            guard let own else { return try FileDescriptor.open(path, O_WRONLY | O_NOCTTY) }
            // A second open would write from the file's start.
            return FileDescriptor(
                owning: try retrying("dup \(own)") { fcntl(own, F_DUPFD_CLOEXEC, 3) })
        }
        temporary = nil
    }

    /// Does the same for a location that was looked up before.
    package init(_ location: FileLocation) throws(OutputFileError) {
        let name = ".dray-" + Self.randomDigits()
        descriptor = try OutputFileError.wrap { () throws(SystemError) in
            try location.directory.open(
                name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
        }
        temporary = (location, name)
    }

    /// Continues with the caller's own file in the directory of `location`, which has the name
    /// `name` until then.
    package init(continuing file: FileDescriptor, named name: String, _ location: FileLocation) {
        descriptor = file
        temporary = (location, name)
    }

    /// Throws the failures of `init(_:)` and leaves no file. A pipe is not opened, because its
    /// reader would see an end of file.
    package static func check(_ path: String) throws(OutputFileError) {
        if let location = try FileLocation.ofFile(path) {
            return try OutputFile(location).abandon()
        }
        guard access(path, W_OK) == 0 else { throw .system(SystemError.last("access")) }
    }

    package func write(_ bytes: [UInt8]) throws(OutputFileError) {
        var done = 0
        while done < bytes.count {
            let count = try OutputFileError.wrap { () throws(SystemError) in
                try retrying("write") {
                    bytes.withUnsafeBytes { buffer in
                        Glibc.write(
                            descriptor.rawValue, buffer.baseAddress.map { $0 + done },
                            buffer.count - done)
                    }
                }
            }
            // A regular file takes at least a byte or fails.
            guard count > 0 else { throw .system(SystemError(code: EIO, operation: "write")) }
            done += count
        }
    }

    /// Makes the file durable and gives it its name, with the permissions `mode`, by default those
    /// of the umask. If it throws, the previous file is still there.
    ///
    /// - Parameter mustBeNew: Throws EEXIST if the name exists.
    package func keep(mode: UInt32? = nil, mustBeNew: Bool = false) throws(OutputFileError) {
        guard let (location, name) = temporary else { return }
        do throws(SystemError) {
            try descriptor.setPermissions(mode ?? 0o666 & ~Self.umask)
            try descriptor.sync()
            try enter(location, name, mustBeNew: mustBeNew)
        } catch {
            abandon()
            throw .system(error)
        }
        // Not every file system supports this, and not every directory is readable.
        if let directory = try? location.directory.openDirectory(".") { try? directory.sync() }
    }

    private func enter(
        _ location: FileLocation, _ name: String, mustBeNew: Bool
    ) throws(SystemError) {
        let directory = location.directory
        guard mustBeNew else {
            return try directory.rename(name, to: directory, named: location.name)
        }
        do throws(SystemError) {
            try directory.renameWithoutReplacing(name, to: directory, named: location.name)
        } catch {
            guard [EINVAL, ENOSYS].contains(error.code) else { throw error }
            guard (try? directory.status(of: location.name)) == nil else {
                throw SystemError(code: EEXIST, operation: error.operation)
            }
            try directory.rename(name, to: directory, named: location.name)
        }
    }

    /// Removes the temporary file; harmless after `keep`.
    package func abandon() {
        guard let (location, name) = temporary,
            let there = try? location.directory.status(of: name),
            let own = try? descriptor.status(), own.identity == there.identity
        else { return }
        try? location.directory.unlink(name)
    }

    /// Returns 128 random bits in hexadecimal digits.
    private static func randomDigits() -> String {
        var random = SystemRandomNumberGenerator()
        return (0..<2).map { _ in
            let digits = String(random.next(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// The process's umask, from `/proc`: reading it by umask(2) would change it for other threads.
    private static let umask: UInt32 = {
        let usual: UInt32 = 0o022
        guard let status = try? FileDescriptor.open("/proc/self/status", O_RDONLY) else {
            return usual
        }
        let text = String(unsafeUninitializedCapacity: 4_096) { buffer in
            (try? status.read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)) ?? 0
        }
        let line = text.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line?.split(separator: "\t").last.flatMap { UInt32($0, radix: 8) } ?? usual
    }()
}

extension OutputFile {
    /// Opens a file for appending lines under its own name: created, or emptied.
    package static func emptied(_ path: String) throws(OutputFileError) -> FileDescriptor {
        guard let location = try FileLocation.ofFile(path) else {
            return try OutputFile(special: path).descriptor
        }
        return try OutputFileError.wrap { () throws(SystemError) in
            do throws(SystemError) {
                return try location.directory.open(
                    location.name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o666)
            } catch {
                guard error.code == EEXIST else { throw error }
            }
            let file = try location.directory.open(
                location.name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK)
            let status = try file.status()
            guard status.kind == .regular, status.links == 1, !location.isForeign(status) else {
                throw SystemError(code: EACCES, operation: "open \(path)")
            }
            try file.truncate(to: 0)
            return file
        }
    }
}

/// A failure of an output file.
package enum OutputFileError: Error {
    case system(SystemError)
    /// The name belongs to another user, in a folder that everybody may write to.
    case foreign
    case directory

    package var reason: String {
        switch self {
        case .system(let error): error.reason
        case .foreign:
            "another user's symlink, pipe or device, in a folder that everybody may write to; "
                + "choose another name or folder"
        case .directory: "is a directory"
        }
    }

    static func wrap<Value>(
        _ body: () throws(SystemError) -> Value
    ) throws(OutputFileError) -> Value {
        do throws(SystemError) { return try body() } catch { throw .system(error) }
    }
}

/// The location of a file: its directory, held open, and its name there, which is no symlink.
package struct FileLocation: Sendable {
    let directory: FileDescriptor
    package let name: String
    /// Ends with a slash; empty for the working directory.
    package let directoryPath: String
    private let isPublic: Bool
    private let directoryOwner: UInt32
    /// Permissions of the existing file; nil for none.
    package private(set) var permissions: UInt32?

    package var path: String { directoryPath + name }

    /// Limit of Linux.
    private static let maxSymlinks = 40

    /// Follows the symlinks at the end of `path` one by one; the system follows those on the way.
    ///
    /// Returns nil for a pipe, a socket or a device, and for an open file of a process
    /// (`/dev/stdout`). Throws for a directory.
    package static func ofFile(_ path: String) throws(OutputFileError) -> FileLocation? {
        switch try target(of: path) {
        case .file(let location): location
        case .descriptor, .special: nil
        }
    }

    /// Returns the descriptor of this process that a path leads to: 1 for `/dev/stdout`. Nil for
    /// another path.
    static func ownDescriptor(_ path: String) throws(OutputFileError) -> Int32? {
        guard case .descriptor(let number) = try target(of: path) else { return nil }
        return number
    }

    private enum Target {
        case file(FileLocation)
        /// Nil for one of another process.
        case descriptor(Int32?)
        case special
    }

    private static func target(of path: String) throws(OutputFileError) -> Target {
        let target = try? FileStatus.of(path)
        guard target?.kind != .directory else {
            throw .directory
        }
        var path = path
        for _ in 0...maxSymlinks {
            var location = try FileLocation(unresolved: path)
            guard let status = try location.status() else { return .file(location) }
            guard status.kind == .symbolicLink || status.kind == .other else {
                location.permissions = status.permissions
                return .file(location)
            }
            guard !location.isForeign(status) else { throw .foreign }
            // The target of a link of /proc has no name, or another one.
            if status.kind == .symbolicLink, location.isOfProcess {
                return .descriptor(location.isOfThisProcess ? Int32(location.name) : nil)
            }
            if target?.kind == .other { return .special }
            let link = try OutputFileError.wrap { () throws(SystemError) in
                try location.directory.symlinkTarget(of: location.name)
            }
            path = link.hasPrefix("/") ? link : location.directoryPath + link
        }
        throw .system(SystemError(code: ELOOP, operation: "open \(path)"))
    }

    private init(unresolved path: String) throws(OutputFileError) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path.utf8.index(after: $0) }
        let start = slash ?? path.startIndex
        let (directoryPath, name) = (String(path[..<start]), String(path[start...]))
        self.directoryPath = directoryPath
        self.name = name
        (directory, isPublic, directoryOwner) = try OutputFileError.wrap { () throws(SystemError) in
            // A folder that cannot be listed may be writable.
            let directory = try FileDescriptor.open(
                directoryPath.isEmpty ? "." : directoryPath, dray_o_path | O_DIRECTORY)
            guard !name.isEmpty, name != ".", name != ".." else {
                throw SystemError(code: path.isEmpty ? ENOENT : EISDIR, operation: "open \(path)")
            }
            let status = try directory.status()
            // Sticky, and writable by others.
            return (directory, status.permissions & 0o1002 == 0o1002, status.owner)
        }
    }

    /// True for links in `/proc`, which lead to a process's open files, independent of their text.
    private var isOfProcess: Bool {
        var system = statfs()
        return fstatfs(directory.rawValue, &system) == 0 && Int(system.f_type) == PROC_SUPER_MAGIC
            && Int32(name) != nil
    }

    private var isOfThisProcess: Bool {
        guard let own = try? FileStatus.of("/proc/self/fd"),
            let there = try? directory.status()
        else { return false }
        return own.identity == there.identity
    }

    /// Returns nil if there is no file.
    private func status() throws(OutputFileError) -> FileStatus? {
        do throws(SystemError) {
            return try directory.status(of: name)
        } catch {
            guard error.code == ENOENT else { throw .system(error) }
            return nil
        }
    }

    /// Returns true if any user may have created the file.
    func isForeign(_ status: FileStatus) -> Bool {
        isPublic && status.owner != geteuid() && status.owner != directoryOwner
    }
}
