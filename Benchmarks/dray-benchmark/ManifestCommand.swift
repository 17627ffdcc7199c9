import Benchmark
import Client
import CommandLine
import Model

/// `dray-benchmark manifest`: reading manifests alone.
enum ManifestCommand {
    static let command = Command(
        "manifest", summary: "Measure the time to read large manifests.",
        discussion: """
            Reads an HLS media playlist of 10,000 segments and two MPDs of 20 MB each, one with \
            a segment timeline and one with a segment list. Sends no request and writes no file. \
            Memory is the peak resident memory, including the manifest, divided by the \
            manifest's length.
            """,
        options: [
            CommandOption(
                "rounds", .integer(placeholder: "N", range: 1...10_000),
                help: "Number of readings of each; times are medians. Default: 20."),
            CommandOption("json", .flag, help: "Print JSON."),
        ]
    ) { arguments in
        do {
            let report = try ManifestBenchmark.run(rounds: arguments.integer("rounds") ?? 20)
            Console.write(
                arguments.flag("json") ? try report.json() : report.text)
            return .success
        } catch {
            return Console.fail(error)
        }
    }
}
