import CoordinatorClient
import Model
import Runtime

/// `dray catalog`: checks lists; shows, cancels, retries, reprioritises and reschedules work.
enum CatalogCommand {
    static let command = Command(
        "catalog",
        summary: "Check a list; show, cancel, retry, reprioritise or reschedule catalogs.",
        discussion:
            "\(ClusterCall.place) With --state it asks the private cluster of that directory; `status` "
            + "also finds the default one.",
        subcommands: [
            CatalogCheckCommand.command,
            CatalogStatusCommand.command,
            change(
                .cancel, "Do no more of a catalog, an asset, or what failed with a code.",
                """
                What workers hold they stop at their next heartbeat. What is stored stays; `dray \
                catalog retry` or submitting again goes on from there.
                """),
            change(
                .retry, "Try again what failed or was cancelled.",
                "What is stored already is not fetched again; tries are counted anew."),
            change(
                .reprioritise, "Put a catalog or an asset before or after other work.",
                "An asset with a priority of its own keeps it when its catalog's is changed.",
                options: [
                    CommandOption(
                        "priority", .integer(placeholder: "N", range: 0...9), required: true,
                        help: "0 (last) to 9 (first).")
                ]),
            reschedule,
        ])

    static let site = CommandOption(
        "site", .text(placeholder: "DEST"),
        help: "The catalog's site, where several have one of that name.")

    private static let reschedule = Command(
        "reschedule", summary: "Set when a catalog may begin and when it should have ended.",
        discussion: """
            \(TimeOptions.discussion) `none` takes one away. What workers hold already they finish; \
            submitting the catalog again sets both anew.
            """,
        operands: [
            CommandOperand("CATALOG", help: "Its number or name, as `dray status` lists them.")
        ],
        options: [
            TimeOptions.notBefore, TimeOptions.deadline, site, CommonOptions.state,
            ClusterCall.json,
        ]
    ) { arguments in
        await ClusterCall.run(arguments, isCheck: true) { client in
            var selection = try selection(.reschedule, arguments)
            selection.notBefore = try TimeOptions.time("not-before", arguments, none: 0)
            selection.deadline = try TimeOptions.deadline(arguments, none: 0)
            guard selection.notBefore != nil || selection.deadline != nil else {
                throw UsageError("nothing to set", hint: "Give --not-before, --deadline or both.")
            }
            let answer = try await client.apply(selection, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(answer, arguments) {
                "Rescheduled: \(HumanFormat.count(answer.assets, "asset")) under way.\n"
            }
        }
    }

    private static func change(
        _ action: SelectionAction.Action, _ summary: String, _ discussion: String,
        options: [CommandOption] = []
    ) -> Command {
        Command(
            action.rawValue, summary: summary, discussion: discussion,
            operands: [
                CommandOperand(
                    "CATALOG",
                    help: "Its number or name, as `dray status` lists them; with --code, `all` for "
                        + "every catalog.")
            ],
            options: options + [
                site,
                CommandOption(
                    "asset", .text(placeholder: "NAME"), help: "Only this asset of the catalog."),
                CommandOption(
                    "code", .text(placeholder: "CODE"),
                    help: "Only what failed with this code: origin.http.404."),
                CommonOptions.state, ClusterCall.json,
            ]
        ) { arguments in
            await ClusterCall.run(
                arguments, isCheck: true, asking: { try selection(action, arguments) }
            ) { selection, client in
                let answer = try await client.apply(
                    selection, retrySeconds: ClusterCall.retrySeconds)
                return try ClusterCall.show(answer, arguments) { text(answer, action) }
            }
        }
    }

    static func selection(
        _ action: SelectionAction.Action, _ arguments: Arguments
    ) throws -> SelectionAction {
        let name = arguments.operands[0]
        var selection = SelectionAction(
            action, asset: arguments.text("asset"),
            failureCode: arguments.text("code").map { FailureCode($0) },
            priority: arguments.integer("priority"))
        if name == "all" {
            guard selection.failureCode != nil, selection.asset == nil else {
                throw UsageError(
                    "`all` stands for what failed with one code in every catalog, and "
                        + (selection.failureCode == nil ? "--code is missing" : "takes no --asset"),
                    hint:
                        "Write `dray catalog \(action.rawValue) all --code CODE`, or name one catalog."
                )
            }
        } else {
            selection.catalog = try reference(arguments)
        }
        return selection
    }

    /// The catalog that CATALOG and `--site` name.
    static func reference(_ arguments: Arguments) throws(Failure) -> CatalogReference {
        let name = arguments.operands[0]
        if let number = Int64(name), number > 0 { return CatalogReference(CatalogID(number)) }
        return CatalogReference(
            name: name,
            storageURL: try arguments.text("site").map { text throws(Failure) in
                try site(text).storageURL
            })
    }

    /// On this machine links are followed, as `dray prefetch` does; what cannot be written can still be named.
    private static func site(_ text: String) throws(Failure) -> Destination {
        if CommonOptions.coordinator == nil, let local = try? Destination(local: text) {
            return local
        }
        return try Destination(remote: text)
    }

    private static func text(
        _ answer: SelectionAnswer, _ action: SelectionAction.Action
    ) -> String {
        guard answer.assets > 0 || answer.jobs > 0 else {
            return "Nothing to \(action.rawValue).\n"
        }
        let done =
            switch action {
            case .cancel: "Cancelled"
            case .retry: "Trying again"
            case .reprioritise: "Reprioritised"
            case .reschedule: "Rescheduled"
            case .refresh: "Refreshing"
            }
        return "\(done): \(HumanFormat.count(answer.assets, "asset")), "
            + "\(HumanFormat.count(answer.jobs, "job")).\n"
    }
}
