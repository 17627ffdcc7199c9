import Planner
import Statistics
import Testing

/// Exports of analytics, monitoring and CDNs as inputs of a plan.
@Suite struct AnalyticsTests {
    private static func read(
        _ text: String, names: [Analytics.Field: String] = [:]
    ) throws(PlannerError) -> AnalyticsSummary {
        var analytics = Analytics(names: names)
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: 11) {
            try analytics.read(Array(bytes[start..<min(start + 11, bytes.count)]))
        }
        return try analytics.finish()
    }

    private static func likely(_ summary: AnalyticsSummary) -> [String: Double] {
        summary.values.mapValues(\.likely)
    }

    /// A day by hours: 100 at night, 1,000 at 20:00.
    private static func day(_ head: String, _ row: (Int, Int) -> String) -> String {
        head + (0..<24).map { row($0, $0 == 20 ? 1_000 : 100) + "\n" }.joined()
    }

    @Test func usersByHourOfGoogleAnalyticsGiveTheShapeOfADay() throws {
        func hour(_ hour: Int) -> String { hour < 10 ? "0\(hour)" : "\(hour)" }
        let texts = [
            Self.day(
                "# ----\n# Free form\n# 20261010-20261010\n\nDate + hour (YYYYMMDDHH),Active users\n"
            ) { "20261010\(hour($0)),\($1)" } + ",3300\n",
            Self.day("Date,Hour,Active users\n") { "20261010,\(hour($0)),\"\($1)\"" },
        ]
        for text in texts {
            let summary = try Self.read(text)
            #expect(summary.periodSeconds == 3_600 && summary.spanSeconds == 86_400)
            #expect(summary.users?.peak == 1_000)
            let values = Self.likely(summary)
            #expect(Set(values.keys) == ["audience.peakToMean"])
            #expect(abs((values["audience.peakToMean"] ?? 0) - 1_000 / 137.5) < 1e-9)
            #expect(summary.notes.count == 1)
        }
    }

    @Test func usersByDayAreDailyUsers() throws {
        let summary = try Self.read("Day;Users\n2026-10-01;10\n2026-10-02;30\n")
        #expect(Self.likely(summary) == ["audience.dailyActiveUsers": 20])
    }

    @Test func requestsOfACDNGiveRatesSizesAndTheHitRatio() throws {
        let text = Self.day("start_time,region,requests,bandwidth,hits,miss\n") { hour, count in
            let time = 1_791_590_400 + hour * 3_600
            return "\(time),eu,\(count * 36),\(count * 36_000),\(count * 27),\(count * 9)\n"
                + "\(time),us,0,0,0,0"
        }
        let summary = try Self.read(text)
        let values = Self.likely(summary)
        #expect(values["edge.peakRequestsPerSecond"] == 10)
        #expect(abs((values["edge.meanRequestsPerSecond"] ?? 0) - 1.375) < 1e-9)
        #expect(values["edge.bytesPerRequest"] == 1_000 && values["edge.hitRatio"] == 0.75)
        #expect(summary.hourlyRequests?[20] == 10 && summary.hourlyRequests?.count == 24)
        #expect(summary.notes == ["The export has means of 60 minutes: the peak minute is higher."])
    }

    /// CloudFront's cache statistics and metrics, and reports of Azure Front Door, begin with lines about
    /// the report.
    @Test func reportsThatBeginWithTheirSettingsAreRead() throws {
        let head = """
            Version,1.0
            Report,CacheStatistics
            DistributionID,ALL
            StartDateUTC,2026-10-10
            GeneratedTimeUTC,2026-10-12T08:00:00Z
            Granularity,HOURLY

            DistributionID,FriendlyName,ViewerLocation,TimeBucket,RequestCount,HitCount,MissCount,\
            ErrorCount,TotalBytes,BytesFromMisses

            """
        let statistics = Self.likely(
            try Self.read(
                Self.day(head) { hour, count in
                    "ALL,cdn.example,ALL,2026-10-10T\(hour < 10 ? "0" : "")\(hour):00:00Z,"
                        + "\(count * 36),\(count * 27),\(count * 9),0,\(count * 36_000),7"
                }))
        #expect(statistics["edge.peakRequestsPerSecond"] == 10)
        #expect(statistics["edge.hitRatio"] == 0.75 && statistics["edge.bytesPerRequest"] == 1_000)
        let metrics = try Self.read(
            "Report,Metrics\nGranularity,ONE_MINUTE\n\nFriendlyName,TimeBucket,Requests,"
                + "BytesDownloaded\nx,2026/10/10 12:00:00,600,6000\nx,2026/10/10 12:01:00,60,600\n")
        #expect(metrics.periodSeconds == 60 && metrics.requests?.peak == 10)
        #expect(Self.likely(metrics)["edge.bytesPerRequest"] == 10)
    }

    /// CloudWatch's console exports two lines of labels, then times and values.
    @Test func anExportOfCloudWatchIsRead() throws {
        let head = "Full label,RequestCount,BytesDownloaded\nLabel,RequestCount,BytesDownloaded\n"
        let summary = try Self.read(
            Self.day(head) { hour, count in
                "2026/10/10 \(hour < 10 ? "0" : "")\(hour):00:00,\(count * 36),\(count * 36_000)"
            })
        #expect(summary.periodSeconds == 3_600 && summary.requests?.peak == 10)
        #expect(Self.likely(summary)["edge.bytesPerRequest"] == 1_000)
        // A column of its own has the time, whatever else is a label.
        let other = try Self.read(
            "label,time,users\nx,2026-10-01,10\ny,2026-10-02,30\n")
        #expect(Self.likely(other) == ["audience.dailyActiveUsers": 20])
    }

    @Test func columnsCanBeMapped() throws {
        let text =
            "Time,sum(rate(nginx_http_requests_total[1m]))\n"
            + "2026-10-10 13:00:00,5\n2026-10-10 13:01:00,15.5\n"
        let summary = try Self.read(
            text, names: [.requestsPerSecond: "sum(rate(nginx_http_requests_total[1m]))"])
        #expect(summary.requests?.peak == 15.5 && summary.periodSeconds == 60)
        #expect(Self.likely(summary)["audience.peakToMean"] == nil)
        #expect(throws: PlannerError.self) { try Self.read(text, names: [.users: "Nutzer"]) }
    }

    @Test(arguments: [
        ("2026-10-10T13:00:00Z", "2026-10-10T15:00+02:00"), ("1791637200", "1791637200000"),
        ("2026101013", "202610101300"), ("2026-10-10 13:00:00.500 UTC", "2026-10-10T13:00:00-0000"),
    ])
    func timesAreRead(one: String, other: String) throws {
        let next = "2026-10-10T14:00Z,1"
        for text in [one, other] {
            let summary = try Self.read("time,viewers\n\(text),7\n\(next)\n")
            #expect(summary.periodSeconds == 3_600 && summary.concurrent?.peak == 7)
            #expect(Self.likely(summary)["audience.peakConcurrentUsers"] == 7)
        }
    }

    @Test(arguments: [
        ("", "the table is without a record"), ("a,b\n1,2\n", "name a column for the time"),
        ("time,x\n2026-10-10,1\n", "the header is time, x: name a column for users or requests"),
        ("time,users\n10/10/2026,1\n", "line 2, column time is '10/10/2026'"),
        ("time,users\n2026-13-10,1\n", "line 2, column time is '2026-13-10'"),
        ("time,users\n2026-10-10,x\n", "line 2, column users is 'x': use a number"),
        ("time,users\n2026-10-10,-1\n", "line 2, column users is '-1'"),
        ("time,hour,users\n2026-10-10,24,1\n", "line 2, column hour is '24'"),
        ("time,users\n2026-10-10,1\n", "the number of periods is 1"),
        ("time,users\n2026-10-10,1\n2026-10-20,1\n", "the time between two periods is 10 days"),
        (
            "Datum,Users\n2026-10-10,1\n",
            "date hour, date, or map one with --analytics-column time=Datum"
        ),
        ("time,users\n2026-10-10,30.000\n", "column users is '30.000': write thousands without"),
        ("time,requests\n2026-10-10,30.000\n", "column requests is '30.000'"),
        ("time,users\n2026-10-10,30.5\n", "column users is '30.5': use a whole number"),
        ("time;users\n2026-10-10;30,5\n", "column users is '30,5': use a number"),
        ("time,users\n2026-10-10,0x10\n", "column users is '0x10'"),
    ])
    func badExportsAreNamed(text: String, says: String) {
        do throws(PlannerError) {
            _ = try Self.read(text)
            Issue.record("no error")
        } catch {
            #expect("\(error)".contains(says), "\(error)")
        }
    }

    @Test(arguments: [
        ("30000", 30_000), ("30,000", 30_000), ("1 234 567", 1_234_567), ("30000.0", 30_000),
        ("3e4", 30_000), ("0", 0), ("1,234.0", 1_234),
    ])
    func thousandsAreGroupedByCommasAndBlanks(text: String, users: Double) throws {
        let table = "time;users\n2026-10-10;\(text)\n2026-10-11;\(text)\n"
        #expect(try Self.read(table).users?.mean ?? 0 == users)
    }

    @Test func presetsNameTheirSources() {
        for preset in AudiencePreset.all {
            #expect(preset.source.contains("https://") && !preset.values.isEmpty)
            #expect(preset.values.allSatisfy { $0.key.row.allowed.contains($0.value) })
        }
    }
}
