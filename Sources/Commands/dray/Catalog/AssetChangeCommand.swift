import API
import CommandLine
import Model

/// `dray assets pause`, `resume`, `cancel`, `retry`, `reprioritise`, `pin` and `remove`.
enum AssetChangeCommand {
    static let commands = [
        change(
            .pause, "Pause assets that have not ended.",
            """
            No more of their jobs start. Workers stop at their next heartbeat, and keep what they \
            have received. The catalog runs until its paused assets are resumed or cancelled.
            """),
        change(
            .resume, "Continue paused and interrupted assets.",
            """
            Downloads continue where they stopped. An interrupted catalog continues as a whole, \
            except for assets that stay paused.
            """),
        change(.cancel, "Cancel assets that have not ended.", CatalogCommand.cancelled),
        change(.retry, "Retry assets that failed or were cancelled.", CatalogCommand.retried),
        change(
            .reprioritise, "Change the priority of assets.",
            "An asset with its own priority keeps it when the catalog's changes.",
            options: [CatalogCommand.priority]),
        change(
            .pin, "Exempt assets from eviction.",
            "These assets stay when a site makes room for others. They can still be removed."),
        change(.unpin, "Let assets be evicted again.", "See `dray site set --evict`."),
        RemoveCommand.assets,
    ]

    private static func change(
        _ action: SelectionAction.Action, _ summary: String, _ discussion: String,
        options: [CommandOption] = []
    ) -> Command {
        Command(
            action.rawValue, summary: summary, discussion: discussion,
            operands: [
                CommandOperand(
                    "CATALOG", required: false,
                    help: "Number or name of the catalog, from `dray catalog list`. Optional "
                        + "with --asset-state or --code, which then select assets of every catalog."
                )
            ],
            options: options + [CatalogCommand.site, CatalogCommand.allSites]
                + AssetsCommand.filters + [CatalogCommand.code] + ClusterCall.options
        ) { arguments in
            await CatalogCommand.apply(action, arguments) { try selection(action, arguments) }
        }
    }

    static func selection(
        _ action: SelectionAction.Action, _ arguments: Arguments
    ) throws -> SelectionAction {
        try CommonOptions.checkState(arguments, filter: AssetsCommand.stateFilter)
        if arguments.operands.isEmpty { try CatalogCommand.checkNoSite(arguments) }
        var selection = SelectionAction(
            action,
            catalog: arguments.operands.isEmpty ? nil : try CatalogCommand.reference(arguments),
            failureCode: try CatalogCommand.failureCode(arguments),
            priority: arguments.integer("priority"))
        selection.name = try AssetsCommand.pattern(arguments)
        selection.states = AssetsCommand.selectedStates(arguments)?.names
        guard selection.catalog != nil || selection.states != nil || selection.failureCode != nil
        else {
            throw UsageError(
                "no catalog is named",
                hint: "Name one, or select assets of every catalog by --state or --code.")
        }
        return selection
    }
}
