import API
import CommandLine
import Model

/// `dray assets pause`, `resume`, `cancel`, `retry`, `reprioritise` and `remove`.
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
                    "CATALOG", help: "Number or name of the catalog, from `dray catalog list`.")
            ],
            options: options + [
                CatalogCommand.site, AssetsCommand.name, AssetsCommand.states, CatalogCommand.code,
            ] + ClusterCall.options
        ) { arguments in
            await CatalogCommand.apply(action, arguments) { try selection(action, arguments) }
        }
    }

    static func selection(
        _ action: SelectionAction.Action, _ arguments: Arguments
    ) throws -> SelectionAction {
        try CommonOptions.checkState(arguments, filter: AssetsCommand.stateFilter)
        var selection = SelectionAction(
            action, catalog: try CatalogCommand.reference(arguments),
            failureCode: arguments.text("code").map { FailureCode($0) },
            priority: arguments.integer("priority"))
        selection.name = arguments.text("name")
        selection.states = AssetsCommand.selectedStates(arguments)?.names
        return selection
    }
}
