import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Services
import Text

/// `dray watch`: prints changes of states as they happen.
enum WatchCommand {
    static let command = Command(
        "watch", summary: "Follow the events of a cluster, or of one catalog to its end.",
        discussion: """
            Prints each change of the state of a catalog, an asset, a worker, an origin or a site, \
            from now on, or from --since or --after on. With CATALOG, only its events; ends when \
            the catalog has ended, with the exit code of `dray prefetch`, unless --follow is \
            given. A lost connection is opened again, and no event is missed. \
            Events are kept for seven days. \(ClusterCall.clusterHelp)

            TIME is a date and time with a time zone, 2026-11-22T18:00+01:00 or \
            2026-11-22T17:00Z, or how long ago: 90m, 6h, 2d.
            """,
        operands: [
            CommandOperand(
                "CATALOG", required: false,
                help: "Number or name of the catalog, from `dray catalog list`.")
        ],
        options: [
            CommandOption(
                "kind", .text(placeholder: "KIND"), repeatable: true,
                help: "Only this kind, such as asset.failed, or all of a subject: "
                    + "\(EventKind.subjects.joined(separator: ", "))."),
            CommandOption(
                "since", .text(placeholder: "TIME"),
                help: "Begin with the events since this time."),
            CommandOption(
                "after", .text(placeholder: "ID"),
                help: "Begin after the event with this id, which --json prints."),
            CommandOption(
                "follow", .flag, help: "Continue after the end of the catalog."),
            CommandOption("json", .flag, help: "Print one JSON object a line."),
            CatalogCommand.site, CommonOptions.state,
        ] + TLSOptions.client
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            try CommonOptions.checkState(arguments)
            let plan = try plan(arguments)
            return try await run(plan, try await cluster(arguments))
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(
        _ plan: WatchSession.Plan, _ cluster: ClusterEndpoint
    ) async throws -> ExitCode {
        let session = WatchSession(plan) { try cluster.client() }
        let group = ServiceGroup(
            stages: [[session]], graceSeconds: 2, signals: try ProcessSignals.stream())
        let ending = try await group.run()
        if let code = session.exitCode { return code }
        if case .finished = ending { return .success }
        return .interrupted
    }

    /// Returns the cluster at DRAY_COORDINATOR, the one of the state directory, or the default.
    private static func cluster(_ arguments: Arguments) async throws -> ClusterEndpoint {
        if let named = try ClusterEndpoint.named() {
            PrefetchCommand.noteEmbeddedOptions(arguments, [CommonOptions.state.name])
            return named
        }
        // Without a home directory there is no default state.
        if let state = try? CommonOptions.statePath(arguments) {
            if let running = try ClusterEndpoint.running(in: state) { return running }
            if arguments.text(CommonOptions.state.name) != nil {
                throw ClusterCall.noneRuns(in: state)
            }
        }
        let standard = try ClusterEndpoint.standard()
        let client = try standard.client()
        defer { client.shutdown() }
        do throws(Failure) {
            try await client.readiness(retrySeconds: ClusterCall.retrySeconds)
        } catch  where error.code == .clusterCoordinatorUnreachable {
            throw ClusterCall.noCluster(
                error.code,
                else: "; the private one of `dray prefetch` has events while that runs")
        }
        return standard
    }

    static func plan(
        _ arguments: Arguments, clock: any WallClock = SystemWallClock()
    ) throws -> WatchSession.Plan {
        var plan = WatchSession.Plan()
        if !arguments.operands.isEmpty {
            plan.query.catalog = try CatalogCommand.reference(arguments)
        } else if arguments.origin(of: CatalogCommand.site.name) == .commandLine {
            throw UsageError(
                "--site needs a catalog", hint: "Name one, or omit it: all events are followed.")
        } else if arguments.flag("follow") {
            throw UsageError(
                "--follow without a catalog", hint: "Omit it: all events are followed anyway.")
        }
        plan.query.kinds = try arguments.texts("kind").map { name throws(UsageError) in
            guard !EventKind.named(name).isEmpty else {
                throw UsageError(
                    "--kind is '\(printable(String(name.prefix(100))))'",
                    hint: "Use \(EventKind.allowedNames(for: name)).")
            }
            return name
        }
        plan.after = try arguments.text("after").map { text throws(UsageError) in
            guard (try? EventCursor(text, field: "--after")) != nil else {
                throw UsageError(
                    "--after is '\(printable(String(text.prefix(100))))'",
                    hint: "Use the id of an event, which --json prints.")
            }
            return text
        }
        plan.query.since = try TimeOptions.pastTime("since", arguments, clock: clock)
        guard plan.after == nil || plan.query.since == nil else {
            throw UsageError(
                "--since and --after cannot be combined", hint: "Use one of them.")
        }
        plan.isEndless = arguments.flag("follow")
        plan.printsJSON = arguments.flag("json")
        return plan
    }
}
