import CommandLine
import TestSupport
import Testing

/// What real shells complete with the scripts.
@Suite(.timeLimit(.minutes(2))) struct CompletionTests {
    private static let tree = CommandTree(
        root: Command(
            "tool", summary: "Does things: it's [a] test.",
            subcommands: [
                Command(
                    "fetch", summary: "Fetches `a` list's files.",
                    operands: [
                        CommandOperand("LIST", .files, help: "What."),
                        CommandOperand("MODE", .words(["fast", "slow"]), help: "How."),
                    ],
                    options: [
                        CommandOption(
                            "to", short: "t", .directory(placeholder: "DEST"), help: "Where [to]:"),
                        CommandOption(
                            "format", .choice(placeholder: "FORMAT", of: ["json", "jsonl", "csv"]),
                            help: "It's the format."),
                        CommandOption(
                            "state", .choices(placeholder: "STATE,…", of: ["new", "failed"]),
                            help: "Which."),
                        CommandOption("name", .text(placeholder: "NAME"), help: "Its name."),
                        CommandOption("quiet", .flag, help: "Says \\nothing."),
                    ]
                ) { _ in .success },
                Command(
                    "queue", summary: "Shows queues.",
                    subcommands: [
                        Command(
                            "pause", summary: "Pauses.",
                            operands: [CommandOperand("NAME", help: "Its name.")]
                        ) { _ in .success },
                        Command("resume-all", summary: "Resumes.") { _ in .success },
                    ], options: [CommandOption("json", .flag, help: "As JSON.")]
                ) { _ in .success },
                Command(
                    "plan", summary: "Plans.",
                    subcommands: [Command("fit", summary: "Fits.") { _ in .success }],
                    operands: [CommandOperand("FILE", .files, required: false, help: "What.")]
                ) { _ in .success },
                Command(
                    "merge", summary: "Merges.",
                    operands: [CommandOperand("LOG", .files, repeatable: true, help: "What.")]
                ) { _ in .success },
                Command(
                    "man", summary: "Writes a manual.",
                    operands: [CommandOperand("COMMAND", .commands, required: false, help: "Of.")]
                ) { _ in .success },
            ]), version: "1.0")

    private struct Case: CustomTestStringConvertible, Sendable {
        let line: String
        let words: Set<String>
        var testDescription: String { line }

        init(_ line: String, _ words: Set<String>) {
            self.line = line
            self.words = words
        }
    }

    private static let cases = [
        Case("tool ", ["fetch", "queue", "plan", "merge", "man"]),
        Case("tool merge e", ["edge", "extra.json"]),
        Case("tool merge list.txt list.txt ex", ["extra.json"]),
        Case("tool f", ["fetch"]),
        Case("tool --v", ["--version"]),
        Case("tool queue ", ["pause", "resume-all"]),
        Case("tool queue --", ["--json", "--help"]),
        Case("tool queue pause --", ["--help"]),
        Case("tool fetch --f", ["--format"]),
        Case("tool fetch --format ", ["json", "jsonl", "csv"]),
        Case("tool fetch --format j", ["json", "jsonl"]),
        Case("tool fetch --format=c", ["csv"]),
        Case("tool fetch --name f l", ["list one.txt"]),
        Case("tool fetch --state f", ["failed"]),
        Case("tool fetch --state new,f", ["new,failed"]),
        Case("tool fetch --to e", ["edge"]),
        Case("tool fetch -t e", ["edge"]),
        Case("tool fetch e", ["edge", "extra.json"]),
        Case("tool fetch --quiet list.txt ", ["fast", "slow"]),
        Case("tool fetch list.txt s", ["slow"]),
        Case("tool plan f", ["fit"]),
        Case("tool plan e", ["edge", "extra.json"]),
        Case("tool man q", ["queue"]),
    ]

    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory("completion")
        try directory.write("", to: "extra.json")
        try directory.write("", to: "list one.txt")
        try directory.write("", to: "edge/file")
    }

    @Test(.enabled(if: Shell.isInstalled("bash"), "bash is not installed"), arguments: cases)
    private func bashCompletes(_ example: Case) async throws {
        try directory.write(CompletionShell.bash.script(of: Self.tree), to: "tool.bash")
        // The words as readline cuts them: = is a word.
        var words = example.line.replacing("=", with: " = ").split(separator: " ").map(String.init)
        if example.line.hasSuffix(" ") { words.append("") }
        let list = words.map { "'\($0)'" }.joined(separator: " ")
        let found = try await Shell.run(
            "bash",
            "set -u; . ./tool.bash; COMP_WORDS=(\(list)) COMP_CWORD=\(words.count - 1); "
                + "_tool; printf '%s\\n' \"${COMPREPLY[@]}\"", in: directory)
        #expect(Set(found) == example.words)
    }

    @Test(.enabled(if: Shell.isInstalled("zsh"), "zsh is not installed"), arguments: cases)
    private func zshCompletes(_ example: Case) async throws {
        try directory.write(CompletionShell.zsh.script(of: Self.tree), to: "_tool")
        try directory.write(Shell.zshCapture, to: "capture.zsh")
        let found = try await Shell.run(
            "zsh", ". ./capture.zsh \(example.line.quoted)", in: directory)
        #expect(Set(found) == example.words)
    }

    @Test(.enabled(if: Shell.isInstalled("fish"), "fish is not installed"), arguments: cases)
    private func fishCompletes(_ example: Case) async throws {
        try directory.write(CompletionShell.fish.script(of: Self.tree), to: "tool.fish")
        let found = try await Shell.run(
            "fish", "source ./tool.fish; complete -C \(example.line.quoted)", in: directory)
        // A candidate, a tab, its description; directories end with a slash, quoted words may.
        let words = found.map { line -> String in
            var word = String(line.prefix { $0 != "\t" }).replacing("\\ ", with: " ")
            if word.hasSuffix("/") { word.removeLast() }
            return word.hasPrefix("--format=") ? String(word.dropFirst(9)) : word
        }
        #expect(Set(words) == example.words)
    }
}
