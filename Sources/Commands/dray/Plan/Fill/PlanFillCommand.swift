import Client
import CommandLine
import Model
import Planner
import Rendering
import Services
import Text

/// `dray plan fill`: plans which titles to put at which site.
enum PlanFillCommand {
    static let command = Command(
        "fill", summary: "Plan which titles to put at which site, and predict the hit ratio.",
        discussion: """
            LIST is a list of titles in any format that `dray prefetch` reads. Access logs \
            (--log), weights (--titles) or a Zipf distribution (--zipf) give their popularity. \
            Without LIST and --titles, the titles are those of the logs.

            Titles are ordered by the bytes that are wanted of them for each byte that they \
            store. Those that fit into a site are written to DIR/SITE.ndjson, a list for `dray \
            prefetch`, the first ones first. Predictions from logs are tested: fills from earlier \
            days are replayed with the requests of later ones.

            Afterwards, `dray plan fill --plan DIR --check LOG` compares the prediction with \
            the edge's access log. With LIST, titles that the plan left out have their names.
            """,
        operands: [
            CommandOperand(
                "LIST", .files, required: false, help: "A list file, or - for stdin.")
        ],
        options: inputs + sites + outputs, action: run)

    private static let inputs = [
        ListOptions.format,
        CommandOption(
            "log", .text(placeholder: "[SITE=]FILE"), repeatable: true,
            help: "Access log of a site's web server, or of all sites: combined, CloudFront or "
                + "JSON, also with gzip. Repeatable."),
        CommandOption(
            "prefix", .text(placeholder: "PATH"),
            help: "Path at which the web server shows a site's files. Default: /."),
        CommandOption(
            "origin", .text(placeholder: "URL"),
            help: "The logs are of the origin or a CDN: their paths are below URL. Default: they "
                + "are of edges, whose paths begin with the origin's host."),
        CommandOption(
            "titles", .file(placeholder: "FILE"),
            help: "CSV with the columns url, weight (requests, views) and bytes (size); both may "
                + "be missing."),
        CommandOption(
            "zipf", .text(placeholder: "EXPONENT"),
            help: "Popularity without logs: the k-th title has 1/k^EXPONENT of the first. 0.8, or "
                + "LOW:LIKELY:HIGH."),
        CommandOption(
            "count", .integer(placeholder: "N", range: 1...FillTitles.most),
            help: "With --zipf and without LIST: number of titles."),
        CommandOption(
            "title-size", .text(placeholder: "SIZE"),
            help: "Size of titles whose size is unknown."),
        CommandOption(
            "half-life", .text(placeholder: "TIME"),
            help: "Time in which a request's weight halves. Default: the one that would have "
                + "predicted the logs best."),
        CommandOption(
            "every", .text(placeholder: "TIME"), help: "Time between two fills. Default: 1d."),
    ]

    private static let sites = [
        CommandOption(
            "site", .text(placeholder: "SITE=SIZE"), repeatable: true,
            help: "Name of a site, and its storage: edge-1=8TB. Repeatable."),
        CommandOption(
            "window", .text(placeholder: "TIME"),
            help: "Length of the nightly window: 6h. Default: no limit."),
        CommandOption(
            "bandwidth", .text(placeholder: "[SITE=]RATE"), repeatable: true,
            help: "Bandwidth of a site, or of each site, in that window: 2Gbit/s. Repeatable."),
        CommandOption(
            "order", .choice(placeholder: "NAME", of: FillLimits.Order.allCases.map(\.rawValue)),
            help: "Order of titles: bytes or requests wanted for each byte stored. Default: bytes."
        ),
    ]

    private static let outputs = [
        CommandOption(
            "out", .text(placeholder: "DIR"),
            help: "Write a list for each site, and plan.json, into DIR."),
        CommandOption(
            "plan", .text(placeholder: "DIR"), help: "With --check: DIR of the plan."),
        CommandOption(
            "check", .text(placeholder: "[SITE=]LOG"), repeatable: true,
            help: "Compare a plan with the access log of a site, read with the plan's --prefix and "
                + "--origin unless one of them is set. Repeatable."),
        CommandOption(
            "since", .text(placeholder: "TIME"),
            help: "Ignore requests in logs before this time: 2026-11-22T18:00+01:00, or how "
                + "long ago: 7d."),
        CommandOption("json", .flag, help: "Print JSON."),
    ]

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            if !arguments.texts("check").isEmpty { return try await FillCheck.run(arguments) }
            guard arguments.text("plan") == nil else {
                throw UsageError("--plan needs --check", hint: "Use both, or neither.")
            }
            let settings = try FillSettings(arguments)
            // The files are written at the end, after minutes of reading.
            let directory = try arguments.text("out").map { path throws(Failure) in
                try FillDirectory(path, creates: true)
            }
            let input = try await FillInput.read(arguments, settings)
            let answer = try FillAnswer(input, settings)
            if let directory { try directory.write(answer, input) }
            Console.write(
                arguments.flag("json")
                    ? try PlanText.json(answer) : answer.text(listsIn: directory))
            return .success
        } catch {
            return Console.fail(error)
        }
    }
}
