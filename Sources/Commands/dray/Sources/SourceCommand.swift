import API
import Client
import CommandLine
import CoordinatorClient
import Lists
import Model
import Rendering
import Schedule
import Services
import Text

/// `dray source`: lists at URLs that the cluster reads repeatedly.
enum SourceCommand {
    static let command = Command(
        "source", summary: "Read a list at a URL repeatedly, and apply its changes.",
        discussion: """
            A worker reads the list of a source, with a conditional request, and submits it to its \
            catalog if it has changed: new assets are fetched, changed ones replaced, and with \
            --prune those deleted that it no longer names. A list that cannot be read, is empty, was \
            cut or has an error changes nothing, nor does one that drops more assets than \
            --max-drop.

            \(ClusterCall.clusterHelp)
            """,
        subcommands: [
            Command(
                "list", summary: "List the sources.",
                options: [limit, after] + ClusterCall.listOptions, action: list),
            Command(
                "show", summary: "Show the source of a catalog and its last reading.",
                operands: [catalog], options: [CatalogCommand.site] + ClusterCall.options,
                action: { await call($0) { try await $1.source(of: $0, retrySeconds: retry) } }),
            Command(
                "set", summary: "Set the source of a catalog; it is read at once.",
                discussion: """
                    The catalog exists already; `dray prefetch --every` creates one with a source. \
                    Workers send the request, with the headers of their --origin-settings. --format \
                    directory reads the listings of a web server (nginx, Apache httpd, Python) and \
                    the directories below.
                    """,
                operands: [
                    catalog, CommandOperand("URL", help: "The list: http or https."),
                ],
                options: [
                    CommandOption(
                        every.name, .text(placeholder: "TIME"), required: true, help: every.help),
                    ListOptions.format, prune, maxDrop, CatalogCommand.site,
                ] + ClusterCall.options,
                action: { arguments in
                    await call(arguments, { try submission(arguments, url: arguments.operands[1]) })
                    {
                        try await $1.set($2, of: $0, retrySeconds: retry)
                    }
                }),
            Command(
                "read", summary: "Read a source now.", operands: [catalog],
                options: [CatalogCommand.site] + ClusterCall.options,
                action: { await call($0) { try await $1.readSource(of: $0, retrySeconds: retry) } }),
            Command(
                "remove", summary: "Stop reading a source; its catalog stays as it is.",
                operands: [catalog], options: [CatalogCommand.site] + ClusterCall.options,
                action: {
                    await call($0, words: { "Removed: the list of \(of($0)) is read no more.\n" }) {
                        try await $1.removeSource(of: $0, retrySeconds: retry)
                    }
                }),
        ], options: [limit, after] + ClusterCall.listOptions, action: list)

    private static let retry = ClusterCall.retrySeconds

    private static let catalog = CommandOperand(
        "CATALOG", help: "Number or name of the catalog, from `dray status`.")

    static let every = CommandOption(
        "every", .text(placeholder: "TIME"),
        help: "Read the list at the URL again this long after each reading: 15m, 6h, 1d.")
    static let maxDrop = CommandOption(
        "max-drop", .integer(placeholder: "PERCENT", range: 0...100),
        help: "Reject a list that lacks a larger percentage of the catalog's assets. Default: "
            + "\(WireLimits.sourceMaxDropPercent).")
    private static let prune = CommandOption(
        "prune", .flag, help: "Delete the assets that the list no longer names from the edge.")

    private static let limit = CommandOption(
        "limit", .integer(placeholder: "N", range: 1...100_000),
        help: "Maximum number of sources to list. Default: 100.")
    private static let after = CommandOption(
        "after", .text(placeholder: "POSITION"),
        help: "Continue after this position, which the last line of a listing prints.")

    /// Returns the source that `--every` and its companions describe.
    static func submission(_ arguments: Arguments, url: String) throws -> SourceSubmission {
        let text = arguments.text(every.name) ?? ""
        guard let seconds = lengthOfTime(text), WireLimits.sourceSeconds.contains(seconds) else {
            throw UsageError(
                "--\(every.name) is '\(printable(String(text.prefix(100))))'",
                hint: "Write 1m to 365d: 15m, 6h, 1d.")
        }
        var source = SourceSubmission(url: url, everySeconds: seconds)
        source.format = ListOptions.format(arguments)?.rawValue
        source.prunes = arguments.flag(prune.name)
        source.maxDropPercent = arguments.integer(maxDrop.name)
        return source
    }

