import CommandLine
import LoadModel
import Model
import Text

/// Builds a scenario from the command line, based on a scenario file or the defaults.
enum LoadTestOptions {
    static let load = [
        CommandOption(
            "rate", .text(placeholder: "RATE"),
            help: "Open model: arrivals per second, independent of earlier ones: 200; or "
                + "stages, '30s:200,1m:1000', each with the time to reach its rate."),
        CommandOption(
            "poisson", .flag,
            help: "With --rate: random (Poisson) arrivals instead of evenly spaced ones."),
        CommandOption(
            "users", short: "c", .text(placeholder: "N"),
            help: "Closed model: concurrent users, each sending its next request when the "
                + "previous one ends; or stages, as for --rate. Default: 10."),
        CommandOption(
            "duration", short: "d", .text(placeholder: "TIME"),
            help:
                "Duration of the test: 30s, 5m, 1h; it cuts off stages. Default: that of "
                + "the stages, or until --requests or --bytes is reached, else 10s."),
        CommandOption(
            "requests", short: "n", .integer(placeholder: "N", range: 1...1_000_000_000_000),
            help: "Maximum number of requests."),
        CommandOption(
            "bytes", .text(placeholder: "SIZE"), help: "Maximum bytes to receive: 10GB."),
        CommandOption(
            "warm-up", .text(placeholder: "TIME"),
            help: "Time at the start to exclude from all results. Default: 0s."),
        CommandOption(
            "think", .text(placeholder: "TIME"),
            help: "Pause of a user between two requests or titles."),
    ]
    static let targets = [
        CommandOption(
            "target", .text(placeholder: "URL"), repeatable: true,
            help:
                "Additional target, a URL like TARGET; the only one for a scenario without targets. "
                + "Repeatable."),
        CommandOption(
            "list", .file(placeholder: "FILE"), repeatable: true,
            help: "Request everything that a list names, in any format of `dray prefetch`. "
                + "Repeatable."),
        CommandOption(
            "kind", .choice(placeholder: "KIND", of: AssetKind.allCases.map(\.rawValue)),
            help: "Kind of the URLs: file, hls or dash. Default: from their names."),
        CommandOption(
            "zipf", .number(placeholder: "EXPONENT", range: LoadLimits.zipfExponent),
            help: "Choose targets by popularity, the k-th with weight 1/k to this power. "
                + "Default: all equally."),
        CommandOption(
            "allow", .text(placeholder: "HOST"), repeatable: true,
            help:
                "Host (*.cdn.example for a domain) or address block that manifests and "
                + "lists may lead to, besides the targets' hosts. Repeatable."),
        CommandOption(
            "may-fail", .flag,
            help: "Start even if a target fails or returns a redirect, and set no default bound on "
                + "errors. Default: each file is requested once before the test, and must exist."),
        CommandOption(
            "seed", .integer(placeholder: "N", range: 0...9_007_199_254_740_991),
            help: "Random seed. Default: 1."),
    ]
    static let viewers = [
        CommandOption(
            "viewers", .flag,
            help: "Each arrival is a viewer who plays a title. This is the default for HLS and "
                + "DASH."),
        CommandOption(
            "plain", .flag,
            help: "Request the segments of titles as fast as possible, without playlists."),
        CommandOption(
            "watch", .text(placeholder: "TIME"),
            help: "Time to watch of each title. Default: all of it."),
        CommandOption("loop", .flag, help: "Start the title again at its end."),
        CommandOption(
            "startup", .text(placeholder: "TIME"),
            help: "Buffer needed to start playback. Default: 2s."),
        CommandOption(
            "buffer", .text(placeholder: "TIME"),
            help: "Maximum buffer. Default: 30s."),
        CommandOption(
            "bit-rate", .text(placeholder: "RATE"),
            help: "Always play the best rendition up to this bit rate: 3Mbit/s. Default: adapt "
                + "to throughput."),
    ]
    static let requests = [
        CommandOption(
            "http",
            .choice(
                placeholder: "VERSION", of: LoadHTTP.Version.allCases.map(\.rawValue)),
            help: "HTTP version: 1.1, 2 (without TLS: prior knowledge) or automatic. Default: "
                + "automatic."),
        CommandOption("no-keep-alive", .flag, help: "Open a connection for each request."),
        CommandOption(
            "concurrency", .integer(placeholder: "N", range: 1...100_000),
            help: "Maximum concurrent requests, at least the number of users. A request beyond "
                + "it waits, and its latency includes the wait. Default: 1000, or the users."),
        CommandOption(
            "timeout", .text(placeholder: "TIME"), help: "Timeout of one request. Default: 60s."),
        CommandOption(
            "header", short: "H", .text(placeholder: "LINE"), repeatable: true, secret: true,
            help: "'Name: value' to send with every request. Repeatable."),
        CommandOption(
            "ca-file", .file(placeholder: "FILE"),
            help: "Certificate authorities (PEM) instead of the system's."),
        CommandOption(
            "check-digests", .flag,
            help: "Compare bodies with the SHA-256 of lists and scenarios."),
    ]
    static let goals = [
        CommandOption(
            "threshold", short: "t", .text(placeholder: "RULE"), repeatable: true,
            help:
                "Condition that must hold, else exit code 99: 'p99(first_byte) < 200ms', "
                + "'error_rate < 0.1%', 'rebuffer_ratio < 0.5%', 'throughput > 1Gbit/s', "
                + "'p99(total){kind=media} < 1s'. "
                + "Repeatable. Default: 'error_rate <= 1%', where no other bound on errors is "
                + "given."),
        CommandOption(
            "abort", .flag, help: "Stop as soon as a given threshold fails."),
    ]

