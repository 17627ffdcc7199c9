import Model
package import Planner
import Rendering
import Text

/// Prints a plan as configuration: files and settings to use directly.
package enum PlanManifests: String, CaseIterable, Sendable {
    case compose, kubernetes, keda, postgresql

    /// Returns the configuration; `version` is that of Dray, for the image. Throws if no pool
    /// suffices, as there are no workers to start.
    package func text(_ plan: Plan, version: String) throws(PlannerError) -> String {
        if self != .postgresql, let stop = plan.sizing.workers.stops.first {
            throw PlannerError(
                field: stop.limit, given: "a plan that no pool suffices for",
                allowed:
                    "use --emit \(rawValue) with a plan that has workers; the plan "
                    + "without --emit shows what would help")
        }
        return switch self {
        case .compose: Self.compose(plan)
        case .kubernetes: Self.kubernetes(plan, version: version)
        case .keda: Self.keda(plan)
        case .postgresql: Self.postgresql(plan)
        }
    }

    /// Returns the likely value of an input of the plan.
    static func value(_ plan: Plan, _ input: ScenarioInput) -> Double {
        plan.inputs[input.rawValue].value?.likely ?? 0
    }

    static func workerCores(_ plan: Plan) -> Double {
        let machine = value(plan, .machineCores)
        let given = plan.inputs[ScenarioInput.workerCores.rawValue].value?.likely
        return min(given ?? machine, machine)
    }

    /// Formats millicores for Kubernetes.
    static func cpu(_ cores: Double) -> String { "\(Int(saturating: (cores * 1_000).rounded()))m" }

    /// Returns the plan's name for a comment.
    static func comment(_ plan: Plan) -> String {
        printable(String(plan.name.prefix(80)))
    }

    // MARK: PostgreSQL

    /// Returns settings for `postgresql.conf` with the values that the plan requires.
    static func settings(_ plan: Plan) -> [(name: String, value: String, why: String)] {
        let database = plan.sizing.database
        let memory = value(plan, .memoryGigabytes) * 1_024
        // The log of two checkpoint intervals of 15 minutes: one is written while the previous
        // checkpoint runs.
        let written = database.walBytesPerSecond * 900 * 2 / 1_048_576
        let wal = max(1_024, (written / 1_024).rounded(.up) * 1_024)
        return [
            (
                "max_connections", "\(plan.sizing.connections.database + 20)",
                "coordinators' connections, and some for people"
            ),
            ("shared_buffers", "\(Int(saturating: memory / 4))MB", "a quarter of the memory"),
            (
                "effective_cache_size", "\(Int(saturating: memory * 3 / 4))MB",
                "what the system caches with it"
            ),
            (
                "max_wal_size", "\(Int(saturating: min(wal, 1_048_576)))MB",
                "two checkpoints' worth of log"
            ),
            ("checkpoint_timeout", "15min", "fewer whole pages in the log"),
            ("synchronous_commit", "on", "what was acknowledged survives a crash"),
            ("jit", "off", "every statement is short"),
            ("max_parallel_workers_per_gather", "0", "the same"),
            ("autovacuum_naptime", "15s", "rows of the queue live for seconds"),
            ("autovacuum_vacuum_cost_limit", "\(400 * autovacuumScale(plan))", "vacuum keeps up"),
        ]
    }

    private static func autovacuumScale(_ plan: Plan) -> Int {
        let rows = plan.sizing.database.rowsPerSecond
        return rows > 100_000 ? 10 : rows > 10_000 ? 5 : 1
    }

    private static func postgresql(_ plan: Plan) -> String {
        let database = plan.sizing.database
        let head = """
            # \(comment(plan)): PostgreSQL for \(Quantity.rate(database.segmentsPerSecond)) segments, \
            \(Quantity.rate(database.rowsPerSecond)) rows, \
            \(Quantity.bytes(database.walBytesPerSecond))/s of log,
            # \(Quantity.bytes(database.diskBytes)) of tables; \
            \(Scenario.plain(value(plan, .databaseCores))) cores, \
            \(Scenario.plain(value(plan, .memoryGigabytes))) GB.

            """
        let settings = settings(plan)
        let width = settings.map { $0.name.count + $0.value.count }.max() ?? 0
        return head
            + settings.map { setting in
                let line = "\(setting.name) = \(setting.value)"
                return "\(TextLayout.padded(line, to: width + 3))  # \(setting.why)\n"
            }.joined()
    }

    // MARK: Compose

    private static func compose(_ plan: Plan) -> String {
        let workers = plan.sizing.workers.total ?? 0
        let arguments = settings(plan).map { "      - \"-c\"\n      - \($0.name)=\($0.value)\n" }
        return """
            # \(comment(plan)): beside docker-compose.yml, which runs everything on one machine.
            #
            #   docker-compose -f docker-compose.yml -f docker-compose.plan.yml up --build \\
            #     --detach --scale worker=\(workers)
            #
            # The plan has \(plan.sizing.machines.workers ?? 0) machines for workers and \
            \(plan.sizing.database.coordinators) coordinators: one machine is a trial of it.
            version: "3.8"

            services:
              postgres:
                command:
                  - postgres
            \(arguments.joined().split(separator: "\n").joined(separator: "\n"))

              worker:
                command:
                  - worker
                  - --coordinator
                  - http://coordinator:7400
                  - --root
                  - /srv/edge
                  - --connections
                  - "\(Int(value(plan, .connections)))"
                deploy:
                  replicas: \(workers)
                  resources:
                    limits:
                      cpus: "\(Scenario.plain(workerCores(plan)))"

            """
    }
}
