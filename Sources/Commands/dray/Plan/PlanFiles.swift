import Client
import FileSystem
import Glibc
import Model
import PlanReport
import Planner
import Services
import Text

/// Reads files; failures contain their names.
enum NamedFile {
    /// Returns the result of `parse` for the file at `path`; `-` is stdin.
    static func read<Value>(
        _ path: String, maximumBytes: Int = SmallFile.maximumBytes,
        _ parse: ([UInt8]) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let (bytes, _) = try SmallFile.read(path, maximumBytes: maximumBytes)
        do throws(Failure) {
            return try parse(bytes)
        } catch {
            throw error.inFile(path)
        }
    }
}

/// Reads prices: Dray's own, replaced by those of `--prices`.
enum PriceFiles {
    private static let maxFiles = 100

    /// Prices of providers and of CDNs.
    struct Books {
        var providers: [PriceBook]
        var cdns: [CDNPrices]
    }

    static func read(_ paths: [String]) throws -> Books {
        var books = Books(
            providers: try PriceReader.embedded(), cdns: try PriceReader.embeddedCDNs())
        for path in try paths.flatMap(files) {
            let file = try NamedFile.read(path) { bytes throws(Failure) in
                try PriceReader.readFile(bytes)
            }
            switch file {
            case .provider(let book): replace(book, in: &books.providers) { $0.id == book.id }
            case .cdn(let book): replace(book, in: &books.cdns) { $0.id == book.id }
            }
        }
        return books
    }

    private static func replace<Book>(
        _ book: Book, in books: inout [Book], where isSame: (Book) -> Bool
    ) {
        if let index = books.firstIndex(where: isSame) {
            books[index] = book
        } else {
            books.append(book)
        }
    }

    /// Returns `path`, or the JSON files in it if it is a directory.
    private static func files(_ path: String) throws(Failure) -> [String] {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return [path] }
        guard let directory = opendir(path) else {
            throw Failure(.inputUnreadable, "\(printable(path)): \(systemErrorText(errno))")
        }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".json"), !name.hasPrefix(".") { names.append(name) }
        }
        guard (1...maxFiles).contains(names.count) else {
            throw Failure(
                .inputEmpty,
                "\(printable(path)) has \(names.count) files that end in .json; 1 to \(maxFiles) "
                    + "can be read",
                hint: "Name a price file, or a directory of price files.")
        }
        return names.sorted().map { "\(path)/\($0)" }
    }
}

/// Writes files completely or not at all.
enum WholeFile {
    /// Writes `text` under a temporary name first; writes directly to a pipe or device. Throws
    /// `input.destination`.
    static func write(_ text: String, to path: String) throws(Failure) {
        do throws(OutputFileError) {
            let file = try OutputFile(path)
            do throws(OutputFileError) {
                try file.write(Array(text.utf8))
            } catch {
                file.abandon()
                throw error
            }
            try file.keep()
        } catch {
            throw Failure(.inputDestination, "\(printable(path)): \(error.reason)")
        }
    }
}
