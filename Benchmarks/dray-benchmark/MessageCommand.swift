import Benchmark
import Client
import CommandLine
import Model

/// `dray-benchmark messages`: the API's frequent messages alone.
enum MessageCommand {
    static let command = Command(
        "messages", summary: "Measure the time to encode and decode messages of the API.",
        discussion: """
            Encodes and decodes a grant of jobs and the report of their results, as rows and as \
            JSON, on one thread. Sends nothing.
            """,
        options: [
            CommandOption(
                "rounds", .integer(placeholder: "N", range: 1...1_000_000),
                help: "Number of times for each; times are medians. Default: 2000."),
            CommandOption(
                "jobs", .integer(placeholder: "N", range: 1...1_000),
                help: "Number of jobs in a message. Default: 100."),
            CommandOption("json", .flag, help: "Print JSON."),
        ]
    ) { arguments in
        do {
            let report = try MessageBenchmark.run(
                rounds: arguments.integer("rounds") ?? 2_000,
                jobs: arguments.integer("jobs") ?? 100)
            Console.write(arguments.flag("json") ? try report.json() : report.text)
            return .success
        } catch {
            return Console.fail(Failure(.workerInternal, "\(error)"))
        }
    }
}
