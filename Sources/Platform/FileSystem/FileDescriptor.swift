internal import CLinux
internal import Glibc

/// An open file or directory: closed once, when the last reference to it goes away.
///
/// Safe to use from any thread; positioned reads and writes do not disturb one another. Dropping the
/// last reference is the only way to close it, so a number that was closed cannot be used again.
/// What close(2) would report has been reported by a sync before, or the caller does not care.
package final class FileDescriptor: Sendable {
    package let rawValue: Int32

    /// Takes over a descriptor that nothing else closes.
    package init(owning rawValue: Int32) { self.rawValue = rawValue }

    deinit { Glibc.close(rawValue) }

    /// Opens `path` as open(2) does, following symlinks; close-on-exec always.
    package static func open(
        _ path: String, _ flags: Int32, mode: UInt32 = 0
    ) throws(SystemError) -> FileDescriptor {
        let descriptor = try retrying("open \(path)") {
            Glibc.open(path, flags | O_CLOEXEC, mode)
        }
        return FileDescriptor(owning: descriptor)
    }
}

// MARK: - Bytes

extension FileDescriptor {
    /// Writes all of `bytes` from `offset` on, however many calls it takes.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = try retrying("pwrite") {
                pwrite(
                    rawValue, bytes.baseAddress.map { $0 + done }, bytes.count - done,
                    off_t(offset) + off_t(done))
            }
            // A regular file takes at least a byte or fails; stop rather than spin if one does not.
            if count == 0 { throw SystemError(code: EIO, operation: "pwrite") }
            done += count
        }
    }

    /// Reads up to `buffer.count` bytes from `offset` on; 0 at the end of the file.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int {
        try retrying("pread") { pread(rawValue, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// Cuts the file short, or fills it with zeros, to `bytes`; reserved blocks beyond are given up.
    package func truncate(to bytes: Int64) throws(SystemError) {
        _ = try retrying("ftruncate") { ftruncate(rawValue, off_t(bytes)) }
    }

    /// Reserves blocks for a range without changing the file's length.
    ///
    /// Answers false where the file system cannot, or keeps its files in memory: there it would clear
    /// all of it first, which takes as long as filling it. Throws when it has no room.
    package func reserve(offset: Int64, length: Int64) throws(SystemError) -> Bool {
        guard length > 0 else { return false }
        var kind = statfs()
        _ = try retrying("fstatfs") { fstatfs(rawValue, &kind) }
        guard kind.f_type != TMPFS_MAGIC else { return false }
        do throws(SystemError) {
            _ = try retrying("fallocate") {
                fallocate(rawValue, FALLOC_FL_KEEP_SIZE, off_t(offset), off_t(length))
            }
            return true
        } catch {
            // Anything but these says "not here": tried best effort, the writes will tell.
            if [ENOSPC, EDQUOT, EFBIG, EIO, EROFS].contains(error.code) { throw error }
            return false
        }
    }

    /// Gives back blocks that were reserved and not written, as far as the file system can.
    package func giveBack(offset: Int64, length: Int64) {
        guard length > 0 else { return }
        _ = fallocate(
            rawValue, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, off_t(offset), off_t(length))
    }
}

// MARK: - Durability

extension FileDescriptor {
    /// Makes the file's data and length durable. After a failure the data must be taken as lost: the
    /// kernel reports it once and a second call would answer success.
    package func syncData() throws(SystemError) {
        _ = try retrying("fdatasync") { fdatasync(rawValue) }
    }

    /// Makes a file, or a directory's entries, durable; the same rule on failures.
    package func sync() throws(SystemError) { _ = try retrying("fsync") { fsync(rawValue) } }

    /// Makes everything written to the file system that holds this file durable.
    ///
    /// Reports write errors since this descriptor was opened (Linux 5.8 and later).
    package func syncFileSystem() throws(SystemError) {
        _ = try retrying("syncfs") { syncfs(rawValue) }
    }
}

// MARK: - Facts

extension FileDescriptor {
    package func setPermissions(_ mode: UInt32) throws(SystemError) {
        _ = try retrying("fchmod") { fchmod(rawValue, mode) }
    }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retrying("fstat") { fstat(rawValue, &status) }
        return FileStatus(status)
    }

    /// Space of the file system that holds this file.
    package func space() throws(SystemError) -> FileSystemSpace {
        var space = statvfs()
        _ = try retrying("fstatvfs") { fstatvfs(rawValue, &space) }
        return FileSystemSpace(
            availableBytes: Int64(clamping: UInt64(space.f_bavail) * UInt64(space.f_frsize)),
            totalBytes: Int64(clamping: UInt64(space.f_blocks) * UInt64(space.f_frsize)))
    }
}

/// What stat(2) says of a file.
package struct FileStatus: Sendable {
    package enum Kind: Sendable, Equatable {
        case regular
        case directory
        case symbolicLink
        case other
    }

    /// Tells whether two names lead to one file.
    package struct Identity: Hashable, Sendable {
        let device: UInt64
        let inode: UInt64
    }

    package let kind: Kind
    /// The user's number.
    package let owner: UInt32
    /// The bits of chmod(2), with set-user-ID, set-group-ID and sticky.
    package let permissions: UInt32
    package let identity: Identity
    package let bytes: Int64
    /// What the file has of the file system, as far as that tells.
    package let allocatedBytes: Int64
    /// Names that lead to it; 0 for an open file that was removed.
    package let links: Int
    /// Seconds since 1970 by the clock of the file system's host.
    package let modifiedSeconds: Double
    /// The same of the last change of the file's status, its names included, which no process can set.
    package let changedSeconds: Double

    init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        owner = status.st_uid
        permissions = status.st_mode & 0o7777
        identity = Identity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
        bytes = Int64(status.st_size)
        // POSIX leaves the unit open; on Linux it is this one.
        allocatedBytes = Int64(status.st_blocks) * 512
        links = Int(status.st_nlink)
        modifiedSeconds =
            Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1_000_000_000
        changedSeconds =
            Double(status.st_ctim.tv_sec) + Double(status.st_ctim.tv_nsec) / 1_000_000_000
    }

    /// What `path` leads to, symlinks followed.
    package static func of(_ path: String) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retrying("stat \(path)") { stat(path, &status) }
        return FileStatus(status)
    }
}

/// Room on a file system, in bytes; `availableBytes` is what an ordinary user may still take.
package struct FileSystemSpace: Sendable {
    package let availableBytes: Int64
    package let totalBytes: Int64
}
