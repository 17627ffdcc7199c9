import CommandLine
import Model
import Text
import Transfer
import WebURL

/// Headers that a command adds to its requests, for one run.
///
/// They are origin settings like those of `--origin-settings`: only requests to the origin itself
/// carry them, not redirects to other origins. They stay in this process's memory.
enum HeaderOptions {
    static let header = CommandOption(
        "header", .text(placeholder: "LINE"), repeatable: true, secret: true,
        help: "'Name: value' to send to the URL's origin, or to the origins of "
            + "--header-origin, in this run only. Repeatable.")
    static let origin = CommandOption(
        "header-origin", .text(placeholder: "ORIGIN"), repeatable: true,
        help: "Origin, https://HOST[:PORT], to send --header to instead of the URL's origin. "
            + "Repeatable.")

    static let all = [header, origin]

    /// Maximum number of headers, and of origins, in a command line.
    static let most = 50

    static func areGiven(_ arguments: Arguments) -> Bool {
        !arguments.texts(header.name).isEmpty
    }

    /// Adds the headers to the settings of their origins.
    ///
    /// - Parameter url: the URL that the command requests; nil if it has none.
    static func add(
        _ arguments: Arguments, of url: String?, to table: inout OriginSettingsTable
    ) throws(UsageError) {
        let headers = try headers(arguments)
        let named = arguments.texts(origin.name)
        guard !headers.isEmpty else {
            if named.isEmpty { return }
            throw UsageError(
                "--header-origin needs --header", hint: "Add --header LINE.")
        }
        guard named.count <= most else {
            throw UsageError(
                "--header-origin is repeated too often", hint: "Use it at most \(most) times.")
        }
        var origins = try named.map { text throws(UsageError) in try originOf(text) }
        if origins.isEmpty, let url,
            let own = (try? WebURL(url)).flatMap({ originName(of: $0.text) })
        {
            origins = [own]
        }
        guard !origins.isEmpty else {
            throw UsageError(
                "--header has no origin: no URL was given",
                hint: "Add --header-origin https://HOST[:PORT].")
        }
        for origin in origins { table.add(headers, to: origin) }
    }

    private static func headers(_ arguments: Arguments) throws(UsageError) -> [RequestHeader] {
        let lines = arguments.texts(header.name)
        guard lines.count <= most else {
            throw UsageError(
                "--header is repeated too often", hint: "Use it at most \(most) times.")
        }
        return try lines.map { line throws(UsageError) in
            do throws(Failure) { return try RequestHeader(line: line) } catch {
                throw UsageError(
                    "--header: \(printable(error.message))", hint: "Write 'Name: value'.")
            }
        }
    }

    private static func originOf(_ text: String) throws(UsageError) -> String {
        guard let url = try? WebURL(text), url.path == "/", url.query == nil,
            let name = originName(of: url.text, allowsUserInfo: false)
        else {
            throw UsageError(
                "--header-origin is '\(printable(Redaction.shown(text)))'",
                hint: "Write http://HOST[:PORT] or https://HOST[:PORT].")
        }
        return name
    }
}
