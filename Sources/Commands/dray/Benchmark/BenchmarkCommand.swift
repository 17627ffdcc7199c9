import Benchmark
import Client
import CommandLine
import Model
import Rendering
import Services

/// `dray benchmark`: measures Dray on this machine.
enum BenchmarkCommand {
    static let command = Command(
        "benchmark", summary: "Measure Dray on this machine.",
        subcommands: [
            Command(
                "queue", summary: "Measure the queue against bare PostgreSQL.",
                discussion: """
                    Starts a PostgreSQL server in a new directory, configured like the private \
                    cluster's, and coordinator processes; stops and removes everything at the \
                    end. Nothing is fetched.

                    By default, submits N segments through the API, half for each side. Then \
                    claims and completes them alternately: with bare SQL on the same tables (the \
                    ceiling), and through the HTTP API. --waiting, --idle-transaction, \
                    --wake-ups, --idle-workers and --beside measure something else instead.
                    """,
                options: options, action: run),
            BenchmarkTransferCommand.command,
        ])

    private static let options =
        [
            integer(
                "segments", 1_000...20_000_000, "Segments to submit and complete.",
                BenchmarkOptions.defaultSegments),
            integer(
                "clients", 1...16, "Concurrent connections or requests.",
                BenchmarkOptions.defaultClients),
            integer(
                "batch", 1...WireLimits.jobsPerLease, "Jobs to claim and complete at a time.",
                BenchmarkOptions.defaultBatch),
            integer(
                "rounds", 1...1_000, "Rounds; the sides alternate.",
                BenchmarkOptions.defaultRounds),
            integer(
                "segments-per-title", 1...100_000, "Segments per title; 1 submits files instead.",
                BenchmarkOptions.defaultSegmentsPerTitle),
            integer(
                "origins", 1...1_000, "Number of origin hosts of the titles.",
                BenchmarkOptions.defaultOrigins),
            integer("finished", 0...20_000_000, "Segments already done before the measurement.", 0),
            CommandOption(
                "waiting", .integer(placeholder: "N", range: 10_000...50_000_000),
                help: "Compare claims among N waiting jobs with claims among "
                    + "\(HumanFormat.count(BenchmarkOptions.fewWaiting))."),
            CommandOption(
                "idle-transaction", .flag,
                help: "Compare the API with and without an open transaction."),
            CommandOption(
                "wake-ups", .integer(placeholder: "N", range: 20...100_000),
                help: "Measure N times how long an idle worker waits for a new job."),
            CommandOption(
                "idle-workers", .integer(placeholder: "N", range: 1...2_000),
                help: "Measure the CPU time of N workers that poll an empty queue; with "
                    + "--wake-ups, wake one of N."),
            CommandOption(
                "beside", .text(placeholder: "COMMAND"),
                help: "Run a command with sh while bare SQL completes the segments; measure the "
                    + "time of both together."),
            integer(
                "seconds", 5...600, "Seconds to watch idle workers.",
                BenchmarkOptions.defaultSeconds),
            CommandOption(
                "generous-ceiling", .flag,
                help: "Give bare SQL the same advantages as the API: claims that do not wait for "
                    + "the disk, and a second connection per client to claim during a completion."),
            CommandOption(
                "directory", .directory(placeholder: "DIR"),
                help: "Directory for the databases. Default: $TMPDIR, or /var/tmp. In memory, "
                    + "commits cost nothing and the results mean nothing."),
            CommandOption("json", .flag, help: "Print JSON."),
        ] + TLSOptions.certificate

    private static func integer(
        _ name: String, _ range: ClosedRange<Int>, _ help: String, _ usual: Int
    ) -> CommandOption {
        CommandOption(
            name, .integer(placeholder: "N", range: range),
            help: "\(help) Default: \(HumanFormat.count(usual)).")
    }

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            let environment = ClientSettings.environment
            try LogOutput.configure(environment: environment, defaultLevel: .warning)
            let session = try await BenchmarkSession.prepare(
                try options(arguments),
                parent: arguments.text("directory") ?? temporaryDirectory(environment),
                environment: environment
            ) { Console.note($0) }
            defer { session.removeDirectory() }
            let ending = await runServices(session.stages, graceSeconds: 5)
            guard ending == .success else { return ending }
            guard let report = session.report else { return .interrupted }
            Console.write(arguments.flag("json") ? try report.json() : report.text)
            return .success
        } catch {
            return Console.fail(error)
        }
    }

    /// Reads the options of the command line; throws if some cannot be combined.
    private static func options(_ arguments: Arguments) throws(UsageError) -> BenchmarkOptions {
        var options = BenchmarkOptions(mode: try mode(arguments))
        func take(_ name: String, _ field: WritableKeyPath<BenchmarkOptions, Int>) {
            if let value = arguments.integer(name) { options[keyPath: field] = value }
        }
        take("segments", \.segments)
        take("clients", \.clients)
        take("batch", \.batch)
        take("segments-per-title", \.segmentsPerTitle)
        take("origins", \.origins)
        take("finished", \.finished)
        take("idle-workers", \.idleWorkers)
        take("seconds", \.seconds)
        if case .waiting = options.mode { options.rounds = BenchmarkOptions.claimRounds }
        if case .beside = options.mode { options.rounds = 1 }
        take("rounds", \.rounds)
        options.ceilingHasAll = arguments.flag("generous-ceiling")
        options.tls = try TLSOptions.server(arguments)
        if case .waiting = options.mode, arguments.integer("segments-per-title") != nil {
            throw UsageError(
                "--segments-per-title cannot be used with --waiting",
                hint: "With --waiting, a title has as many segments as a round completes.")
        }
        if options.idleWorkers == 0 { options.idleWorkers = options.clients }
        guard options.segments / 4 >= options.rounds * options.clients else {
            throw UsageError(
                "--segments \(options.segments) are too few for \(options.rounds) rounds of "
                    + "\(options.clients) clients",
                hint: "Use more segments, or fewer rounds.")
        }
        return options
    }

    private static func mode(_ arguments: Arguments) throws(UsageError) -> BenchmarkOptions.Mode {
        var modes: [(name: String, mode: BenchmarkOptions.Mode)] = []
        if let count = arguments.integer("waiting") { modes.append(("waiting", .waiting(count))) }
        if arguments.flag("idle-transaction") {
            modes.append(("idle-transaction", .idleTransaction))
        }
        if let count = arguments.integer("wake-ups") { modes.append(("wake-ups", .wakeUps(count))) }
        if arguments.integer("idle-workers") != nil, arguments.integer("wake-ups") == nil {
            modes.append(("idle-workers", .idle))
        }
        if let command = arguments.text("beside") { modes.append(("beside", .beside(command))) }
        guard modes.count < 2 else {
            throw UsageError(
                "--\(modes[0].name) and --\(modes[1].name) cannot be combined",
                hint: "Run one after the other.")
        }
        return modes.first?.mode ?? .throughput
    }

    /// Returns a directory on a disk: /var/tmp outlives a restart, so it is not in memory
    /// (Filesystem Hierarchy Standard 3.0, 5.15).
    private static func temporaryDirectory(_ environment: [String: String]) -> String {
        if let directory = environment["TMPDIR"], !directory.isEmpty { return directory }
        return "/var/tmp"
    }
}
