import API
import Client
import CommandLine
import CoordinatorClient
import Embedded
import Model
import Rendering
import Services

/// `dray refresh`: checks all files of a catalog for changes.
enum RefreshCommand {
    static let command = Command(
        "refresh",
        summary: "Check a catalog's origins for changes, and fetch what has changed.",
        discussion: """
            Sends a conditional request for each file of each completed asset. An unchanged file \
            costs no body. New files are stored beside the old ones and published together when \
            the asset is whole; if that fails, the old files stay. The manifests of titles are \
            read again. Files that a manifest no longer lists are deleted.

            CATALOG must have been fetched by `dray prefetch`, in its private cluster or in the \
            cluster at DRAY_COORDINATOR. Failed and missing files are skipped: run `dray \
            prefetch` again for those.
            """,
        operands: [
            CommandOperand("CATALOG", help: "Number or name of the catalog, from `dray status`.")
        ],
        options: [
            CatalogCommand.site, CommonOptions.state, CommonOptions.workers,
            CommonOptions.connections,
            CommonOptions.durability,
            CommandOption(
                "report", .file(placeholder: "FILE"),
                help: "Write a JSON report with each asset, file, length and SHA-256."),
            MediaCheck.option, OnInterrupt.option, ClusterCall.json,
            CommandOption("quiet", .flag, help: "Show errors only."),
        ] + HeaderOptions.all + TransferOptions.all + TLSOptions.client
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            return try await run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let remote = try ClusterEndpoint.named()
        if remote != nil {
            PrefetchCommand.noteEmbeddedOptions(arguments)
            try PrefetchCommand.checkHeaders(arguments, isListAtURL: false)
        }
        if remote == nil { try ClusterCall.checkPrivate(arguments) }
        if let path = arguments.text("report") { try ReportWriter.check(path) }
        let interrupts = try PrefetchCommand.onInterrupt(arguments, isEmbedded: remote == nil)
        let isQuiet = arguments.flag("quiet")
        let plan = RefreshSession.Plan(
            catalog: try CatalogCommand.reference(arguments),
            reportPath: arguments.text("report"),
            mediaCheck: try await MediaCheck.prepare(arguments), isQuiet: isQuiet,
            printsJSON: arguments.flag("json"), isEmbedded: remote == nil)
        let display = ProgressDisplay(
            mode: LiveLines.mode(
                isQuiet: isQuiet || plan.printsJSON, environment: ClientSettings.environment),
            style: TerminalStyle(environment: ClientSettings.environment))
        if let remote {
            let session = RefreshSession(plan, display: display) { try remote.client() }
            return try await SessionRun.run([[session]], session, display, interrupts)
        }
        let cluster = try await ClusterVariables.prepare(
            try PrefetchCommand.configuration(arguments))
        let session = RefreshSession(plan, display: display) {
            try CoordinatorClient(
                endpoints: cluster.coordinatorURL, token: cluster.token,
                trace: CommandTrace.current)
        }
        // Drained before the workers, which write due checksum files after a cancellation.
        return try await SessionRun.run(
            cluster.stages + [[session]], session, display, interrupts)
    }
}
