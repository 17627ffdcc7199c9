import Client
import CommandLine
import Foundation
import ListSources
import Lists
import Model
import Rendering
import Services
import Text

/// `dray catalog check`: validates a list and counts its assets, without a cluster.
enum CatalogCheckCommand {
    static let command = Command(
        "check", summary: "Validate a list, and count its assets.",
        discussion: """
            Reads the whole list as `dray prefetch` would, without requests to origins or a \
            cluster. Exits with 2 if the list cannot be used.
            """,
        operands: [CommandOperand("LIST", .files, help: "A list file, - for stdin, or one URL.")],
        options: [
            ListOptions.format,
            CommandOption(
                "errors", .integer(placeholder: "N", range: 1...1_000),
                help: "Report the first N errors, 1 to 1,000. Default: 20."),
            ClusterCall.json,
        ]
    ) { arguments in
        do {
            return try await run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let source = try ListOptions.source(arguments)
        let reading = try await source.read(
            .report(maxFailures: arguments.integer("errors") ?? 20)
        ) { _ throws(Failure) in }
        if arguments.flag("json") {
            Console.write(try json(reading))
        } else {
            show(
                reading, of: source.label ?? redacted(url: arguments.operands[0]),
                isURL: source.label == nil)
        }
        return reading.failureCount == 0 ? .success : .usage
    }

    // MARK: Text

    /// - Parameter label: name of the list, or its single URL.
    private static func show(_ reading: ListSource.Reading, of label: String, isURL: Bool) {
        let counts = reading.counts
        let rows = [
            ("assets", HumanFormat.count(counts.assets)),
            ("titles", HumanFormat.count(counts.titles)),
            ("files", HumanFormat.count(counts.files)),
            ("sidecars", HumanFormat.count(counts.sidecars)),
            ("known bytes", counts.knownBytes > 0 ? HumanFormat.bytes(counts.knownBytes) : "none"),
            ("with digest", HumanFormat.count(counts.withDigest)),
            ("repeats", HumanFormat.count(counts.repeats)),
            ("errors", HumanFormat.count(reading.failureCount)),
        ]
        let form =
            reading.format.map(\.title)
            ?? (isURL ? "one URL" : "unknown format")
        Console.write(
            "\(printable(label)): \(form)\n"
                + rows.map { "  \(TextLayout.padded($0.0, to: 13))\($0.1)\n" }.joined())
        ListOptions.report(reading, of: label)
        for failure in reading.failures {
            writeAll(
                "\(printable(label)): \(printable(failure.message)) (\(failure.code))\n", to: 2)
        }
        let more = reading.failureCount - reading.failures.count
        if more > 0 { Console.note("and \(HumanFormat.count(more, "more error"))") }
    }

    // MARK: JSON

    private struct Answer: Encodable {
        struct Problem: Encodable {
            var code: FailureCode
            /// Line of the list; nil for a failure without a line, such as an unreadable list.
            var line: Int?
            var message: String
        }

        struct Warning: Encodable {
            var line: Int
            var message: String
        }

        var format: String?
        var assets: Int
        var titles: Int
        var files: Int
        var sidecars: Int
        var knownBytes: Int64
        var withDigest: Int
        var repeats: Int
        var warnings: [Warning]
        var warningCount: Int
        var errors: [Problem]
        var errorCount: Int
    }

    private static func json(_ reading: ListSource.Reading) throws -> String {
        let counts = reading.counts
        let answer = Answer(
            format: reading.format?.rawValue, assets: counts.assets, titles: counts.titles,
            files: counts.files, sidecars: counts.sidecars, knownBytes: counts.knownBytes,
            withDigest: counts.withDigest,
            repeats: counts.repeats,
            warnings: reading.notices.map {
                Answer.Warning(line: $0.line, message: printable($0.message))
            },
            warningCount: reading.noticeCount,
            errors: reading.failures.map {
                Answer.Problem(
                    code: $0.code, line: $0.location?.lineOfList, message: printable($0.message))
            },
            errorCount: reading.failureCount)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(answer), as: UTF8.self) + "\n"
    }
}
