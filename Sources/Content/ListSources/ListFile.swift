import Glibc
import Gzip
import Lists
package import Model
import Services
import Synchronization
import Text

/// A list's bytes, which are read once or twice, one pass after the other.
package final class ListFile: Sendable {
    private let descriptor: Int32
    /// True for input that cannot be read twice.
    private let isStream: Bool
    /// Copy of such input.
    private let copy = Mutex<UnnamedFile?>(nil)

    /// Opens a file, or stdin for `-`. Throws `input.unreadable`.
    package init(_ operand: String) throws(Failure) {
        descriptor = operand == "-" ? dup(STDIN_FILENO) : open(operand, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure(.inputUnreadable, "\(printable(operand)): \(systemErrorText(errno))")
        }
        var status = stat()
        fstat(descriptor, &status)
        isStream = status.st_mode & S_IFMT != S_IFREG || operand == "-"
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw Failure(.inputUnreadable, "\(printable(operand)) is a directory, not a list")
        }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Reads bytes at an offset into `buffer`; returns their number, 0 at the end. `copies` saves a
    /// stream's bytes for a second pass.
    func read(
        _ buffer: inout [UInt8], at offset: Int, copies: Bool
    ) throws(Failure) -> Int {
        let copied = copy.withLock { $0 }
        if isStream, !copies, let copied { return try copied.read(&buffer, at: offset) }
        while true {
            // Nothing has been started yet, and a user who must type a list may want to quit.
            let count = ProcessSignals.withDefaultAction {
                isStream
                    ? Glibc.read(descriptor, &buffer, buffer.count)
                    : pread(descriptor, &buffer, buffer.count, off_t(offset))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Failure(.inputUnreadable, systemErrorText(errno)) }
            if isStream, copies {
                let file = try spool()
                _ = try buffer.withUnsafeBytes { bytes in
                    Result { () throws(Failure) in
                        try file.append(UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
                    }
                }.get()
            }
            return count
        }
    }

    private func spool() throws(Failure) -> UnnamedFile {
        if let file = copy.withLock({ $0 }) { return file }
        let file = try UnnamedFile()
        copy.withLock { $0 = file }
        return file
    }
}

/// An unnamed temporary file, which vanishes with the process. Safe from any thread.
package final class UnnamedFile: Sendable {
    private let descriptor: Int32
    private let length = Mutex(0)

    /// Creates the file. Throws `input.unreadable`, since a list needs it.
    package init() throws(Failure) {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? ""
        var template = Array(
            "\(directory.hasPrefix("/") ? directory : "/tmp")/dray-list-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        guard descriptor >= 0 else { throw Self.failure(errno) }
        unlink(template)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    private static func failure(_ code: Int32) -> Failure {
        Failure(
            .inputUnreadable,
            "a temporary file for the list cannot be written: \(systemErrorText(code))")
    }

    /// Appends bytes and returns their offset.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int {
        let start = length.withLock { length in
            defer { length += bytes.count }
            return length
        }
        try write(bytes, at: start)
        return start
    }

    func write(_ bytes: UnsafeRawBufferPointer, at start: Int) throws(Failure) {
        var written = 0
        while written < bytes.count {
            let count = pwrite(
                descriptor, bytes.baseAddress?.advanced(by: written), bytes.count - written,
                off_t(start + written))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure(count < 0 ? errno : ENOSPC) }
            written += count
        }
    }

    /// Fills `buffer` from `offset`; returns the number of bytes read.
    func read(_ buffer: inout [UInt8], at offset: Int) throws(Failure) -> Int {
        let result = buffer.withUnsafeMutableBytes { bytes in
            Result { () throws(Failure) in try read(bytes, at: offset) }
        }
        return try result.get()
    }

    package func read(
        _ bytes: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(Failure) -> Int {
        var done = 0
        while done < bytes.count {
            let count = pread(
                descriptor, bytes.baseAddress?.advanced(by: done), bytes.count - done,
                off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure(errno) }
            if count == 0 { break }
            done += count
        }
        return done
    }
}

/// Scratch space in a temporary file, which is created on first use.
final class ScratchFile: ListScratch {
    private var file: UnnamedFile?

    func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) -> Int {
        if let file { return try file.append(bytes) }
        let file = try UnnamedFile()
        self.file = file
        return try file.append(bytes)
    }

    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(Failure) {
        guard try file?.read(bytes, at: offset) == bytes.count else {
            throw Failure(.inputUnreadable, "a temporary file for the list was cut short")
        }
    }
}

/// One pass over a list's bytes, decompressed if they are gzip.
package final class ListInput {
    /// Reads bytes at an offset into its buffer; returns their number, 0 at the end.
    typealias Reader = (inout [UInt8], Int) throws(Failure) -> Int

    private let reader: Reader
    private var offset = 0
    private var hasBegun = false
    private var gzip: GzipDecoder?
    /// Compressed bytes that are not decoded yet.
    private var packed: ArraySlice<UInt8> = []

    private static let chunkBytes = 256 << 10

    init(_ reader: @escaping Reader) { self.reader = reader }

    package convenience init(_ file: ListFile, copies: Bool) {
        self.init { (buffer, offset) throws(Failure) in
            try file.read(&buffer, at: offset, copies: copies)
        }
    }

    /// Returns the next bytes; nil at the end.
    package func next() throws(Failure) -> [UInt8]? {
        while true {
            if gzip != nil {
                let bytes = try decoded()
                if !bytes.isEmpty { return bytes }
            }
            guard let chunk = try chunk() else {
                try finish()
                return nil
            }
            if gzip == nil { return chunk }
            packed = chunk[...]
        }
    }

    /// Reads the next bytes of the file; detects gzip at its start.
    private func chunk() throws(Failure) -> [UInt8]? {
        guard var chunk = try read() else { return nil }
        guard !hasBegun else { return chunk }
        hasBegun = true
        while chunk.count < GzipDecoder.magic.count, let more = try read() { chunk += more }
        if chunk.starts(with: GzipDecoder.magic) {
            do throws(GzipError) { gzip = try GzipDecoder() } catch { throw Self.failure(error) }
        }
        return chunk
    }

    private func read() throws(Failure) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: Self.chunkBytes)
        let count = try reader(&buffer, offset)
        offset += count
        return count == 0 ? nil : Array(buffer.prefix(count))
    }

    private func decoded() throws(Failure) -> [UInt8] {
        do throws(GzipError) {
            return try gzip?.next(&packed) ?? []
        } catch {
            throw Self.failure(error)
        }
    }

    private func finish() throws(Failure) {
        do throws(GzipError) { try gzip?.finish() } catch { throw Self.failure(error) }
    }

    private static func failure(_ error: GzipError) -> Failure {
        Failure(.inputMalformed, "the gzip data cannot be decoded: \(error.detail)")
    }
}
