import FileSystem
import Glibc
package import Model
import Services
import Storage
import Synchronization
import Text
import Transfer

/// Output of `dray fetch`: a temporary file beside FILE that is renamed at the end, or stdout, a
/// pipe or a device, which receive the bytes in order.
///
/// For one transfer at a time, or for several parts of one file. Ends by `keep` or `abandon`.
package final class FetchOutput: TransferSink {
    /// Path for messages; nil for stdout.
    let path: String?
    /// True if parts may be written out of order.
    var takesParts: Bool { file?.isSpecial == false }
    private var descriptor: Int32 { file?.descriptor.rawValue ?? STDOUT_FILENO }
    /// Nil for stdout.
    private let file: OutputFile?
    /// The partial file that another run can resume; nil if there is none.
    let kept: KeptFile?
    /// True if Dray chose the name FILE: an existing file then stays.
    private let mustBeNew: Bool
    private let expected = Mutex<Int64?>(nil)
    private let isStopped = Atomic<Bool>(false)
    /// True for a pipe, which may block as long as its reader wants.
    private let mayBlock: Bool
    /// True once a pipe received bytes.
    private let hasWritten = Atomic<Bool>(false)
    /// Mode of the replaced file; nil without one.
    private let mode: UInt32?

    /// The length that the origin announced.
    var expectedBytes: Int64? {
        get { expected.withLock { $0 } }
        set { expected.withLock { $0 = newValue } }
    }

    /// Opens the output; `-` is stdout. Throws `input.destination` and then leaves no files.
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
            guard let location = try FileLocation.ofFile(path) else {
                (file, kept, mode) = (try OutputFile(path), nil, nil)
                mayBlock = true
                return
            }
            mode = location.permissions.map { $0 & 0o777 }
            mayBlock = false
            kept = KeptFile(beside: location)
            file =
                if let kept {
                    OutputFile(continuing: kept.file, named: kept.name, location)
                } else {
                    try OutputFile(location)
                }
        } catch {
            throw Self.failure(path, error.reason)
        }
    }

    static func failure(_ path: String, _ reason: String) -> Failure {
        Failure(.inputDestination, "\(printable(path)): \(reason)")
    }

    private func failure(_ code: Int32) -> Failure {
        Self.failure(path ?? "stdout", systemErrorText(code))
    }

    /// Restarts at the first byte. Throws if written bytes cannot be discarded.
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
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        while poll(&polled, 1, 100) == 0 {
            guard !isStopped.load(ordering: .relaxed) else {
                throw Failure(.workerCancelled, "interrupted")
            }
        }
    }

    /// Ends a write that waits for a pipe's reader. From any thread.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// Reads the file from its start in blocks; only for outputs that take parts.
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

    /// Makes the file durable and renames it to FILE. Throws `input.destination`; FILE is then
    /// unchanged.
    func keep() throws(Failure) {
        do throws(OutputFileError) {
            // Keeps the mode of the replaced file; a new one gets the umask's.
            try file?.keep(mode: mode, mustBeNew: mustBeNew)
        } catch {
            kept?.forget()
            throw Self.failure(path ?? "stdout", error.reason)
        }
        kept?.forget()
    }

    /// Ends without FILE; bytes in a pipe stay there. Returns the number of kept bytes that another
    /// run can resume from; 0 if nothing is kept.
    func abandon() -> Int64 {
        let bytes = kept?.leave() ?? 0
        if bytes == 0 { file?.abandon() }
        return bytes
    }
}
