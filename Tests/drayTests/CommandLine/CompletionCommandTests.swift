import Foundation
import TestSupport
import Testing

/// The completions and manual pages of the built binary.
@Suite(.timeLimit(.minutes(2))) struct CompletionCommandTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("completion") }

    private func dray(_ words: String...) async throws -> String {
        let process = try DrayProcess.start(words)
        #expect(try await process.wait() == .exited(0))
        return process.output
    }

    private static func isInstalled(_ name: String) -> Bool {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        return directories.contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(name)")
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func aShellTakesTheScript(shell: String) async throws {
        guard Self.isInstalled(shell) else { return print("\(shell) is not installed") }
        try directory.write(try await dray("completion", shell), to: "script")
        let check = try ChildProcess([shell, "-n", "script"], workingDirectory: directory.path)
        #expect(try await check.wait() == .exited(0))
        #expect(check.output + check.errors == "")
    }

    @Test(.enabled(if: isInstalled("fish"), "fish is not installed"))
    func everyLevelIsCompleted() async throws {
        try directory.write(try await dray("completion", "fish"), to: "script")
        for (line, expected) in [
            ("dray pre", ["prefetch"]),
            ("dray catalog re", ["remove", "reprioritise", "reschedule", "retry"]),
            ("dray prefetch l --durability ", ["batch", "file", "none"]),
            ("dray assets list x --asset-state new,com", ["new,completed"]),
            ("dray completion z", ["zsh"]), ("dray man coord", ["coordinator"]),
        ] {
            let shell = try ChildProcess(
                ["fish", "--no-config", "-c", "source script; complete -C '\(line)'"],
                workingDirectory: directory.path)
            try await shell.wait()
            let words = shell.output.split(separator: "\n").map { $0.prefix { $0 != "\t" } }
            #expect(words.map(String.init).sorted() == expected, "\(line): \(shell.errors)")
        }
    }

    @Test(.enabled(if: isInstalled("groff"), "groff is not installed"))
    func theManualHasNoWarnings() async throws {
        try directory.write(try await dray("man"), to: "dray.1")
        let groff = try ChildProcess(
            ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", "dray.1"],
            workingDirectory: directory.path)
        #expect(try await groff.wait() == .exited(0))
        #expect(groff.errors == "")
        #expect(groff.output.contains("dray catalog check LIST [OPTIONS]"))
        guard Self.isInstalled("mandoc") else { return }
        let lint = try ChildProcess(
            ["mandoc", "-Tlint", "-Wwarning", "dray.1"], workingDirectory: directory.path)
        #expect(try await lint.wait() == .exited(0))
        #expect(lint.output + lint.errors == "")
    }

    /// The page of commands is written by hand; the table says what must be on it.
    @Test func thePageOfCommandsNamesEveryCommandAndOption() async throws {
        let root = URL(filePath: #filePath).appending(path: "../../../../docs/commands.md")
        let page = try String(contentsOf: root.standardizedFileURL, encoding: .utf8)
        // A function: a failure would print the whole page.
        func isNamed(_ option: Substring) -> Bool { page.contains(option) }
        let script = try await dray("completion", "bash")
        // Its tables: 'dray catalog check') commands='' options='--format --json'
        for line in script.split(separator: "\n") where line.contains(") commands=") {
            let parts = line.split(separator: "'")
            let command = parts.count > 1 ? String(parts[1]) : ""
            let name = command.split(separator: " ").last ?? ""
            #expect(page.contains(name), "\(command)")
            for option in line.split(whereSeparator: { " '=".contains($0) })
            where option.hasPrefix("--") && option != "--help" && option != "--version" {
                #expect(isNamed(option), "\(command) \(option)")
            }
        }
    }
}
