import Client
import CommandLine
import Foundation
import LoadGenerator
import LoadModel
import Model
import Services
import Text

/// The source of the load: this process, or the workers of a cluster.
extension LoadTestCommand {
    static let backendOptions = [
        CommandOption(
            "cluster", .flag,
            help:
                "Send the load from the workers of the cluster at DRAY_COORDINATOR, by "
                + "default that of `dray up`."),
        CommandOption(
            "queue", .text(placeholder: "NAME"),
            help: "With --cluster: use workers of this queue only. Default: any."),
        CommandOption(
            "workers", .integer(placeholder: "N", range: 1...WireLimits.loadWorkers),
            help: "With --cluster: number of workers. Default: all that are ready when --wait "
                + "ends."),
        CommandOption(
            "at-least", .integer(placeholder: "N", range: 1...WireLimits.loadWorkers),
            help: "With --cluster: minimum number of workers to start with when --wait ends. "
                + "Default: as --workers."
        ),
        CommandOption(
            "wait", .text(placeholder: "TIME"),
            help: "With --cluster: how long to wait for workers, which finish their jobs "
                + "first. Default: 60s, or 10s without --workers."),
    ]

    static func backend(
        _ arguments: Arguments, _ scenario: LoadScenario, _ mode: LoadTestSession.Mode,
        _ display: LoadTestDisplay
    ) throws -> any LoadBackend {
        guard arguments.flag("cluster") else {
            for option in ["queue", "workers", "at-least", "wait"]
            where arguments.text(option) != nil {
                throw UsageError(
                    "--\(option) needs --cluster", hint: "Add --cluster, or omit it.")
            }
            return try localBackend(arguments, scenario)
        }
        guard arguments.integer("threads") == nil else {
            throw UsageError(
                "--threads is for load from this process", hint: "Workers use all their cores.")
        }
        for option in ["allow-addresses", "deny-addresses"]
        where !arguments.texts(option).isEmpty {
            throw UsageError(
                "--\(option) is for load from this process", hint: "Set it on the workers instead."
            )
        }
        var options = ClusterLoadRunner.Options()
        options.queue = arguments.text("queue")
        options.isInSteps = mode != .once
        options.workers = arguments.integer("workers")
        options.atLeast = arguments.integer("at-least")
        if case .scale = mode, options.workers ?? options.atLeast != nil {
            throw UsageError(
                "--scale already sets the number of workers",
                hint: "Omit --workers and --at-least.")
        }
        if let most = options.workers, let least = options.atLeast, least > most {
            throw LoadTestOptions.rejection("at-least", "\(least)", "1 to \(most), as --workers")
        }
        options.waitSeconds = try waitSeconds(arguments, mode)
        return try ClusterLoadBackend(
            try ClusterEndpoint.current(), options, isConfirmed: arguments.flag("yes"),
            note: display.note)
    }

    /// Returns the maximum wait for workers before each run; 0 without `--cluster`.
    static func waitSeconds(
        _ arguments: Arguments, _ mode: LoadTestSession.Mode
    ) throws -> Double {
        guard arguments.flag("cluster") else { return 0 }
        return try LoadTestOptions.duration("wait", arguments, WireLimits.loadWaitSeconds)
            ?? (arguments.integer("workers") == nil && mode == .once ? 10 : 60)
    }

    private static func localBackend(
        _ arguments: Arguments, _ scenario: LoadScenario
    ) throws -> LocalLoadBackend {
        let most = Int(OpenFiles.raiseLimit())
        var options = LoadEngine.Options()
        options.threads = arguments.integer("threads") ?? ThisMachine.threads
        options.viewerConnections = max(most - 256, 256)
        options.addresses = LoadAddresses(
            try TransferOptions.addressPolicy(arguments, allowsPrivate: true))
        options.maxRequests = max(most - 64, 64)
        let requests = scenario.maxRequests(of: .whole)
        guard requests <= options.maxRequests else {
            throw LoadTestOptions.rejection(
                "concurrency", "\(requests)",
                "\(options.maxRequests) here: this process may have \(most) files open; see ulimit -n"
            )
        }
        if let path = scenario.http.caFile { try checkAuthorities(path) }
        return try LocalLoadBackend(options, scenario.http)
    }

    /// Rejects a file without certificates, with which all requests would fail.
    private static func checkAuthorities(_ path: String) throws(Failure) {
        do throws(Failure) {
            let (bytes, _) = try SmallFile.read(path)
            guard bytes.firstRange(of: Array("-----BEGIN".utf8)) != nil else {
                throw Failure(.inputField, "\(printable(path)): no PEM certificate")
            }
        } catch {
            throw Failure(.inputField, at: .field("http.caFile"), error.message)
        }
    }
}
