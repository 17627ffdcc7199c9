import Catalog
import CoordinatorClient
import Embedded
import Model
import Runtime
import Transfer

/// `dray prefetch`: gets a list to edge storage.
enum PrefetchCommand {
    static let command = Command(
        "prefetch",
        summary: "Fetch every asset of a list to edge storage, and follow it to the end.",
        discussion: """
            LIST is a file of any form that --format names, gzip or not, - for stdin, or one URL. With \
            --format the URL is that of a list, which is read; an index of sitemaps is followed. \
            DEST is a directory; with DRAY_COORDINATOR set, a directory or file:// URL as the \
            cluster's workers see it. Files lie under DEST as the origin serves them: HOST/PATH.

            Running it again fetches what is missing or was changed, and nothing else.

            \(TimeOptions.discussion)
            """,
        operands: [CommandOperand("LIST", help: "A list, - or one URL.")],
        options: [
            CommandOption(
                "to", .text(placeholder: "DEST"), required: true, help: "Where the files go."),
            CommandOption(
                "name", .text(placeholder: "NAME"),
                help: "The catalog's name. Default: the JSON catalog's own, else LIST's."),
            ListOptions.format, TimeOptions.notBefore, TimeOptions.deadline,
            CommonOptions.state, CommonOptions.workers, CommonOptions.connections,
            CommonOptions.durability,
            CommandOption(
                "report", .text(placeholder: "FILE"),
                help: "Write a JSON report: every asset, file, length and SHA-256."),
            CommandOption(
                "accept-volume", .flag,
                help:
                    "Use the file system that DEST is on now, though it was on another one before."),
            MediaCheck.option,
            CommandOption("quiet", .flag, help: "Show nothing but errors."),
        ] + TrackOptions.all + HeaderOptions.all + TransferOptions.all
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: DrayCommand.environment, defaultLevel: .warning)
            return try await run(arguments)
        } catch {
            return Console.fail(error)
        }
    }

    /// Checks all that can be checked before anything is started or written, then runs.
    private static func run(_ arguments: Arguments) async throws -> ExitCode {
        let remote = try ClusterPlace.named()
        let isListAtURL =
            arguments.text("format") != nil && ListSource.isURL(arguments.operands[0])
        if remote != nil {
            noteEmbeddedOptions(arguments, embeddedOptions)
            noteTransferOptions(arguments)
            try checkHeaders(arguments, isListAtURL: isListAtURL)
        }
        let destinationText = arguments.text("to") ?? ""
        let destination =
            remote == nil
            ? try Destination(local: destinationText) : try Destination(remote: destinationText)
        _ = try CommonOptions.durability(arguments)
        if let path = arguments.text("report") { try ReportWriter.check(path) }
        let notBefore = try TimeOptions.time("not-before", arguments)
        let deadline = try TimeOptions.deadline(arguments)
        if let notBefore, let deadline, deadline <= notBefore {
            throw UsageError(
                "--deadline comes before --not-before", hint: "Let it end after it began.")
        }
        var titles = try TrackOptions.titles(arguments)
        let mediaCheck = try await MediaCheck.prepare(
            arguments, leavesKeys: titles?.leavesKeys ?? false)
        // Checks headers before anything is requested.
        var configuration = try configuration(arguments, headersOf: arguments.operands[0])
        let keyQueries = configuration.origins.keyQueries
        if keyQueries != nil { titles = titles ?? TitleOptions() }
        titles?.keyQueries = keyQueries
        let downloader = ListDownloader(
            transfer(configuration.addressPolicy, configuration.origins))
        let source = try ListSource(
            arguments.operands[0], format: ListOptions.format(arguments), downloader: downloader,
            rules: KeyQueryRules(keyQueries))
        if source.label == nil, !arguments.flag("quiet") {
            ListOptions.offer(arguments.operands[0], downloader)
        }
        let summary = try await source.read(.check) { _ throws(Failure) in }
        if !arguments.flag("quiet") { ListOptions.tell(summary) }
        let name = arguments.text("name") ?? summary.name ?? source.defaultName
        try check(name: name)

        let isQuiet = arguments.flag("quiet")
        let plan = PrefetchSession.Plan(
            source: source, sharedKeys: summary.sharedKeys, assets: summary.counts.assets,
            titleCount: summary.counts.titles,
            sidecars: summary.counts.sidecars, catalogName: name,
            priority: summary.priority ?? 5, notBefore: notBefore, deadline: deadline,
            titles: titles, destination: destination, reportPath: arguments.text("report"),
            mediaCheck: mediaCheck, isQuiet: isQuiet, isEmbedded: remote == nil,
            acceptsVolume: arguments.flag("accept-volume"))
        let display = ProgressDisplay(
            mode: LiveLines.mode(isQuiet: isQuiet, environment: DrayCommand.environment),
            style: TerminalStyle(environment: DrayCommand.environment))
        if let remote {
            let session = PrefetchSession(plan, display: display) { try remote.client() }
            return try await SessionRun.run([[session]], session, display)
        }
        configuration.roots = try destination.roots
        let cluster = try await ClusterVariables.prepare(configuration)
        let session = PrefetchSession(plan, display: display) {
            try CoordinatorClient(endpoints: cluster.coordinatorURL, token: cluster.token)
        }
        return try await SessionRun.run(cluster.stages(around: session), session, display)
    }

    /// A cluster has its own workers and state: the same command line serves on a laptop and there.
    static func noteEmbeddedOptions(
        _ arguments: Arguments, _ options: [String] = allEmbeddedOptions
    ) {
        for option in options where arguments.text(option) != nil {
            Console.note(
                "--\(option) is for the private cluster; ignored, because DRAY_COORDINATOR is set"
            )
        }
    }

    private static func noteTransferOptions(_ arguments: Arguments) {
        for option in TransferOptions.all where arguments.text(option.name) != nil {
            let isSettings = option.name == TransferOptions.originSettings.name
            Console.note(
                "--\(option.name) is for the lists that this command fetches"
                    + (isSettings ? ", and its keyQuery for the catalog" : "")
                    + "; the workers of the cluster have their own")
        }
    }

    private static let embeddedOptions = ["state", "workers", "connections", "durability"]
    private static let allEmbeddedOptions = embeddedOptions + TransferOptions.all.map(\.name)

    /// Workers of a cluster have settings of their own, and get no headers from who submits.
    static func checkHeaders(
        _ arguments: Arguments, isListAtURL: Bool
    ) throws(UsageError) {
        guard HeaderOptions.areGiven(arguments) else { return }
        guard isListAtURL else {
            throw UsageError(
                "--header is not sent by the workers of a cluster, and DRAY_COORDINATOR is set",
                hint:
                    "Start the workers with --origin-settings FILE, which holds headers of origins."
            )
        }
        Console.note(
            "--header is sent for the list alone; the cluster's workers send what their "
                + "--origin-settings hold")
    }

    /// For the lists that this process fetches itself.
    private static func transfer(
        _ policy: AddressPolicy, _ origins: OriginSettingsTable
    ) -> TransferEngine.Options {
        var options = TransferEngine.Options()
        options.loops = 1
        options.connections = 1
        options.addressPolicy = policy
        options.origins = origins
        return options
    }

    private static func check(name: String) throws(UsageError) {
        guard (1...200).contains(name.count), printable(name) == name else {
            throw UsageError(
                "--name is '\(printable(String(name.prefix(200))))'",
                hint: "Use 1 to 200 characters without control characters.")
        }
    }

    /// - Parameter url: whose origin headers are for where `--header-origin` does not say; nothing where it
    ///   is no URL.
    static func configuration(
        _ arguments: Arguments, headersOf url: String? = nil
    ) throws -> EmbeddedCluster.Configuration {
        let environment = DrayCommand.environment
        var configuration = EmbeddedCluster.Configuration(
            statePath: try CommonOptions.coordinator == nil
                ? CommonOptions.statePath(arguments) : "",
            workers: arguments.integer("workers") ?? CommonOptions.defaultWorkers,
            connectionsPerWorker: arguments.integer("connections")
                ?? CommonOptions.defaultConnections,
            durability: try CommonOptions.durability(arguments), address: "127.0.0.1", port: 0,
            token: .ofThisRun,
            interruptsOthers: true, drainSeconds: CommonOptions.drainSeconds,
            environment: environment)
        configuration.addressPolicy = try TransferOptions.addressPolicy(
            arguments, allowsPrivate: true)
        configuration.origins = try TransferOptions.origins(arguments)
        try HeaderOptions.add(
            arguments, of: url.flatMap { ListSource.isURL($0) ? $0 : nil },
            to: &configuration.origins)
        return configuration
    }
}
