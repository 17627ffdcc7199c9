import Client
import CommandLine
import Model
import PlanReport
import Planner
import Rendering
import Services
import Text

/// `dray plan`: calculates workers, bandwidth, storage and cost from an audience.
enum PlanCommand {
    static let command = Command(
        "plan", summary: "Plan workers, bandwidth, storage and cost for an audience.",
        discussion: """
            SCENARIO is a JSON file with the inputs that you know. Dray assumes the others and \
            names those that matter most. `docs/planning-inputs.md` lists every input with its \
            default.

            The first screen has demand, resources, cost, what binds first, and the assumptions \
            that matter most; `--full` has everything. Every figure is sized for a share of random \
            draws of the uncertain inputs (`--confidence`).

            Waits of on-demand fetches are by formulas. If arrivals or fetch times vary more than \
            these allow (docs/planning.md), the planned pool is simulated, in up to two seconds.

            VALUE is a number, a percentage (5%), or LOW:LIKELY:HIGH for an uncertain value. \
            Options override SCENARIO.
            """,
        subcommands: [
            PlanQueueCommand.command, PlanFitCommand.command, PlanLogCommand.command,
            PlanFillCommand.command,
        ],
        operands: [
            CommandOperand("SCENARIO", .files, required: false, help: "A JSON file, - for stdin.")
        ],
        options: inputs.map { flag in
            CommandOption(
                flag.name, .text(placeholder: "VALUE"), help: "\(flag.input.row.help)\(unit(flag))")
        } + others + PlanMeasurements.options + PlanSearches.options + PlanAnalytics.options
            + outputs, action: run)

    /// An option for an input.
    private struct InputFlag {
        let name: String
        let input: ScenarioInput

        init(_ name: String, _ input: ScenarioInput) {
            self.name = name
            self.input = input
        }
    }

    private static let inputs = [
        InputFlag("users", .monthlyActiveUsers), InputFlag("daily-users", .dailyActiveUsers),
        InputFlag("peak-users", .peakConcurrentUsers), InputFlag("growth", .audienceGrowth),
        InputFlag("minutes", .minutesPerDay), InputFlag("bitrate", .kilobitsPerSecond),
        InputFlag("width", .width), InputFlag("height", .height),
        InputFlag("frame-rate", .framesPerSecond), InputFlag("bits-per-pixel", .bitsPerPixel),
        InputFlag("titles", .titles), InputFlag("catalog-gigabytes", .catalogGigabytes),
        InputFlag("change", .changePerDay), InputFlag("deadline-hours", .deadlineHours),
        InputFlag("sites", .sites), InputFlag("stored-share", .storedShare),
        InputFlag("hit-ratio", .hitRatio),
        InputFlag("origin-connections", .originConnections),
        InputFlag("origin-requests", .originRequests),
        InputFlag("origin-megabits", .originMegabits),
        InputFlag("latency-milliseconds", .originLatency), InputFlag("cores", .machineCores),
        InputFlag("nic-megabits", .nicMegabits),
        InputFlag("edge-nic-megabits", .edgeMegabits), InputFlag("wait-seconds", .waitSeconds),
        InputFlag("percentile", .percentile), InputFlag("boot-seconds", .bootSeconds),
        InputFlag("headroom", .headroom),
    ]

    private static func unit(_ flag: InputFlag) -> String {
        flag.input.row.unit.isEmpty ? "" : " In \(flag.input.row.unit)."
    }

    private static let others = [
        CommandOption(
            "service", .choice(placeholder: "KIND", of: ServiceKind.allCases.map(\.rawValue)),
            help: "Kind of service, which selects the defaults: vod, live or downloads. Default: "
                + "vod."),
        CommandOption(
            "ladder", .text(placeholder: "RATES"),
            help: "Bit rates of the stored renditions in kbit/s: 1100,3000,6000. Default: "
                + "Apple's ladder, or the one rendition of --width and --height."),
        CommandOption(
            "codec", .choice(placeholder: "NAME", of: VideoCodec.allCases.map(\.rawValue)),
            help: "Codec for --width and --height: raw, h264, hevc, vp9 or av1. Default: h264."),
        CommandOption(
            "correction",
            .choice(
                placeholder: "NAME", of: WaitingModel.Correction.allCases.map(\.rawValue)),
            help: "Correction of waits for variation: kimura or allen-cunneen. Default: kimura."
        ),
        CommandOption(
            "set", .text(placeholder: "INPUT=VALUE"), repeatable: true,
            help: "Set any input by its name: worker.connections=64. Repeatable."),
        CommandOption(
            "provider", .text(placeholder: "NAME"),
            help:
                "Provider of the prices: alibaba, aws, gcp, hetzner, on-premises, or one "
                + "of --prices. Default: all, side by side."),
        CommandOption(
            "origin-provider", .text(placeholder: "NAME"),
            help: "Provider of the prices for the origin's traffic. Default: the same."),
        CommandOption(
            "prices", .file(placeholder: "PATH"), repeatable: true,
            help: "Price file, or a directory of them, to use instead of the built-in prices "
                + "of the same provider or CDN. Repeatable."),
        CommandOption(
            "currency", .text(placeholder: "CODE"),
            help: "Currency of all amounts: EUR or USD, or another with money.exchange in "
                + "SCENARIO. Default: EUR."),
        CommandOption(
            "months", .integer(placeholder: "N", range: 0...120),
            help: "Months of growth, 0 to 120. Default: 36."),
        CommandOption(
            "draws", .integer(placeholder: "N", range: 0...100_000),
            help: "Random draws for ranges, 0 to 100000; 0 omits ranges. Default: 1000."),
        CommandOption(
            "confidence", .text(placeholder: "SHARE"),
            help: "Share of the draws in which each figure suffices, 0.5 to 0.99. Default: 0.9. "
                + "With --draws 0 figures are sized on likely values."),
        CommandOption(
            "seed", .integer(placeholder: "N", range: 0...Int.max),
            help: "Random seed of the draws and simulations. Default: 1."
        ),
    ]

