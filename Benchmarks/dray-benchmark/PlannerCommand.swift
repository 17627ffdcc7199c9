import Benchmark
import Client
import CommandLine
import Services

/// `dray-benchmark planner`: the planner's simulation alone.
enum PlannerCommand {
    static let command = Command(
        "planner", summary: "Measure the planner's simulation against theory.",
        discussion: """
            Simulates queues with exactly known waits, queues with approximations only, and a \
            pool of 16 workers with daily load, failures and a backlog; one after another, on \
            one core.
            """,
        options: [
            CommandOption(
                "jobs", .integer(placeholder: "N", range: 1_000...1_000_000_000),
                help: "Jobs of each simulation. Default: 10,000,000."),
            CommandOption(
                "seed", .integer(placeholder: "N", range: 0...Int.max),
                help: "Random seed. Default: 1."),
            CommandOption("json", .flag, help: "Print JSON."),
        ]
    ) { arguments in
        do {
            let report = ProcessSignals.withDefaultAction {
                PlannerBenchmark.run(
                    jobs: arguments.integer("jobs") ?? 10_000_000,
                    seed: UInt64(arguments.integer("seed") ?? 1))
            }
            Console.write(
                arguments.flag("json") ? try report.json() : report.text)
            return .success
        } catch {
            return Console.fail(error)
        }
    }
}
