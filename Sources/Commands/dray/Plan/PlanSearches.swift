import CommandLine
import Model
import Planner
import Statistics
import Text

/// Options of `dray plan` that take the limits of servers from searches of `dray loadtest`.
enum PlanSearches {
    static let options = [
        CommandOption(
            "origin-from", .file(placeholder: "FILE"),
            help: "Take the origin's limits from JSON of `dray loadtest --search` at the origin."),
        CommandOption(
            "edge-from", .file(placeholder: "FILE"),
            help: "Take the CPU time of an edge's requests from JSON of `dray loadtest --search` "
                + "at an edge."),
        CommandOption(
            "edge-from-cores", .integer(placeholder: "N", range: 1...100_000),
            help: "Cores of all servers that answered that search together. Default: edge.cores, "
                + "if it is set."),
    ]

    /// A search's result has one row per second.
    private static let maxBytes = 64 << 20

    /// Applies both searches to a scenario: they override defaults, but not given inputs. Returns
    /// notes on unused values.
    static func apply(_ arguments: Arguments, to scenario: inout Scenario) throws -> [String] {
        var notes: [String] = []
        let values = ScenarioValues(scenario)
        func take(_ report: SearchReport, _ measured: [String: Measured], _ origin: String) {
            notes += PlanMeasurements.take(measured, origin, into: &scenario) { _, _ in
                report.basis
            }
        }
        if let path = arguments.text("origin-from") {
            let report = try search(path)
            let before = scenario.given
            take(report, report.originValues, "--origin-from \(path)")
            if !report.isConclusive {
                for (input, limit) in scenario.given where before[input] == nil {
                    scenario.lowerBounds[input] = limit.likely * report.maxFactor
                }
            }
        }
        if let path = arguments.text("edge-from") {
            let report = try search(path)
            let measured = report.edgeValues(cores: try cores(arguments, values), values)
            take(report, measured, "--edge-from \(path)")
        } else if arguments.integer("edge-from-cores") != nil {
            throw UsageError("--edge-from-cores needs --edge-from", hint: "Use both, or neither.")
        }
        return notes
    }

    /// Returns the basis of what was taken, a sentence each. `values` are those of the plan.
    static func notes(_ arguments: Arguments, _ values: ScenarioValues) throws -> [String] {
        let origin = try arguments.text("origin-from").map { try search($0).originNotes(values) }
        let edge = try arguments.text("edge-from").map {
            try search($0).edgeNotes(cores: try cores(arguments, values))
        }
        return (origin ?? []) + (edge ?? [])
    }

    private static func search(_ path: String) throws(Failure) -> SearchReport {
        try NamedFile.read(path, maximumBytes: maxBytes) { bytes throws(Failure) in
            do throws(PlannerError) {
                return try SearchReport(json: bytes)
            } catch {
                throw Failure(error)
            }
        }
    }

    private static func cores(
        _ arguments: Arguments, _ values: ScenarioValues
    ) throws(UsageError) -> Double {
        if let cores = arguments.integer("edge-from-cores") { return Double(cores) }
        if let cores = values.known(.edgeCores) { return cores }
        throw UsageError(
            "--edge-from needs the number of cores",
            hint: "Use --edge-from-cores N, the cores of all servers that answered the search.")
    }
}
