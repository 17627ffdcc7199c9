import Client
import CommandLine
import Model

/// The measurements for developers of Dray.
enum BenchmarkTool {
    private static let root = Command(
        "dray-benchmark", summary: "Measures parts of Dray on this machine.",
        subcommands: [ManifestCommand.command, MessageCommand.command, PlannerCommand.command])

    static func run(_ words: [String]) async -> ExitCode {
        Console.ending(await ending(of: words))
    }

    private static func ending(of words: [String]) async -> ExitCode {
        do {
            switch try CommandParser(root: root, version: drayVersion).parse(words) {
            case .show(let text):
                Console.write(text)
                return .success
            case .run(let action, let arguments):
                return await action(arguments)
            }
        } catch {
            return Console.fail(error)
        }
    }
}
