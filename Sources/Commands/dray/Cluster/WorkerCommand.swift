import Client
import CommandLine
import Glibc
import Model
import Services
import Storage
import Text
import Worker

/// `dray worker`: runs one of any number of workers of a cluster.
enum WorkerCommand {
    static let command = Command(
        "worker", summary: "Run a worker that takes jobs from a coordinator.",
        discussion: """
            A worker needs no database and keeps no state: start and stop as many as you need. \
            SIGTERM or Ctrl-C drains it: it finishes current transfers and returns its other \
            jobs. While no coordinator answers, it keeps retrying.

            It writes only below --root, whatever a coordinator requests, and gets no jobs of \
            other sites.

            Others submit the URLs, so private and loopback addresses are rejected unless \
            --allow-addresses has them. Link-local and metadata addresses are always rejected.
            """,
        options: [
            CommandOption(
                "coordinator", .text(placeholder: "URL"), setting: Settings.coordinator,
                help: "URL of the coordinator, several separated by commas. Default: "
                    + "$DRAY_COORDINATOR."),
            RootOptions.root,
            CommandOption(
                "queue", .text(placeholder: "NAME"), repeatable: true,
                help: "Take jobs of this queue only. Repeatable. Default: all queues."),
            CommandOption(
                "connections", .integer(placeholder: "N", range: 1...1_000),
                help: "Concurrent transfers, 1 to 1000. Default: "
                    + "\(CommonOptions.defaultConnections)."),
            CommonOptions.durability,
            CommandOption(
                "traces", .choice(placeholder: "USE", of: TraceUse.allCases.map(\.rawValue)),
                help:
                    "What to do with the trace of a submission: log adds trace_id to the line of each "
                    + "failed attempt, at the level debug; origins also sends traceparent to "
                    + "origins, which may be others', but not to mirrors. "
                    + "Default: off."),
            CommandOption(
                MetricsListener.option, .text(placeholder: "ADDR:PORT"),
                help: "Answer GET /metrics for Prometheus, and /health, at this address; a port "
                    + "alone is on loopback. No token is required. Default: no listener."),
        ] + TransferOptions.all + TLSOptions.client
    ) { arguments in
        do {
            try LogOutput.configure(environment: ClientSettings.environment, defaultLevel: .info)
            guard let coordinator = arguments.text("coordinator") ?? ClientSettings.coordinator
            else {
                throw UsageError(
                    "--coordinator is missing",
                    hint: "Write --coordinator URL, or set DRAY_COORDINATOR.")
            }
            var configuration = WorkerService.Configuration(
                coordinators: coordinator.split(separator: ",").map(String.init),
                token: try Secrets.requiredToken(),
                roots: try RootOptions.required(
                    arguments, because: "a submitted catalog could name any directory"),
                queues: arguments.texts("queue"),
                connections: arguments.integer("connections")
                    ?? CommonOptions.defaultConnections,
                name: "\(hostName)-\(getpid())",
                durability: CommonOptions.durability(arguments),
                drainSeconds: ClientSettings.drainSeconds)
            configuration.tls = try ClientSettings.coordinatorTLS()
            // Anyone who reaches a coordinator may submit, from anywhere.
            configuration.addressPolicy = try TransferOptions.addressPolicy(
                arguments, allowsPrivate: false)
            configuration.origins = try TransferOptions.origins(arguments)
            configuration.traces = arguments.choice("traces", TraceUse.self) ?? .off
            configuration.isAlone = true
            let listen = try arguments.text(MetricsListener.option)
                .map(MetricsListener.address)
            let worker = try WorkerService(configuration)
            ServiceUser.warn("worker")
            for root in configuration.roots.unwritable {
                Console.note(
                    "the user \(accountName(of: geteuid())) cannot write to the root "
                        + "\(printable(root)), only to directories that it owns there")
            }
            Logger("worker").info(
                "started",
                [
                    "coordinator": configuration.coordinators.map { redacted(url: $0) }
                        .joined(separator: ","),
                    "roots": (configuration.roots.urls ?? []).joined(separator: ","),
                    "connections": configuration.connections,
                ])
            // Scraped until the worker has ended.
            let watched = listen.map { [MetricsListener($0, worker.metrics.registry)] }
            return await runServices(
                [watched ?? [], [worker]], graceSeconds: ClientSettings.drainSeconds + 6)
        } catch {
            return Console.fail(error)
        }
    }

    private static var hostName: String {
        var buffer = [CChar](repeating: 0, count: 256)
        let isKnown = gethostname(&buffer, 255) == 0
        let name = String(
            decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return isKnown && !name.isEmpty ? name : "worker"
    }
}
