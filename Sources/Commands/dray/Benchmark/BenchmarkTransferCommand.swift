import Benchmark
import Client
import CommandLine
import FoundationEssentials
import ListSources
import Model
import Services
import Storage
import Transfer

/// `dray benchmark transfer`: measures the transfer engine alone.
enum BenchmarkTransferCommand {
    static let command = Command(
        "transfer", summary: "Measure the transfer engine alone, without a queue or coordinator.",
        discussion: """
            Fetches every file of LIST to DIR as a worker does: receive, hash, write, sync in \
            batches, rename. Titles are skipped. The time runs from the first request to the \
            last file under its final key.

            Files that already exist in DIR are fetched again. The directory is kept.

            --samples writes a JSON object per line: transfers ended and in progress, resident \
            memory, descriptors, threads, CPU time.
            """,
        operands: [CommandOperand("LIST", .files, help: "A list file, - for stdin, or one URL.")],
        options: [
            CommandOption(
                "to", .directory(placeholder: "DIR"), required: true,
                help: "Directory to store the files in."),
            CommandOption(
                "connections", .integer(placeholder: "N", range: 1...1_000),
                help: "Concurrent transfers, 1 to 1000. Default: "
                    + "\(CommonOptions.defaultConnections)."),
            CommandOption(
                "loops", .integer(placeholder: "N", range: 1...64),
                help: "Number of event loops, one thread each. Default: one per core, at most 4."),
            CommandOption(
                "times", .integer(placeholder: "N", range: 1...1_000_000),
                help: "Number of times to fetch all of LIST. Default: 1."),
            CommandOption(
                "seconds", .integer(placeholder: "S", range: 1...604_800),
                help:
                    "Fetch LIST repeatedly for this time, then cancel current transfers."
            ),
            CommandOption(
                "samples", .file(placeholder: "FILE"), help: "File for samples of the process."),
            CommandOption(
                "sample-milliseconds", .integer(placeholder: "N", range: 10...3_600_000),
                help: "Interval of the samples. Default: 10000."),
            CommandOption("json", .flag, help: "Print JSON."),
        ], action: run)

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            let destination = try Destination(local: arguments.text("to") ?? "")
            let source = try ListSource(arguments.operands[0])
            var objects: [TransferBenchmark.Object] = []
            var names: Set<String> = []
            _ = try await source.read(.check) { assets throws(Failure) in
                for asset in assets
                where asset.kind == .file && names.insert(asset.name).inserted {
                    objects.append(TransferBenchmark.Object(url: asset.url, key: asset.key))
                }
            }
            guard !objects.isEmpty else {
                throw Failure(.inputField, "LIST has no files; titles are skipped")
            }
            var options = TransferEngine.Options()
            options.connections =
                arguments.integer("connections") ?? CommonOptions.defaultConnections
            if let loops = arguments.integer("loops") { options.loops = loops }
            let benchmark = try TransferBenchmark(
                objects, to: try DirectoryStorage(try StorageURL(destination.storageURL)),
                options: options, extent: try extent(arguments), sampling: try sampling(arguments))
            let ending = await runServices([[benchmark]], graceSeconds: 5)
            guard ending == .success else { return ending }
            guard let report = benchmark.report else { return .interrupted }
            Console.write(
                arguments.flag("json") ? try report.json() : report.text)
            return report.failed == 0 ? .success : .someFailed
        } catch {
            return Console.fail(error)
        }
    }

    private static func extent(
        _ arguments: Arguments
    ) throws(UsageError) -> TransferBenchmark.Extent {
        guard let seconds = arguments.integer("seconds") else {
            return .times(arguments.integer("times") ?? 1)
        }
        guard arguments.integer("times") == nil else {
            throw UsageError(
                "--times and --seconds cannot be combined", hint: "Use one of them.")
        }
        return .seconds(seconds)
    }

    private static func sampling(
        _ arguments: Arguments
    ) throws -> TransferBenchmark.Sampling? {
        guard let path = arguments.text("samples") else { return nil }
        let lines = try LineFile(path)
        let milliseconds = arguments.integer("sample-milliseconds") ?? 10_000
        return TransferBenchmark.Sampling(everySeconds: Double(milliseconds) / 1_000) { sample in
            lines.append(sample)
        }
    }
}
