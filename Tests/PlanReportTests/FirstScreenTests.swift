import Foundation
import Rendering
import TestSupport
import Testing

@testable import PlanReport
@testable import Planner

/// What the first screen and the head of the page have beside the usual.
@Suite(.computing) struct FirstScreenTests {
    private static func plan(
        _ given: [ScenarioInput: Double], simulatedJobs: Int? = nil, books: [PriceBook] = []
    ) throws -> Plan {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        scenario.money.currency = "EUR"
        ExchangeRates.complete(&scenario.money)
        var options = Plan.Options()
        (options.draws, options.months, options.prices) = (0, 12, books)
        options.cdns = books.isEmpty ? [] : try PriceReader.embeddedCDNs()
        options.simulatedJobs = simulatedJobs
        return try Plan(scenario, options)
    }

    @Test func aComparisonWithARunIsThere() throws {
        var run = RunCheck.Run(segments: 1_000, bytes: 1e9, seconds: 5, retries: 0, workers: 4)
        (run.waits, run.fetchSeconds) = ((2, 4.5, 5), 0.08)
        var plan = try Self.plan([.monthlyActiveUsers: 5_000])
        plan.check = try RunCheck(ScenarioValues(Scenario()), run)
        let text = PlanSummary(plan).text
        let rows = try #require(plan.check).rows
        #expect(text.contains("The plan beside a real run "))
        for row in rows where PlanFacts.mainOfCheck.contains(row.figure) {
            #expect(text.contains("\n  \(row.figure) "), "\(row.figure)")
        }
        #expect(text.contains("--full prints all \(rows.count) figures."))
        #expect(text.contains("4 workers with ") && text.contains("segments of 1 MB: "))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    /// An old rate is named beside the costs in all formats, if an amount is converted.
    @Test func anOldExchangeRateIsNamed() throws {
        let warning = "The exchange rate is from 2025-02-21, over a year ago: set money.exchange."
        func outputs(_ change: (inout Scenario) -> Void) throws -> [String] {
            var scenario = Scenario()
            change(&scenario)
            ExchangeRates.complete(&scenario.money)
            var options = Plan.Options()
            options.draws = 0
            options.prices = try PriceReader.embedded()
            var plan = try Plan(scenario, options)
            plan.exchangeWarning = ExchangeRates.warning(scenario.money, today: "2026-11-29")
            return [
                PlanSummary(plan).text, PlanTable(plan, usesUnicode: false).text,
                PlanMarkdown(plan).text,
            ]
            .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        }
        for text in try outputs({ _ in }) { #expect(text.contains(warning), "\(text)") }
        for text in try outputs({ $0.money.provider = "hetzner" }) {
            #expect(!text.contains(warning), "\(text)")
        }
    }

    @Test func aSimulationIsThere() throws {
        let plan = try Self.plan([.monthlyActiveUsers: 5_000], simulatedJobs: 1_000_000)
        let text = PlanSummary(plan).text
        #expect(text.contains("The plan beside a simulation "))
        #expect(text.contains("\n  at the peak, in use ") && text.contains("\n  fill takes "))
        let rows = try #require(plan.simulation).rows
        #expect(text.contains("--full prints all \(rows.count) figures."))
        #expect(rows.count { PlanFacts.mainOfSimulation.contains($0.figure) } >= 3)
        // What was not simulated is there with its reason.
        let peak = try Self.plan([.monthlyActiveUsers: 5_000], simulatedJobs: 20_000)
        let note = try #require(
            peak.simulation?.notes.first { $0.hasPrefix("The day was not simulated: ") })
        let sentence = TextLayout.wrapped(note, width: 98, hangingIndent: 2)
        #expect(PlanSummary(peak).text.contains(sentence))
        // With the number that it names, it is simulated.
        #expect(note.contains(" fetches, and --jobs is 20,000. Use --jobs "))
        let jobs = try #require(Int(note.split(separator: " ").last?.dropLast() ?? ""))
        let day = try Self.plan([.monthlyActiveUsers: 5_000], simulatedJobs: jobs)
        #expect(day.simulation?.hours.count == 24)
        let fewer = try Self.plan([.monthlyActiveUsers: 5_000], simulatedJobs: jobs - 1)
        #expect(fewer.simulation?.hours.isEmpty == true)
        let large = try Self.plan(
            [.connections: 1_000, .spareWorkers: 100], simulatedJobs: 1_000)
        #expect(
            large.simulation?.notes.contains {
                $0.contains("transfers, and a day can be simulated with at most 100,000.")
            } == true)
        let none = try Self.plan([.originRequests: 0.01, .hitRatio: 0], simulatedJobs: 20_000)
        #expect(PlanSummary(none).text.contains("Nothing was simulated: no pool suffices."))
    }

    @Test func notesOnACalibrationAreThere() throws {
        var plan = try Self.plan([:])
        plan.calibrationNotes = ["Too short to rely on: 2 runs."]
        #expect(!PlanSummary(plan).text.contains("Too short"))
        var scenario = Scenario()
        scenario.given[.originLatency] = Estimate(20)
        scenario.origins[.originLatency] = "--calibrate 2 reports, of 2, no interval"
        var options = Plan.Options()
        options.draws = 0
        plan = try Plan(scenario, options)
        plan.calibrationNotes = ["Too short to rely on: 2 runs."]
        let lines = PlanSummary(plan).text.split(separator: "\n").map(String.init)
        let source = try #require(lines.firstIndex { $0.hasPrefix("From --calibrate 2 reports: ") })
        #expect(lines[source + 1] == "Too short to rely on: 2 runs.")
    }

