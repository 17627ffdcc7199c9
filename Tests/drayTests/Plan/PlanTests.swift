import Foundation
import TestSupport
import Testing

/// `dray plan` as people run it.
@Suite(.timeLimit(.minutes(2))) struct PlanTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory("plan") }

    private func dray(_ arguments: [String]) async throws -> (
        ending: ChildProcess.Ending, output: String, errors: String
    ) {
        let process = try DrayProcess.start(
            ["plan"] + arguments, environment: ["LANG": "C.UTF-8"],
            workingDirectory: directory.path)
        let ending = try await process.wait()
        return (ending, process.output, process.errors)
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(directory.path)/\(name)"))
    }

    private func json(_ arguments: [String]) async throws -> [String: Any] {
        let answer = try await dray(arguments + ["--json"])
        try #require(answer.ending == .exited(0), "\(answer.errors)")
        let value = try JSONSerialization.jsonObject(with: Data(answer.output.utf8))
        return try #require(value as? [String: Any])
    }

    @Test func nothingHasToBeKnown() async throws {
        let answer = try await dray([])
        #expect(answer.ending == .exited(0))
        #expect(answer.output.hasPrefix("plan: 1,000 monthly active users (assumed), 500 daily"))
        #expect(answer.output.contains("figure suffices in 90 % of 1,000 random draws"))
        #expect(answer.output.contains("Assumptions that matter most"))
        #expect(!answer.output.contains("Assumed inputs"))
        #expect(answer.output.split(separator: "\n", omittingEmptySubsequences: false).count <= 50)
        #expect(answer.errors.isEmpty)
        let full = try await dray(["--full"])
        #expect(full.output.contains("Assumed inputs") && full.output.contains("Growth"))
    }

    @Test func optionsGoBeforeTheScenario() async throws {
        try write("s.json", #"{"audience": {"monthlyActiveUsers": 5000}, "edge": {"sites": 3}}"#)
        func users(_ plan: [String: Any]) -> Double? {
            let sizing = plan["sizing"] as? [String: Any]
            return (sizing?["demand"] as? [String: Any])?["monthlyActiveUsers"] as? Double
        }
        #expect(users(try await json(["s.json", "--draws", "0"])) == 5_000)
        #expect(users(try await json(["s.json", "--users", "7000", "--draws", "0"])) == 7_000)
        let grown = try await json([
            "--growth", "1%:5%:9%", "--set", "edge.sites=2", "--draws", "0",
        ])
        let inputs = try #require(grown["inputs"] as? [[String: Any]])
        let growth = inputs.first { $0["path"] as? String == "audience.growthPerMonth" }
        #expect(
            growth?["value"] as? [String: Double] == ["low": 0.01, "likely": 0.05, "high": 0.09])
        #expect(growth?["isAssumed"] as? Bool == false)
    }

    @Test(arguments: [
        (["--users", "-5"], "--users is '-5'", "1 to 10000000000"),
        (["--users", "nan"], "--users is 'nan'", "LOW:LIKELY:HIGH"),
        (["--growth", "10000%"], "--growth is '10000%'", "-0.5 to 1"),
        (["--hit-ratio", "95"], "--hit-ratio is '95'", "0 to 1. A percentage has its sign: 95%."),
        (["--users", "1e400"], "--users is '1e400'", "1 to 10000000000"),
        (["--wait-seconds", "0"], "--wait-seconds is '0'", "0.001 to 86400 s"),
        (["--users", "1:2"], "--users is '1:2'", "LOW:LIKELY:HIGH"),
        (["--users", "200,000"], "--users is '200,000'", "Write 200000."),
        (["--users", "100k:0.2M:1m"], "--users is '100k:", "Write 100000:200000:1000000."),
        (["--minutes", "5m"], "--minutes is '5m'", "LOW:LIKELY:HIGH"),
        (["--bitrate", "5Mbit/s"], "--bitrate is '5Mbit/s'", "Write 5000."),
        (["--bitrate", "fast"], "--bitrate is 'fast'", "Use a number in kbit/s, or three"),
        (["--origin-megabits", "1Gbit"], "--origin-megabits is '1Gbit'", "Write 1000."),
        (["--origin-requests", "0"], "is '0'", "0.001 to 1000000000 per second"),
        (["--set", "catalog.gigabytes=8TB"], "is '8TB'", "Write 8000."),
        (["--hit-ratio", "most"], "is 'most'", "from 0 to 1, or a percentage such as 5%"),
        (["--origin-provider", "foo"], "--origin-provider is 'foo'", "aws, gcp, hetzner"),
        (["--users", "3:2:1"], "--users is '3:2:1'", "low ≤ likely ≤ high"),
        (["--set", "edge.hitRatoi=1"], "edge.hitRatoi", "Did you mean edge.hitRatio?"),
        (["--set", "edge.hitRatio"], "--set is 'edge.hitRatio'", "hitRatio"),
        (
            ["--provider", "azure"], "--provider is 'azure'",
            "alibaba, aws, gcp, hetzner, on-premises"
        ),
        (["--users", "10", "--peak-users", "20"], "audience.peakConcurrentUsers", "at most 10"),
        (["--json", "--markdown"], "cannot be combined", "Use one of them."),
        (["--emit", "helm"], "--emit is 'helm'", "kubernetes"),
        (
            ["--emit", "keda", "--origin-requests", "1"], "origin.requestsPerSecond",
            "with a plan that has workers"
        ),
        (["--ladder", "100,x"], "--ladder is '100,x'", "1100,3000,6000"),
        (["--codec", "mpeg2", "--width", "64", "--height", "64"], "--codec is 'mpeg2'", "hevc"),
        (["--codec", "hevc"], "media.codec", "Set the picture"),
        (["--correction", "none"], "--correction is 'none'", "allen-cunneen or kimura"),
        (
            ["--ladder", "1000,2000", "--bitrate", "3000"], "media.kilobitsPerSecond is 3000",
            "1000 to 2000"
        ),
        (
            ["--users", "100000", "--peak-users", "1000"], "audience.peakConcurrentUsers",
            "Use at least 3438"
        ),
        (
            [
                "--peak-users", "1000", "--daily-users", "5000", "--set",
                "audience.peakToMean=1.5",
            ], "audience.peakToMean is 1.5", "Omit it or audience.peakConcurrentUsers"
        ),
        (["--confidence", "1"], "--confidence is '1'", "0.5 to 0.99"),
        (["--confidence", "0.9", "--draws", "20"], "--draws 20 are too few", "Use 50 or more"),
        (["--draws", "0", "--confidence", "0.9"], "--confidence needs draws", "Omit --draws"),
        (["--service", "radio"], "--service is 'radio'", "downloads"),
        (["--currency", "euro"], "--currency is 'euro'", "ISO 4217"),
        (
            ["--currency", "XYZ"],
            "the currency is XYZ, which has no exchange rate for EUR and USD",
            "Use EUR or USD, or set money.exchange"
        ),
        (["--set", "foo=1"], "--set names an unknown input 'foo'", "dray plan --full"),
        (["--set", "titles=1"], "unknown input 'titles'", "Did you mean catalog.titles?"),
        (["--set", "catalog.titels=1"], "unknown input", "Did you mean catalog.titles?"),
        (["--users", "30.000"], "--users is '30.000'", "30000, not 30.000"),
        (
            ["--daily-users", "20%"], "--daily-users is '20%', a share",
            "--set audience.dailyActiveShare=20%"
        ),
        (["--peak-users", "5%"], "--peak-users is '5%'", "--set audience.peakShare=5%"),
        (["--users", "5%"], "--users is '5%'", "Use a number of users."),
        (["--width", "1280"], "media.height is missing", "Give media.width and media.height"),
        (
            ["--width", "1280", "--height", "720", "--ladder", "500"],
            "media.ladderKilobitsPerSecond is given beside media.width", "Give the ladder"
        ),
        (["--from-access-log", "no.log"], "dray: no.log: No such file", "exists and can be read"),
        (["--full", "--json"], "cannot be combined", "Use one of them."),
        (["--jobs", "5000"], "--jobs needs --simulate", "Use both"),
        (["none.json"], "none.json: No such file", "Check that"),
        (["bad.json"], "bad.json: line 2, column", "Did you mean monthlyActiveUsers?"),
        (["--prices", "bad.json"], "bad.json: line 1, column", "provider"),
        (["--prices", "."], "files that end in .json", "1 to 100"),
        (["--html", "none/plan.html"], "none/plan.html: No such file", "is writable"),
    ])
    func badInputIsReportedWithWhatIsAllowed(
        arguments: [String], message: String, allowed: String
    ) async throws {
        let name = arguments.contains(".") ? "other.txt" : "bad.json"
        try write(name, "{\"audience\": {\n  \"monthlyActiveUser\": 5}}")
        let answer = try await dray(arguments)
        #expect(answer.ending == .exited(2))
        #expect(answer.output.isEmpty)
        #expect(answer.errors.contains(message), "\(answer.errors)")
        #expect(answer.errors.contains(allowed), "\(answer.errors)")
    }

    @Test func aPageIsWrittenBesideTheTables() async throws {
        let answer = try await dray(["--html", "plan.html", "--provider", "aws"])
        #expect(answer.ending == .exited(0))
        #expect(answer.output.contains("Amazon Web Services"))
        let page = try String(contentsOfFile: "\(directory.path)/plan.html", encoding: .utf8)
        #expect(page.hasPrefix("<!doctype html>"))
        #expect(try directory.files() == ["plan.html"])
    }

    @Test func pricesCanBeReplaced() async throws {
        let price = #"{"amount": 2, "currency": "CHF", "date": "2026-11-01", "source": "an offer"}"#
        try write(
            "mine.json",
            """
            {"provider": "mine", "name": "Mine",
             "instance": {"type": "big", "cores": 8, "memoryGigabytes": 32, "month": \(price)},
             "storage": {"type": "disks", "unit": "TB", "unitMonth": \(price)},
             "egress": {"unit": "TB", "tiers": [{"price": \(price)}]}}
            """)
        let answer = try await dray(["--prices", ".", "--provider", "mine", "--markdown"])
        #expect(answer.ending == .exited(0), "\(answer.errors)")
        #expect(
            answer.output.contains(
                "| Mine | big, a month | 2 CHF | 2026-11-01 | without an address: an offer |"))
        try write(
            "cdn.json",
            #"{"cdn": "mine", "name": "My CDN", "delivery": {"perMegabit": \#(price)}}"#)
        let cdn = try await dray(["--prices", "cdn.json", "--markdown", "--currency", "USD"])
        #expect(cdn.ending == .exited(0), "\(cdn.errors)")
        #expect(cdn.output.contains("| My CDN |") && cdn.output.contains("1 EUR = 1.05 USD"))
    }

    /// A simulation is near the plan where theory is exact.
    @Test func aPlanIsSimulated() async throws {
        let plan = try await json([
            "--simulate", "--jobs", "300000", "--draws", "0", "--users", "2000",
            "--set", "worker.connections=1", "--set", "pool.spareWorkers=0",
            "--hit-ratio", "0.95", "--wait-seconds", "0.2",
        ])
        let simulation = try #require(plan["simulation"] as? [String: Any])
        let rows = try #require(simulation["rows"] as? [[String: Any]])
        let use = try #require(rows.first { $0["figure"] as? String == "at the peak, in use" })
        let predicted = try #require(use["predicted"] as? Double)
        let simulated = try #require(use["simulated"] as? Double)
        #expect(abs(simulated / predicted - 1) < 0.05)
        #expect(rows.contains { $0["figure"] as? String == "fill takes" })
    }
}
