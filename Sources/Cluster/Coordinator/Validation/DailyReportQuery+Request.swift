import API
import HTTPServer
import JobQueue
import Model

extension DailyReportQuery {
    /// Reads the parameters of a request. Throws `input.field` for an unknown or out-of-range one.
    static func read(_ request: HTTPRequest) throws(Failure) -> DailyReportQuery {
        let names = ["by", "days", "since", "until", "catalog", "site", "origin", "code"]
        if let other = request.query.first(where: { !names.contains($0.name) }) {
            throw Validation.wrong("the query", other.name, names.joined(separator: ", "))
        }
        var query = DailyReportQuery()
        if let text = request.queryValue("by") {
            guard let grouping = DailyReport.Grouping(rawValue: text) else {
                throw Validation.wrong(
                    "by", text,
                    DailyReport.Grouping.allCases.map(\.rawValue).joined(separator: ", "))
            }
            query.grouping = grouping
        }
        query.period = try period(request)
        for (field, path, most) in [
            ("catalog", \DailyReportQuery.catalog, 200), ("site", \.site, 4_000),
            ("origin", \.origin, 1_000), ("code", \.code, 100),
        ] {
            guard let text = request.queryValue(field) else { continue }
            try Validation.text(text, field, 1...most)
            query[keyPath: path] = text
        }
        // What has another code is counted under `other`.
        if let code = query.code, code != "other", !FailureCode(code).isKnown {
            throw Validation.wrong("code", code, "a failure code such as origin.http.404, or other")
        }
        return query
    }

    private static func period(_ request: HTTPRequest) throws(Failure) -> Period {
        let since = try day(request, "since")
        let until = try day(request, "until")
        guard let text = request.queryValue("days") else {
            guard let since else {
                if let until {
                    throw Validation.wrong("until", until.description, "together with since")
                }
                return DailyReportQuery().period
            }
            if let until, until < since {
                throw Validation.wrong(
                    "until", until.description, "since, \(since), or a later day")
            }
            return .from(since, until: until)
        }
        guard since == nil, until == nil else {
            throw Validation.wrong("days", text, "without since and until")
        }
        guard let days = Int(text), (1...WireLimits.reportDays).contains(days) else {
            throw Validation.wrong("days", text, "1 to \(WireLimits.reportDays)")
        }
        return .last(days: days)
    }

    private static func day(
        _ request: HTTPRequest, _ field: String
    ) throws(Failure) -> UTCDay? {
        guard let text = request.queryValue(field) else { return nil }
        guard let day = UTCDay(text) else {
            throw Validation.wrong(field, text, "a day in UTC as 2026-11-26")
        }
        return day
    }
}
