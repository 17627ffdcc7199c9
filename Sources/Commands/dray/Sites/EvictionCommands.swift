import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Text

/// `dray site evict` and `dray site popularity`.
enum EvictionCommands {
    private static let words: [(word: String, order: EvictionOrder)] = [
        ("off", .off), ("least-recently-wanted", .leastRecentlyWanted),
        ("least-popular", .leastPopular),
    ]

    static let order = CommandOption(
        "evict", .choice(placeholder: "ORDER", of: words.map(\.word)),
        help: "Which assets to remove when the quota is nearly used or the disk is full: "
            + "least-recently-wanted, those that were submitted or refreshed the longest time ago; "
            + "least-popular, those of `dray site popularity`; off, none, the default.")

    static func order(_ arguments: Arguments) -> EvictionOrder? {
        arguments.text(order.name).flatMap { text in words.first { $0.word == text }?.order }
    }

    static func text(_ order: EvictionOrder) -> String {
        words.first { $0.order == order }?.word ?? order.rawValue
    }

    private static let site = CommandOperand(
        "SITE", help: SiteNames.help)

    // MARK: Evict

    static let evict = Command(
        "evict", summary: "Remove assets of a site to make room.",
        discussion: """
            Removes assets in the order of `dray site set --evict`, by default those first that were \
            submitted or refreshed the longest time ago. Nothing of a catalog that runs, and nothing pinned (`dray assets \
            pin`), is removed. Without --bytes, frees what the site needs now. Workers delete the \
            files; an asset that is submitted again is fetched again. Asks first on a terminal.
            """,
        operands: [site],
        options: [
            CommandOption(
                "bytes", .text(placeholder: "SIZE"), help: "Free that much: 20GB, 1.5TiB."),
            CommandOption(
                "dry-run", .flag, help: "Print which assets would be removed; change nothing."),
            CommandOption(
                "yes", .flag,
                help: "Do not ask before files are deleted. Required without a terminal."),
        ] + ClusterCall.options
    ) { arguments in
        await ClusterCall.run(arguments, workers: 0, asking: { try request(arguments) }) {
            request, client, isPrivate in
            if request.dryRun != true, !arguments.flag("yes") {
                try await confirm(request, client)
            }
            let answer = try await client.evict(request)
            if isPrivate, answer.assets > 0, !answer.isDryRun {
                Console.note(
                    "no worker runs now; the files are deleted by the next `dray prefetch`, or `dray "
                        + "up`, of this private cluster")
            }
            return try ClusterCall.show(answer, arguments) { text(answer) }
        }
    }

    /// Asks on the terminal, unless there is nothing to evict. Throws if the answer is no, or if there
    /// is no terminal.
    private static func confirm(
        _ request: SiteEviction, _ client: CoordinatorClient
    ) async throws {
        var preview = request
        preview.dryRun = true
        let found = try await client.evict(preview)
        guard found.assets > 0 else { return }
        let files =
            "\(HumanFormat.count(found.assets, "asset")), \(HumanFormat.bytes(found.bytes))"
        let unconfirmed = UsageError(
            "evicting \(files), deletes their files from the site",
            hint: "Add --yes to confirm; --dry-run lists them.")
        let question = "dray: delete \(files), from the site? (y or n) "
        guard try await Confirmation.ask(question, else: unconfirmed) else {
            throw UsageError("nothing was evicted", hint: "Answer y, or add --yes.")
        }
    }

    private static func request(_ arguments: Arguments) throws(UsageError) -> SiteEviction {
        var request = SiteEviction(site: SiteNames.site(arguments.operands[0]))
        if arguments.flag("dry-run") { request.dryRun = true }
        guard let text = arguments.text("bytes") else { return request }
        guard let bytes = ByteCount.parse(text), WireLimits.evictedBytes.contains(bytes) else {
            throw UsageError(
                "--bytes is '\(printable(String(text.prefix(40))))'",
                hint: "Write 500GB, 1.5TiB or a number of bytes.")
        }
        request.bytes = bytes
        return request
    }

