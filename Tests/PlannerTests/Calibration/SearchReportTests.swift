import Statistics
import Testing

@testable import Planner

/// Limits of servers from searches of `dray loadtest`.
@Suite struct SearchReportTests {
    private static func json(
        _ requests: Double, _ bits: Double, isConclusive: Bool = true, kind: String = "search",
        highest: String = "200", broken: String = "210", unit: String = "users",
        planned: String = "null", limit: String = "threshold", margin: String = "null"
    ) -> [UInt8] {
        Array(
            """
            {"figures": {"requestsPerSecond": \(requests), "bitsPerSecond": \(bits),
                         "plannedPerSecond": \(planned)},
             "ladder": {"kind": "\(kind)", "highest": \(highest), "isConclusive": \(isConclusive),
                        "lowestBroken": \(broken), "steps": [], "unit": "\(unit)", "limit": "\(limit)",
                        "margin": \(margin)}}
            """.utf8)
    }

    private static func values(_ given: [ScenarioInput: Double] = [:]) -> ScenarioValues {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        return ScenarioValues(scenario)
    }

    @Test func aSearchAtTheOriginGivesItsLimits() throws {
        let report = try SearchReport(json: Self.json(900, 1.8e9))
        let limits = report.originValues.mapValues(\.likely)
        #expect(
            limits == ["origin.requestsPerSecond": 900, "origin.megabitsPerSecond": 1_800])
        let notes = report.originNotes(Self.values())
        #expect(notes.count == 1 && notes[0].contains("900 requests of 250 kB per second"))
        #expect(report.basis == "the highest load that passed")
    }

    /// Also if the file says that the search found the limit, but no load was too much, or one was for
    /// the generator.
    @Test(
        arguments: [
            (false, "null", "threshold"), (true, "null", "threshold"), (false, "210", "generator"),
        ])
    func aLimitThatWasNotReachedIsALowerBound(
        isConclusive: Bool, broken: String, limit: String
    ) throws {
        let open = try SearchReport(
            json: Self.json(900, 1.8e9, isConclusive: isConclusive, broken: broken, limit: limit))
        #expect(!open.isConclusive && open.maxFactor == .infinity)
        #expect(open.basis == "at least: the search did not reach the limit")
        let notes = open.originNotes(Self.values())
        #expect(notes[0].hasPrefix("The origin answered at least 900 requests"))
        #expect(
            notes[1].hasPrefix("The search did not reach the limit, so the origin allows this "))
        #expect(open.edgeNotes(cores: 2)[0].contains("edge answered at least 900 requests"))
        #expect(open.edgeNotes(cores: 2)[1].contains("as many cores as planned, or fewer"))
    }

    /// A search that stopped because the machine was busy, after a higher load had failed.
    @Test(arguments: ["threshold", "fellBehind"])
    func aFailedLoadIsAnUpperBound(limit: String) throws {
        let report = try SearchReport(
            json: Self.json(
                900, 1.8e9, isConclusive: false, highest: "900", broken: "1050",
                unit: "arrivalsPerSecond", planned: "900", limit: limit))
        #expect(!report.isConclusive && abs(report.maxFactor - 1_050.0 / 900) < 1e-9)
        let notes = report.originNotes(Self.values())
        #expect(notes[0].hasPrefix("The origin answered 900 requests of 250 kB"))
        #expect(
            notes[1].contains("which is between 900 and 1,050 requests per second: the plan has"))
        #expect(report.basis.contains("the limit is below 1,050 requests/s"))
        #expect(!(notes + [report.basis]).contains { $0.contains("or more") })
        #expect(report.edgeNotes(cores: 2)[1].contains("between 900 and 1,050 requests"))
        // Users answer as much more at most.
        let users = try SearchReport(
            json: Self.json(900, 1.8e9, isConclusive: false, limit: limit))
        #expect(users.originNotes(Self.values())[1].contains("between 900 and 945 requests"))
    }

    /// The margin that the search prints stands in the plan's notes and the input's source.
    @Test func theMarginOfTheSearchIsNamed() throws {
        func report(_ margin: String, broken: String = "945", isConclusive: Bool = true) throws
            -> SearchReport
        {
            try SearchReport(
                json: Self.json(
                    900, 1.8e9, isConclusive: isConclusive, highest: "900", broken: broken,
                    unit: "arrivalsPerSecond", planned: "900", margin: margin))
        }
        let found = try report(#"{"below": 0.0202, "above": 0.05}"#)
        let sentence =
            "Margin of the search: −2 %, +5 %: the limit is between 882 and 945 requests per second."
        #expect(found.originNotes(Self.values())[0].contains(" \(sentence) The plan has both"))
        #expect(found.edgeNotes(cores: 2)[0].contains(" \(sentence) The plan assumes"))
        #expect(found.basis == "the highest load that passed, −2 %, +5 %")
        let open = try report(#"{"below": 0.004}"#, broken: "null", isConclusive: false)
        #expect(open.originNotes(Self.values())[0].contains(" Margin of the search: −0.4 %. The "))
        let stopped = try report(
            #"{"below": 0.02, "above": 0.166}"#, broken: "1050", isConclusive: false)
        #expect(stopped.originNotes(Self.values())[1].contains("between 882 and 1,050 requests"))
        let short = try report(#"{"below": 1, "above": 0.05}"#)
        #expect(short.originNotes(Self.values())[0].contains("too short to show a backlog"))
        #expect(short.basis.hasSuffix("without a margin: its steps are too short"))
        for none in ["null", #"{"below": -1}"#, #"{"below": 0.1, "above": -0.5}"#] {
            let report = try report(none)
            #expect(!report.originNotes(Self.values())[0].contains("argin"))
            #expect(report.basis == "the highest load that passed")
        }
        // A knee is of users, and answered requests are no arrivals.
        let users = try SearchReport(json: Self.json(900, 1.8e9, margin: #"{"below": 0.02}"#))
        #expect(!users.originNotes(Self.values())[0].contains("argin"))
    }

    /// The arrivals that a search prints for a plan, not what a short step answered by chance.
    @Test func arrivalsAreTheLimitIfEachIsARequest() throws {
        let report = try SearchReport(
            json: Self.json(
                93, 93 * 8e6, highest: "118", unit: "arrivalsPerSecond", planned: "95.5"))
        #expect(report.requestsPerSecond == 118 && report.bitsPerSecond == 118 * 8e6)
        let viewers = try SearchReport(
            json: Self.json(930, 8e6, highest: "118", unit: "arrivalsPerSecond"))
        #expect(viewers.requestsPerSecond == 930)
        let users = try SearchReport(json: Self.json(930, 8e6, planned: "930"))
        #expect(users.requestsPerSecond == 930)
    }

    /// A goal that is missed for a limit that may be higher.
    @Test func aProblemNamesALowerBound() throws {
        var scenario = Scenario()
        scenario.given[.originRequests] = Estimate(0.1)
        var options = Plan.Options()
        (options.months, options.draws) = (0, 0)
        let known = try Plan(scenario, options).problems
        #expect(!known.contains { $0.contains("at least") })
        scenario.lowerBounds = [.originRequests: 0.2]
        let between = try Plan(scenario, options).problems
        #expect(between.contains { $0.contains("which is below 0.2: search again on a quiet") })
        scenario.lowerBounds = [.originRequests: .infinity]
        let open = try Plan(scenario, options).problems
        #expect(
            open.contains { $0.contains("The origin allows at least that: the search did not ") })
    }

    /// The CPU time of requests and bytes together is that of the cores in the search.
    @Test(arguments: [(42_000.0, 65_536.0, 2.0), (500, 4_000_000, 2), (500, 4_000_000, 0.1)])
    func aSearchAtAnEdgeGivesTheTimeOfARequest(
        requests: Double, bytes: Double, cores: Double
    ) throws {
        let report = try SearchReport(json: Self.json(requests, requests * bytes * 8))
        var values = Self.values()
        for (path, measured) in report.edgeValues(cores: cores, values) {
            let input = try #require(ScenarioInput.named(path))
            #expect(input.row.allowed.contains(measured.likely), "\(path) \(measured.likely)")
            values[input] = measured.likely
        }
        let used =
            requests / values[.edgeRequestsPerCore]
            + requests * bytes / 1e9 * values[.edgeCPUPerGigabyte]
        #expect(abs(used / cores - 1) < 1e-3)
        #expect(report.edgeNotes(cores: cores)[0].contains("CPU was the limit"))
    }

    @Test(
        arguments: [
            (Array("{}".utf8), "no report of a load test", "--search --json"),
            (json(1, 1, kind: "scale"), "without a search", "run it with --search"),
            (json(1, 1, highest: "null"), "without a load that passed", "from a lower load"),
            (json(0, 0), "without a load that passed", "from a lower load"),
        ] as [([UInt8], String, String)])
    func whatIsNoSearchIsRefused(bytes: [UInt8], given: String, allowed: String) throws {
        let error = try #require(throws: PlannerError.self) { try SearchReport(json: bytes) }
        #expect("\(error)".contains(given) && "\(error)".contains(allowed))
    }
}
