import Statistics
import Testing

@testable import Planner

/// Limits of servers from searches of `dray loadtest`.
@Suite struct SearchReportTests {
    private static func json(
        _ requests: Double, _ bits: Double, isConclusive: Bool = true, kind: String = "search",
        highest: String = "200"
    ) -> [UInt8] {
        Array(
            """
            {"figures": {"requestsPerSecond": \(requests), "bitsPerSecond": \(bits)},
             "ladder": {"kind": "\(kind)", "highest": \(highest), "isConclusive": \(isConclusive),
                        "steps": [], "unit": "arrivalsPerSecond"}}
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
        let open = try SearchReport(json: Self.json(900, 1.8e9, isConclusive: false))
        #expect(open.originNotes(Self.values()).contains { $0.contains("did not find the limit") })
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
