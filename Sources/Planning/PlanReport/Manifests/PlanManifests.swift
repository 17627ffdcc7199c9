import Model
package import Planner
import Rendering
import Text

/// Prints a plan as configuration: a file of `deploy/` with the plan's numbers.
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
        return Self.filled(template, values(plan, version: version))
    }

    /// The embedded file of `deploy/`.
    var template: [UInt8] {
        switch self {
        case .compose: PackageResources.compose_yml
        case .kubernetes: PackageResources.kubernetes_yaml
        case .keda: PackageResources.keda_yaml
        case .postgresql: PackageResources.postgresql_conf
        }
    }

    /// A template that is malformed, or that has other names, is a programmer's error.
    private static func filled(_ template: [UInt8], _ values: [String: String]) -> String {
        do throws(PlanTemplate.Malformed) {
            return try PlanTemplate(template).filled(values)
        } catch {
            preconditionFailure("a template of deploy/ does not fit: \(error)")
        }
    }

    /// Returns the plan's values by their names in the template.
    private func values(_ plan: Plan, version: String) -> [String: String] {
        var values =
            switch self {
            case .compose: Self.compose(plan)
            case .kubernetes: Self.kubernetes(plan, version: version)
            case .keda: Self.keda(plan)
            case .postgresql: Self.postgresql(plan)
            }
        values["name"] = printable(String(plan.name.prefix(80)))
        return values
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

    /// Returns settings of PostgreSQL.
    private static func settings(_ plan: Plan) -> [String: String] {
        let database = plan.sizing.database
        let memory = value(plan, .memoryGigabytes) * 1_024
        // The log of two checkpoint intervals of 15 minutes: one is written while the previous
        // checkpoint runs.
        let written = database.walBytesPerSecond * 900 * 2 / 1_048_576
        let wal = max(1_024, (written / 1_024).rounded(.up) * 1_024)
        return [
            "maxConnections": "\(plan.sizing.connections.database + 20)",
            "sharedBuffers": "\(Int(saturating: memory / 4))MB",
            "effectiveCacheSize": "\(Int(saturating: memory * 3 / 4))MB",
            "maxWALSize": "\(Int(saturating: min(wal, 1_048_576)))MB",
            "autovacuumCostLimit": "\(400 * autovacuumScale(plan))",
        ]
    }

    private static func autovacuumScale(_ plan: Plan) -> Int {
        let rows = plan.sizing.database.rowsPerSecond
        return rows > 100_000 ? 10 : rows > 10_000 ? 5 : 1
    }

    private static func postgresql(_ plan: Plan) -> [String: String] {
        let database = plan.sizing.database
        let values = [
            "segmentRate": Quantity.rate(database.segmentsPerSecond),
            "rowRate": Quantity.rate(database.rowsPerSecond),
            "logRate": "\(Quantity.bytes(database.walBytesPerSecond))/s",
            "tableBytes": Quantity.bytes(database.diskBytes),
            "cores": Scenario.plain(value(plan, .databaseCores)),
            "memoryGigabytes": Scenario.plain(value(plan, .memoryGigabytes)),
        ]
        return values.merging(settings(plan)) { $1 }
    }

    private static func compose(_ plan: Plan) -> [String: String] {
        let values = [
            "workers": "\(plan.sizing.workers.total ?? 0)",
            "machines": "\(plan.sizing.machines.workers ?? 0)",
            "coordinators": "\(plan.sizing.database.coordinators)",
            "connections": "\(Int(value(plan, .connections)))",
            "workerCores": Scenario.plain(workerCores(plan)),
        ]
        return values.merging(settings(plan)) { $1 }
    }

    private static func kubernetes(_ plan: Plan, version: String) -> [String: String] {
        [
            "coordinators": "\(plan.sizing.database.coordinators)",
            "coordinatorCPU": cpu(value(plan, .coordinatorCores)),
            "version": version,
            "workers": "\(plan.sizing.workers.total ?? 0)",
            "workerCPU": cpu(workerCores(plan)),
            "connections": "\(Int(value(plan, .connections)))",
            "spareWorkers": "\(max(1, plan.sizing.workers.spare))",
        ]
    }

    private static func keda(_ plan: Plan) -> [String: String] {
        let scaling = WorkerScaling(plan)
        return [
            "minimum": "\(scaling.minimum)",
            "maximum": "\(scaling.maximum)",
            "maxRequested": "\(scaling.maxRequested)",
            "pollingSeconds": "\(Int(max(5, min(30, value(plan, .bootSeconds))).rounded()))",
            "segmentsPerSecond": scaling.segmentsPerSecondText,
            "withinSeconds": "\(scaling.withinSeconds)",
            "bootSeconds": "\(scaling.bootSeconds)",
        ]
    }
}
