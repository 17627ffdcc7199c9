import CommandLine
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct ManualPageTests {
    private static let tree = CommandTree(
        root: Command(
            "tool", summary: "Does things.",
            discussion: """
                Reads `~/.tool` and \\other. It's a test: 5 µs – or so…

                  exit  1 'quoted'
                  .TH   no request
                """,
            subcommands: [
                Command(
                    "fetch", summary: "Fetch a list.",
                    operands: [CommandOperand("LIST", help: ".hidden comes first.")],
                    options: [
                        CommandOption(
                            "to", short: "t", .directory(placeholder: "DEST"), required: true,
                            help: "'Where' to: ^C ends."),
                        CommandOption("dry-run", .flag, help: "Only \\fBlook\\fR."),
                    ]
                ) { _ in .success },
                Command(
                    "queue", summary: "Show queues.",
                    subcommands: [Command("pause", summary: "Pause a queue.") { _ in .success }]),
            ]), version: "1.0")

    private func page(_ words: [String] = []) throws -> String {
        try #require(ManualPage(of: Self.tree, at: words, date: "2026-11-22")).roff
    }

    @Test(
        .enabled(if: Shell.isInstalled("groff"), "groff is not installed"),
        arguments: [[], ["fetch"], ["queue"]])
    func groffFormatsItWithoutWarnings(words: [String]) async throws {
        let directory = try TemporaryDirectory("man")
        try directory.write(try page(words), to: "page.1")
        let child = try ChildProcess(
            ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", "page.1"],
            workingDirectory: directory.path)
        #expect(try await child.wait() == .exited(0))
        #expect(child.errors == "")
        guard words.isEmpty else { return }
        for text in [
            "Reads ~/.tool and \\other. It's a test", "exit  1 'quoted'\n",
            ".TH   no request\n", "tool fetch LIST --to DEST [OPTIONS]", "-t, --to DEST",
            "'Where' to: ^C ends.", ".hidden comes first.", "--dry-run", "Only \\fBlook\\fR.",
            "tool queue pause", "--version",
        ] {
            #expect(child.output.contains(text), "\(text)\n\(child.output)")
        }
    }

    @Test(
        .enabled(if: Shell.isInstalled("mandoc"), "mandoc is not installed"),
        arguments: [[], ["fetch"]])
    func mandocFindsNothingToWarnOf(words: [String]) async throws {
        let directory = try TemporaryDirectory("man")
        try directory.write(try page(words), to: "page.1")
        let child = try ChildProcess(
            ["mandoc", "-Tlint", "-Wwarning", "page.1"], workingDirectory: directory.path)
        #expect(try await child.wait() == .exited(0))
        #expect(child.output + child.errors == "")
    }

    @Test func aPageOfACommandHasItsSubcommandsAlone() throws {
        let queue = try page(["queue"])
        #expect(queue.contains("TOOL-QUEUE") && queue.contains("tool queue pause"))
        #expect(!queue.contains("tool fetch"))
        #expect(ManualPage(of: Self.tree, at: ["nothing"], date: "2026-11-22") == nil)
    }
}