    private static func of(_ source: SourceStatus) -> String {
        "catalog \(source.catalog) \(printable(source.name))"
    }

    private static func call(
        _ arguments: Arguments, words: @escaping @Sendable (SourceStatus) -> String = text,
        _ body: @escaping @Sendable (CatalogID, CoordinatorClient) async throws -> SourceStatus
    ) async -> ExitCode {
        await call(arguments, {}, words: words) { id, client, _ in try await body(id, client) }
    }

    private static func call<Input: Sendable>(
        _ arguments: Arguments, _ input: () throws -> Input,
        words: @escaping @Sendable (SourceStatus) -> String = text,
        _ body:
            @escaping @Sendable (CatalogID, CoordinatorClient, Input) async throws ->
            SourceStatus
    ) async -> ExitCode {
        await ClusterCall.run(
            arguments, isCheck: true,
            asking: { (try CatalogCommand.reference(arguments), try input()) }
        ) { asked, client in
            let catalog = try await client.number(of: asked.0, retrySeconds: retry)
            let status = try await body(catalog, client, asked.1)
            return try ClusterCall.show(status, arguments) { words(status) }
        }
    }

    @Sendable private static func list(_ arguments: Arguments) async -> ExitCode {
        await ClusterCall.run(arguments) { client in
            let most = arguments.integer("limit") ?? 100
            var all = SourcePage(sources: [], next: arguments.text("after"))
            repeat {
                let page = try await client.sources(
                    after: all.next, limit: min(most - all.sources.count, WireLimits.pageRows),
                    retrySeconds: retry)
                all.sources += page.sources
                all.next = page.next
            } while all.next != nil && all.sources.count < most
            let found = all
            return try ClusterCall.show(
                found, arguments, csv: { ListCSV.sources(found.sources) }, next: found.next,
                as: { table(found) })
        }
    }

    // MARK: Text

    private static func table(_ page: SourcePage) -> String {
        ClusterCall.section(
            "Sources",
            ["Catalog", "Name", "Every", "Next", "Last read", "Result", "Assets", "URL"],
            [.right, .left, .left, .left, .left, .left, .right, .left],
            page.sources.map { source in
                [
                    source.catalog.description, printable(source.name),
                    HumanFormat.duration(seconds: source.everySeconds), next(source),
                    source.read.map { timestamp(ofSeconds: $0) } ?? "never", result(source),
                    source.assets.map { HumanFormat.count($0) } ?? "-", printable(source.url),
                ]
            }) + ClusterCall.more(page.next)
    }

    private static func result(_ source: SourceStatus) -> String {
        source.failure?.code.rawValue ?? source.result?.rawValue ?? "-"
    }

    private static func next(_ source: SourceStatus) -> String {
        if source.isReading { return "reading" }
        if source.isSkipped { return "skipped" }
        let seconds = source.next - source.now
        return seconds <= 0 ? "due" : "in " + HumanFormat.duration(seconds: seconds)
    }

    /// Formats the source in the lines of a catalog.
    static func line(_ source: SourceStatus) -> String {
        "source:   \(printable(source.url)), every "
            + "\(HumanFormat.duration(seconds: source.everySeconds)), next \(next(source)), last "
            + result(source)
    }

    @Sendable static func text(_ source: SourceStatus) -> String {
        var lines = [
            "\(of(source)): \(printable(source.url))",
            "  format:    \(source.format ?? "detected")",
            "  every:     \(HumanFormat.duration(seconds: source.everySeconds))"
                + (source.prunes ? ", prunes" : "")
                + ", drops at most \(source.maxDropPercent) % of the assets",
            "  next:      \(next(source))",
        ]
        if let read = source.read {
            lines.append("  last read: \(timestamp(ofSeconds: read)), \(result(source))")
        }
        if let failure = source.failure {
            let times = HumanFormat.count(source.failures, "failure")
            lines.append("             \(printable(failure.message)) (\(times) in a row)")
        }
        if let applied = source.applied {
            lines.append(
                "  applied:   \(timestamp(ofSeconds: applied)): "
                    + HumanFormat.count(source.assets ?? 0, "asset")
                    + ", \(HumanFormat.count(source.added ?? 0)) added, "
                    + "\(HumanFormat.count(source.dropped ?? 0)) no longer named")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
