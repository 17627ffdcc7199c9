import Digest
import Dispatch
import FileSystem
import Glibc
import Model
import Storage
import Synchronization

/// Keeps the bytes of an interrupted fetch: `.FILE.dray-part` beside FILE has them, and
/// `.FILE.dray-part.record` their verified length and source.
///
/// Only one process has it at a time, by a lock on the file. Safe from any thread.
final class KeptFile: Sendable {
    let path: String
    /// Name in the folder of FILE.
    let name: String
    /// The open file, which holds the lock.
    let file: FileDescriptor
    private var descriptor: Int32 { file.rawValue }
    private var recordPath: String { path + ".record" }
    private let record = Mutex<PartialRecord?>(nil)
    /// Writes records in order, off the threads that receive bytes.
    private let writer = DispatchQueue(label: "dray.fetch.record")

    /// Minimum bytes worth keeping when the command ends; the same as at a site after a pause.
    private static let minimumBytes: Int64 = 64 << 10

    /// Opens the file; returns nil if another process or user has it, or if it cannot be created.
    init?(beside location: FileLocation) {
        name = ".\(location.name).dray-part"
        path = location.directoryPath + name
        guard let opened = Self.open(path) else { return nil }
        file = FileDescriptor(owning: opened)
    }

    private static func open(_ path: String) -> Int32? {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        // Between opening and locking, another process may have ended and renamed it.
        for _ in 1...3 {
            let descriptor = Glibc.open(path, flags, 0o600)
            guard descriptor >= 0 else { return nil }
            var (held, named) = (stat(), stat())
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, isOwn(descriptor),
                fstat(descriptor, &held) == 0
            else {
                close(descriptor)
                return nil
            }
            if lstat(path, &named) == 0, named.st_ino == held.st_ino, named.st_dev == held.st_dev {
                return descriptor
            }
            close(descriptor)
        }
        return nil
    }

    /// Returns true for our own file. In a directory that others write to, a file of that name may
    /// be theirs, or a hard link to one of ours.
    private static func isOwn(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && status.st_uid == geteuid() && status.st_nlink == 1
    }

    // MARK: Resuming

    /// Takes the bytes of an earlier run if they match the record, or else empties the file. Reads
    /// them once while `isWanted` is true; afterwards it returns nil and changes nothing.
    func take(while isWanted: () -> Bool) -> PartialBody? {
        guard let record = readRecord() else {
            forget()
            ftruncate(descriptor, 0)
            return nil
        }
        var digests = DigestSet(record.digests.map(\.algorithm))
        var bytes: Int64 = 0
        let isRead =
            (try? forEachBlock(of: descriptor, most: record.bytes) { block in
                digests.update(block)
                bytes += Int64(block.count)
                return isWanted()
            }) != nil
        guard isWanted() else {
            self.record.withLock { $0 = record }
            return nil
        }
        guard isRead, bytes == record.bytes, digests.sha256SoFar() == record.sha256,
            ftruncate(descriptor, off_t(bytes)) == 0
        else {
            forget()
            ftruncate(descriptor, 0)
            return nil
        }
        self.record.withLock { $0 = record }
        return PartialBody(object: nil, record: record, digests: digests)
    }

    private func readRecord() -> PartialRecord? {
        let file = Glibc.open(recordPath, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        guard Self.isOwn(file) else { return nil }
        var text: [UInt8] = []
        let most = Int64(PartialRecord.maximumTextBytes)
        let isRead =
            (try? forEachBlock(of: file, most: most) { block in
                text.append(contentsOf: block)
                return true
            }) != nil
        guard isRead else { return nil }
        return PartialRecord(text: text)
    }

    // MARK: Leaving

    /// Records the progress of the file, in case the process is killed.
    func note(_ record: PartialRecord) {
        self.record.withLock { $0 = record }
        writer.async { self.write(record) }
    }

    /// Removes the record, so that the bytes cannot be resumed.
    func forget() {
        record.withLock { $0 = nil }
        writer.sync { _ = unlink(recordPath) }
    }

    /// Keeps the verified bytes and returns their number; 0 for none.
    func leave() -> Int64 {
        guard let record = record.withLock({ $0 }), record.bytes >= Self.minimumBytes,
            writer.sync(execute: { write(record) }),
            ftruncate(descriptor, off_t(record.bytes)) == 0
        else {
            forget()
            return 0
        }
        return record.bytes
    }

    @discardableResult
    private func write(_ record: PartialRecord) -> Bool {
        let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
        let file = Glibc.open(recordPath, flags, 0o600)
        guard file >= 0 else { return false }
        defer { close(file) }
        guard Self.isOwn(file) else { return false }
        let text = record.text
        // Overwritten, never truncated first: an existing record survives.
        return pwrite(file, text, text.count, 0) == text.count
            && ftruncate(file, off_t(text.count)) == 0
    }
}

/// The error of a system call.
struct SystemCallFailure: Error {
    let code: Int32
}

/// Reads a file from its start in blocks, up to `most` bytes, while `take` returns true.
func forEachBlock(
    of descriptor: Int32, most: Int64, _ take: (UnsafeRawBufferPointer) -> Bool
) throws(SystemCallFailure) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while offset < most {
        let wanted = Int(min(most - offset, Int64(buffer.count)))
        let count = pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
        if count < 0, errno == EINTR { continue }
        guard count >= 0 else { throw SystemCallFailure(code: errno) }
        guard count > 0, take(UnsafeRawBufferPointer(rebasing: buffer.prefix(count))) else {
            return
        }
        offset += Int64(count)
    }
}
