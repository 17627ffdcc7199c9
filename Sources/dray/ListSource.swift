import Catalog
import Glibc
import Model
import Runtime

/// What LIST names: one URL, a file, or stdin; read twice, once to check it and once to submit it.
///
/// What cannot be read twice (stdin, a pipe) is copied to an unnamed temporary file first, so that
/// nothing is begun for a list that turns out malformed, at any length and in bounded memory.
struct ListSource: Sendable {
    private enum Content: Sendable {
        case url(String)
        case file(Int32)
    }

    /// For messages: the file's name, `stdin`, or nil for a URL.
    let label: String?
    /// Made of the file's name or the URL's host; used when the list gives no name.
    let defaultName: String
    private let content: Content

    private static let chunkBytes = 256 << 10

    /// Opens the list. Throws `input.unreadable`.
    init(_ operand: String) throws(Failure) {
        // A file may be called anything; something with :// that is no file is meant as a URL.
        if operand.contains("://"), access(operand, F_OK) != 0 {
            content = .url(operand)
            label = nil
            let rest = operand.split(separator: "://", maxSplits: 1).last ?? "url"
            let host = redacted(url: "x://\(rest)").dropFirst(4).prefix { $0 != "/" && $0 != "?" }
            defaultName = Self.cleaned(String(host))
            return
        }
        label = operand == "-" ? "stdin" : operand
        let descriptor = operand == "-" ? dup(STDIN_FILENO) : open(operand, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw Failure(
                "input.unreadable", "\(printable(operand)): \(systemErrorText(errno))")
        }
        var status = stat()
        fstat(descriptor, &status)
        guard status.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            throw Failure("input.unreadable", "\(printable(operand)) is a directory, not a list")
        }
        if status.st_mode & S_IFMT == S_IFREG, operand != "-" {
            content = .file(descriptor)
        } else {
            content = .file(try Self.spooled(descriptor, label: label ?? ""))
        }
        let fileName = operand == "-" ? "stdin" : operand.split(separator: "/").last ?? "list"
        let stem = fileName.split(separator: ".").first.map(String.init) ?? String(fileName)
        defaultName = Self.cleaned(stem)
    }

    /// A name holds 1 to 200 characters and no control characters.
    private static func cleaned(_ text: String) -> String {
        let name = String(printable(text).prefix(200))
        return name.isEmpty ? "list" : name
    }

    /// Copies what `descriptor` yields to an unnamed file, which goes away with the process.
    private static func spooled(_ descriptor: Int32, label: String) throws(Failure) -> Int32 {
        defer { close(descriptor) }
        var template = Array("/tmp/dray-list-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        guard file >= 0 else {
            throw Failure("input.unreadable", "cannot copy \(label): \(systemErrorText(errno))")
        }
        unlink(template)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        var buffer = [UInt8](repeating: 0, count: chunkBytes)
        while true {
            // Nothing has been started yet, and a person who is asked for a list may leave.
            let count = ProcessSignals.withDefaultAction {
                Glibc.read(descriptor, &buffer, buffer.count)
            }
            if count == 0 { return file }
            if count < 0 {
                if errno == EINTR { continue }
                throw Failure("input.unreadable", "\(label): \(systemErrorText(errno))")
            }
            var offset = 0
            while offset < count {
                let written = buffer.withUnsafeBytes { bytes in
                    write(file, bytes.baseAddress?.advanced(by: offset), count - offset)
                }
                guard written > 0 else {
                    throw Failure(
                        "input.unreadable", "cannot copy \(label): \(systemErrorText(errno))")
                }
                offset += written
            }
        }
    }

    /// What the list says of itself, and how many assets it holds.
    struct Summary: Sendable {
        var name: String?
        var priority: Int?
        var assets = 0
    }

    /// Reads the whole list and hands its assets to `take` as they come.
    ///
    /// Throws what is wrong with the list, with its name, line and column. `expectedAssets` is what
    /// an earlier reading counted.
    func read(
        expectedAssets: Int = 0,
        _ take: ([AssetSubmission]) async throws(Failure) -> Void
    ) async throws(Failure) -> Summary {
        switch content {
        case .url(let url):
            try await take([try ListReader.asset(url: url)])
            return Summary(assets: 1)
        case .file(let descriptor):
            var reader = ListReader(expectedAssets: expectedAssets)
            var buffer = [UInt8](repeating: 0, count: Self.chunkBytes)
            var offset = 0
            while true {
                let count = pread(descriptor, &buffer, buffer.count, off_t(offset))
                if count < 0 {
                    throw labelled(Failure("input.unreadable", systemErrorText(errno)))
                }
                if count == 0 { break }
                offset += count
                let assets = try feed(&reader, Array(buffer.prefix(count)))
                if !assets.isEmpty { try await take(assets) }
            }
            let rest = try finish(&reader)
            if !rest.isEmpty { try await take(rest) }
            return Summary(
                name: reader.catalogName, priority: reader.priority, assets: reader.count)
        }
    }

    private func feed(
        _ reader: inout ListReader, _ bytes: [UInt8]
    ) throws(Failure) -> [AssetSubmission] {
        do throws(Failure) { return try reader.feed(bytes) } catch { throw labelled(error) }
    }

    private func finish(_ reader: inout ListReader) throws(Failure) -> [AssetSubmission] {
        do throws(Failure) { return try reader.finish() } catch { throw labelled(error) }
    }

    private func labelled(_ failure: Failure) -> Failure {
        Failure(failure.code, "\(printable(label ?? "list")): \(failure.message)")
    }
}
