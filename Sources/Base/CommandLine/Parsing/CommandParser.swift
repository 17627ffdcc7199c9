import Text

/// The result of parsing a command line.
package enum ParsedCommand: Sendable {
    case run(Command.Action, Arguments)
    /// Text for stdout.
    case show(String)
}

/// Parses a command line with a command tree.
///
/// GNU conventions: `--name value` or `--name=value`, `-n value` for options with a letter, options
/// and operands in any order, `--` ends the options, a lone `-` is an operand.
package struct CommandParser {
    /// Sets options that the command line leaves open.
    package typealias Defaults = (CommandTree.Node, inout Arguments) throws(UsageError) -> Void

    private let root: Command
    private let version: String
    let common: [CommandOption]
    private let defaults: Defaults?

    package init(root: Command, version: String) {
        self.init(CommandTree(root: root, version: version))
    }

    /// - Parameter defaults: called once the command and its options are known, before required
    ///   options are checked.
    package init(_ tree: CommandTree, defaults: Defaults? = nil) {
        root = tree.root
        version = tree.version
        common = tree.common
        self.defaults = defaults
    }

    /// Parses a command line; `words` excludes the program's own name.
    package func parse(_ words: [String]) throws(UsageError) -> ParsedCommand {
        var command = root
        var path = [root.name]
        var rest = words[...]
        while !command.subcommands.isEmpty {
            guard let word = rest.first else {
                if command.action != nil { break }
                if command.name == root.name, words.isEmpty { return .show(help(command, path)) }
                throw UsageError(
                    "\(path.joined(separator: " ")) needs a command",
                    hint: "One of: \(command.subcommands.map(\.name).joined(separator: ", ")).")
            }
            switch word {
            case "--help", "-h": return .show(help(command, path))
            case "help": return .show(try help(of: rest.dropFirst(), command, path))
            case "--version" where path.count == 1: return .show("\(root.name) \(version)\n")
            default: break
            }
            guard let next = command.subcommands.first(where: { $0.name == word }) else {
                if command.action != nil, word.hasPrefix("-") || !command.operands.isEmpty { break }
                throw unknown(word, in: command, path)
            }
            rest.removeFirst()
            command = next
            path.append(word)
        }
        return try parse(rest, of: command, path)
    }

    /// Returns the help of the subcommand in `words`; ends at the first word below a command
    /// without subcommands.
    private func help(
        of words: ArraySlice<String>, _ command: Command, _ path: [String]
    ) throws(UsageError) -> String {
        guard let word = words.first, !command.subcommands.isEmpty else {
            return help(command, path)
        }
        guard let next = command.subcommands.first(where: { $0.name == word }) else {
            throw unknown(word, in: command, path)
        }
        return try help(of: words.dropFirst(), next, path + [word])
    }

    private func parse(
        _ words: ArraySlice<String>, of command: Command, _ path: [String]
    ) throws(UsageError) -> ParsedCommand {
        var arguments = Arguments()
        var rest = words
        var optionsEnded = false
        while let word = rest.popFirst() {
            if optionsEnded || word == "-" || !word.hasPrefix("-")
                || isNegativeNumber(word, of: command)
            {
                arguments.operands.append(word)
                let index = min(arguments.operands.count, command.operands.count) - 1
                if index >= 0, command.operands[index].takesRest {
                    arguments.operands += rest
                    rest = []
                }
            } else if word == "--" {
                optionsEnded = true
            } else if word == "--help" || word == "-h" {
                return .show(help(command, path))
            } else {
                try parseOption(word, &rest, command, path, into: &arguments)
            }
        }
        let node = CommandTree.Node(
            path: path, command: command, options: command.options + common)
        try defaults?(node, &arguments)
        try check(arguments, of: command, path)
        guard let action = command.action else { return .show(help(command, path)) }
        return .run(action, arguments)
    }

    /// Returns true for `-5` where a command takes numbers: it may be rejected, but is no option.
    private func isNegativeNumber(_ word: String, of command: Command) -> Bool {
        command.operands.contains { $0.values == .number }
            && word.dropFirst().first.map { ("0"..."9").contains($0) || $0 == "." } == true
    }

    private func parseOption(
        _ word: String, _ rest: inout ArraySlice<String>, _ command: Command, _ path: [String],
        into arguments: inout Arguments
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let options = command.options + common
        let option = options.first { option in
            parts[0] == "--\(option.name)" || option.short.map { word == "-\($0)" } == true
        }
        guard let option else {
            let candidates = options.map { "--\($0.name)" } + ["--help"]
            let meant = options.first { $0.otherNames.contains { parts[0] == "--\($0)" } }
            throw UsageError(
                "unknown option '\(printable(String(parts[0])))'",
                hint: meant.map { "Did you mean --\($0.name)?" }
                    ?? suggestion(for: String(parts[0]), from: candidates)
                    ?? "`\(path.joined(separator: " ")) --help` lists the options.")
        }
        let name = option.name
        let inlineValue = parts.count == 2 ? String(parts[1]) : nil
        guard let placeholder = option.placeholder else {
            try checkFirst(option, among: options, arguments)
            if inlineValue == "false" { return arguments.deny(name) }
            if inlineValue != nil, inlineValue != "true" {
                throw UsageError("--\(name) takes no value", hint: "Write --\(name).")
            }
            arguments.values[name] = []
            return
        }
        // The next option is not the value; `--name=--value` allows such a value.
        let isNextOption = options.contains { "--\($0.name)" == rest.first }
        guard let value = inlineValue ?? (isNextOption ? nil : rest.popFirst()) else {
            throw UsageError("--\(name) needs a value", hint: "Write --\(name) \(placeholder).")
        }
        let meant = options.first { $0.sharedName == name && $0.allows(value) } ?? option
        try checkFirst(meant, among: options, arguments)
        try meant.check(value)
        arguments.values[meant.name, default: []].append(value)
    }

    /// Throws if the command line has a value of the option already, and it takes one.
    private func checkFirst(
        _ option: CommandOption, among options: [CommandOption], _ arguments: Arguments
    ) throws(UsageError) {
        guard !option.isRepeatable, arguments.origin(of: option.name) != nil else { return }
        let once = "Give it once: \(option.synopsis)."
        let hint = options.first { $0.sharedName == option.name }.flatMap { other in
            other.words.map { "\(once) As --\(other.name) it takes \($0.joinedByOr)." }
        }
        throw UsageError("--\(option.name) is given twice", hint: hint ?? once)
    }

    private func check(
        _ arguments: Arguments, of command: Command, _ path: [String]
    ) throws(UsageError) {
        let usage = usage(command, path)
        let last = command.operands.last
        if arguments.operands.count > command.operands.count, last?.takesRest != true,
            last?.isRepeatable != true
        {
            throw unexpected(
                arguments.operands[command.operands.count], after: arguments.operands[0], command,
                path)
        }
        if arguments.operands.count < command.operands.count {
            let missing = command.operands[arguments.operands.count]
            if missing.isRequired { throw UsageError("\(missing.name) is missing", hint: usage) }
        }
        for (index, value) in arguments.operands.enumerated() {
            guard !command.operands.isEmpty else { break }
            let operand = command.operands[min(index, command.operands.count - 1)]
            // An unset variable of a script: a directory would be the current one.
            if value.isEmpty, !operand.takesRest {
                throw UsageError("\(operand.name) is empty", hint: usage)
            }
            guard case .words(let words) = operand.values, !words.contains(value) else { continue }
            throw CommandOption.unknown(value, for: operand.name, words)
        }
        for option in command.options
        where option.isRequired && arguments.values[option.name] == nil {
            throw UsageError("--\(option.name) is missing", hint: usage)
        }
    }

    /// Describes a word that is one too many. Where the first one could be a mistyped subcommand, it names that too.
    private func unexpected(
        _ word: String, after first: String, _ command: Command, _ path: [String]
    ) -> UsageError {
        let extra = printable(word)
        let option = command.options.first(where: \.selects)
        let select =
            option.map { "Select by it with --\($0.name) '\(extra)'.\n" }
            ?? command.operands.last?.several.map { "\($0)\n" } ?? ""
        guard !command.subcommands.isEmpty else {
            return UsageError("unexpected argument '\(extra)'", hint: select + usage(command, path))
        }
        let name = path.joined(separator: " ")
        return UsageError(
            "unexpected argument '\(extra)'; '\(printable(first))' is not a command of \(name)",
            hint: select
                + (suggestion(for: first, from: command.subcommands.map(\.name))
                    ?? "`\(name) --help` lists the commands."))
    }

    private func unknown(_ word: String, in command: Command, _ path: [String]) -> UsageError {
        let isOption = word.hasPrefix("-")
        let candidates =
            isOption
            ? (path.count == 1 ? ["--help", "--version"] : ["--help"])
            : command.subcommands.map(\.name)
        return UsageError(
            "unknown \(isOption ? "option" : "command") '\(printable(word))'",
            hint: suggestion(for: word, from: candidates)
                ?? "`\(path.joined(separator: " ")) --help` lists the commands.")
    }
}
