import CoordinatorClient
import Embedded
import Model
import Runtime

/// `dray refresh`: asks for everything of a catalog anew.
enum RefreshCommand {
    static let command = Command(
        "refresh",
        summary: "Ask origins what has changed of a catalog, and fetch that.",
        discussion: """
            Every completed asset is asked for with conditional requests: what its origin calls \
            unchanged costs no body. What has changed is laid beside the old files, and takes their \
            place when all of the asset is there; where that fails, the old files stay. Titles have \
            their manifests read anew. Files that a manifest no longer names stay where they are.

            CATALOG is one that `dray prefetch` has fetched before: in its private cluster, or with \
            DRAY_COORDINATOR set in that one. What failed or is missing is not asked for: run `dray \
            prefetch` again for that.
            """,
        operands: [
            CommandOperand("CATALOG", help: "Its number or name, as `dray status` lists them.")
        ],
        options: [
            CommandOption(
                "site", .text(placeholder: "DEST"),
                help: "The catalog's site, where several have one of that name."),
            CommonOptions.state, CommonOptions.workers, CommonOptions.connections,
            CommonOptions.durability,
            CommandOption(
                "report", .text(placeholder: "FILE"),
                help: "Write a JSON report: every asset, file, length and SHA-256."),
            MediaCheck.option, ClusterCall.json,
            CommandOption("quiet", .flag, help: "Show nothing but errors."),
        ] + HeaderOptions.all + TransferOptions.all
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: DrayCommand.environment, defaultLevel: .warning)
            return try await run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let remote = try ClusterPlace.named()
        if remote != nil {
            PrefetchCommand.noteEmbeddedOptions(arguments)
            try PrefetchCommand.checkHeaders(arguments, isListAtURL: false)
        }
        if remote == nil { try ClusterCall.checkPrivate(arguments) }
        _ = try CommonOptions.durability(arguments)
        if let path = arguments.text("report") { try ReportWriter.check(path) }
        let isQuiet = arguments.flag("quiet")
        let plan = RefreshSession.Plan(
            catalog: try catalog(arguments, isEmbedded: remote == nil),
            reportPath: arguments.text("report"),
            mediaCheck: try await MediaCheck.prepare(arguments), isQuiet: isQuiet,
            printsJSON: arguments.flag("json"), isEmbedded: remote == nil)
        let display = ProgressDisplay(
            mode: LiveLines.mode(
                isQuiet: isQuiet || plan.printsJSON, environment: DrayCommand.environment),
            style: TerminalStyle(environment: DrayCommand.environment))
        if let remote {
            let session = RefreshSession(plan, display: display) { try remote.client() }
            return try await SessionRun.run([[session]], session, display)
        }
        let cluster = try await ClusterVariables.prepare(
            try PrefetchCommand.configuration(arguments))
        let session = RefreshSession(plan, display: display) {
            try CoordinatorClient(endpoints: cluster.coordinatorURL, token: cluster.token)
        }
        // Drained before the workers, who write the lists of digests that are owed when it is cancelled.
        return try await SessionRun.run(cluster.stages + [[session]], session, display)
    }

    private static func catalog(
        _ arguments: Arguments, isEmbedded: Bool
    ) throws -> CatalogReference {
        let name = arguments.operands[0]
        if let number = Int64(name), number > 0 { return CatalogReference(CatalogID(number)) }
        let site = try arguments.text("site").map { text throws(Failure) in
            try isEmbedded ? Destination(local: text) : Destination(remote: text)
        }
        return CatalogReference(name: name, storageURL: site?.storageURL)
    }
}
