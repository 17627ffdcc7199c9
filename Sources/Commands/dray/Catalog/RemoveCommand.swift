import API
import Client
import CommandLine
import CoordinatorClient
import Embedded
import Model
import Rendering
import Services

/// `dray assets remove` and `dray catalog remove`: delete files from the edge.
enum RemoveCommand {
    static let discussion = """
        What has not ended is cancelled first. Then workers delete the files that no other asset of \
        the site needs: manifests before the segments that they list. `SHA256SUMS` is written again, \
        or deleted with the last file; empty directories are deleted. Only files that Dray has \
        stored are deleted. Submitting a removed asset again fetches it again.

        Follows until the files are gone, and prints how many files and bytes were freed.
        """

    static let assets = Command(
        "remove", summary: "Delete assets from the edge.", discussion: discussion,
        operands: [
            CommandOperand("CATALOG", help: "Number or name of the catalog, from `dray status`.")
        ],
        options: [
            CatalogCommand.site, AssetsCommand.match, AssetsCommand.name, AssetsCommand.states,
            CatalogCommand.code,
        ] + followed
    ) { arguments in
        await run(arguments) { try AssetChangeCommand.selection(.remove, arguments) }
    }

    static let catalog = Command(
        "remove", summary: "Delete all assets of a catalog from the edge.", discussion: discussion,
        operands: [
            CommandOperand("CATALOG", help: "Number or name of the catalog, from `dray status`.")
        ],
        options: [CatalogCommand.site] + followed
    ) { arguments in
        await run(arguments) {
            SelectionAction(.remove, catalog: try CatalogCommand.reference(arguments))
        }
    }

    static let forget = Command(
        "forget", summary: "Delete the records of a catalog and keep its files.",
        discussion: """
            For a catalog whose assets have all ended. Its files stay at the edge, and Dray has no \
            record of them: removing an asset of another catalog may delete files that \
            both have stored. Submitting its list again fetches the files again.
            """,
        operands: [
            CommandOperand("CATALOG", help: "Number or name of the catalog, from `dray status`.")
        ],
        options: [
            CatalogCommand.site,
            CommandOption("yes", .flag, help: "Confirm that the records are deleted."),
        ] + ClusterCall.options
    ) { arguments in
        await ClusterCall.run(
            arguments,
            asking: {
                SelectionAction(.forget, catalog: try CatalogCommand.reference(arguments))
            }
        ) { selection, client in
            guard arguments.flag("yes") else {
                if let catalog = selection.catalog {
                    try await RemovalSession.checkKnown(catalog, client)
                }
                throw UsageError(
                    "forgetting a catalog deletes its records for good",
                    hint: "Add --yes to confirm, or delete the files: `dray catalog remove`.")
            }
            let answer = try await client.apply(selection, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(answer, arguments) {
                forgotten(assets: answer.assets)
            }
        }
    }

    /// - Parameter assets: those that the catalog had; removed ones do not count.
    static func forgotten(assets: Int) -> String {
        assets > 0
            ? "Forgotten: \(HumanFormat.count(assets, "asset")); stored files stay.\n"
            : "Forgotten: the catalog had no assets any more; there are no files to keep.\n"
    }

    private static let followed =
        [
            CommandOption(
                "yes", .flag,
                help: "Do not ask before files are deleted. Required without a terminal."),
            CommonOptions.state, CommonOptions.durability, OnInterrupt.option, ClusterCall.json,
            CommandOption("quiet", .flag, help: "Show errors only."),
        ] + TLSOptions.client

    private static func run(
        _ arguments: Arguments, _ selection: () throws -> SelectionAction
    ) async -> ExitCode {
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            return try await follow(try selection(), arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func follow(
        _ selection: SelectionAction, _ arguments: Arguments
    ) async throws -> ExitCode {
        let remote = try ClusterEndpoint.named()
        if remote != nil {
            PrefetchCommand.noteEmbeddedOptions(
                arguments, [CommonOptions.state.name, CommonOptions.durability.name])
        } else {
            try ClusterCall.checkPrivate(arguments)
        }
        let interrupts = try PrefetchCommand.onInterrupt(arguments, isEmbedded: remote == nil)
        let plan = RemovalSession.Plan(
            selection, printsJSON: arguments.flag("json"), isQuiet: arguments.flag("quiet"),
            isEmbedded: remote == nil, asks: !arguments.flag("yes"))
        let display = ProgressDisplay(
            mode: LiveLines.mode(
                isQuiet: plan.isQuiet || plan.printsJSON,
                environment: ClientSettings.environment),
            style: TerminalStyle(environment: ClientSettings.environment))
        if let remote {
            let session = RemovalSession(plan, display: display) { try remote.client() }
            return try await SessionRun.run([[session]], session, display, interrupts)
        }
        let cluster = try await ClusterVariables.prepare(try configuration(arguments))
        let session = RemovalSession(plan, display: display) {
            try CoordinatorClient(
                endpoints: cluster.coordinatorURL, token: cluster.token,
                trace: CommandTrace.current)
        }
        return try await SessionRun.run(
            cluster.stages + [[session]], session, display, interrupts)
    }

    private static func configuration(
        _ arguments: Arguments
    ) throws -> EmbeddedCluster.Configuration {
        var configuration = EmbeddedCluster.Configuration(
            statePath: try CommonOptions.statePath(arguments),
            workers: CommonOptions.defaultWorkers,
            connectionsPerWorker: CommonOptions.defaultConnections,
            durability: CommonOptions.durability(arguments), address: "127.0.0.1", port: 0,
            token: .ofThisRun, interruptsOthers: true,
            drainSeconds: ClientSettings.drainSeconds, environment: ClientSettings.environment)
        configuration.isAnnounced = true
        return configuration
    }
}
