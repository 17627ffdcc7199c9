import CommandLine
import Testing

@Suite struct CommandParserTests {
    private let parser = CommandParser(
        root: Command(
            "tool", summary: "Does things.",
            subcommands: [
                Command(
                    "fetch", summary: "Fetches a list.",
                    operands: [
                        CommandOperand("LIST", several: "Write a list.", help: "What to fetch.")
                    ],
                    options: [
                        CommandOption(
                            "to", short: "t", .text(placeholder: "DEST"), required: true,
                            help: "Where to."),
                        CommandOption(
                            "workers", .integer(placeholder: "N", range: 1...64), help: "How many."),
                        CommandOption(
                            "queue", .text(placeholder: "NAME"), repeatable: true, help: "Which."),
                        CommandOption("quiet", .flag, help: "Says nothing."),
                    ]
                ) { _ in .success },
                Command(
                    "database", summary: "Looks after the database.",
                    subcommands: [Command("migrate", summary: "Migrates.") { _ in .success }]),
                Command(
                    "queue", summary: "Shows queues.",
                    subcommands: [Command("pause", summary: "Pauses.") { _ in .someFailed }],
                    options: [CommandOption("json", .flag, help: "As JSON.")]
                ) { _ in .success },
                Command(
                    "rate", summary: "Sets the rate.",
                    operands: [
                        CommandOperand("TEST", help: "Which."),
                        CommandOperand("NEW", .number, help: "How much."),
                    ],
                    options: [CommandOption("json", .flag, help: "As JSON.")]
                ) { _ in .success },
                Command(
                    "merge", summary: "Merges.",
                    operands: [CommandOperand("LOG", repeatable: true, help: "What.")],
                    options: [CommandOption("json", .flag, help: "As JSON.")]
                ) { _ in .success },
                Command(
                    "plan", summary: "Plans.",
                    subcommands: [Command("fit", summary: "Fits.") { _ in .someFailed }],
                    operands: [CommandOperand("FILE", required: false, help: "What to plan.")],
                    options: [CommandOption("json", .flag, help: "As JSON.")]
                ) { _ in .success },
            ]),
        version: "1.2.3")

    private func arguments(_ words: String...) throws -> Arguments {
        guard case .run(_, let arguments) = try parser.parse(words) else {
            throw UsageError("not a run", hint: "")
        }
        return arguments
    }

    private func shown(_ words: String...) throws -> String {
        guard case .show(let text) = try parser.parse(words) else {
            throw UsageError("not a show", hint: "")
        }
        return text
    }

    @Test func optionsAndOperandsMixInAnyOrder() throws {
        let parsed = try arguments(
            "fetch", "--queue", "a", "list.txt", "--to=out=1", "--queue=b", "--workers", "8",
            "--quiet")
        #expect(parsed.operands == ["list.txt"])
        #expect(parsed.text("to") == "out=1")
        #expect(parsed.texts("queue") == ["a", "b"])
        #expect(parsed.integer("workers") == 8)
        #expect(parsed.flag("quiet"))
    }

    /// `--state` is a filter with words of it, and a directory with any other text.
    @Test func twoOptionsShareAName() throws {
        let parser = CommandParser(
            root: Command(
                "tool", summary: "Does things.",
                options: [
                    CommandOption(
                        "item-state", .choices(placeholder: "STATE,…", of: ["new", "done"]),
                        sharing: "state", help: "Which."),
                    CommandOption("state", .directory(placeholder: "DIR"), help: "Where."),
                ]
            ) { _ in .success }, version: "1")
        func states(_ words: String...) throws -> [String?] {
            guard case .run(_, let given) = try parser.parse(words) else { return [] }
            return [given.text("item-state"), given.text("state")]
        }
        #expect(try states("--state", "done,new", "--state", "dir") == ["done,new", "dir"])
        #expect(try states("--state=./new", "--state=new") == ["new", "./new"])
        #expect(try states("--state", "new,old") == [nil, "new,old"])
        #expect(try states("--item-state", "new", "--state", "dir") == ["new", "dir"])
        for (words, error) in [
            (
                ["--state", "nwe", "--state", "dir"],
                UsageError(
                    "--state is given twice",
                    hint: "Give it once: --state DIR. As --item-state it takes new or done.")
            ),
            (
                ["--state", "new", "--state", "done"],
                UsageError(
                    "--item-state is given twice", hint: "Give it once: --item-state STATE,….")
            ),
        ] {
            #expect(throws: error) { try parser.parse(words) }
        }
    }

