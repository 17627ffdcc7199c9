import API
import Client
import CommandLine
import CoordinatorClient
import ListSources
import Model
import Planner
import Rendering
import Services
import Text

/// `dray site popularity --from-access-log`: adds the requests of access logs.
enum AccessLogImport {
    struct Answer: Encodable {
        var requests = 0
        var skippedLines = 0
        var unreadableLines = 0
        /// Requested files that no asset of the site has; a file counts once for each part that is
        /// sent.
        var unknownFiles = 0
        /// Requested files that assets of the site have; counted as above.
        var knownFiles = 0
    }

    static func run(_ arguments: Arguments, _ logs: [String]) async -> ExitCode {
        await ClusterCall.run(
            arguments, asking: { try TimeOptions.pastTime("since", arguments) ?? 0 }
        ) { since, client in
            var files = RequestedFiles(
                prefix: arguments.text("prefix") ?? "/", since: since,
                until: SystemWallClock().nowSeconds + 86_400)
            var answer = Answer()
            for path in logs {
                let input = ListInput(try ListFile(path), copies: false)
                while let piece = try input.next() {
                    files.read(piece)
                    if files.isFull { try await send(&files, arguments, &answer, client) }
                }
                files.endLog()
            }
            try await send(&files, arguments, &answer, client)
            (answer.requests, answer.skippedLines) = (files.requests, files.skippedLines)
            answer.unreadableLines = files.unreadableLines
            guard answer.requests + answer.skippedLines > 0 else {
                throw Failure(
                    .inputMalformed,
                    "\(logs.joined(separator: ", ")): no line can be read; use the common or combined "
                        + "format of nginx or Apache, CloudFront's standard logs, or JSON with one "
                        + "object a line.")
            }
            if answer.knownFiles == 0 {
                let prefix = printable(arguments.text("prefix") ?? "/")
                Console.note(
                    "no request is of a file of the site; --prefix is \(prefix): the path at which the "
                        + "web server shows the site")
            }
            let counted = answer
            return try ClusterCall.show(counted, arguments) { text(counted) }
        }
    }

    /// Sends what was summed up, in parts.
    private static func send(
        _ files: inout RequestedFiles, _ arguments: Arguments, _ answer: inout Answer,
        _ client: CoordinatorClient
    ) async throws {
        guard let (time, sums) = files.take() else { return }
        for start in stride(from: 0, to: sums.count, by: WireLimits.requestedFiles) {
            let part = sums[start..<min(start + WireLimits.requestedFiles, sums.count)]
            let noted = try await client.note(
                SiteRequests(
                    site: SiteNames.site(arguments.operands[0]), time: time,
                    files: part.map {
                        SiteRequests.File(
                            key: $0.key, requests: min($0.requests, WireLimits.requestsOfFile),
                            bytes: min($0.bytes, WireLimits.requestsOfFile))
                    }))
            answer.unknownFiles += noted.unknownFiles
            answer.knownFiles += part.count - noted.unknownFiles
        }
        Console.note("\(HumanFormat.count(files.requests)) requests read")
    }

    private static func text(_ answer: Answer) -> String {
        "Read: \(HumanFormat.count(answer.requests)) requests, of "
            + "\(HumanFormat.count(answer.knownFiles, "file")) of the site. Skipped: "
            + "\(HumanFormat.count(answer.skippedLines)) lines that are not an answered GET of the site, "
            + "\(HumanFormat.count(answer.unreadableLines)) of an unknown format. "
            + "\(HumanFormat.count(answer.unknownFiles)) files are of no asset.\n"
    }
}
