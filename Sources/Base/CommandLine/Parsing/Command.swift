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
        /// Any text; `placeholder` is its name in the help: `RATE`.
        case text(placeholder: String)
        /// The path of a file. Shells complete it; the command checks it.
        case file(placeholder: String)
        /// The path of a directory. Shells complete it; the command checks it.
        case directory(placeholder: String)
        /// One of several words.
        case choice(placeholder: String, of: [String])
        /// Some of several words, separated by commas.
        case choices(placeholder: String, of: [String])
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
        case .text(let placeholder), .file(let placeholder), .directory(let placeholder),
            .choice(let placeholder, _), .choices(let placeholder, _),
            .integer(let placeholder, _), .number(let placeholder, _):
            placeholder
        }
    }

    /// What a shell may complete the value to.
    var values: CompletedValues {
        switch kind {
        case .flag, .text, .integer, .number: .none
        case .file: .files
        case .directory: .directories
        case .choice(_, let words): .words(words)
        case .choices(_, let words): .commaSeparated(words)
        }
    }

    /// Names and placeholder for the help: `-o, --output FILE`.
    var listed: String { short.map { "-\($0), \(synopsis)" } ?? synopsis }

    /// Name and placeholder: `--report FILE`.
    var synopsis: String { placeholder.map { "--\(name) \($0)" } ?? "--\(name)" }
}

/// Values that a shell completes.
package enum CompletedValues: Hashable, Sendable {
    case none
    case files
    case directories
    case words([String])
    case commaSeparated([String])
    /// Names of the root's commands.
    case commands
}

/// A word of a command line that is not an option.
package struct CommandOperand: Sendable {
    package let name: String
    /// False for optional operands, which come last.
    package let isRequired: Bool
    /// What a shell may complete it to. `words` are the only ones that the parser accepts.
    package let values: CompletedValues
    package let help: String

    package init(
        _ name: String, _ values: CompletedValues = .none, required: Bool = true, help: String
    ) {
        self.name = name
        self.values = values
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
    /// Returns the option's value, one of the words that the parser allowed.
    package func choice<Value: RawRepresentable<String>>(
        _ name: String, _: Value.Type = Value.self
    ) -> Value? {
        text(name).flatMap { Value(rawValue: $0) }
    }
    /// Returns the option's value, which the parser checked against its range.
    package func integer(_ name: String) -> Int? { text(name).flatMap { Int($0) } }
    /// Returns the option's value, which the parser checked against its range.
    package func number(_ name: String) -> Double? { text(name).flatMap { Double($0) } }
}
