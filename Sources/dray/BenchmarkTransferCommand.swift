import Benchmark
import FoundationEssentials
import Model
import Runtime
import Storage
import Transfer

/// `dray benchmark transfer`: the transfer engine alone.
enum BenchmarkTransferCommand {
    static let command = Command(
        "transfer", summary: "Measure the transfer engine alone, without queue and coordinator.",
        discussion: """
            Fetches every object of LIST to DIR as a worker does: received, hashed, written, made \
            durable in batches, renamed. Titles are left out. The time is from the first request to \
            the last object under its final key.

            What lies in DIR already is fetched again. The directory is left as it is.
            """,
        operands: [CommandOperand("LIST", help: "As for prefetch: a list, - or one URL.")],
        options: [
            CommandOption(
                "to", .text(placeholder: "DIR"), required: true, help: "Where the objects go."),
            CommandOption(
                "connections", .integer(placeholder: "N", range: 1...1_000),
                help: "Transfers under way, 1 to 1000. Default: "
                    + "\(CommonOptions.defaultConnections)."),
            CommandOption(
                "loops", .integer(placeholder: "N", range: 1...64),
                help: "Event loops, a thread each. Default: one a core, 4 at most."),
            CommandOption("json", .flag, help: "Print JSON."),
        ], action: run)

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            try LogOutput.configure(
                environment: DrayCommand.environment, defaultLevel: .warning)
            let destination = try Destination(local: arguments.text("to") ?? "")
            let source = try ListSource(arguments.operands[0])
            var objects: [TransferBenchmark.Object] = []
            _ = try await source.read { assets throws(Failure) in
                for asset in assets where asset.kind == .file {
                    objects.append(TransferBenchmark.Object(url: asset.url, key: asset.key))
                }
            }
            guard !objects.isEmpty else {
                throw Failure("input.field", "LIST has no files: titles are left out")
            }
            var options = TransferEngine.Options()
            options.connections =
                arguments.integer("connections") ?? CommonOptions.defaultConnections
            if let loops = arguments.integer("loops") { options.loops = loops }
            let benchmark = try TransferBenchmark(
                objects, to: try DirectoryStorage(try StorageURL(destination.storageURL)),
                options: options)
            let ending = await runServices([[benchmark]], graceSeconds: 5)
            guard ending == .success else { return ending }
            guard let report = benchmark.report else { return .interrupted }
            Console.write(
                arguments.flag("json") ? try BenchmarkCommand.json(report) : report.text)
            return report.failed == 0 ? .success : .someFailed
        } catch {
            return Console.fail(error)
        }
    }
}
