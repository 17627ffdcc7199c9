import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Rendering
import Schedule
import Text

/// `dray catalog`: checks lists; lists, shows, cancels, retries, reprioritises and reschedules catalogs.
enum CatalogCommand {
    static let command = Command(
        "catalog",
        summary: "Check a list; list, show, cancel, retry, remove, forget and schedule catalogs.",
        discussion:
            ClusterCall.privateClusterHelp,
        subcommands: [
            CatalogCheckCommand.command,
            CatalogListCommand.command, CatalogStatusCommand.command,
            CatalogStatusCommand.synonym, CatalogCachesCommand.command,
            change(
                .cancel, "Cancel a catalog, an asset, or what failed with a code.",
                cancelled),
            change(.retry, "Retry what failed or was cancelled.", retried),
            change(
                .reprioritise, "Change the priority of a catalog or an asset.",
                "An asset with its own priority keeps it when the catalog's changes.",
                options: [priority]),
            reschedule, RemoveCommand.catalog, RemoveCommand.forget,
        ])

    static let cancelled = """
        Workers stop at their next heartbeat. Stored files stay. `dray assets retry`, `dray catalog \
        retry` or a new submission continues from there.
        """
    static let retried = "Stored files are not fetched again. Attempts are counted from zero."

    static let priority = CommandOption(
        "priority", .integer(placeholder: "N", range: 0...9), required: true,
        help: "0 (last) to 9 (first).")
    static let code = CommandOption(
        "code", .text(placeholder: "CODE"),
        help: "Only assets that failed with this code: origin.http.404.")

    static let site = CommandOption(
        "site", .directory(placeholder: "SITE"),
        help: "Site of the catalog, if several sites have a catalog of that name: name of its "
            + "queue, directory or storage URL. A catalog of another site is rejected.")

    static let allSites = CommandOption(
        "all-sites", .flag, help: "The catalogs of this name at all sites.")

