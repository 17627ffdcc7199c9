import Catalog
import Model
import Runtime

/// What commands have in common that read a list.
enum ListOptions {
    static let format = CommandOption(
        "format", .text(placeholder: "FORMAT"),
        help: "The list's form instead of telling it from the list: "
            + ListFormat.allCases.map(\.rawValue).joined(separator: ", ") + ".")

    /// Nil when it is to be told from the list.
    private static func format(_ arguments: Arguments) throws(UsageError) -> ListFormat? {
        guard let text = arguments.text("format") else { return nil }
        guard let format = ListFormat(rawValue: text) else {
            throw UsageError(
                "--format is '\(printable(String(text.prefix(100))))'",
                hint: "Use one of "
                    + ListFormat.allCases.map(\.rawValue).joined(separator: ", ") + ".")
        }
        return format
    }

    /// The list that a command is given, of the form that it is said to have.
    static func source(_ arguments: Arguments) throws -> ListSource {
        let source = try ListSource(arguments.operands[0], format: format(arguments))
        if source.label == nil, source.format != nil {
            throw UsageError(
                "--format does not go with a URL, which is an asset and no list",
                hint:
                    "Leave out --format; to fetch what a list at a URL names, download the list first."
            )
        }
        return source
    }

    /// Prints which parts of a list are ignored.
    static func tell(_ reading: ListSource.Reading) {
        for notice in reading.notices {
            Console.note("line \(notice.line): \(printable(notice.message))")
        }
        let more = reading.noticeCount - reading.notices.count
        if more > 0 { Console.note("and \(HumanFormat.count(more, "more such line"))") }
    }
}
