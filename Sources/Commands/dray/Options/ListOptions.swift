import Client
import CommandLine
import Gzip
import ListSources
import Lists
import Model
import Rendering
import Text
import WebURL

/// Options of commands that read a list.
enum ListOptions {
    static let format = CommandOption(
        "format",
        .choice(placeholder: "FORMAT", of: ListFormat.allCases.map(\.rawValue)),
        help: "Format of LIST: "
            + ListFormat.allCases.map(\.rawValue).joined(separator: ", ")
            + ". Default: detected. A URL is read as a list only with this option.")

    /// Returns the format; nil to detect it.
    static func format(_ arguments: Arguments) -> ListFormat? {
        arguments.choice("format", ListFormat.self)
    }

    /// Returns the list of a command that sends no requests.
    static func source(_ arguments: Arguments) throws -> ListSource {
        let source = try ListSource(arguments.operands[0], format: format(arguments))
        if source.label == nil, source.format != nil {
            throw UsageError(
                "--format cannot be used with a URL here: this command sends no requests",
                hint: "Download the list first; `dray prefetch --format` reads a list at a URL.")
        }
        return source
    }

    /// Prints a note if a URL to be fetched as one file is a list, by its first bytes.
    ///
    /// Requests only these bytes, and only if the URL's name may be a list's.
    static func offer(_ url: String, _ downloader: ListDownloader) {
        guard let parsed = try? WebURL(url), ListReader.defaultKind(of: parsed) == .file,
            mayBeList(parsed),
            let start = downloader.start(
                of: url, bytes: ListFormat.sampleBytes, seconds: offerSeconds)
        else { return }
        var bytes = start.bytes
        var isWhole = start.isWhole
        if bytes.starts(with: GzipDecoder.magic) {
            var packed = bytes[...]
            guard let decoder = try? GzipDecoder(),
                let decoded = try? decoder.next(&packed)
            else { return }
            isWhole = isWhole && packed.isEmpty && decoded.count < ListFormat.sampleBytes
            bytes = Array(decoded.prefix(ListFormat.sampleBytes))
        }
        guard let format = ListFormat(start: bytes, isWhole: isWhole) else { return }
        Console.note(
            "\(Redaction.shown(url)) is a list (\(format.title)), and is fetched as one "
                + "file; to fetch its entries, add --format \(format.rawValue)")
    }

    private static let offerSeconds = 3.0

    /// Extensions of lists' names.
    private static let listEndings: Set<String> = [
        "xml", "txt", "csv", "tsv", "json", "jsonl", "ndjson", "meta4", "metalink", "list", "lst",
        "urls", "aria2",
    ]

    private static func mayBeList(_ url: WebURL) -> Bool {
        var name = (url.path.split(separator: "/").last ?? "").lowercased()
        if name.hasSuffix(".gz") { name.removeLast(3) }
        if name.contains("sitemap") { return true }
        guard let dot = name.lastIndex(of: ".") else { return false }
        return listEndings.contains(String(name[name.index(after: dot)...]))
    }

    /// Prints the lines of the list `name` that are ignored.
    static func report(_ reading: ListSource.Reading, of name: String) {
        for notice in reading.notices {
            let document = "\(printable(redacted(url: notice.document ?? name))): "
            Console.note("\(document)line \(notice.line): \(printable(notice.message))")
        }
        let more = reading.noticeCount - reading.notices.count
        if more > 0 { Console.note("and \(HumanFormat.count(more, "more such line"))") }
    }
}
