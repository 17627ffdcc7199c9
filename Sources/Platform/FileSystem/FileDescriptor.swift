internal import CLinux
internal import Glibc

/// An open file or directory: closed once, when the last reference is dropped.
///
/// Safe from any thread; positioned reads and writes are independent. Dropping the last reference
/// is the only way to close it, so a closed number cannot be used again. Errors of close(2) were
/// reported by an earlier sync, or do not matter to the caller.
package final class FileDescriptor: Sendable {
    package let rawValue: Int32

    /// Takes ownership of a descriptor that nothing else closes.
    package init(owning rawValue: Int32) { self.rawValue = rawValue }

    deinit { Glibc.close(rawValue) }

    /// Opens `path` as open(2) does, following symlinks; always close-on-exec.
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
    /// Writes all of `bytes` from `offset` on, with as many calls as necessary.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            let count = try retrying("pwrite") {
                pwrite(
                    rawValue, bytes.baseAddress.map { $0 + done }, bytes.count - done,
                    off_t(offset) + off_t(done))
            }
            // A regular file takes at least a byte or fails; stop rather than loop if one does not.
            if count == 0 { throw SystemError(code: EIO, operation: "pwrite") }
            done += count
        }
    }

    /// Reads up to `buffer.count` bytes from `offset` on; returns 0 at the end of the file.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int {
        try retrying("pread") { pread(rawValue, buffer.baseAddress, buffer.count, off_t(offset)) }
    }

    /// Shortens the file, or extends it with zeros, to `bytes`; frees reserved blocks beyond.
    package func truncate(to bytes: Int64) throws(SystemError) {
        _ = try retrying("ftruncate") { ftruncate(rawValue, off_t(bytes)) }
    }

    /// Reserves blocks for a range without changing the file's length.
    ///
    /// Returns false if the file system cannot, or if it is in memory: there it would clear all of
    /// them first, which takes as long as filling them. Throws if there is no space.
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
            // Other errors mean that this is unsupported: the writes will report a lack of space.
            if [ENOSPC, EDQUOT, EFBIG, EIO, EROFS].contains(error.code) { throw error }
            return false
        }
    }

    /// Frees blocks that were reserved and not written, if the file system can.
    package func giveBack(offset: Int64, length: Int64) {
        guard length > 0 else { return }
        _ = fallocate(
            rawValue, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, off_t(offset), off_t(length))
    }
}

// MARK: - Durability

extension FileDescriptor {
    /// Makes the file's data and length durable. After a failure the data counts as lost: the
    /// kernel reports it once, and a second call would report success.
    package func syncData() throws(SystemError) {
        _ = try retrying("fdatasync") { fdatasync(rawValue) }
    }

    /// Makes a file, or a directory's entries, durable; the same rule applies to failures.
    package func sync() throws(SystemError) { _ = try retrying("fsync") { fsync(rawValue) } }

    /// Makes everything written to this file's file system durable.
    ///
    /// Reports write errors since this descriptor was opened (Linux 5.8 and later).
    package func syncFileSystem() throws(SystemError) {
        _ = try retrying("syncfs") { syncfs(rawValue) }
    }
}

// MARK: - Status

extension FileDescriptor {
    package func setPermissions(_ mode: UInt32) throws(SystemError) {
        _ = try retrying("fchmod") { fchmod(rawValue, mode) }
    }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retrying("fstat") { fstat(rawValue, &status) }
        return FileStatus(status)
    }

    /// Returns the space of this file's file system.
    package func space() throws(SystemError) -> FileSystemSpace {
        var space = statvfs()
        _ = try retrying("fstatvfs") { fstatvfs(rawValue, &space) }
        return FileSystemSpace(
            availableBytes: Self.bytes(UInt64(space.f_bavail), UInt64(space.f_frsize)),
            totalBytes: Self.bytes(UInt64(space.f_blocks), UInt64(space.f_frsize)))
    }

    /// File systems without a size of their own state any number.
    private static func bytes(_ blocks: UInt64, _ blockBytes: UInt64) -> Int64 {
        let (bytes, isOver) = blocks.multipliedReportingOverflow(by: blockBytes)
        return min(isOver ? .max : Int64(clamping: bytes), FileSystemSpace.maxBytes)
    }
}

/// Status of a file from stat(2).
package struct FileStatus: Sendable {
    package enum Kind: Sendable, Equatable {
        case regular
        case directory
        case symbolicLink
        case other
    }

    /// Identity of a file, equal for all its names.
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
    /// Allocated space in the file system, as far as it reports it.
    package let allocatedBytes: Int64
    /// Number of names; 0 for an open file that was removed.
    package let links: Int
    /// Seconds since 1970 by the clock of the file system's host.
    package let modifiedSeconds: Double
    /// The same for the last change of the file's status, including its names, which no process can
    /// set.
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
        // POSIX leaves the unit open; Linux uses 512 bytes.
        allocatedBytes = Int64(status.st_blocks) * 512
        links = Int(status.st_nlink)
        modifiedSeconds =
            Double(status.st_mtim.tv_sec) + Double(status.st_mtim.tv_nsec) / 1_000_000_000
        changedSeconds =
            Double(status.st_ctim.tv_sec) + Double(status.st_ctim.tv_nsec) / 1_000_000_000
    }

    /// Returns the status of `path`, following symlinks.
    package static func of(_ path: String) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try retrying("stat \(path)") { stat(path, &status) }
        return FileStatus(status)
    }
}

/// Space on a file system, in bytes; `availableBytes` is for ordinary users.
package struct FileSystemSpace: Sendable {
    /// A larger space counts as this: sums of it and of files stay within 64 bits.
    package static let maxBytes: Int64 = 1 << 60

    package let availableBytes: Int64
    package let totalBytes: Int64
}
