import API
import Client
import CommandLine
import CoordinatorClient
import Model
import Text

/// `dray report`: what was stored and what failed, by day, site, catalog, origin or failure code.
enum ReportCommand {
    static let command = Command(
        "report",
        summary: "Report success, retries, bytes, speed and failures, from daily figures.",
        discussion: """
            Days are in UTC and are kept for \(WireLimits.reportDays) days, also when their catalogs \
            are forgotten. Failures that are not addressable (\(unaddressable)) need another list, \
            or the origin's owner: no retry and no setting corrects them. Speed is that of a mean \
            transfer: all bytes divided by the seconds of all transfers. \(ClusterCall.privateClusterHelp)
            """,
        options: [
            CommandOption(
                "by",
                .choice(
                    placeholder: "GROUP", of: DailyReport.Grouping.allCases.map(\.rawValue)),
                help: "Group by code, origin, site, catalog or day. Default: day."),
            CommandOption(
                "days", .integer(placeholder: "N", range: 1...WireLimits.reportDays),
                help: "The last N days, today included, 1 to \(WireLimits.reportDays). Default: 7."),
            CommandOption(
                "since", .text(placeholder: "DATE"), help: "The first day, as 2026-11-26."),
            CommandOption(
                "until", .text(placeholder: "DATE"),
                help: "The last day, with --since. Default: today."),
            CommandOption(
                "catalog", .text(placeholder: "NAME"), help: "Only catalogs of this name."),
            CommandOption(
                "site", .text(placeholder: "SITE"),
                help: "Only this site: its storage URL, directory or queue."),
            CommandOption(
                "origin", .text(placeholder: "ORIGIN"),
                help: "Only this origin, scheme://host[:port]."),
            CommandOption(
                "code", .text(placeholder: "CODE"), help: "Only failures with this code."),
        ] + ClusterCall.listOptions
    ) { arguments in
        await ClusterCall.run(arguments, asking: { try query(arguments) }) { query, client in
            let report = try await client.report(query, retrySeconds: ClusterCall.retrySeconds)
            // People also ask why.
            var failures: DailyReport?
            if !arguments.flag("json"), !arguments.flag(ClusterCall.csv.name),
                report.by != .code
            {
                var byCode = query
                byCode.grouping = .code
                failures = try await client.report(
                    byCode, retrySeconds: ClusterCall.retrySeconds)
            }
            let reasons = failures
            return try ClusterCall.show(
                report, arguments, csv: { ListCSV.report(report) },
                as: { ReportText.text(report, failures: reasons) })
        }
    }

    private static let unaddressable = FailureCode.unaddressable.map(\.rawValue)
        .joined(separator: ", ")

    static func query(_ arguments: Arguments) throws(UsageError) -> DailyReportQuery {
        var query = DailyReportQuery()
        if let by = arguments.text("by").flatMap(DailyReport.Grouping.init(rawValue:)) {
            query.grouping = by
        }
        query.period = try period(arguments)
        query.catalog = arguments.text("catalog")
        query.site = arguments.text("site").map(SiteNames.site)
        if let text = arguments.text("origin") {
            guard let origin = originName(of: text, allowsUserInfo: false) else {
                throw UsageError(
                    "--origin is '\(printable(redacted(url: text)))'",
                    hint: "Use scheme://host[:port], for example https://cdn.example.")
            }
            query.origin = origin
        }
        query.code = arguments.text("code")
        return query
    }

    private static func period(
        _ arguments: Arguments
    ) throws(UsageError) -> DailyReportQuery.Period {
        let since = try day("since", arguments)
        let until = try day("until", arguments)
        if let days = arguments.integer("days") {
            guard since == nil, until == nil else {
                throw UsageError(
                    "--days cannot be used with --since or --until", hint: "Use one of them.")
            }
            return .last(days: days)
        }
        guard let since else {
            guard until == nil else {
                throw UsageError("--until was given without --since", hint: "Add --since DATE.")
            }
            return DailyReportQuery().period
        }
        if let until, until < since {
            throw UsageError(
                "--until \(until) is before --since \(since)", hint: "Exchange the two days.")
        }
        return .from(since, until: until)
    }

    private static func day(
        _ name: String, _ arguments: Arguments
    ) throws(UsageError) -> UTCDay? {
        guard let text = arguments.text(name) else { return nil }
        guard let day = UTCDay(text) else {
            throw UsageError(
                "--\(name) is '\(printable(String(text.prefix(100))))'",
                hint: "Use a day as 2026-11-26; days are in UTC.")
        }
        return day
    }
}