    static func text(_ answer: SiteEvictionAnswer) -> String {
        let needed = HumanFormat.bytes(answer.neededBytes)
        guard answer.assets > 0 else {
            return answer.neededBytes == 0
                ? "The site has room: nothing to evict.\n"
                : "Nothing can be evicted; \(needed) are needed.\n"
        }
        let rows = answer.first.map { asset in
            [
                printable(asset.catalogName), printable(asset.name),
                HumanFormat.bytes(asset.bytes),
                asset.servedBytes.map { HumanFormat.bytes(Int64(saturating: $0)) } ?? "–",
            ]
        }
        let rest = answer.assets - rows.count
        return TextLayout.table(
            headings: ["Catalog", "Asset", "Size", "Served"],
            alignments: [.left, .left, .right, .right], rows: rows)
            + (rest > 0 ? "and \(HumanFormat.count(rest)) more\n" : "")
            + (answer.isDryRun ? "Would evict: " : "Evicting: ")
            + "\(HumanFormat.count(answer.assets, "asset")), \(HumanFormat.bytes(answer.bytes)); "
            + "\(needed) are needed.\n"
    }

    // MARK: Popularity

    static let popularity = Command(
        "popularity", summary: "Show how often a site's assets are requested; add access logs.",
        discussion: """
            Without --from-access-log, lists stored assets by the bytes served for each byte that \
            they have stored. A request counts half for every week that passes.

            With it, adds the requests of logs of the site's web server: nginx or Apache (common \
            or combined), CloudFront, or JSON with one object a line; gzip is allowed. They are \
            read as streams of any length. Each log counts as often as it is added: use --since \
            for one that continues.
            """,
        operands: [site],
        options: [
            CommandOption(
                "from-access-log", .file(placeholder: "FILE"), repeatable: true,
                help: "An access log, or - for standard input. May be repeated."),
            CommandOption(
                "prefix", .text(placeholder: "PATH"),
                help: "Path at which the web server shows the site: /media/. Default: /."),
            CommandOption(
                "since", .text(placeholder: "TIME"),
                help: "Skip requests before this time: 2026-11-22T18:00+01:00, or "
                    + "how long ago: 7d."),
            CommandOption(
                "least", .flag, help: "List the least popular assets first, as they are evicted."),
            CommandOption(
                "limit", .integer(placeholder: "N", range: 1...WireLimits.pageRows),
                help: "Maximum number of assets to list. Default: 50."),
        ] + ClusterCall.options
    ) { arguments in
        let logs = arguments.texts("from-access-log")
        do throws(UsageError) { try check(arguments) } catch { return Console.fail(error) }
        guard logs.isEmpty else { return await AccessLogImport.run(arguments, logs) }
        return await ClusterCall.run(arguments) { client in
            let found = try await client.popularity(
                of: SiteNames.site(arguments.operands[0]),
                order: arguments.flag("least") ? .least : .most,
                limit: arguments.integer("limit") ?? 50, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(found, arguments) { table(found) }
        }
    }

    /// Rejects options of listing where logs are added, and the reverse.
    private static func check(_ arguments: Arguments) throws(UsageError) {
        let lists = arguments.texts("from-access-log").isEmpty
        guard
            let name = (lists ? ["prefix", "since"] : ["least", "limit"]).first(where: {
                arguments.origin(of: $0) == .commandLine
            })
        else { return }
        throw lists
            ? UsageError(
                "--\(name) needs --from-access-log",
                hint: "Add the log; without one, stored assets are listed.")
            : UsageError(
                "--\(name) cannot be used with --from-access-log",
                hint: "Add the logs first, then list the assets without that option.")
    }

    static func table(_ found: SitePopularity) -> String {
        ClusterCall.section(
            "Popularity", ["Catalog", "Asset", "Size", "Requests", "Served", "Wanted", ""],
            [.left, .left, .right, .right, .right, .left, .left],
            found.assets.map { asset in
                [
                    printable(asset.catalogName), printable(asset.name),
                    HumanFormat.bytes(asset.bytes),
                    HumanFormat.fixed(asset.requests, places: 1),
                    HumanFormat.bytes(Int64(saturating: asset.servedBytes)),
                    TimeText.minute(ofSeconds: asset.wantedAt), asset.isPinned ? "pinned" : "",
                ]
            })
    }
}