    private static let outputs = [
        CommandOption(
            "simulate", .flag,
            help: "Also simulate the pool job by job, and print the plan beside it."),
        CommandOption(
            "jobs", .integer(placeholder: "N", range: PlanSimulation.allowedJobs),
            help: "Maximum number of jobs to simulate. Default: 2000000."),
        CommandOption(
            "full", .flag,
            help: "Print everything: waits, growth, ranges, notes, all assumed inputs."),
        CommandOption("json", .flag, help: "Print JSON."),
        CommandOption("markdown", .flag, help: "Print Markdown."),
        CommandOption(
            "html", .file(placeholder: "FILE"),
            help: "Also write a page with charts to FILE; it needs no network."),
        CommandOption(
            "emit", .choice(placeholder: "KIND", of: PlanManifests.allCases.map(\.rawValue)),
            help: "Print configuration instead of the plan: compose, kubernetes, keda or "
                + "postgresql."),
    ]

    @Sendable private static func run(_ arguments: Arguments) async -> ExitCode {
        do {
            var scenario = try scenario(arguments)
            let notes = try await PlanMeasurements.apply(arguments, to: &scenario)
            var options = Plan.Options()
            let books = try PriceFiles.read(arguments.texts("prices"))
            (options.prices, options.cdns) = (books.providers, books.cdns)
            try checkProviders(arguments, books.providers.map(\.id))
            ExchangeRates.complete(&scenario.money)
            options.months = arguments.integer("months") ?? 36
            options.draws = arguments.integer("draws") ?? 1_000
            options.confidence = try confidence(arguments, draws: options.draws)
            options.seed = UInt64(arguments.integer("seed") ?? 1)
            if arguments.flag("simulate") {
                options.simulatedJobs = arguments.integer("jobs") ?? PlanSimulation.maxJobs
            } else if arguments.integer("jobs") != nil {
                throw UsageError("--jobs needs --simulate", hint: "Use both, or neither.")
            }
            let output = try Output(arguments)
            // A simulation takes long, and nothing has to be stopped in order.
            var plan = try ProcessSignals.withDefaultAction { () throws(PlannerError) in
                try Plan(scenario, options)
            }
            try ExchangeRates.check(plan, scenario.money)
            plan.notes += notes.all
            plan.calibrationNotes = notes.calibration
            plan.exchangeWarning = ExchangeRates.warning(
                scenario.money,
                today: String(timestamp(ofSeconds: SystemWallClock().nowSeconds).prefix(10)))
            plan.rest(on: notes.doubts)
            plan.check = try PlanMeasurements.check(arguments, scenario)
            if let path = arguments.text("html") {
                try WholeFile.write(PlanHTML(plan).text, to: path)
            }
            Console.write(try output.text(plan))
            return .success
        } catch let error as PlannerError {
            return Console.fail(Failure(error))
        } catch {
            return Console.fail(error)
        }
    }

    /// The output on stdout.
    private enum Output {
        case summary, full, json, markdown
        case manifest(PlanManifests)

        init(_ arguments: Arguments) throws(UsageError) {
            var chosen: [(String, Output)] = []
            if arguments.flag("full") { chosen.append(("--full", .full)) }
            if arguments.flag("json") { chosen.append(("--json", .json)) }
            if arguments.flag("markdown") { chosen.append(("--markdown", .markdown)) }
            if let manifest = arguments.choice("emit", PlanManifests.self) {
                chosen.append(("--emit", .manifest(manifest)))
            }
            guard chosen.count < 2 else {
                throw UsageError(
                    "\(chosen[0].0) and \(chosen[1].0) cannot be combined",
                    hint: "Use one of them.")
            }
            self = chosen.first?.1 ?? .summary
        }