    // MARK: Parsing

    /// Returns the validated scenario of TARGET and options.
    static func scenario(_ arguments: Arguments) throws -> LoadScenario {
        var scenario = LoadScenario()
        var isNew = true
        let operand = arguments.operands.first
        if let operand {
            if operand.contains("://") {
                scenario.targets = [try target(operand, arguments)]
            } else {
                scenario = try file(operand)
                isNew = false
            }
        }
        if arguments.text("kind") != nil, !isNew, arguments.texts("target").isEmpty {
            throw UsageError(
                "--kind is for URLs of the command line",
                hint: "Set kind beside the url in the scenario.")
        }
        for url in arguments.texts("target") {
            scenario.targets.append(try target(url, arguments))
        }
        scenario.targets += arguments.texts("list").map {
            LoadTarget(name: $0, source: .list($0))
        }
        guard !scenario.targets.isEmpty else {
            if let operand, !isNew {
                throw UsageError(
                    "\(printable(operand)): field targets: is missing",
                    hint: "Add --target URL or --list FILE, or add targets to the scenario.")
            }
            throw UsageError(
                "TARGET is missing",
                hint: "Give a URL, a scenario with targets, --target URL or --list FILE.")
        }
        try setTargets(&scenario, arguments)
        try setUser(&scenario, arguments, isNew: isNew)
        try setLoad(&scenario, arguments, isNew: isNew)
        try ReplayLog.setLoad(&scenario, arguments)
        try setRequests(&scenario, arguments)
        try setGoals(&scenario, arguments)
        try scenario.check()
        return scenario
    }

    private static func setUser(
        _ scenario: inout LoadScenario, _ arguments: Arguments, isNew: Bool
    ) throws {
        if arguments.flag("plain") {
            guard !arguments.flag("viewers") else {
                throw UsageError(
                    "--plain and --viewers cannot be combined", hint: "Omit one of them.")
            }
            scenario.user = .requests
        } else if arguments.flag("viewers") || isNew && asksForTitle(scenario) {
            if case .requests = scenario.user { scenario.user = .viewers(ViewerSettings()) }
        }
        let own = ["watch", "startup", "buffer", "bit-rate", "loop"].first {
            arguments.flag($0) || arguments.text($0) != nil
        }
        guard case .viewers(var settings) = scenario.user else {
            if let own {
                throw UsageError("--\(own) needs viewers", hint: "Add --viewers, or omit it.")
            }
            return
        }
        if let seconds = try duration("watch", arguments, LoadLimits.watchSeconds) {
            settings.watchSeconds = seconds
        }
        if let seconds = try duration("startup", arguments, LoadLimits.startupSeconds) {
            settings.startupSeconds = seconds
        }
        if let seconds = try duration("buffer", arguments, LoadLimits.bufferSeconds) {
            settings.bufferSeconds = seconds
        }
        if arguments.flag("loop") { settings.loops = true }
        if let text = arguments.text("bit-rate") {
            settings.fixedBitsPerSecond = Int64(
                try checked("bit-rate", text) { text throws(LoadInputError) in
                    try LoadText.bitRate(text)
                })
        }
        scenario.user = .viewers(settings)
    }

