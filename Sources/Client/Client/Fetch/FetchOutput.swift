import FileSystem
import Glibc
package import Model
import Services
import Storage
import Synchronization
import Text
import Transfer

/// Where `dray fetch` puts the bytes: a temporary file beside FILE that gets its name at the end, or
/// stdout, a pipe or a device, which take them as they come.
///
/// Used by one transfer at a time, or by several parts of one file. Ends by `keep` or `abandon`.
package final class FetchOutput: TransferSink {
    /// As it is shown; nil for stdout.
    let path: String?
    /// True when parts may be written out of order.
    var takesParts: Bool { file?.isSpecial == false }
    private var descriptor: Int32 { file?.descriptor.rawValue ?? STDOUT_FILENO }
    /// Nil for stdout.
    private let file: OutputFile?
    /// Set where what has come may be gone on with by another run.
    let kept: KeptFile?
    /// FILE was named by Dray and not by a person: what is there already stays.
    private let mustBeNew: Bool
    private let expected = Mutex<Int64?>(nil)
    private let isStopped = Atomic<Bool>(false)
    /// A pipe may block as long as its reader likes.
    private let mayBlock: Bool
    /// A pipe has got bytes.
    private let hasWritten = Atomic<Bool>(false)
    /// The mode of the replaced file; nil without one.
    private let mode: UInt32?

    /// The length that the origin has announced.
    var expectedBytes: Int64? {
        get { expected.withLock { $0 } }
        set { expected.withLock { $0 = newValue } }
    }

    /// `-` is stdout. Throws `input.destination`; nothing is left behind then.
    package init(_ path: String, mustBeNew: Bool) throws(Failure) {
        self.mustBeNew = mustBeNew
        if path == "-" {
            self.path = nil
            (file, kept, mode) = (nil, nil, nil)
            var status = stat()
            mayBlock = fstat(STDOUT_FILENO, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
            return
        }
        self.path = path
        var status = stat()
        guard !mustBeNew || lstat(path, &status) != 0 else {
            throw Self.failure(path, "already exists; choose another name with -o")
        }
        do throws(OutputFileError) {
            guard let place = try FileLocation.ofFile(path) else {
                (file, kept, mode) = (try OutputFile(path), nil, nil)
                mayBlock = true
                return
            }
            mode = place.permissions.map { $0 & 0o777 }
            mayBlock = false
            kept = KeptFile(beside: place)
            file =
                if let kept {
                    OutputFile(continuing: kept.file, named: kept.name, place)
                } else {
                    try OutputFile(place)
                }
        } catch {
            throw Self.failure(path, error.reason)
        }
    }

    static func failure(_ path: String, _ reason: String) -> Failure {
        Failure("input.destination", "\(printable(path)): \(reason)")
    }

    private func failure(_ code: Int32) -> Failure {
        Self.failure(path ?? "stdout", systemErrorText(code))
    }

    /// Begins again with the first byte. Throws where what was written cannot be taken back.
    func restart() throws(Failure) {
        if takesParts {
            kept?.forget()
            guard ftruncate(descriptor, 0) == 0 else { throw failure(errno) }
        } else if hasWritten.load(ordering: .relaxed) {
            throw Self.failure(
                path ?? "stdout",
                "cannot restart, and the origin cannot resume the body")
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(Failure) {
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
        do throws(OutputFileError) {
            // As it was for who may read it; a new one as the umask has it.
            try file?.keep(mode: mode, mustBeNew: mustBeNew)
        } catch {
            kept?.forget()
            throw Self.failure(path ?? "stdout", error.reason)
        }
        kept?.forget()
    }

    /// Ends without FILE; what a pipe has got, it has. Answers how many bytes another run can go on
    /// with, which stay; 0 when nothing is left.
    func abandon() -> Int64 {
        let bytes = kept?.leave() ?? 0
        if bytes == 0 { file?.abandon() }
        return bytes
    }
}