    private static let reschedule = Command(
        "reschedule", summary: "Set a catalog's start time, deadline and refreshes.",
        discussion: """
            \(TimeOptions.discussion) `none` removes the setting. Workers finish the jobs they \
            hold. Submitting the catalog again replaces the start time and the deadline.

            --refresh-every lets the cluster check the origins for changes at this interval, as `dray \
            refresh` does once.
            """,
        operands: [
            CommandOperand("CATALOG", help: "Number or name of the catalog, from `dray status`.")
        ],
        options: [
            TimeOptions.notBefore, TimeOptions.deadline,
            CommandOption(
                "refresh-every", .text(placeholder: "TIME"),
                help: "Check stored files at their origins at this interval: 6h, 1d; "
                    + "`none` for never."),
            site,
        ] + ClusterCall.options
    ) { arguments in
        await ClusterCall.run(arguments, asking: { try rescheduling(arguments) }) { asked, client in
            let answer = try await client.apply(asked, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(answer, arguments) {
                let refreshes =
                    switch asked.refreshSeconds {
                    case nil: ""
                    case 0: "; refreshed no more"
                    case .some(let seconds):
                        "; refreshed every \(HumanFormat.duration(seconds: seconds))"
                    }
                return "Rescheduled: \(HumanFormat.count(answer.assets, "asset")) running"
                    + refreshes + ".\n"
            }
        }
    }

    private static func rescheduling(
        _ arguments: Arguments
    ) throws -> SelectionAction {
        var selection = try selection(.reschedule, arguments)
        selection.notBefore = try TimeOptions.time("not-before", arguments, none: 0)
        selection.deadline = try TimeOptions.futureTime(
            TimeOptions.deadline.name, arguments, none: 0)
        selection.refreshSeconds = try refreshSeconds(arguments)
        guard
            selection.notBefore != nil || selection.deadline != nil
                || selection.refreshSeconds != nil
        else {
            throw UsageError(
                "nothing to set", hint: "Give --not-before, --deadline or --refresh-every.")
        }
        return selection
    }

    private static func refreshSeconds(_ arguments: Arguments) throws(UsageError) -> Double? {
        guard let text = arguments.text("refresh-every") else { return nil }
        if text == "none" { return 0 }
        guard let seconds = lengthOfTime(text), WireLimits.sourceSeconds.contains(seconds) else {
            throw UsageError(
                "--refresh-every is '\(printable(String(text.prefix(100))))'",
                hint: "Write 1m to 365d, such as 6h; or none.")
        }
        return seconds
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
                    help: "Number or name of the catalog, from `dray status`; with --code, "
                        + "`all` for every catalog.")
            ],
            options: options + [
                site, allSites,
                CommandOption(
                    "asset", .text(placeholder: "NAME"), selects: true,
                    help: "Only this asset."),
                code,
            ] + ClusterCall.options
        ) { arguments in
            await apply(action, arguments) { try selection(action, arguments) }
        }
    }

    /// Applies an action to what `selection` reads from the command line, and prints the answer.
    static func apply(
        _ action: SelectionAction.Action, _ arguments: Arguments,
        to selection: () throws -> SelectionAction
    ) async -> ExitCode {
        await ClusterCall.run(arguments, asking: selection) { selection, client in
            let answer =
                arguments.flag(allSites.name)
                ? try await AllSites.apply(
                    selection, client, retrySeconds: ClusterCall.retrySeconds)
                : try await client.apply(selection, retrySeconds: ClusterCall.retrySeconds)
            return try ClusterCall.show(answer, arguments) {
                text(answer, action, of: selection.name)
            }
        }
    }

    /// Reads `--code CODE`; nil without it.
    static func failureCode(_ arguments: Arguments) throws(UsageError) -> FailureCode? {
        guard let text = arguments.text("code") else { return nil }
        let code = FailureCode(text)
        guard code.isKnown else {
            throw UsageError(
                "--code is '\(printable(String(text.prefix(100))))'",
                hint: "Use a code that `dray assets list` shows, such as origin.http.404.")
        }
        return code
    }

    static func selection(
        _ action: SelectionAction.Action, _ arguments: Arguments
    ) throws -> SelectionAction {
        let name = arguments.operands[0]
        var selection = SelectionAction(
            action, asset: arguments.text("asset"),
            failureCode: try failureCode(arguments),
            priority: arguments.integer("priority"))
        if name == "all" {
            guard selection.failureCode != nil, selection.asset == nil else {
                throw UsageError(
                    "`all` selects what failed with one code in every catalog, and "
                        + (selection.failureCode == nil ? "--code is missing" : "takes no --asset"),
                    hint:
                        "Write `dray catalog \(action.rawValue) all --code CODE`, or name one catalog."
                )
            }
            try checkNoSite(arguments)
        } else {
            selection.catalog = try reference(arguments)
        }
        return selection
    }

    /// Rejects options that choose among catalogs of one name where no catalog is named.
    static func checkNoSite(_ arguments: Arguments) throws(UsageError) {
        guard
            let option = [site, allSites].first(where: {
                arguments.origin(of: $0.name) == .commandLine
            })
        else { return }
        throw UsageError(
            "--\(option.name) needs a catalog",
            hint: "Name one, or omit the option: assets of every catalog are selected.")
    }

    /// Returns the catalog of CATALOG and `--site`.
    static func reference(_ arguments: Arguments) throws(Failure) -> CatalogReference {
        let name = arguments.operands[0]
        if arguments.flag(allSites.name), Int64(name) != nil || arguments.text("site") != nil {
            throw Failure(
                .inputField,
                "--all-sites: it was given with a number or with --site; allowed: with a name.")
        }
        var reference = CatalogReference(name: name)
        if let number = Int64(name), number > 0 { reference = CatalogReference(CatalogID(number)) }
        reference.site = try arguments.text(site.name).map(SiteNames.checkedSite)
        return reference
    }

    private static func text(
        _ answer: SelectionAnswer, _ action: SelectionAction.Action, of pattern: String?
    ) -> String {
        guard answer.assets > 0 || answer.jobs > 0 else {
            let matched =
                pattern.map {
                    ": '\(printable($0))' matches no asset, or none that can be changed so"
                } ?? ""
            return "Nothing to \(action.rawValue)\(matched).\n" + rejections(answer)
        }
        let done =
            switch action {
            case .cancel: "Cancelled"
            case .retry: "Retrying"
            case .reprioritise: "Reprioritised"
            case .reschedule: "Rescheduled"
            case .refresh: "Refreshing"
            case .pause: "Paused"
            case .resume: "Resumed"
            case .pin: "Pinned"
            case .unpin: "Unpinned"
            case .remove: "Removing"
            case .forget: "Forgotten"
            }
        let assets = "\(done): \(HumanFormat.count(answer.assets, "asset"))"
        switch action {
        case .pause:
            // Jobs that waited and no longer do are not what stops.
            return assets + "; transfers stop within seconds and keep what they received.\n"
        case .resume, .pin, .unpin: return assets + ".\n" + rejections(answer)
        default:
            return assets + ", \(HumanFormat.count(answer.jobs, "job")).\n" + rejections(answer)
        }
    }

    private static func rejections(_ answer: SelectionAnswer) -> String {
        answer.refused.map {
            "Rejected: \(HumanFormat.count($0.assets, "asset")), whose rights allow no fetch now: "
                + "\(printable($0.reason))\n"
        } ?? ""
    }
}
