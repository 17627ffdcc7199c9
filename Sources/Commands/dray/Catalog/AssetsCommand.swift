import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Text

/// `dray assets`: lists the assets of a catalog, and changes what is done with them.
enum AssetsCommand {
    static let command = Command(
        "assets",
        summary: "List, pause, resume, cancel, retry, reprioritise, pin or remove assets.",
        discussion: "Without a command, lists the assets of CATALOG as `dray assets list` does. "
            + listDiscussion,
        subcommands: subcommands, operands: listOperands, options: listOptions
    ) { arguments in
        let hint = commandHint(arguments.operands[0])
        let code = await listAssets(arguments, commandHint: hint)
        if code == .noCluster, let hint { Console.note(hint) }
        return code
    }

    private static let subcommands = [list] + AssetChangeCommand.commands

    /// Returns what helps if a word in the position of a command is neither one nor a catalog; nil
    /// for text that is no word, which may hold a secret.
    private static func commandHint(_ word: String) -> String? {
        guard word.utf8.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 }) else {
            return nil
        }
        return "'\(word.prefix(100))' was read as the name of a catalog. "
            + (suggestion(for: word, from: subcommands.map(\.name))
                ?? "`dray assets --help` lists the commands.")
    }

    static let stateFilter = "asset-state"

    /// Options that select assets by their names and states.
    static let filters = [match, name, states]

    static let match = CommandOption(
        "match", .text(placeholder: "PATTERN"),
        help: "Only assets with this name: 'season1/*.m3u8'. * matches any characters.")

    static let states = CommandOption(
        stateFilter, .choices(placeholder: "STATE,…", of: AssetStates.allNames),
        sharing: CommonOptions.state.name,
        help: "Only assets in these states: \(AssetStates.allNames.joined(separator: ", ")). "
            + "--state with such words is the same, with --state DIR too.")

    static let name = CommandOption(
        "name", .text(placeholder: "PATTERN"), selects: true,
        help: "The same as --match.")

    /// Returns the value of `--match` or `--name`.
    static func pattern(_ arguments: Arguments) throws(UsageError) -> String? {
        let given = [match, name].compactMap { arguments.text($0.name) }
        guard given.count < 2 else {
            throw UsageError(
                "--match and --name are the same option", hint: "Give one of them.")
        }
        return given.first
    }

    private static let list = Command(
        "list", summary: "List the assets of a catalog: filter, search, sort.",
        discussion: listDiscussion, operands: listOperands, options: listOptions
    ) { await listAssets($0) }

    private static let listDiscussion = """
        \(ClusterCall.privateClusterHelp) In patterns, * matches any characters. The size of an asset is \
        its stored and received bytes or, if there are none, the expected bytes.
        """

    private static let listOperands = [
        CommandOperand("CATALOG", help: "Number or name of the catalog, from `dray status`.")
    ]

    private static let listOptions =
        [
            CatalogCommand.site, states,
            CommandOption(
                "kind", .choice(placeholder: "KIND", of: AssetKind.allCases.map(\.rawValue)),
                help: "Only assets of this kind: "
                    + "\(AssetKind.allCases.map(\.rawValue).joined(separator: ", "))."),
            CommandOption(
                "code", .text(placeholder: "PATTERN"),
                help: "Only assets that failed with this code: origin.http.404, 'origin.*'."),
            match, name,
            CommandOption(
                "search", .text(placeholder: "TEXT"),
                help: "Only assets with this text in their name or URL; case is ignored."),
            CommandOption(
                "min-size", .text(placeholder: "SIZE"), help: "Minimum size: 1.5GiB, 20MB."),
            CommandOption("max-size", .text(placeholder: "SIZE"), help: "Maximum size."),
            CommandOption(
                "sort",
                .choice(placeholder: "BY", of: AssetQuery.Order.allCases.map(\.rawValue)),
                help: "Sort by name (the default), bytes or changed; the last two read the "
                    + "whole catalog."),
            CommandOption("descending", .flag, help: "Reverse the order."),
            CommandOption(
                "limit", .integer(placeholder: "N", range: 1...100_000),
                help: "Maximum number of assets to list. Default: 100."),
            CommandOption(
                "after", .text(placeholder: "POSITION"),
                help: "Continue after this row; the last line of a listing prints it."),
        ] + ClusterCall.listOptions

    /// - Parameter commandHint: added to the hint if there is no such catalog.
    private static func listAssets(
        _ arguments: Arguments, commandHint: String? = nil
    ) async -> ExitCode {
        await ClusterCall.run(arguments, asking: { try query(arguments) }) { query, client in
            var listing = try await listing(query, arguments.integer("limit") ?? 100) {
                do throws(Failure) {
                    return try await client.assets($0, retrySeconds: ClusterCall.retrySeconds)
                } catch {
                    guard let commandHint, error.code == .inputNotFound else { throw error }
                    throw error.with(hint: "\(error.hint)\n\(commandHint)")
                }
            }
            listing.assets = listing.assets.map(\.redacted)
            let found = listing
            return try ClusterCall.show(
                found, arguments, csv: { ListCSV.assets(found.assets) }, next: found.next,
                as: { text(found, of: query.catalog.name) })
        }
    }

    /// Reads up to `limit` assets, from as many pages as needed.
    static func listing(
        _ query: AssetQuery, _ limit: Int,
        page: (AssetQuery) async throws -> AssetListing
    ) async throws -> AssetListing {
        var query = query
        query.limit = min(limit, WireLimits.pageRows)
        var listing = try await page(query)
        while let next = listing.next, listing.assets.count < limit {
            query.catalog = CatalogReference(listing.catalog)
            query.after = next
            query.limit = min(limit - listing.assets.count, WireLimits.pageRows)
            let more = try await page(query)
            listing.assets += more.assets
            listing.next = more.next
        }
        return listing
    }

    // MARK: Query

    private static func query(_ arguments: Arguments) throws -> AssetQuery {
        try CommonOptions.checkState(arguments, filter: stateFilter)
        var query = AssetQuery(try CatalogCommand.reference(arguments))
        query.states = selectedStates(arguments) ?? AssetStates()
        query.kind = arguments.choice("kind", AssetKind.self)
        query.failureCode = arguments.text("code")
        query.name = try pattern(arguments)
        query.search = arguments.text("search")
        query.minimumBytes = try size("min-size", arguments)
        query.maximumBytes = try size("max-size", arguments)
        if let least = query.minimumBytes, let most = query.maximumBytes, least > most {
            throw UsageError(
                "--min-size is greater than --max-size", hint: "Give the smaller one as --min-size."
            )
        }
        if let order = arguments.choice("sort", AssetQuery.Order.self) {
            query.order = order
        }
        query.isDescending = arguments.flag("descending")
        query.after = arguments.text("after")
        return query
    }

    /// The states of `--asset-state`, whose words the parser has checked; nil without the option.
    static func selectedStates(_ arguments: Arguments) -> AssetStates? {
        arguments.text(stateFilter).flatMap {
            AssetStates($0.split(separator: ",").map(String.init))
        }
    }

    private static func size(
        _ option: String, _ arguments: Arguments
    ) throws(UsageError) -> Int64? {
        guard let text = arguments.text(option) else { return nil }
        guard let bytes = ByteCount.parse(text) else {
            throw UsageError(
                "--\(option) is '\(printable(text))'", hint: "Write 500MB, 1.5GiB or 1048576.")
        }
        return bytes
    }

    // MARK: Text

    /// - Parameter name: name of the catalog if the query has one.
    private static func text(_ listing: AssetListing, of name: String?) -> String {
        let hasFailures = listing.assets.contains { $0.failure != nil }
        let rows = listing.assets.map { asset in
            [
                printable(asset.name), asset.kind.rawValue, asset.stateName,
                "\(HumanFormat.count(asset.segmentsDone)) of \(HumanFormat.count(asset.segments))",
                HumanFormat.bytes(asset.bytes == 0 ? asset.expectedBytes ?? 0 : asset.bytes),
                asset.changed.map(TimeText.minute(ofSeconds:)) ?? "–",
            ]
                + (hasFailures ? [asset.failure?.code.rawValue ?? ""] : [])
        }
        let table = ClusterCall.section(
            "Catalog \(listing.catalog)" + (name.map { ", \(printable($0))" } ?? ""),
            ["Name", "Kind", "State", "Segments", "Size", "Changed"]
                + (hasFailures ? ["Failure"] : []),
            [.left, .left, .left, .right, .right, .left] + (hasFailures ? [.left] : []), rows)
        let warnings = listing.assets.reduce(into: ManifestWarnings()) { all, asset in
            if let warnings = asset.warnings { all.add(warnings) }
        }
        let recordings = listing.assets.compactMap { asset in
            asset.recording.map { "\(printable(asset.name)): \(RecordingText.line($0))\n" }
        }
        let leftOut = LeftOutText.lines(listing.assets)
        return table + (recordings.isEmpty ? "" : "\n" + recordings.joined())
            + (leftOut.isEmpty ? "" : "\n" + leftOut)
            + (warnings.isEmpty ? "" : "\n\(WarningText.lines(warnings))\n")
            + ClusterCall.more(listing.next)
    }
}
