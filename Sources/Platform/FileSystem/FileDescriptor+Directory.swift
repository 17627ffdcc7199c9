internal import CLinux
internal import Glibc

/// Rules for resolving a relative path. Both stay beneath the starting directory and follow no link
/// of `/proc`.
package enum PathResolution: Sendable {
    /// Symlinks are followed as long as they stay beneath the directory.
    case beneath
    /// No symlink anywhere in the path, including the last component.
    case beneathWithoutSymlinks

    var resolve: UInt64 {
        switch self {
        case .beneath: dray_resolve_beneath | dray_resolve_no_magiclinks
        case .beneathWithoutSymlinks:
            dray_resolve_beneath | dray_resolve_no_magiclinks | dray_resolve_no_symlinks
        }
    }
}

// Calls relative to an open directory. Those with a `name` accept only one component: the kernel
// cannot confine mkdirat, renameat and unlinkat to a directory, an opened parent can.
extension FileDescriptor {
    /// Opens `path` relative to this directory by openat2(2); always close-on-exec.
    ///
    /// Throws EXDEV for a path that would leave the directory, ELOOP for a rejected symlink.
    package func open(
        _ path: String, _ flags: Int32, mode: UInt32 = 0,
        resolution: PathResolution = .beneathWithoutSymlinks
    ) throws(SystemError) -> FileDescriptor {
        // openat2 rejects a mode that would not be used.
        let mode = flags & O_CREAT != 0 ? UInt64(mode) : 0
        // EAGAIN: a concurrent rename or mount elsewhere requires a retry.
        var attemptsLeft = 16
        while true {
            do throws(SystemError) {
                let descriptor = try retrying("open \(path)") {
                    dray_openat2(
                        rawValue, path, UInt64(UInt32(bitPattern: flags | O_CLOEXEC)), mode,
                        resolution.resolve)
                }
                return FileDescriptor(owning: descriptor)
            } catch {
                attemptsLeft -= 1
                if error.code != EAGAIN || attemptsLeft == 0 { throw error }
            }
        }
    }

    /// Opens a directory beneath this one, without symlinks; `.` opens this one again.
    package func openDirectory(_ path: String) throws(SystemError) -> FileDescriptor {
        try open(path, O_RDONLY | O_DIRECTORY)
    }

    /// Creates a directory; returns false if the name exists already.
    package func makeDirectory(
        named name: String, mode: UInt32 = 0o777
    ) throws(SystemError) -> Bool {
        try requireComponent(name, "mkdir")
        do throws(SystemError) {
            _ = try retrying("mkdir \(name)") { mkdirat(rawValue, name, mode) }
            return true
        } catch {
            if error.code == EEXIST { return false }
            throw error
        }
    }

    /// Creates a file without a name on this directory's file system. It ends with its descriptor,
    /// unless `link` names it. Throws EOPNOTSUPP where a file system has no such files.
    package func createUnnamed() throws(SystemError) -> FileDescriptor {
        try open(".", O_RDWR | dray_o_tmpfile)
    }

    /// Gives an unnamed file a name in a directory. Throws EEXIST if the name exists.
    package func link(
        to directory: FileDescriptor, named name: String
    ) throws(SystemError) {
        try directory.requireComponent(name, "link")
        _ = try retrying("link \(name)") {
            linkat(
                AT_FDCWD, "/proc/self/fd/\(rawValue)", directory.rawValue, name,
                AT_SYMLINK_FOLLOW)
        }
    }

    /// Moves a file into another directory, replacing a file or symlink of the new name.
    package func rename(
        _ name: String, to directory: FileDescriptor, named newName: String
    ) throws(SystemError) {
        try requireComponent(name, "rename")
        try requireComponent(newName, "rename")
        _ = try retrying("rename to \(newName)") {
            renameat(rawValue, name, directory.rawValue, newName)
        }
    }

    /// Does the same as `rename`, but throws EEXIST if the new name exists. Throws EINVAL if the
    /// file system cannot do it in one step (renameat2(2), RENAME_NOREPLACE).
    package func renameWithoutReplacing(
        _ name: String, to directory: FileDescriptor, named newName: String
    ) throws(SystemError) {
        try rename(name, to: directory, named: newName, dray_rename_noreplace)
    }

    /// Exchanges two names of any kind in one step (renameat2(2), RENAME_EXCHANGE). Throws EINVAL
    /// if the file system cannot do it.
    package func exchange(
        _ name: String, with directory: FileDescriptor, named otherName: String
    ) throws(SystemError) {
        try rename(name, to: directory, named: otherName, dray_rename_exchange)
    }

    private func rename(
        _ name: String, to directory: FileDescriptor, named newName: String, _ flags: UInt32
    ) throws(SystemError) {
        try requireComponent(name, "rename")
        try requireComponent(newName, "rename")
        _ = try retrying("rename to \(newName)") {
            renameat2(rawValue, name, directory.rawValue, newName, flags)
        }
    }

    /// Removes the name of a file or a symlink.
    package func unlink(_ name: String) throws(SystemError) {
        try requireComponent(name, "unlink")
        _ = try retrying("unlink \(name)") { unlinkat(rawValue, name, 0) }
    }

    /// Removes an empty directory.
    package func removeDirectory(named name: String) throws(SystemError) {
        try requireComponent(name, "rmdir")
        _ = try retrying("rmdir \(name)") { unlinkat(rawValue, name, AT_REMOVEDIR) }
    }

    /// Returns the target of the symlink `name`.
    package func symlinkTarget(of name: String) throws(SystemError) -> String {
        try requireComponent(name, "readlink")
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = try retrying("readlink \(name)") {
            buffer.withUnsafeMutableBytes { bytes in
                bytes.bindMemory(to: CChar.self).baseAddress.map {
                    readlinkat(rawValue, name, $0, bytes.count)
                } ?? 0
            }
        }
        return String(decoding: buffer.prefix(count), as: UTF8.self)
    }

    /// Returns the status of `name` in this directory; does not follow a symlink.
    package func status(of name: String) throws(SystemError) -> FileStatus {
        try requireComponent(name, "stat")
        var status = stat()
        _ = try retrying("stat \(name)") {
            fstatat(rawValue, name, &status, AT_SYMLINK_NOFOLLOW)
        }
        return FileStatus(status)
    }

    /// Returns the names in this directory without `.` and `..`, in no order.
    package func names() throws(SystemError) -> [String] {
        // The stream has its own descriptor, and so its own position.
        let copy = try retrying("open .") {
            openat(rawValue, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        guard let stream = fdopendir(copy) else {
            let error = SystemError.last("fdopendir")
            Glibc.close(copy)
            throw error
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw SystemError.last("readdir") }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }

    private func requireComponent(
        _ name: String, _ operation: String
    ) throws(SystemError) {
        if name.isEmpty || name == "." || name == ".." || name.utf8.contains(UInt8(ascii: "/"))
            || name.utf8.contains(0)
        {
            throw SystemError(code: EINVAL, operation: "\(operation) \(name)")
        }
    }
}