    /// Returns true if the first target is the URL of a title, which viewers play by default.
    private static func asksForTitle(_ scenario: LoadScenario) -> Bool {
        guard case .url(_, let kind) = scenario.targets.first?.source else { return false }
        return kind != .file
    }

    private static func setLoad(
        _ scenario: inout LoadScenario, _ arguments: Arguments, isNew: Bool
    ) throws {
        if let count = arguments.integer("requests") { scenario.caps.requests = Int64(count) }
        if let text = arguments.text("bytes") {
            scenario.caps.bytes = try checked("bytes", text) { text throws(LoadInputError) in
                let count = try LoadText.bytes(text)
                guard LoadLimits.bytes.contains(count) else {
                    throw LoadInputError(given: text, allowed: "one byte or more")
                }
                return count
            }
        }
        let seconds = try duration("duration", arguments, LoadLimits.capSeconds)
        // A new load lasts as long as the scenario's; one capped by requests or bytes lasts until
        // the cap.
        let isCapped = scenario.caps.requests != nil || scenario.caps.bytes != nil
        let usual =
            !scenario.stages.isEmpty
            ? scenario.durationSeconds : isCapped ? LoadLimits.stageSeconds.upperBound : 10
        if let rate = arguments.text("rate") {
            guard arguments.text("users") == nil else {
                throw UsageError(
                    "--rate and --users cannot be combined",
                    hint: "With --rate, requests follow a schedule; with --users, each user "
                        + "waits for its answer.")
            }
            scenario.model = .open(arguments.flag("poisson") ? .poisson : .constant)
            scenario.stages = try stages("rate", rate, seconds, usual, LoadLimits.rate)
        } else if let users = arguments.text("users") {
            scenario.model = .closed
            scenario.stages = try stages(
                "users", users, seconds, usual,
                0...Double(LoadLimits.users.upperBound), isWhole: true)
        } else if isNew {
            scenario.stages = [LoadStage(seconds: usual, from: 10, to: 10)]
        }
        if let seconds { limit(&scenario, toSeconds: seconds) }
        if arguments.flag("poisson") {
            guard case .open = scenario.model else {
                throw UsageError("--poisson needs --rate", hint: "Add --rate, or omit it.")
            }
            scenario.model = .open(.poisson)
        }
        if let seconds = try duration("warm-up", arguments, LoadLimits.warmUpSeconds) {
            scenario.warmUpSeconds = seconds
        }
        if let seconds = try duration("think", arguments, LoadLimits.thinkSeconds) {
            scenario.think = .constant(seconds: seconds)
        }
    }

    /// Sets the length of a single constant load, or the cap of several stages.
    private static func limit(_ scenario: inout LoadScenario, toSeconds seconds: Double) {
        if scenario.stages.count == 1, scenario.stages[0].from == scenario.stages[0].to {
            scenario.stages[0].seconds = seconds
            scenario.caps.durationSeconds = nil
        } else {
            scenario.caps.durationSeconds = seconds
        }
    }

