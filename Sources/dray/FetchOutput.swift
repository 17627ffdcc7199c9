import Glibc
import Model
import Runtime
import Storage
import Synchronization
import Transfer

/// Where `dray fetch` puts the bytes: a temporary file beside FILE that gets its name at the end, or
/// stdout, a pipe or a device, which take them as they come.
///
/// Used by one transfer at a time, or by several parts of one file. Ends by `keep` or `abandon`.
final class FetchOutput: TransferSink {
    /// As it is shown; nil for stdout.
    let path: String?
    /// True when parts may be written out of order.
    var takesParts: Bool { temporary != nil }
    private let descriptor: Int32
    private let temporary: String?
    /// Set where what has come may be gone on with by another run.
    let kept: KeptFile?
    /// Without symlinks: the rename is to replace what one leads to, and not the link.
    private let place: String
    /// FILE was named by Dray and not by a person: what is there already stays.
    private let mustBeNew: Bool
    private let expected = Mutex<Int64?>(nil)
    private let isStopped = Atomic<Bool>(false)
    /// A pipe may block as long as its reader likes.
    private let mayBlock: Bool
    /// A pipe has got bytes.
    private let hasWritten = Atomic<Bool>(false)
    /// Of the file that is replaced; nil where there is none.
    private let mode: mode_t?

    /// The length that the origin has announced.
    var expectedBytes: Int64? {
        get { expected.withLock { $0 } }
        set { expected.withLock { $0 = newValue } }
    }

    /// `-` is stdout. Throws `input.destination`; nothing is left behind then.
    init(_ path: String, mustBeNew: Bool) throws(Failure) {
        self.mustBeNew = mustBeNew
        if path == "-" {
            self.path = nil
            place = "stdout"
            (temporary, kept, mode) = (nil, nil, nil)
            descriptor = STDOUT_FILENO
            var status = stat()
            mayBlock = fstat(STDOUT_FILENO, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
            return
        }
        self.path = path
        var status = stat()
        let exists = stat(path, &status) == 0
        guard !exists || !mustBeNew else {
            throw Self.failure(path, "is there already; name another with -o")
        }
        guard !exists || status.st_mode & S_IFMT != S_IFDIR else {
            throw Self.failure(path, "is a directory")
        }
        let resolved = realpath(path, nil)
        defer { free(resolved) }
        let whole = resolved.map { String(cString: $0) } ?? path
        place = whole
        mode = exists ? status.st_mode & 0o777 : nil
        let isSpecial = exists && status.st_mode & S_IFMT != S_IFREG
        mayBlock = isSpecial
        kept = isSpecial ? nil : KeptFile(beside: whole)
        if let kept {
            (temporary, descriptor) = (kept.path, kept.descriptor)
            return
        }
        let directory = whole.lastIndex(of: "/").map { String(whole[...$0]) } ?? ""
        let number = String(UInt32.random(in: 0...UInt32.max), radix: 16)
        temporary = isSpecial ? nil : "\(directory).dray-fetch-\(getpid())-\(number)"
        let flags = O_CLOEXEC | (isSpecial ? O_WRONLY : O_RDWR | O_CREAT | O_EXCL)
        descriptor = open(temporary ?? path, flags, 0o666)
        guard descriptor >= 0 else { throw Self.failure(path, systemErrorText(errno)) }
    }

    static func failure(_ path: String, _ reason: String) -> Failure {
        Failure("input.destination", "\(printable(path)): \(reason)")
    }

    private func failure(_ code: Int32) -> Failure {
        Self.failure(path ?? place, systemErrorText(code))
    }

    /// Begins again with the first byte. Throws where what was written cannot be taken back.
    func restart() throws(Failure) {
        if takesParts {
            kept?.forget()
            guard ftruncate(descriptor, 0) == 0 else { throw failure(errno) }
        } else if hasWritten.load(ordering: .relaxed) {
            throw Self.failure(
                path ?? place,
                "cannot begin again, and the origin does not go on where it broke off")
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
        var done = 0
        while done < bytes.count {
            let start = bytes.baseAddress?.advanced(by: done)
            var wanted = bytes.count - done
            if mayBlock {
                try waitForReader()
                wanted = min(wanted, Int(PIPE_BUF))
            }
            let count =
                takesParts
                ? pwrite(descriptor, start, wanted, off_t(offset) + off_t(done))
                : Glibc.write(descriptor, start, wanted)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(count == 0 ? EIO : errno) }
            done += count
        }
        if !takesParts, done > 0 { hasWritten.store(true, ordering: .relaxed) }
    }

    /// Waits until a pipe takes `PIPE_BUF` bytes without blocking (POSIX, pipe(7)), or `stop`.
    private func waitForReader() throws(Failure) {
        var place = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while poll(&place, 1, 100) == 0 {
            guard !isStopped.load(ordering: .relaxed) else {
                throw Failure("worker.cancelled", "interrupted")
            }
        }
    }

    /// Ends a write that waits for a pipe's reader, from any thread.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Reads the file from its start, a block at a time; only where it takes parts.
    func readBack(_ take: (UnsafeRawBufferPointer) -> Void) throws(Failure) {
        do throws(SystemCallFailure) {
            try forEachBlock(of: descriptor, most: .max) { block in
                take(block)
                return true
            }
        } catch {
            throw failure(error.code)
        }
    }

    /// Makes the file durable and gives it its name. Throws `input.destination`; FILE is then as it
    /// was before.
    func keep() throws(Failure) {
        guard let temporary else {
            if path != nil { close(descriptor) }
            return
        }
        // As it was for who may read it; where that is refused, it is as a new one is.
        if let mode { fchmod(descriptor, mode) }
        let failed = fsync(descriptor) != 0 ? errno : enter(temporary)
        if failed != nil { unlink(temporary) }
        kept?.forget()
        // Only now: until then the lock keeps others from the name.
        close(descriptor)
        if let failed { throw failure(failed) }
        syncDirectory()
    }

    private func enter(_ temporary: String) -> Int32? {
        if mustBeNew {
            if link(temporary, place) == 0 {
                unlink(temporary)
                return nil
            }
            // Not every file system has hard links.
            guard errno == EPERM || errno == EOPNOTSUPP else { return errno }
        }
        return rename(temporary, place) == 0 ? nil : errno
    }

    private func syncDirectory() {
        let directory = place.lastIndex(of: "/").map { String(place[...$0]) } ?? "."
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        fsync(descriptor)
        close(descriptor)
    }

    /// Ends without FILE; what a pipe has got, it has. Answers how many bytes another run can go on
    /// with, which stay; 0 when nothing is left.
    func abandon() -> Int64 {
        let bytes = kept?.leave() ?? 0
        if bytes == 0, let temporary { unlink(temporary) }
        if path != nil { close(descriptor) }
        return bytes
    }
}
