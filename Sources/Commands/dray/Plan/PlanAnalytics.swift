import Client
import CommandLine
import ListSources
import Model
import Planner
import Rendering
import Text

/// Options of `dray plan` that read exports of analytics, or public figures.
enum PlanAnalytics {
    static let options = [
        CommandOption(
            "from-analytics", .file(placeholder: "FILE"), repeatable: true,
            help: "Take users or requests from a CSV file with a time in each record, as Google "
                + "Analytics, CloudWatch, Grafana or a CDN export it, - for stdin. Repeatable."),
        CommandOption(
            "analytics-column", .text(placeholder: "FIELD=NAME"), repeatable: true,
            help: "Name of the column with a field: "
                + Analytics.Field.allCases.map(\.rawValue).joined(separator: ", ")
                + ". Default: by its usual names. Repeatable."),
        CommandOption(
            "preset", .choice(placeholder: "NAME", of: AudiencePreset.all.map(\.name)),
            help: "Take the audience, and its kind of service unless --service is set, from "
                + "public figures: " + AudiencePreset.all.map(\.name).joined(separator: ", ")
                + ". The output names their source."),
    ]

    /// Reads all files of `--from-analytics`.
    static func summaries(
        _ arguments: Arguments
    ) throws -> [(path: String, summary: AnalyticsSummary)] {
        let names = try names(arguments)
        let paths = arguments.texts("from-analytics")
        guard !paths.isEmpty || names.isEmpty else {
            throw UsageError(
                "--analytics-column needs --from-analytics", hint: "Use both, or neither.")
        }
        return try paths.map { ($0, try summary(of: $0, names)) }
    }

    private static func names(
        _ arguments: Arguments
    ) throws(UsageError) -> [Analytics.Field: String] {
        var names: [Analytics.Field: String] = [:]
        for text in arguments.texts("analytics-column") {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, let field = Analytics.Field(rawValue: parts[0]),
                names.updateValue(parts[1], forKey: field) == nil
            else {
                throw UsageError(
                    "--analytics-column is '\(printable(String(text.prefix(100))))'",
                    hint: "Write FIELD=NAME once for each field: requests=Sum. Fields: "
                        + Analytics.Field.allCases.map(\.rawValue).joined(separator: ", ") + ".")
            }
        }
        return names
    }

    private static func summary(
        of path: String, _ names: [Analytics.Field: String]
    ) throws(Failure) -> AnalyticsSummary {
        let input = ListInput(try ListFile(path), copies: false)
        var analytics = Analytics(names: names)
        do throws(Failure) {
            while let piece = try input.next() {
                do throws(PlannerError) { try analytics.read(piece) } catch {
                    throw Failure(error)
                }
            }
            do throws(PlannerError) { return try analytics.finish() } catch {
                throw Failure(error)
            }
        } catch {
            throw error.inFile(path)
        }
    }

    /// The failure of an export from which no input of a plan follows.
    static func withoutInput(_ path: String, _ summary: AnalyticsSummary) -> UsageError {
        let period = HumanFormat.duration(seconds: Double(summary.periodSeconds))
        return UsageError(
            (["\(printable(path)): no input follows from \(summary.periods) periods of \(period)."]
                + summary.notes).joined(separator: " "),
            hint:
                "Export users by day, users by hour of a whole day, concurrent users, or requests.")
    }

    /// The preset of `--preset`; nil without it.
    static func preset(_ arguments: Arguments) -> AudiencePreset? {
        arguments.text("preset").flatMap { name in
            AudiencePreset.all.first { $0.name == name }
        }
    }

    /// Sets the audience of `--preset`. Returns a note with its source.
    static func applyPreset(_ arguments: Arguments, to scenario: inout Scenario) throws -> [String]
    {
        guard let preset = preset(arguments) else { return [] }
        let name = preset.name
        let audience: [ScenarioInput] = [
            .monthlyActiveUsers, .dailyActiveUsers, .peakConcurrentUsers,
        ]
        if let given = audience.first(where: { scenario.given[$0] != nil }) {
            throw UsageError(
                "--preset \(name) and \(given.row.path) both set the audience",
                hint: "Omit one of them.")
        }
        for (input, value) in preset.values {
            scenario.given[input] = Estimate(value)
            scenario.origins[input] = "--preset \(name)"
        }
        return ["The audience is that of \(preset.service). Source: \(preset.source)."]
    }
}
