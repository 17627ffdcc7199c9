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
    /// The setting whose variable sets it for all commands; nil for an option with a variable of
    /// its own, made of the command's name and its own.
    package let setting: CommandSetting?
    /// Other words that people write for it; an error suggests it for these.
    package let otherNames: [String]
    /// Name of another option of the command: on the command line its values that are among this
    /// one's words are this one's. nil for none.
    package let sharedName: String?
    /// True for one that a superfluous word of the command line was probably meant for.
    package let selects: Bool
    /// True if its value may hold a secret, which configuration files of others must not have.
    package let isSecret: Bool
    package let help: String

    package init(
        _ name: String, short: Character? = nil, _ kind: Kind, required: Bool = false,
        repeatable: Bool = false, setting: CommandSetting? = nil, secret: Bool = false,
        otherNames: [String] = [], sharing sharedName: String? = nil, selects: Bool = false,
        help: String
    ) {
        self.name = name
        self.otherNames = otherNames
        self.sharedName = sharedName
        self.selects = selects
        self.short = short
        self.kind = kind
        isRequired = required
        isRepeatable = repeatable
        self.setting = setting
        isSecret = secret || setting?.isSecret == true
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

    /// The words that its value consists of; nil if it has others.
    var words: [String]? {
        switch kind {
        case .choice(_, let words), .choices(_, let words): words
        default: nil
        }
    }

    /// Values that a shell completes.
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
    /// A number. Nothing to complete, but `-5` is a value and not an option.
    case number
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
    /// Values that a shell completes. `words` are the only ones that the parser accepts.
    package let values: CompletedValues
    /// True for a command line of its own: it has all words that follow, options too.
    package let takesRest: Bool
    /// True for the last operand of a command that takes several of them.
    package let isRepeatable: Bool
    /// How to give several, where the command takes one; nil where none would be meant.
    package let several: String?
    package let help: String

    package init(
        _ name: String, _ values: CompletedValues = .none, required: Bool = true,
        takesRest: Bool = false, repeatable: Bool = false, several: String? = nil, help: String
    ) {
        isRepeatable = repeatable
        self.several = several
        self.name = name
        self.values = values
        isRequired = required
        self.takesRest = takesRest
        self.help = help
    }

    /// `LIST`, `[LIST]` if it is optional, `[COMMAND]…` if it takes the rest, `LOG…` for several.
    var synopsis: String {
        (isRequired ? name : "[\(name)]") + (takesRest || isRepeatable ? "…" : "")
    }
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
