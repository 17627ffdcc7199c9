/// A command line that cannot be run: what was wrong with it and what would be right. Exit code 2.
package struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
    package let message: String
    package let hint: String

    package init(_ message: String, hint: String) {
        self.message = message
        self.hint = hint
    }

    package var description: String { "\(message)\n\(hint)" }
}

/// One option of a command.
package struct CommandOption: Sendable {
    package enum Kind: Sendable {
        case flag
        /// Any text; `placeholder` names it in the help: `DIR`.
        case text(placeholder: String)
        /// A whole number in decimal within `range`.
        case integer(placeholder: String, range: ClosedRange<Int>)
        /// A number in decimal within `range`, with or without a fraction or an exponent.
        case number(placeholder: String, range: ClosedRange<Double>)
    }

    /// Without the dashes: `report`.
    package let name: String
    /// `o` for `-o` as well.
    package let short: Character?
    package let kind: Kind
    package let isRequired: Bool
    package let isRepeatable: Bool
    package let help: String

    package init(
        _ name: String, short: Character? = nil, _ kind: Kind, required: Bool = false,
        repeatable: Bool = false, help: String
    ) {
        self.name = name
        self.short = short
        self.kind = kind
        isRequired = required
        isRepeatable = repeatable
        self.help = help
    }

    var placeholder: String? {
        switch kind {
        case .flag: nil
        case .text(let placeholder), .integer(let placeholder, _), .number(let placeholder, _):
            placeholder
        }
    }

    /// `-o, --output FILE`
    var listed: String { short.map { "-\($0), \(synopsis)" } ?? synopsis }

    /// `--report FILE`
    var synopsis: String { placeholder.map { "--\(name) \($0)" } ?? "--\(name)" }
}

/// A word of a command line that is not an option.
package struct CommandOperand: Sendable {
    package let name: String
    /// Those that may be left out come last.
    package let isRequired: Bool
    package let help: String

    package init(_ name: String, required: Bool = true, help: String) {
        self.name = name
        isRequired = required
        self.help = help
    }

    /// `LIST`, or `[LIST]` when it may be left out.
    var synopsis: String { isRequired ? name : "[\(name)]" }
}

/// A node of the command tree: it has subcommands, or it is run, or, without a subcommand's name, both.
package struct Command: Sendable {
    package typealias Action = @Sendable (Arguments) async -> ExitCode

    package let name: String
    /// One line for the parent's list.
    package let summary: String
    /// Paragraphs after the synopsis in the command's own help.
    package let discussion: String
    package let operands: [CommandOperand]
    package let options: [CommandOption]
    package let subcommands: [Command]
    package let action: Action?

    /// A command that is run.
    package init(
        _ name: String, summary: String, discussion: String = "",
        operands: [CommandOperand] = [], options: [CommandOption] = [], action: @escaping Action
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        self.options = options
        subcommands = []
        self.action = action
    }

    /// A command that groups others; with an action, what it does when none of them is named. With
    /// operands as well, a word that names no subcommand is the first of them.
    package init(
        _ name: String, summary: String, discussion: String = "", subcommands: [Command],
        operands: [CommandOperand] = [], options: [CommandOption] = [], action: Action? = nil
    ) {
        self.name = name
        self.summary = summary
        self.discussion = discussion
        self.operands = operands
        self.options = options
        self.subcommands = subcommands
        self.action = action
    }
}

/// A checked command line.
package struct Arguments: Sendable {
    /// Operands in the order of their declaration.
    package internal(set) var operands: [String] = []
    var values: [String: [String]] = [:]

    package init() {}

    package func flag(_ name: String) -> Bool { values[name] != nil }
    /// The option's value; the last one when it was given more than once.
    package func text(_ name: String) -> String? { values[name]?.last }
    package func texts(_ name: String) -> [String] { values[name] ?? [] }
    /// The option's value, which the parser has checked against its range.
    package func integer(_ name: String) -> Int? { text(name).flatMap { Int($0) } }
    /// The option's value, which the parser has checked against its range.
    package func number(_ name: String) -> Double? { text(name).flatMap { Double($0) } }
}
