import Rendering

extension CommandParser {
    /// Returns a synopsis such as `dray prefetch LIST --to DEST [--name NAME]`.
    func synopsis(_ command: Command, _ path: [String]) -> String {
        var words = path
        if !command.subcommands.isEmpty {
            words.append(command.action == nil ? "COMMAND" : "[COMMAND]")
        }
        words += command.operands.map(\.synopsis)
        for option in command.options {
            let repeated = option.isRepeatable ? "…" : ""
            words.append(
                option.isRequired
                    ? option.synopsis + repeated : "[\(option.synopsis)]\(repeated)")
        }
        return words.joined(separator: " ")
    }

    /// Returns the usage line, wrapped at 80 columns.
    func usage(_ command: Command, _ path: [String]) -> String {
        TextLayout.wrapped("Usage: \(synopsis(command, path))", width: 80, hangingIndent: 7)
    }

    /// Returns the whole help of one command, 80 columns wide.
    func help(_ command: Command, _ path: [String]) -> String {
        var text = command.summary + "\n\n"
        text += usage(command, path) + "\n"
        if !command.subcommands.isEmpty {
            let rows = command.subcommands.map { ($0.name, $0.summary) }
            text += "\nCommands:\n" + TextLayout.definitions(rows, width: 80)
        }
        if !command.operands.isEmpty {
            text += "\nArguments:\n"
            text += TextLayout.definitions(command.operands.map { ($0.name, $0.help) }, width: 80)
        }
        var options = (command.options + common).map { ($0.listed, $0.help) }
        options.append(("--help", "Show this text."))
        if path.count == 1 { options.append(("--version", "Show the version.")) }
        text += "\nOptions:\n" + TextLayout.definitions(options, width: 80)
        if !command.discussion.isEmpty {
            let paragraphs = command.discussion.split(separator: "\n\n").map { paragraph in
                // An indented paragraph is an example or a table, and is not wrapped.
                paragraph.hasPrefix(" ")
                    ? String(paragraph)
                    : TextLayout.wrapped(String(paragraph), width: 80, hangingIndent: 0)
            }
            text += "\n" + paragraphs.joined(separator: "\n\n") + "\n"
        }
        if !command.subcommands.isEmpty {
            let example = (path + ["COMMAND", "--help"]).joined(separator: " ")
            text += "\nRun `\(example)` for more about a command.\n"
        }
        return text
    }
}