    /// The growth table has headroom, and the limit of workers has none: the line relates them.
    @Test func workersOfTheForecastAgreeWithTheirLimit() throws {
        let given: [ScenarioInput: Double] = [
            .monthlyActiveUsers: 400_000, .hitRatio: 0.95, .catalogGrowth: 0,
        ]
        let plan = try Self.plan(given.merging([.audienceGrowth: 0.02]) { $1 })
        let limit = try #require(plan.growth.limits.first { $0.resource == .workers })
        let now = try #require(plan.growth.months.first?.workers)
        let more = try #require(
            plan.growth.months.first { $0.workers.map { $0 > now } ?? false })
        try #require(more.month < limit.bindsInMonth ?? .max)
        let text = PlanFacts.binds(limit, plan.growth)
        #expect(
            text.hasSuffix(
                "; pool.headroom needs \(try #require(more.workers)) from month \(more.month)"))
        let flat = try Self.plan(given.merging([.audienceGrowth: 0]) { $1 })
        let same = try #require(flat.growth.limits.first { $0.resource == .workers })
        #expect(PlanFacts.binds(same, flat.growth) == "not within 12 months")
    }

    /// Too small an origin leaves the question of an own edge or a CDN: costs are there, marked.
    @Test func aTooSmallOriginLeavesTheCosts() throws {
        let books = try PriceReader.embedded()
        let given: [ScenarioInput: Double] = [
            .monthlyActiveUsers: 200_000, .hitRatio: 0.95, .originMegabits: 100,
        ]
        let plan = try Self.plan(given, books: books)
        #expect(plan.sizing.workers.total == nil && plan.recommendation != nil)
        let free = try Self.plan(given.filter { $0.key != .originMegabits }, books: books)
        #expect(plan.costs.map(\.perMonth) == free.costs.map(\.perMonth))
        #expect(free.costsWithoutLimits.isEmpty)
        let condition =
            "If the origin had no limits: with origin.megabitsPerSecond no pool suffices"
        for text in [
            PlanSummary(plan).text, PlanTable(plan, usesUnicode: true).text,
            PlanMarkdown(plan).text, PlanHTML(plan).text,
        ] {
            #expect(text.contains(condition) && text.contains("Recommended: "))
        }
        #expect(!PlanSummary(free).text.contains(condition))
    }

    /// The head of the page has the cost and the recommendation.
    @Test func thePageBeginsWithTheDecision() throws {
        let plan = try Self.plan(
            [.monthlyActiveUsers: 200_000], books: try PriceReader.embedded())
        let page = PlanHTML(plan).text
        let head = try #require(page.components(separatedBy: "<h2").first)
        let best = try #require(plan.recommendation)
        #expect(head.contains("a month, \(best.name)") && head.contains("Recommended: "))
        #expect(page.components(separatedBy: "Recommended: ").count == 2)
    }

    /// A ratio of two moments means nothing, and none is below zero by a rounding error.
    @Test func relativeErrorsAreThoseOfNoticeableAmounts() {
        func error(_ plan: Double?, _ simulation: Double?, _ unit: String) -> String {
            PlanFacts.simulated(
                PlanSimulation.Row(
                    figure: "f", unit: unit, predicted: plan, simulated: simulation))[3]
        }
        #expect(error(0.000_4, 0.02, "s") == "" && error(0.003, 0.002, "") == "")
        #expect(error(0.004, 0.005, "s") == "+25.0 %" && error(0.02, 0.000_5, "s") == "−97.5 %")
        #expect(error(0.01, 2, "s") == "+19,900 %")
        #expect(error(100, 99.99, "s") == "0.0 %" && error(100, 99.9, "s") == "−0.1 %")
        #expect(error(0.5, 0, "") == "" && error(2, 0, "") == "−100.0 %")
    }

    /// The plan's edge servers beside those of providers.
    @Test func edgeServersAreRelated() throws {
        let plan = try Self.plan(
            [.monthlyActiveUsers: 200_000], books: try PriceReader.embedded())
        let servers = plan.sizing.edge.servers
        let page = PlanHTML(plan).text.replacing("&#39;", with: "'")
        for text in [PlanTable(plan, usesUnicode: true).text, PlanMarkdown(plan).text, page] {
            #expect(text.contains("The plan's \(servers) edge servers of "))
        }
    }

    /// An engineer who has never seen a plan reads it: units, lines that end on the screen, and why
    /// there are so many disks.
    @Test func theFirstScreenExplainsItself() throws {
        var live = Scenario()
        live.service = .live
        live.given = [
            .monthlyActiveUsers: Estimate(2e9), .peakConcurrentUsers: Estimate(5e8),
        ]
        var options = Plan.Options()
        (options.months, options.draws) = (0, 0)
        let text = PlanSummary(try Plan(live, options)).text
        let lines = text.split(separator: "\n")
        #expect(lines.allSatisfy { $0.count <= 100 }, "\(text)")
        #expect(lines.contains { $0.hasPrefix("  nightly fill") && $0.hasSuffix(" none") })
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(words.contains("disks to read as fast, with nothing in memory"), "\(text)")
        #expect(!PlanSummary(try Plan(Scenario(), options)).text.contains("to read as fast"))
        let bytes = Estimate(low: 3e8, likely: 1.1e9, high: 3e9)
        #expect(PlanFacts.estimate(bytes, unit: "B") == "1.10 GB (300 MB to 3 GB)")
        #expect(PlanFacts.estimate(Estimate(2_000), unit: "B") == "2,000 B")
    }
}
