import Client
import CommandLine
import LoadReport
import Model
import Statistics
import Text

/// `dray histogram`: reads histogram logs of any tool and merges them.
enum HistogramCommand {
    private static let maxBytes = 64 << 20

    static let command = Command(
        "histogram", summary: "Merge HdrHistogram logs and print their percentiles.",
        discussion: """
            Reads logs of V2 compressed histograms in microseconds, as `dray loadtest --hdr-log` \
            and HdrHistogram libraries write them. Histograms of one tag, in all logs, are merged \
            without loss. Exits with 2 if a log cannot be read.
            """,
        operands: [
            CommandOperand(
                "LOG", .files, repeatable: true,
                help: "A histogram log, or - for stdin. May be repeated.")
        ],
        options: [ClusterCall.json]
    ) { arguments in
        do {
            return try run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        var report = HistogramReport()
        for path in arguments.operands {
            let (bytes, _) = try SmallFile.read(path, maximumBytes: maxBytes)
            do throws(HistogramError) {
                try report.add(String(decoding: bytes, as: UTF8.self))
            } catch {
                throw Failure(
                    .inputMalformed,
                    "\(printable(path == "-" ? "stdin" : path)): \(printable(error.detail)); "
                        + "use a histogram log, as --hdr-log writes it")
            }
        }
        Console.write(arguments.flag("json") ? try report.json() : report.text)
        return .success
    }
}
