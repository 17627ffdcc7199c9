import Foundation
import Planner
import Rendering
import Testing

@testable import PlanReport

/// Outputs compared with golden files: `DRAY_WRITE_DOCS=1` rewrites them for review.
@Suite struct GoldenTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func check(_ path: String, _ actual: String) throws {
        let file = Self.root.appending(path: path)
        if ProcessInfo.processInfo.environment["DRAY_WRITE_DOCS"] == "1" {
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(actual.utf8).write(to: file)
        }
        let expected = try? String(contentsOf: file, encoding: .utf8)
        #expect(actual == expected, "\(path) is not what comes out")
    }

    private static let scenario = """
        {"name": "evening & <night>",
         "audience": {"monthlyActiveUsers": {"low": 150000, "likely": 200000, "high": 300000},
                      "growthPerMonth": 0.08},
         "catalog": {"titles": 4000, "changePerDay": 0.03},
         "edge": {"hitRatio": 0.95},
         "origin": {"connections": 512, "requestsPerSecond": 1200},
         "onDemand": {"waitSeconds": 0.5, "percentile": 0.99},
         "money": {"provider": "hetzner", "originProvider": "aws", "currency": "EUR",
                   "exchange": {"USD": 0.9}, "exchangeDate": "2026-11-20"}}
        """

    private static func plan() throws -> Plan {
        var options = Plan.Options()
        options.prices = try PriceReader.embedded()
        options.cdns = try PriceReader.embeddedCDNs()
        options.months = 12
        options.draws = 200
        options.confidence = 0.9
        return try Plan(try ScenarioReader.read(Array(scenario.utf8)), options)
    }

    private static let folder = "Tests/PlanReportTests/Golden"

    /// The first screen answers: at most 50 lines of at most 100 columns.
    @Test func theFirstScreen() throws {
        let text = PlanSummary(try Self.plan()).text
        try check("\(Self.folder)/plan.txt", text)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 50)
        #expect(lines.allSatisfy { $0.count <= 100 })
        for part in [
            "suffices in 90 % of 200 random draws", "sized for", "Recommended: ",
            "What binds first",
            "Assumptions that matter most",
        ] { #expect(text.contains(part), "\(part)") }
    }

    @Test func everythingIsInTheFullTables() throws {
        let plan = try Self.plan()
        let text = PlanTable(plan, usesUnicode: true).text
        for row in PlanFacts(plan: plan).machines { #expect(text.contains(row.value)) }
        for part in [
            "Waits: on-demand", "Growth", "First bottlenecks", "Own edge servers", "Uncertainty",
            "Main influences on workers", "Notes", "Assumed inputs",
        ] { #expect(text.contains(part), "\(part)") }
        let plain = PlanTable(plan, usesUnicode: false).text
        #expect(!plain.contains("━") && !plain.contains("─"))
    }

    /// Every row of the terminal's tables.
    private func expectRows(in text: String, _ escaped: (String) -> String) throws {
        let facts = PlanFacts(plan: try Self.plan())
        for row in facts.demand + facts.machines {
            for part in [row.name, row.value, row.remark] {
                #expect(text.contains(escaped(part)), "\(row.name): \(part)")
            }
        }
    }

    @Test func markdownHasThePricesSources() throws {
        let text = PlanMarkdown(try Self.plan()).text
        #expect(text.contains("2026-10-28"))
        try expectRows(in: text) { PlanMarkdown.escaped($0) }
    }

    @Test func thePageNeedsNoNetworkAndEscapesWhatItIsGiven() throws {
        let text = PlanHTML(try Self.plan()).text
        try expectRows(in: text) { HTMLText.escaped($0) }
        #expect(!text.contains("src=") && !text.contains("href=") && !text.contains("<script"))
        #expect(text.contains("evening &amp; &lt;night&gt;") && !text.contains("<night>"))
        #expect(text.contains("prefers-color-scheme:dark"))
    }

    /// An origin that allows 100 requests a second, of 564.
    private static func planWithoutPool() throws -> Plan {
        var options = Plan.Options()
        options.prices = try PriceReader.embedded()
        options.months = 6
        options.draws = 200
        let tight = scenario.replacingOccurrences(of: "1200", with: "100")
        return try Plan(try ScenarioReader.read(Array(tight.utf8)), options)
    }

    /// No figure of a pool that there is none of: no price, no machines, nothing to start.
    @Test func whatNoPoolSufficesForHasNoPoolAndNoPrice() throws {
        let plan = try Self.planWithoutPool()
        let outputs = [
            PlanTable(plan, usesUnicode: true).text, PlanMarkdown(plan).text, PlanHTML(plan).text,
            try PlanJSON.text(plan),
        ]
        for text in outputs {
            #expect(text.contains("No pool suffices: no number of workers keeps on-demand fetches"))
            #expect(text.contains("origin.requestsPerSecond allows 100 fetches per second"))
            #expect(!text.contains("1000000") && !text.contains("1,000,000"))
        }
        for text in outputs.prefix(3) {
            #expect(text.contains("If the origin had no limits: with "))
        }
        for kind in PlanManifests.allCases where kind != .postgresql {
            let error = #expect(throws: PlannerError.self) { try kind.text(plan, version: "1") }
            #expect(error?.field == "origin.requestsPerSecond")
        }
        #expect(try PlanManifests.postgresql.text(plan, version: "1").contains("max_connections"))
    }

    @Test(arguments: PlanManifests.allCases)
    func manifestsAreReadyToUse(kind: PlanManifests) throws {
        let text = try kind.text(try Self.plan(), version: "1.2.3")
        try check("\(Self.folder)/\(kind.rawValue).out", text)
    }

    /// The same seed gives the same plan, to the last digit.
    @Test func jsonIsTheSameEveryTime() throws {
        let text = try PlanJSON.text(try Self.plan())
        #expect(try PlanJSON.text(try Self.plan()) == text)
        let read = try JSONDecoder().decode(Plan.self, from: Data(text.utf8))
        #expect(try PlanJSON.text(read) == text)
    }

    @Test func theInputsPageIsCurrent() throws {
        try check("docs/planning-inputs.md", InputsPage.text)
    }
}
