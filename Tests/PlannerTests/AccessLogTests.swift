import Planner
import Statistics
import Testing

@Suite struct AccessLogTests {
    private func summary(_ text: String, pieces: Int = 1_000) throws -> AccessLogSummary {
        var log = AccessLog()
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            try log.read(Array(bytes[start..<min(bytes.count, start + pieces)]))
        }
        return try log.finish()
    }

    /// Numbers in a User-Agent are no times.
    private static let agent = #""https://h/watch?v=123" "4.5 (X11; \"Linux\") 1.2""#

    @Test(arguments: [
        #"10.0.0.1 - - [10/Oct/2026:13:55:36 +0200] "GET /a HTTP/1.1" 200 2326 \#(agent) 0.250"#,
        #"10.0.0.1 - bob [10/Oct/2026:13:55:36 +0200] "GET /a HTTP/1.1" 200 2326 \#(agent) 250000"#,
        #"::1 - - [10/Oct/2026:11:55:36 +0000] "GET /\" HTTP/1.1" 200 2326 \#(agent) rt=0.250 x=1"#,
        #"10.0.0.1 - - [10/Oct/2026:06:55:36 -0500] "GET /a HTTP/1.1" 200 2326 \#(agent) "0.250""#,
        // Behind what was forwarded for whom, a length, a ratio.
        #"::1 - - [10/Oct/2026:11:55:36 +0000] "GET /a HTTP/1.1" 200 2326 \#(agent) "10.0.0.9" 0.250"#,
        #"::1 - - [10/Oct/2026:11:55:36 +0000] "GET /a HTTP/1.1" 200 2326 \#(agent) 714 0.250"#,
        #"::1 - - [10/Oct/2026:11:55:36 +0000] "GET /a HTTP/1.1" 200 2326 \#(agent) "2.35" 0.250 714"#,
        // As nginx's documentation and Kubernetes' ingress have it: what stands behind took less.
        #"::1 - - [10/Oct/2026:11:55:36 +0000] "GET /a HTTP/1.1" 200 2326 \#(agent) rt=0.250 uct="0.001" urt="0.2""#,
        #"::1 - - [10/Oct/2026:11:55:36 +0000] "GET /a HTTP/1.1" 200 2326 \#(agent) 714 0.250 [web-80] [] 10.1.2.3:80 2326 0.249 200 6f1e"#,
        // Apache's %T %D, and under names.
        #"::1 - - [10/Oct/2026:11:55:36 +0000] "GET /a HTTP/1.1" 200 2326 \#(agent) 0 250000"#,
        #"::1 - - [10/Oct/2026:11:55:36 +0000] "GET /a HTTP/1.1" 200 2326 \#(agent) D=250000 I=9"#,
    ])
    func aLineOfEachForm(line: String) throws {
        for ending in ["\n", "\r\n", ""] {
            let found = try summary(line + ending, pieces: 7)
            #expect(found.requests == 1 && found.unreadableLines == 0)
            #expect(found.bytes.mean == 2_326)
            #expect(abs(found.seconds.mean - 0.25) < 1e-9)
            // 2026-10-10T11:55:36Z.
            #expect(found.firstSecond == 1_791_633_336 && found.spanSeconds == 1)
            #expect(abs(try #require(found.meanConcurrency) - 0.25) < 1e-9)
        }
    }

    @Test(arguments: [
        "99/Oct/2026:13:55:36 +0000", "00/Oct/2026:13:55:36 +0000", "31/Nov/2026:13:55:36 +0000",
        "29/Feb/2026:13:55:36 +0000", "10/Oct/2026:25:55:36 +0000", "10/Oct/2026:13:99:36 +0000",
        "10/Oct/2026:13:55:61 +0000", "10/Oct/2026:13:55:36 +9900", "10/Oct/2026:13:55:36 +0060",
    ])
    func aTimeThatThereIsNotIsUnreadable(time: String) throws {
        let good = #"::1 - - [28/Feb/2024:23:59:60 +0000] "GET / HTTP/1.1" 200 5"#
        let leap = #"::1 - - [29/Feb/2024:00:00:00 +0000] "GET / HTTP/1.1" 200 5"#
        let bad = #"::1 - - [\#(time)] "GET / HTTP/1.1" 200 5"#
        let found = try summary("\(good)\n\(leap)\n\(bad)\n")
        #expect(found.requests == 2 && found.unreadableLines == 1 && found.spanSeconds == 1)
    }

    @Test(arguments: [
        "2026-10-99\t13:55:36", "2026-02-29\t13:55:36", "2026-13-10\t13:55:36",
        "2026-10-10\t24:55:36", "2026-10-10\t13:60:36", "2026-10-10\t13:55:61",
    ])
    func aCloudFrontTimeThatThereIsNotIsUnreadable(time: String) throws {
        let found = try summary(
            "#Fields: date time sc-bytes\n2026-10-10\t13:55:36\t5\n\(time)\t5\n")
        #expect(found.requests == 1 && found.unreadableLines == 1)
    }

    @Test func withoutTimesThereIsNoConcurrency() throws {
        let found = try summary(
            """
            10.0.0.1 - - [10/Oct/2026:23:59:59 +0000] "GET /a HTTP/1.1" 200 100 \(Self.agent)
            10.0.0.1 - - [11/Oct/2026:00:00:00 +0000] "GET /a HTTP/1.1" 304 -

            """)
        #expect(found.requests == 2 && found.bytes.sum == 100)
        #expect(found.meanConcurrency == nil && found.hitRatio == nil)
        #expect(found.spanSeconds == 2 && found.meanRequestsPerSecond == 1)
        #expect(found.requestsPerSecondByHour[23] == 1 && found.requestsPerSecondByHour[0] == 1)
        #expect(found.requestsPerSecondByHour[12] == nil)
    }

    private static func line(_ second: Int, _ behind: String = "") -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = "\(two(second / 3_600 % 24)):\(two(second / 60 % 60)):\(two(second % 60))"
        return "h - - [\(two(10 + second / 86_400))/Oct/2026:\(clock) +0000] \"GET /a HTTP/1.1\" "
            + "200 500 \"-\" \"-\"\(behind)\n"
    }

    /// Apache's %T: whole seconds, of which most requests take none.
    @Test func wholeNumbersAreSecondsWhereMostAreSmall() throws {
        let text = (0..<2_000).map { Self.line($0, " \($0 % 4 == 0 ? 2 : 0)") }.joined()
        #expect(abs(try summary(text).seconds.mean - 0.5) < 1e-9)
        let micros = (0..<2_000).map { Self.line($0, " \($0 % 4 == 0 ? 200_000 : 80)") }.joined()
        #expect(abs(try summary(micros).seconds.mean - 0.05006) < 1e-9)
    }

    private static let ratio = Estimate(low: 2, likely: 2.5, high: 3)

    /// A quarter of a day of 2 requests a second: not the mean of a day.
    @Test func lessThanADayIsTakenForItsBusiestHours() throws {
        let hours = try summary((0..<43_200).map { Self.line($0 / 2) }.joined())
        #expect(hours.spanSeconds == 21_600 && hours.meanRequestsPerSecond == 2)
        let values = try hours.values(peakToMean: Self.ratio)
        #expect(values["edge.peakRequestsPerSecond"]?.likely == 2)
        let mean = try #require(values["edge.meanRequestsPerSecond"])
        #expect(mean.likely == 0.8 && mean.low == 2.0 / 3 && mean.high == 2)
        #expect(values["audience.peakToMean"] == nil)
    }

    /// A day and a half, of which two are nights: each hour of the day counts once.
    @Test func everyHourOfTheDayCountsAlike() throws {
        let busy = (0..<129_600).filter { $0 / 43_200 == 1 || $0 % 10 == 0 }
        let values = try summary(busy.map { Self.line($0) }.joined())
            .values(peakToMean: Self.ratio)
        let mean = try #require(values["edge.meanRequestsPerSecond"])
        #expect(abs(mean.likely - 0.55) < 0.001)
        #expect(abs(try #require(values["audience.peakToMean"]).likely - 1 / 0.55) < 0.01)
    }

    @Test(arguments: [(600, 1), (7_200, 100)])
    func tooLittleIsNoLoad(seconds: Int, step: Int) throws {
        let found = try summary(
            stride(from: 0, to: seconds, by: step).map { Self.line($0) }.joined())
        let error = try #require(throws: PlannerError.self) {
            try found.values(peakToMean: Self.ratio)
        }
        #expect(
            "\(error)".contains("requests in") && "\(error)".contains("3600 s and 100 requests"))
    }

    @Test func aCDNsLog() throws {
        let found = try summary(
            """
            #Version: 1.0
            #Fields: date time x-edge-location sc-bytes c-ip cs-method x-edge-result-type time-taken
            2026-10-10\t11:55:36\tFRA2\t1000\t10.0.0.1\tGET\tHit\t0.1
            2026-10-10\t11:55:37\tFRA2\t3000\t10.0.0.1\tGET\tMiss\t0.3
            2026-10-10\t11:55:38\tFRA2\t3000\t10.0.0.1\tGET\tRefreshHit\t0.2
            2026-10-10\t11:55:39\tFRA2\t3000\t10.0.0.1\tGET\tError\t-
            nonsense
            """)
        #expect(found.requests == 4 && found.unreadableLines == 1)
        #expect(found.hitRatio == 2.0 / 3)
        #expect(found.bytes.mean == 2_500)
        #expect(found.seconds.count == 3)
    }

    /// A known load: Poisson arrivals of one a second for a day, twice that from 20 to 21 o'clock.
    @Test func aDayOfPoissonArrivals() throws {
        let rates = (0..<24).map { $0 == 20 ? 2.0 : 1.0 }
        var random = SeededRandom(seed: 41)
        var arrivals = try #require(
            ArrivalProcess(ratesPerSecond: rates, random: random.split()))
        var log = AccessLog()
        var count = 0
        while true {
            let time = arrivals.next() + 2
            guard time < 86_400 else { break }
            count += 1
            let second = Int(time)
            func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
            let clock = "\(two(second / 3_600)):\(two(second / 60 % 60)):\(two(second % 60))"
            let line = """
                10.0.0.1 - - [10/Oct/2026:\(clock) +0100] "GET / HTTP/1.1" 200 50000 "-" "-" 2.000

                """
            try log.read(Array(line.utf8))
        }
        let found = try log.finish()
        #expect(found.requests == count)
        #expect(abs(found.meanRequestsPerSecond * 86_400 - Double(count)) < 61 * 2)
        #expect(
            abs(try #require(found.meanConcurrency) / (2 * found.meanRequestsPerSecond) - 1) < 0.01)
        #expect(abs(try #require(found.arrivalDispersion) - 1) < 0.05)
        #expect(abs(try #require(found.requestsPerSecondByHour[20]) - 2) < 0.1)
        #expect(abs(try #require(found.requestsPerSecondByHour[3]) - 1) < 0.1)
        #expect(found.peakRequestsPerSecond > 2 && found.peakRequestsPerSecond < 3.5)
        let values = try found.values(peakToMean: Self.ratio)
        #expect(values["audience.peakToMean"] != nil && values["onDemand.arrivalCV2"] != nil)
    }

    @Test func whatIsNoLogIsCountedOrRefused() throws {
        let good = #"h - - [10/Oct/2026:13:55:36 +0200] "GET /a HTTP/1.1" 200 5 "-" "-""#
        let found = try summary(
            """
            \(good)
            h - - [10/Xxx/2026:13:55:36 +0200] "GET /a HTTP/1.1" 200 5
            h - - [10/Oct/2026
            \(String(repeating: "x", count: 200_000))
            h - - [10/Oct/2026:13:55:36 +0200] "GET
            h - - [10/Oct/9999:13:55:36 +0200] "GET /a HTTP/1.1" 200 5
            \(good) 99999999999999999999999999
            \(good)
            """, pieces: 5_000)
        #expect(found.requests == 3 && found.unreadableLines == 5)
        for text in ["", "nothing\nof it\n", "#Fields: date time\n"] {
            #expect(throws: PlannerError.self) { try summary(text) }
        }
        let later = good.replacing("2026", with: "2031")
        let error = try #require(throws: PlannerError.self) { try summary("\(good)\n\(later)\n") }
        #expect("\(error)".contains("longer than four years"))
    }
}
