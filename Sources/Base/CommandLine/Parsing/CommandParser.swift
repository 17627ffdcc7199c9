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
package struct CommandParser: Sendable {
    private let root: Command
    private let version: String

    package init(root: Command, version: String) {
        self.root = root
        self.version = version
    }

    package init(_ tree: CommandTree) { self.init(root: tree.root, version: tree.version) }

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
            if optionsEnded || word == "-" || !word.hasPrefix("-") {
                arguments.operands.append(word)
            } else if word == "--" {
                optionsEnded = true
            } else if word == "--help" || word == "-h" {
                return .show(help(command, path))
            } else {
                try parseOption(word, &rest, command, path, into: &arguments)
            }
        }
        try check(arguments, of: command, path)
        guard let action = command.action else { return .show(help(command, path)) }
        return .run(action, arguments)
    }

    private func parseOption(
        _ word: String, _ rest: inout ArraySlice<String>, _ command: Command, _ path: [String],
        into arguments: inout Arguments
    ) throws(UsageError) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let option = command.options.first { option in
            parts[0] == "--\(option.name)" || option.short.map { word == "-\($0)" } == true
        }
        guard let option else {
            let candidates = command.options.map { "--\($0.name)" } + ["--help"]
            throw UsageError(
                "unknown option '\(printable(String(parts[0])))'",
                hint: suggestion(for: String(parts[0]), from: candidates)
                    ?? "`\(path.joined(separator: " ")) --help` lists the options.")
        }
        let name = option.name
        if !option.isRepeatable, arguments.values[name] != nil {
            throw UsageError("--\(name) is given twice", hint: "Give it once.")
        }
        let inlineValue = parts.count == 2 ? String(parts[1]) : nil
        guard let placeholder = option.placeholder else {
            if inlineValue != nil {
                throw UsageError("--\(name) takes no value", hint: "Write --\(name).")
            }
            arguments.values[name] = []
            return
        }
        // The next option is not the value; `--name=--value` allows such a value.
        let isNextOption = command.options.contains { "--\($0.name)" == rest.first }
        guard let value = inlineValue ?? (isNextOption ? nil : rest.popFirst()) else {
            throw UsageError("--\(name) needs a value", hint: "Write --\(name) \(placeholder).")
        }
        try check(value, of: option)
        arguments.values[name, default: []].append(value)
    }

    private func check(_ value: String, of option: CommandOption) throws(UsageError) {
        guard !value.isEmpty else {
            throw UsageError(
                "--\(option.name) is empty", hint: "Write \(option.synopsis).")
        }
        switch option.kind {
        case .flag, .text, .file, .directory: return
        case .choice(_, let words):
            guard !words.contains(value) else { return }
            throw Self.unknown(value, for: "--\(option.name)", words)
        case .choices(_, let words):
            for word in value.split(separator: ",", omittingEmptySubsequences: false)
            where !words.contains(String(word)) {
                throw Self.unknown(value, for: "--\(option.name)", words)
            }
        case .integer(_, let range):
            if let number = Int(value), range.contains(number) { return }
            throw UsageError(
                "--\(option.name) is '\(printable(value))'",
                hint: "Use a whole number from \(range.lowerBound) to \(range.upperBound).")
        case .number(_, let range):
            // Double also parses hexadecimal, infinity and nan.
            let isDecimal = value.utf8.allSatisfy { "0123456789.+-eE".utf8.contains($0) }
            if isDecimal, let number = Double(value), range.contains(number) { return }
            throw UsageError(
                "--\(option.name) is '\(printable(value))'",
                hint: "Use a number from \(Self.text(range.lowerBound)) to "
                    + "\(Self.text(range.upperBound)).")
        }
    }

    private static func unknown(
        _ value: String, for name: String, _ words: [String]
    ) -> UsageError {
        UsageError(
            "\(name) is '\(printable(String(value.prefix(100))))'",
            hint: "Use \(words.joinedByOr).")
    }

    /// Returns `1000000` rather than `1000000.0`.
    private static func text(_ bound: Double) -> String {
        Int(exactly: bound).map { "\($0)" } ?? "\(bound)"
    }

    private func check(
        _ arguments: Arguments, of command: Command, _ path: [String]
    ) throws(UsageError) {
        let usage = usage(command, path)
        if arguments.operands.count > command.operands.count {
            let extra = arguments.operands[command.operands.count]
            throw UsageError("unexpected argument '\(printable(extra))'", hint: usage)
        }
        if arguments.operands.count < command.operands.count {
            let missing = command.operands[arguments.operands.count]
            if missing.isRequired { throw UsageError("\(missing.name) is missing", hint: usage) }
        }
        for (operand, value) in zip(command.operands, arguments.operands) {
            guard case .words(let words) = operand.values, !words.contains(value) else { continue }
            throw Self.unknown(value, for: operand.name, words)
        }
        for option in command.options
        where option.isRequired && arguments.values[option.name] == nil {
            throw UsageError("--\(option.name) is missing", hint: usage)
        }
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