    @Test func anOperandMayBeRepeated() throws {
        let parsed = try arguments("merge", "a", "--json", "b", "-")
        #expect(parsed.operands == ["a", "b", "-"] && parsed.flag("json"))
        #expect(try shown("merge", "--help").contains("tool merge LOG… "))
        for words in [["merge"], ["merge", "a", ""]] {
            let error = #expect(throws: UsageError.self) { try parser.parse(words) }
            #expect(error?.message.hasPrefix("LOG is ") == true)
        }
    }

    @Test func doubleDashEndsTheOptionsAndADashIsAnOperand() throws {
        #expect(try arguments("fetch", "--to", "x", "--", "--odd").operands == ["--odd"])
        #expect(try arguments("fetch", "--to", "x", "-").operands == ["-"])
        #expect(try arguments("fetch", "-t", "-", "l").text("to") == "-")
    }

    /// The command says what is allowed.
    @Test(arguments: ["-5", "-0.5", "-.5"])
    func aNegativeNumberIsNoOption(number: String) throws {
        #expect(try arguments("rate", "a", number).operands == ["a", number])
    }

    /// An error names the option that was probably meant.
    @Test func whatWasMeantIsNamed() throws {
        let root = Command(
            "tool", summary: "A tool.",
            subcommands: [
                Command(
                    "pause", summary: "Pause.", operands: [CommandOperand("CATALOG", help: "It.")],
                    options: [
                        CommandOption(
                            "name", .text(placeholder: "NAME"), selects: true, help: "Only it."),
                        CommandOption(
                            "root", .directory(placeholder: "DIR"), otherNames: ["site"],
                            help: "Where."),
                        CommandOption("state", .directory(placeholder: "DIR"), help: "State."),
                    ]
                ) { _ in .success }
            ])
        let parser = CommandParser(root: root, version: "1")
        let extra = #expect(throws: UsageError.self) { try parser.parse(["pause", "c", "t1"]) }
        #expect(extra?.hint.hasPrefix("Select by it with --name 't1'.\nUsage:") == true)
        let site = #expect(throws: UsageError.self) {
            try parser.parse(["pause", "c", "--site", "x"])
        }
        #expect(site?.hint == "Did you mean --root?")
    }

    /// The first word may be an operand of the command, or a mistyped subcommand.
    @Test func aMistypedSubcommandOfACommandWithOperandsIsNamed() throws {
        let operands = [CommandOperand("CATALOG", help: "It.")]
        let pause = Command("pause", summary: "Pause.", operands: operands) { _ in .success }
        let list = Command(
            "list", summary: "List.", subcommands: [pause], operands: operands,
            options: [
                CommandOption("name", .text(placeholder: "NAME"), selects: true, help: "Only it.")
            ]
        ) { _ in .success }
        let parser = CommandParser(
            root: Command("tool", summary: "A tool.", subcommands: [list]), version: "1")
        for (word, hint) in [
            ("puase", "Did you mean pause?"), ("movies", "`tool list --help` lists the commands."),
        ] {
            let error = #expect(throws: UsageError.self) { try parser.parse(["list", word, "t1"]) }
            #expect(
                error?.message
                    == "unexpected argument 't1'; '\(word)' is not a command of tool list")
            #expect(error?.hint == "Select by it with --name 't1'.\n\(hint)")
        }
    }

    @Test(arguments: [
        (["fetch"], "LIST is missing", "Usage: tool fetch LIST --to DEST"),
        (["fetch", "", "--to=x"], "LIST is empty", "Usage:"),
        (["fetch", "l"], "--to is missing", "Usage:"),
        (["fetch", "l", "--to"], "--to needs a value", "--to DEST"),
        (["fetch", "l", "--to", "--to", "x"], "--to needs a value", "--to DEST"),
        (["fetch", "l", "--to="], "--to is empty", "--to DEST"),
        (["fetch", "l", "m", "--to=x"], "unexpected argument 'm'", "Write a list.\nUsage:"),
        (["fetch", "l", "--to=x", "--to=y"], "--to is given twice", "once"),
        (["fetch", "l", "--to=x", "--quiet=1"], "--quiet takes no value", "--quiet"),
        (["fetch", "l", "--to=x", "--workers", "0"], "--workers is '0'", "from 1 to 64"),
        (["fetch", "l", "--to=x", "--workers", "many"], "--workers is 'many'", "from 1 to 64"),
        (
            ["fetch", "l", "--wrokers", "1"], "unknown option '--wrokers'",
            "Did you mean --workers?"
        ),
        (["fetch", "-x"], "unknown option '-x'", "tool fetch --help"),
        (["fetch", "-4"], "unknown option '-4'", "tool fetch --help"),
        (["rate", "a", "1", "-5"], "unexpected argument '-5'", "Usage: tool rate TEST NEW"),
        (["rate", "a", "-x"], "unknown option '-x'", "tool rate --help"),
        (["fecth"], "unknown command 'fecth'", "Did you mean fetch?"),
        (["--verison"], "unknown option '--verison'", "Did you mean --version?"),
        (["database"], "tool database needs a command", "migrate"),
        (["queue", "puase"], "unknown command 'puase'", "Did you mean pause?"),
        (["queue", "--jsno"], "unknown option '--jsno'", "Did you mean --json?"),
        (["queue", "pause", "x"], "unexpected argument 'x'", "Usage: tool queue pause"),
        (["fetch", "--\u{1B}[2J"], "unknown option '--\\u{1B}[2J'", "--help"),
    ])
    func badUsageIsReportedWithAHint(words: [String], message: String, hint: String) {
        let error = #expect(throws: UsageError.self) { try parser.parse(words) }
        #expect(error?.message == message)
        #expect(error?.hint.contains(hint) == true, "\(error?.hint ?? "")")
    }

    @Test func aGroupCanDoSomethingByItself() async throws {
        #expect(try arguments("queue").flag("json") == false)
        #expect(try arguments("queue", "--json").flag("json"))
        guard case .run(let action, let given) = try parser.parse(["queue", "pause"]) else {
            throw UsageError("not a run", hint: "")
        }
        #expect(await action(given) == .someFailed)
        #expect(try shown("queue", "--help").contains("Usage: tool queue [COMMAND] [--json]"))
        #expect(try shown("queue", "pause", "--help").contains("Usage: tool queue pause"))
    }

    @Test func aGroupCanTakeAnOperandThatMayBeLeftOut() async throws {
        #expect(try arguments("plan").operands.isEmpty)
        #expect(try arguments("plan", "fast.json", "--json").operands == ["fast.json"])
        #expect(try arguments("plan", "./fit").operands == ["./fit"])
        guard case .run(let fit, _) = try parser.parse(["plan", "fit"]) else {
            throw UsageError("not a run", hint: "")
        }
        #expect(await fit(Arguments()) == .someFailed)
        #expect(throws: UsageError.self) { try parser.parse(["plan", "a", "b"]) }
        #expect(try shown("plan", "--help").contains("Usage: tool plan [COMMAND] [FILE] [--json]"))
    }

    @Test func helpIsThereOnEveryLevel() throws {
        #expect(try shown().contains("fetch"))
        #expect(try shown("--help").contains("--version"))
        #expect(try shown("database", "--help").contains("migrate"))
        #expect(try shown("database", "migrate", "-h").contains("Usage: tool database migrate"))
        #expect(try shown("help") == shown("--help"))
        #expect(try shown("help", "fetch") == shown("fetch", "--help"))
        #expect(
            try shown("help", "database", "migrate") == shown("database", "migrate", "--help"))
        #expect(try shown("database", "help", "migrate") == shown("database", "migrate", "--help"))
        #expect(throws: UsageError.self) { try parser.parse(["help", "fetsh"]) }
        #expect(try shown("--version") == "tool 1.2.3\n")
        let help = try shown("fetch", "--nope=1", "--help", orUsage: true)
        #expect(help.contains("unknown option"))
    }

    @Test func helpFitsEightyColumns() throws {
        for text in [try shown("--help"), try shown("fetch", "--help")] {
            for line in text.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
        }
        let error = #expect(throws: UsageError.self) { try parser.parse(["fetch"]) }
        let lines = error?.hint.split(separator: "\n") ?? []
        #expect(!lines.isEmpty && lines.allSatisfy { $0.count <= 80 }, "\(lines)")
    }

    private func shown(_ words: String..., orUsage: Bool) throws -> String {
        do {
            guard case .show(let text) = try parser.parse(words) else { return "" }
            return text
        } catch {
            return error.message
        }
    }
}
