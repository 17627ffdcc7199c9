/// An invalid command line: its error and a hint. Exit code 2.
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
        /// Any text; `placeholder` is its name in the help: `DIR`.
        case text(placeholder: String)
        /// A whole decimal number within `range`.
        case integer(placeholder: String, range: ClosedRange<Int>)
        /// A decimal number within `range`, with or without a fraction or an exponent.
        case number(placeholder: String, range: ClosedRange<Double>)
    }

    /// Name without the dashes: `report`.
    package let name: String
    /// Letter of the short form: `o` for `-o`.
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

    /// Names and placeholder for the help: `-o, --output FILE`.
    var listed: String { short.map { "-\($0), \(synopsis)" } ?? synopsis }

    /// Name and placeholder: `--report FILE`.
    var synopsis: String { placeholder.map { "--\(name) \($0)" } ?? "--\(name)" }
}

/// A word of a command line that is not an option.
package struct CommandOperand: Sendable {
    package let name: String
    /// False for optional operands, which come last.
    package let isRequired: Bool
    package let help: String

    package init(_ name: String, required: Bool = true, help: String) {
        self.name = name
        isRequired = required
        self.help = help
    }

    /// `LIST`, or `[LIST]` if it is optional.
    var synopsis: String { isRequired ? name : "[\(name)]" }
}

/// A node of the command tree: a command that runs, one with subcommands, or both.
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

    /// Creates a command that runs.
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

    /// Creates a command with subcommands. The action runs if the command line has no subcommand.
    /// With operands, a word that is no subcommand's name is the first operand.
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
    /// Returns the option's value; the last one if it was given repeatedly.
    package func text(_ name: String) -> String? { values[name]?.last }
    package func texts(_ name: String) -> [String] { values[name] ?? [] }
    /// Returns the option's value, which the parser checked against its range.
    package func integer(_ name: String) -> Int? { text(name).flatMap { Int($0) } }
    /// Returns the option's value, which the parser checked against its range.
    package func number(_ name: String) -> Double? { text(name).flatMap { Double($0) } }
}
