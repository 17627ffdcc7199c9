import Glibc
import Model
import Planner
import PlannerText
import Runtime

/// A file that is named in messages about what is in it.
enum NamedFile {
    /// Reads what `parse` makes of the file at `path`, `-` for stdin.
    static func read<Value>(
        _ path: String, maximumBytes: Int = SmallFile.maximumBytes,
        _ parse: ([UInt8]) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (bytes, _) = try SmallFile.read(path, maximumBytes: maximumBytes)
        do throws(Failure) {
            return try parse(bytes)
        } catch {
            throw Failure(error.code, "\(printable(path)): \(error.message)")
        }
    }
}

/// The prices to reckon with: Dray's own, replaced by those of `--prices`.
enum PriceFiles {
    private static let mostFiles = 100

    static func read(_ paths: [String]) throws -> [PriceBook] {
        var books = try PriceReader.embedded()
        for path in try paths.flatMap(files) {
            let book = try NamedFile.read(path) { bytes throws(Failure) in
                try PriceReader.read(bytes)
            }
            if let index = books.firstIndex(where: { $0.id == book.id }) {
                books[index] = book
            } else {
                books.append(book)
            }
        }
        return books
    }

    /// `path`, or the JSON files in it when it is a directory.
    private static func files(_ path: String) throws(Failure) -> [String] {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [path] }
        guard let directory = opendir(path) else {
            throw Failure("input.unreadable", "\(printable(path)): \(systemErrorText(errno))")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".json"), !name.hasPrefix(".") { names.append(name) }
        }
        guard (1...mostFiles).contains(names.count) else {
            throw Failure(
                "input.empty",
                "\(printable(path)) has \(names.count) files that end in .json; 1 to \(mostFiles) "
                    + "can be read")
        }
        return names.sorted().map { "\(path)/\($0)" }
    }
}

/// A file that is there whole or not at all.
enum WholeFile {
    /// Writes `text` under a temporary name first; a pipe or device is written to as it is. Throws
    /// `input.destination`.
    static func write(_ text: String, to path: String) throws(Failure) {
        var status = stat()
        let isThere = stat(path, &status) == 0
        let isSpecial = isThere && ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
        let place = isSpecial ? path : "\(path).\(getpid()).tmp"
        let flags = O_WRONLY | O_CLOEXEC | (isSpecial ? 0 : O_CREAT | O_TRUNC)
        let descriptor = open(place, flags, 0o666)
        guard descriptor >= 0 else { throw failure(path, errno) }
        let code = writeAll(Array(text.utf8), to: descriptor)
        close(descriptor)
        if isSpecial, code == nil { return }
        if let code {
            if !isSpecial { unlink(place) }
            throw failure(path, code)
        }
        guard rename(place, path) == 0 else {
            let code = errno
            unlink(place)
            throw failure(path, code)
        }
    }

    /// The errno value when that fails.
    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.write(
                    descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return errno }
            written += count
        }
        return nil
    }

    private static func failure(_ path: String, _ code: Int32) -> Failure {
        Failure("input.destination", "\(printable(path)): \(systemErrorText(code))")
    }
}