        func text(_ plan: Plan) throws -> String {
            switch self {
            case .json: return try PlanJSON.text(plan)
            case .markdown: return PlanMarkdown(plan).text
            case .manifest(let kind): return try kind.text(plan, version: drayVersion)
            case .summary: return PlanSummary(plan).text
            case .full:
                let style = TerminalStyle(environment: ClientSettings.environment)
                return PlanTable(plan, usesUnicode: style.usesUnicode).text
            }
        }
    }

    // MARK: Input

    /// Reads SCENARIO, and overrides it by options.
    private static func scenario(_ arguments: Arguments) throws -> Scenario {
        var scenario = Scenario()
        if let path = arguments.operands.first {
            scenario = try NamedFile.read(path) { bytes throws(Failure) in
                try ScenarioReader.read(bytes)
            }
        }
        for flag in inputs {
            guard let text = arguments.text(flag.name) else { continue }
            scenario.given[flag.input] = try PlanValue.estimate(text, flag.input, "--\(flag.name)")
        }
        for assignment in arguments.texts("set") {
            let parts = assignment.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false
            ).map(String.init)
            let names = ScenarioInput.table.map(\.path)
            guard parts.count == 2 else {
                throw UsageError(
                    "--set is '\(printable(String(assignment.prefix(100))))'",
                    hint: "Write INPUT=VALUE: worker.connections=64.")
            }
            guard let input = ScenarioInput.named(parts[0]) else {
                // Often the group is missing: `titles` for `catalog.titles`.
                let whole = names.filter { $0.hasSuffix(".\(parts[0])") }
                throw UsageError(
                    "--set names an unknown input '\(printable(String(parts[0].prefix(100))))'",
                    hint: whole.first.map { "Did you mean \($0)?" }
                        ?? suggestion(for: parts[0], from: names)
                        ?? "`dray plan --full` lists the inputs, such as worker.connections.")
            }
            scenario.given[input] = try PlanValue.estimate(parts[1], input, "--set \(parts[0])")
        }
        if let service = arguments.choice("service", ServiceKind.self)
            ?? PlanAnalytics.preset(arguments)?.kind
        {
            scenario.service = service
        }
        if let text = arguments.text("ladder") { scenario.ladder = try PlanValue.ladder(text) }
        if let codec = arguments.choice("codec", VideoCodec.self) {
            scenario.codec = codec
        }
        if let correction = PlanQueueCommand.correction(arguments) {
            scenario.correction = correction
        }
        if let currency = arguments.text("currency") {
            guard MoneyText.isCurrency(currency) else {
                throw UsageError(
                    "--currency is '\(printable(String(currency.prefix(40))))'",
                    hint: "Use three capital letters (ISO 4217), such as EUR.")
            }
            scenario.money.currency = currency
        }
        if let provider = arguments.text("provider") { scenario.money.provider = provider }
        if let provider = arguments.text("origin-provider") {
            scenario.money.originProvider = provider
        }
        return scenario
    }

    /// Checks the providers that options name.
    private static func checkProviders(
        _ arguments: Arguments, _ known: [String]
    ) throws(UsageError) {
        for option in ["provider", "origin-provider"] {
            guard let name = arguments.text(option), !known.contains(name) else { continue }
            throw UsageError(
                "--\(option) is '\(printable(String(name.prefix(40))))'",
                hint: "Use one of \(known.sorted().joined(separator: ", ")).")
        }
    }

    /// Returns the share of the draws in which each figure has to suffice; nil without draws.
    private static func confidence(_ arguments: Arguments, draws: Int) throws -> Double? {
        let text = arguments.text("confidence")
        guard draws > 0 else {
            guard text == nil else {
                throw UsageError(
                    "--confidence needs draws, and --draws is 0",
                    hint: "Omit --draws, or --confidence.")
            }
            return nil
        }
        let share = text.map { PlanValue.number(Substring($0)) } ?? 0.9
        guard let share, (0.5...0.99).contains(share) else {
            throw UsageError(
                "--confidence is '\(printable(String((text ?? "").prefix(40))))'",
                hint: "Use 0.5 to 0.99, such as 0.9 or 90%.")
        }
        // Some draws beyond the quantile, so that it is more than chance.
        let enough = Int((5 / (1 - share) - 1e-9).rounded(.up))
        guard draws >= enough else {
            throw UsageError(
                "--draws \(draws) are too few for a confidence of \(Scenario.plain(share))",
                hint: "Use \(enough) or more, or --draws 0 to size on likely values.")
        }
        return share
    }
}