    /// Parses a constant load, for `seconds` or the usual time, or stages.
    private static func stages(
        _ option: String, _ text: String, _ seconds: Double?, _ usual: Double,
        _ range: ClosedRange<Double>, isWhole: Bool = false
    ) throws -> [LoadStage] {
        func isAllowed(_ level: Double) -> Bool {
            range.contains(level) && (!isWhole || level == level.rounded())
        }
        let number = isWhole ? "whole number" : "number"
        guard !text.contains(":") else {
            let stages = try checked(option, text) { text throws(LoadInputError) in
                try LoadText.stages(text)
            }
            let areAllowed = stages.allSatisfy {
                isAllowed($0.to) && LoadLimits.stageSeconds.contains($0.seconds)
            }
            guard areAllowed, stages.count <= LoadLimits.stages else {
                throw rejection(
                    option, text,
                    "up to \(LoadLimits.stages) stages of up to a week, each to a \(number) up to "
                        + "\(Int(range.upperBound))")
            }
            return stages
        }
        guard let (level, rest) = LoadText.number(text[...]), rest.isEmpty, isAllowed(level),
            level > 0
        else {
            throw rejection(
                option, text,
                "a \(number) above 0, up to \(Int(range.upperBound)), or stages: "
                    + "30s:100,1m:500")
        }
        return [LoadStage(seconds: seconds ?? usual, from: level, to: level)]
    }

    private static func setRequests(
        _ scenario: inout LoadScenario, _ arguments: Arguments
    ) throws {
        if let version = arguments.choice("http", LoadHTTP.Version.self) {
            scenario.http.version = version
        }
        if arguments.flag("no-keep-alive") { scenario.http.keepsAlive = false }
        if let limit = arguments.integer("concurrency") { scenario.http.concurrency = limit }
        if let seconds = try duration("timeout", arguments, LoadLimits.timeoutSeconds) {
            scenario.http.timeoutSeconds = seconds
        }
        for line in arguments.texts("header") {
            guard scenario.http.headers.count < LoadLimits.headers else {
                throw tooOften("header", LoadLimits.headers)
            }
            let header = try header("header", line)
            scenario.http.headers.removeAll { $0.name.lowercased() == header.name.lowercased() }
            scenario.http.headers.append(header)
        }
        if arguments.flag("check-digests") { scenario.bodies = .checked }
        if let file = arguments.text("ca-file") { scenario.http.caFile = file }
    }

    private static func setGoals(_ scenario: inout LoadScenario, _ arguments: Arguments) throws {
        for text in arguments.texts("threshold") {
            scenario.thresholds.append(
                try checked("threshold", text) { text throws(LoadInputError) in
                    try LoadThreshold.parse(text)
                })
        }
        guard scenario.thresholds.count <= LoadLimits.thresholds else {
            throw tooOften("threshold", LoadLimits.thresholds)
        }
        guard arguments.flag("abort") else { return }
        guard !scenario.thresholds.isEmpty else {
            throw UsageError("--abort needs --threshold", hint: "Add --threshold RULE.")
        }
        // Groups are judged at the end.
        for index in scenario.thresholds.indices where scenario.thresholds[index].group == nil {
            scenario.thresholds[index].abortAfterSeconds =
                scenario.thresholds[index].abortAfterSeconds ?? 0
        }
    }

    // MARK: Values

    static func duration(
        _ option: String, _ arguments: Arguments, _ range: ClosedRange<Double>
    ) throws -> Double? {
        guard let text = arguments.text(option) else { return nil }
        let seconds = try checked(option, text) { text throws(LoadInputError) in
            try LoadText.duration(text)
        }
        guard range.contains(seconds) else {
            throw rejection(
                option, text,
                "\(LoadText.text(duration: range.lowerBound)) to "
                    + LoadText.text(duration: range.upperBound))
        }
        return seconds
    }

    static func checked<Value>(
        _ option: String, _ text: String, _ parse: (String) throws(LoadInputError) -> Value
    ) throws(UsageError) -> Value {
        do throws(LoadInputError) { return try parse(text) } catch {
            throw rejection(option, error.given, error.allowed)
        }
    }

    static func rejection(_ option: String, _ given: String, _ allowed: String) -> UsageError {
        UsageError(
            "--\(option): given '\(printable(String(given.prefix(100))))'",
            hint: "Allowed: \(allowed).")
    }
}
