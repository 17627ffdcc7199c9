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
            and HdrHistogram libraries write them. Histograms of one tag are merged without \
            loss: `cat one.hlog two.hlog | dray histogram -` merges two tests. Exits with 2 if a \
            log cannot be read.
            """,
        operands: [CommandOperand("LOG", .files, help: "A histogram log, or - for stdin.")],
        options: [ClusterCall.json]
    ) { arguments in
        do {
            return try run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(_ arguments: Arguments) throws -> ExitCode {
        let path = arguments.operands[0]
        let (bytes, _) = try SmallFile.read(path, maximumBytes: maxBytes)
        let report: HistogramReport
        do throws(HistogramError) {
            report = try HistogramReport(String(decoding: bytes, as: UTF8.self))
        } catch {
            throw Failure(
                .inputMalformed,
                "\(printable(path == "-" ? "stdin" : path)): \(printable(error.detail)); "
                    + "use a histogram log, as --hdr-log writes it")
        }
        Console.write(arguments.flag("json") ? try report.json() : report.text)
        return .success
    }
}
