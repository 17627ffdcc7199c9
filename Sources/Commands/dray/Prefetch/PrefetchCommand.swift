import API
import Client
import CommandLine
import CoordinatorClient
import Embedded
import ListSources
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
            "Fetch a list of files and titles (HLS, DASH) to edge storage, and show progress.",
        discussion: """
            LIST is a file in any format of --format (gzip allowed), - for stdin, or one URL. \
            Without --format, a URL is one asset; with it, the URL of a list. Sitemap indexes \
            are followed.

            DEST is a directory, or a bucket: s3://BUCKET/PREFIX?endpoint=URL. With \
            DRAY_COORDINATOR set, it is as the cluster's workers see it. Files are stored under \
            DEST as HOST/PATH.

            To warm a CDN or cache, DEST is cache:https://HOST?pop=ADDRESS&pop=ADDRESS: each \
            object's path and query is requested at HOST, at every POP, and nothing is stored.

            Run the command again to verify the files and fetch only what is missing or damaged.

            \(TimeOptions.discussion)
            """,
        operands: [
            CommandOperand(
                "LIST", .files,
                several: "For several URLs: printf '%s\\n' URL URL | dray prefetch - --to DEST",
                help: "A list file, - for stdin, or one URL.")
        ],
        options: [
            CommandOption(
                "to", .directory(placeholder: "DEST"),
                help:
                    "Directory, file:// or s3:// URL to store the files in, or cache: URL to warm."),
            PrefetchTarget.option,
            CommandOption(
                "name", .text(placeholder: "NAME"),
                help: "Name of the catalog. Default: from the JSON list, else from LIST's file "
                    + "name or URL."),
            ListOptions.format, TimeOptions.notBefore, TimeOptions.deadline,
            TimeOptions.expires, TimeOptions.keepFor, TimeOptions.refreshAfter,
            TitleLimitOptions.maxFetches, TitleLimitOptions.maxSites,
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
                help: "Also delete from the edge the assets that this list no longer names, as "
                    + "`dray assets remove` does."),
            SourceCommand.every, SourceCommand.maxDrop,
            CommandOption(
                "verify", .flag,
                help: "At the end, request every object of a cache again, and fail unless each "
                    + "is a hit."),
            CommandOption(
                "dry-run", .flag,
                help: "Print which assets the list adds to the catalog and which it no longer "
                    + "names; change nothing."),
            OnInterrupt.option,
            CommandOption("quiet", .flag, help: "Show errors only."),
        ] + TrackOptions.ofFetches + HeaderOptions.all + TransferOptions.all + TLSOptions.client
    ) { arguments in
        do {
            try LogOutput.configure(
                environment: ClientSettings.environment, defaultLevel: .warning)
            return try await run(
                arguments, list: arguments.operands[0], to: try PrefetchTarget(arguments))
        } catch {
            return Console.fail(error)
        }
    }

    /// Checks everything possible before starting or writing anything, then runs.
    ///
    /// - Parameter adoption: returns what is adopted at the destination; nil for nothing.
    static func run(
        _ arguments: Arguments, list operand: String, to target: PrefetchTarget,
        adopting adoption: (Destination) -> Adoption? = { _ in nil }
    ) async throws -> ExitCode {
        let remote = try ClusterEndpoint.named()
        let isListAtURL =
            arguments.text("format") != nil && ListSource.isURL(operand)
        if remote != nil {
            noteEmbeddedOptions(arguments, embeddedOptions)
            noteTransferOptions(arguments)
            try checkHeaders(arguments, isListAtURL: isListAtURL)
        }
        try checkDetach(arguments, isEmbedded: remote == nil)
        let moving = try moving(
            arguments, operand, isListAtURL: isListAtURL, isEmbedded: remote == nil)
        let interrupts = try onInterrupt(arguments, isEmbedded: remote == nil)
        let destination = try destination(target, isLocal: remote == nil)
        if let destination {
            try checkCache(arguments, destination, isAdopting: adoption(destination) != nil)
        } else if let name = ["every", "max-drop", "verify"].first(where: {
            arguments.origin(of: $0) == .commandLine
        }) {
            throw UsageError("--\(name) cannot be used with --site", hint: "Use --to DEST.")
        }
        if let path = arguments.text("report") { try ReportWriter.check(path) }
        let (notBefore, expires) = try TimeOptions.window(arguments)
        let deadline = try TimeOptions.futureTime(TimeOptions.deadline.name, arguments)
        if let notBefore, let deadline, deadline <= notBefore {
            throw UsageError(
                "--deadline comes before --not-before", hint: "Use a deadline after --not-before.")
        }
        let keepSeconds = try TimeOptions.keepSeconds(arguments)
        let refresh = try TimeOptions.refresh(arguments)
        let maxFetches = try TitleLimitOptions.fetches(arguments)
        let maxSites = try TitleLimitOptions.sites(arguments)
        var titles = try TrackOptions.fetchedTitles(arguments)
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
        let list: ListSource.Reading
        do throws(Failure) {
            list = try await source.read(.check) { _ throws(Failure) in }
        } catch {
            // Nothing was submitted, so no asset has failed.
            let code = Console.fail(error)
            return code == .someFailed ? .usage : code
        }
        if !arguments.flag("quiet") { ListOptions.report(list, of: arguments.operands[0]) }
        let name = arguments.text("name") ?? list.name ?? source.defaultName
        try check(name: name)

        if arguments.flag("dry-run") {
            return await preview(arguments, name, source, list, target, destination)
        }
        let isQuiet = arguments.flag("quiet")
        let display = ProgressDisplay(
            mode: LiveLines.mode(isQuiet: isQuiet, environment: ClientSettings.environment),
            style: TerminalStyle(environment: ClientSettings.environment))
        var catalog = CatalogSubmission(
            name: name, storageURL: destination?.storageURL ?? "", priority: list.priority ?? 5,
            notBefore: notBefore, deadline: deadline)
        catalog.titles = titles
        (catalog.expiresAt, catalog.keepSeconds) = (expires, keepSeconds)
        (catalog.maxFetches, catalog.maxSites) = (maxFetches, maxSites)
        (catalog.refreshSeconds, catalog.refreshByOrigin) = (refresh.seconds, refresh.byOrigin)
        if case .sites(let sites) = target, let remote {
            let plan = SitesSession.Plan(
                catalog: catalog, sites: sites, source: source, list: list,
                reportPath: arguments.text("report"), isQuiet: isQuiet,
                detaches: arguments.flag("detach"), prunes: arguments.flag("prune"))
            let session = SitesSession(plan, display: display) { try remote.client() }
            return try await SessionRun.run([[session]], session, display, interrupts)
        }
        guard let destination else {
            throw UsageError("--site needs a cluster", hint: "Use --to DEST.")
        }
        var plan = PrefetchSession.Plan(
            catalog: catalog, source: source, list: list, destination: destination,
            reportPath: arguments.text("report"), mediaCheck: mediaCheck, isQuiet: isQuiet,
            isEmbedded: remote == nil, acceptsVolume: arguments.flag("accept-volume"),
            detaches: arguments.flag("detach"), prunes: arguments.flag("prune"))
        plan.verifies = arguments.flag("verify")
        plan.moving = moving
        plan.adoption = adoption(destination)
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

    /// Returns the source of `--every`, which needs the URL of a list and a cluster that continues.
    private static func moving(
        _ arguments: Arguments, _ operand: String, isListAtURL: Bool, isEmbedded: Bool
    ) throws -> SourceSubmission? {
        guard arguments.text(SourceCommand.every.name) != nil else {
            guard arguments.integer(SourceCommand.maxDrop.name) == nil else {
                throw UsageError(
                    "--\(SourceCommand.maxDrop.name) needs --\(SourceCommand.every.name)",
                    hint: "Add it, or omit both.")
            }
            return nil
        }
        if HeaderOptions.areGiven(arguments) {
            throw UsageError(
                "--header cannot be used with --every: workers read the list again without it",
                hint: "Start the workers with --origin-settings FILE.")
        }
        var source = try SourceCommand.submission(arguments, url: operand)
        source.readsNow = false
        guard isListAtURL else {
            throw UsageError(
                "--\(SourceCommand.every.name) needs the URL of a list, and its --format",
                hint: "Use --format json, sitemap, directory, …, and a URL for LIST.")
        }
        guard !isEmbedded else {
            throw UsageError(
                "--\(SourceCommand.every.name) needs a cluster that continues; the private cluster "
                    + "ends with this command",
                hint: "Start a cluster with `dray up`, and set the variables that it prints.")
        }
        return source
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
                "--\(option) is for the private cluster; ignored, because "
                    + "\(ClientSettings.source(of: Settings.coordinator.variable)) is set"
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
