import API
import Client
import CommandLine
import CoordinatorClient
import Embedded
import Lists
import Model
import Rendering
import Services
import Text
import Transfer

/// `dray prefetch`: fetches a list to edge storage.
enum PrefetchCommand {
    static let command = Command(
        "prefetch",
        summary:
            "Fetch a list of files and titles to edge storage, and show progress until the end.",
        discussion: """
            LIST is a file in any format of --format (gzip allowed), - for stdin, or one URL. \
            Without --format, a URL is one asset; with it, the URL of a list. Sitemap indexes \
            are followed.

            DEST is a directory, or a bucket: s3://BUCKET/PREFIX?endpoint=URL. With \
            DRAY_COORDINATOR set, it is as the cluster's workers see it. Files are stored under \
            DEST as HOST/PATH.

            Run the command again to verify the files and fetch only what is missing or damaged.

            \(TimeOptions.discussion)
            """,
        operands: [CommandOperand("LIST", .files, help: "A list file, - for stdin, or one URL.")],
        options: [
            CommandOption(
                "to", .directory(placeholder: "DEST"), required: true,
                help: "Directory, file:// or s3:// URL to store the files in."),
            CommandOption(
                "name", .text(placeholder: "NAME"),
                help: "Name of the catalog. Default: from the JSON list, else from LIST's file "
                    + "name or URL."),
            ListOptions.format, TimeOptions.notBefore, TimeOptions.deadline,
            TimeOptions.expires, TimeOptions.keepFor,
            CommonOptions.state, CommonOptions.workers, CommonOptions.connections,
            CommonOptions.durability,
            CommandOption(
                "report", .file(placeholder: "FILE"),
                help: "Write a JSON report with each asset, file, length and SHA-256."),
            CommandOption(
                "accept-volume", .flag,
                help:
                    "Accept the file system that DEST is on now, even if it was on "
                    + "another one before."),
            MediaCheck.option,
            CommandOption(
                "detach", .flag,
                help: "End once the cluster has the whole list, with exit code 0, and print how to "
                    + "follow the catalog. Needs DRAY_COORDINATOR."),
            CommandOption(
                "prune", .flag,
                help: "Then delete the assets that this list no longer names from the edge, as "
                    + "`dray assets remove` does."),
            CommandOption(
                "dry-run", .flag,
                help: "Print which assets the list adds to the catalog and which it no longer "
                    + "names; change nothing."),
            OnInterrupt.option,
            CommandOption("quiet", .flag, help: "Show errors only."),
        ] + TrackOptions.all + HeaderOptions.all + TransferOptions.all + TLSOptions.client
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            return try await run(
                arguments, list: arguments.operands[0], to: arguments.text("to") ?? "")
        } catch {
            return Console.fail(error)
        }
    }

    /// Checks everything possible before starting or writing anything, then runs.
    ///
    /// - Parameter mirror: directory of a mirror that another tool made; nil for none.
    static func run(
        _ arguments: Arguments, list operand: String, to destinationText: String,
        adopting mirror: String? = nil
    ) async throws -> ExitCode {
        let remote = try ClusterPlace.named()
        let isListAtURL =
            arguments.text("format") != nil && ListSource.isURL(operand)
        if remote != nil {
            noteEmbeddedOptions(arguments, embeddedOptions)
            noteTransferOptions(arguments)
            try checkHeaders(arguments, isListAtURL: isListAtURL)
        }
        try checkDetach(arguments, isEmbedded: remote == nil)
        let interrupts = try onInterrupt(arguments, isEmbedded: remote == nil)
        let destination =
            remote == nil
            ? try Destination(local: destinationText) : try Destination(remote: destinationText)
        if let path = arguments.text("report") { try ReportWriter.check(path) }
        let notBefore = try TimeOptions.time("not-before", arguments)
        let deadline = try TimeOptions.futureTime(TimeOptions.deadline.name, arguments)
        if let notBefore, let deadline, deadline <= notBefore {
            throw UsageError(
                "--deadline comes before --not-before", hint: "Use a deadline after --not-before.")
        }
        let expires = try TimeOptions.futureTime(TimeOptions.expires.name, arguments)
        if let notBefore, let expires, expires <= notBefore {
            throw UsageError(
                "--expires comes before --not-before", hint: "Use a time after --not-before.")
        }
        let keepSeconds = try TimeOptions.keepSeconds(arguments)
        var titles = try TrackOptions.titles(arguments)
        let mediaCheck = try await MediaCheck.prepare(
            arguments, leavesKeys: titles?.leavesKeys ?? false)
        // Checks headers before any request.
        var configuration = try configuration(arguments, headersOf: operand)
        let keyQueries = configuration.origins.keyQueries
        if keyQueries != nil { titles = titles ?? TitleOptions() }
        titles?.keyQueries = keyQueries
        let downloader = ListDownloader(
            transfer(configuration.addressPolicy, configuration.origins))
        let source = try ListSource(
            operand, format: ListOptions.format(arguments), downloader: downloader,
            rules: KeyQueryRules(keyQueries))
        if source.label == nil, !arguments.flag("quiet") {
            ListOptions.offer(operand, downloader)
        }
        let list = try await source.read(.check) { _ throws(Failure) in }
        if !arguments.flag("quiet") { ListOptions.tell(list) }
        let name = arguments.text("name") ?? list.name ?? source.defaultName
        try check(name: name)

        if arguments.flag("dry-run") {
            let preview = ListPreview(
                catalog: CatalogReference(name: name, storageURL: destination.storageURL),
                source: source, sharedKeys: list.sharedKeys, prunes: arguments.flag("prune"))
            return await ClusterCall.preview(arguments) { try await preview.text($0) }
        }
        let isQuiet = arguments.flag("quiet")
        var catalog = CatalogSubmission(
            name: name, storageURL: destination.storageURL, priority: list.priority ?? 5,
            notBefore: notBefore, deadline: deadline)
        catalog.titles = titles
        (catalog.expiresAt, catalog.keepSeconds) = (expires, keepSeconds)
        var plan = PrefetchSession.Plan(
            catalog: catalog, source: source, list: list, destination: destination,
            reportPath: arguments.text("report"), mediaCheck: mediaCheck, isQuiet: isQuiet,
            isEmbedded: remote == nil, acceptsVolume: arguments.flag("accept-volume"),
            detaches: arguments.flag("detach"), prunes: arguments.flag("prune"))
        plan.adoption = mirror.map { Adoption(directory: $0, site: destination.path) }
        let display = ProgressDisplay(
            mode: LiveLines.mode(isQuiet: isQuiet, environment: ClientSettings.environment),
            style: TerminalStyle(environment: ClientSettings.environment))
        if let remote {
            let session = PrefetchSession(plan, display: display) { try remote.client() }
            return try await SessionRun.run([[session]], session, display, interrupts)
        }
        configuration.roots = try destination.roots
        let cluster = try await ClusterVariables.prepare(configuration)
        let session = PrefetchSession(plan, display: display) {
            try CoordinatorClient(
                endpoints: cluster.coordinatorURL, token: cluster.token,
                trace: CommandTrace.current)
        }
        return try await SessionRun.run(
            cluster.stages(around: session), session, display, interrupts)
    }

    /// Rejects `--detach` where nothing would continue, and beside options that need the end.
    private static func checkDetach(_ arguments: Arguments, isEmbedded: Bool) throws {
        guard arguments.flag("detach") else { return }
        if let name = ["report", MediaCheck.option.name].first(where: {
            arguments.origin(of: $0) != nil
        }) {
            throw UsageError(
                "--detach does not wait for the catalog's end, which --\(name) needs",
                hint: "Omit one of them.")
        }
        guard isEmbedded else { return }
        throw UsageError(
            "--detach needs a cluster that continues; the private cluster ends with this command",
            hint: "Start a cluster with `dray up`, set the variables that it prints, and run the "
                + "command again; or set DRAY_COORDINATOR.")
    }

    /// Returns what a signal does; a private cluster ends with the command, so its catalog is
    /// interrupted.
    static func onInterrupt(
        _ arguments: Arguments, isEmbedded: Bool
    ) throws(UsageError) -> OnInterrupt {
        let choice = try OnInterrupt.chosen()
        guard isEmbedded else { return choice }
        if arguments.origin(of: OnInterrupt.option.name) == .commandLine, choice != .interrupt {
            Console.note(
                "--\(OnInterrupt.option.name) is for a cluster; the private cluster ends with this "
                    + "command, and its catalog is interrupted")
        }
        return .interrupt
    }

    /// Prints notes on ignored options: a cluster has its own workers and state, and the same
    /// command line should work with both.
    static func noteEmbeddedOptions(
        _ arguments: Arguments, _ options: [String] = allEmbeddedOptions
    ) {
        for option in options where arguments.origin(of: option) == .commandLine {
            Console.note(
                "--\(option) is for the private cluster; ignored, because DRAY_COORDINATOR is set"
            )
        }
    }

    private static func noteTransferOptions(_ arguments: Arguments) {
        for option in TransferOptions.all
        where arguments.origin(of: option.name) == .commandLine {
            let isSettings = option.name == TransferOptions.originSettings.name
            Console.note(
                "--\(option.name) is for the lists that this command fetches"
                    + (isSettings ? ", and its keyQuery for the catalog" : "")
                    + "; the workers of the cluster have their own")
        }
    }

    private static let embeddedOptions = ["state", "workers", "connections", "durability"]
    private static let allEmbeddedOptions = embeddedOptions + TransferOptions.all.map(\.name)

    /// Rejects headers with a cluster, whose workers have their own settings and get no headers
    /// from submitters.
    static func checkHeaders(
        _ arguments: Arguments, isListAtURL: Bool
    ) throws(UsageError) {
        guard HeaderOptions.areGiven(arguments) else { return }
        guard isListAtURL else {
            throw UsageError(
                "--header cannot be used with DRAY_COORDINATOR: the workers of a cluster "
                    + "do not send it",
                hint:
                    "Start the workers with --origin-settings FILE, which sets the "
                    + "headers of origins."
            )
        }
        Console.note(
            "--header is sent for the list only; the cluster's workers send the headers "
                + "of their --origin-settings")
    }

    /// Returns the options for lists that this process fetches itself.
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

    /// - Parameter url: its origin gets the headers without `--header-origin`; ignored if it is no
    ///   URL.
    static func configuration(
        _ arguments: Arguments, headersOf url: String? = nil
    ) throws -> EmbeddedCluster.Configuration {
        let environment = ClientSettings.environment
        var configuration = EmbeddedCluster.Configuration(
            statePath: try ClientSettings.coordinator == nil
                ? CommonOptions.statePath(arguments) : "",
            workers: arguments.integer("workers") ?? CommonOptions.defaultWorkers,
            connectionsPerWorker: arguments.integer("connections")
                ?? CommonOptions.defaultConnections,
            durability: CommonOptions.durability(arguments), address: "127.0.0.1", port: 0,
            token: .ofThisRun,
            interruptsOthers: true, drainSeconds: ClientSettings.drainSeconds,
            environment: environment)
        configuration.isAnnounced = true
        configuration.addressPolicy = try TransferOptions.addressPolicy(
            arguments, allowsPrivate: true)
        configuration.origins = try TransferOptions.origins(arguments)
        try HeaderOptions.add(
            arguments, of: url.flatMap { ListSource.isURL($0) ? $0 : nil },
            to: &configuration.origins)
        return configuration
    }
}
