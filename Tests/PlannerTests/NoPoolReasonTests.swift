import Foundation
import Testing

@testable import Planner

/// Messages of a plan without a pool, or with one that misses a target: true and helpful.
@Suite struct NoPoolReasonTests {
    private static func plan(_ given: [ScenarioInput: Double]) throws -> Plan {
        var scenario = Scenario()
        scenario.given = given.mapValues { Estimate($0) }
        var options = Plan.Options()
        (options.months, options.draws, options.waitJobs) = (0, 0, 20_000)
        return try Plan(scenario, options)
    }

    /// Workers reach the goal, and only the headroom is missed: that is what stops, and with what the
    /// plan suggests there is a pool.
    @Test(
        arguments: [
            (
                [
                    .monthlyActiveUsers: 1e6, .peakShare: 0.33, .hitRatio: 0.95,
                    .coherency: 1e-4,
                ], .onDemand
            ),
            (
                [
                    .hitRatio: 1, .titles: 30_000, .coherency: 0.01, .contention: 0,
                    .deadlineHours: 3.2,
                ],
                .deadline
            ),
        ] as [([ScenarioInput: Double], Sizing.Stop.Goal)])
    func missedHeadroomIsWhatStops(
        given: [ScenarioInput: Double], goal: Sizing.Stop.Goal
    ) throws {
        let plan = try Self.plan(given)
        let stop = try #require(plan.sizing.workers.stops.first { $0.goal == goal })
        #expect(stop.limit == "pool.headroom")
        let problem = try #require(
            plan.problems.first { $0.contains("pool.headroom requires 30 %") })
        #expect(!problem.contains("no number of workers"))
        // Rows that reach the targets are not reported as too few.
        #expect(plan.outcomes.contains { $0.isEnough })
        let headroom = try #require(
            plan.remedies.first { $0.changes.map(\.input) == ["pool.headroom"] }?.changes[0].value)
        #expect(plan.problems.contains { $0.contains("pool.headroom \(headroom) (now 0.3)") })
        #expect(headroom > 0 && headroom < 0.3)
        var lower = given
        lower[.headroom] = headroom
        #expect(try Self.plan(lower).sizing.workers.total != nil)
        lower[.headroom] = headroom + 0.01
        #expect(try Self.plan(lower).sizing.workers.total == nil)
    }

    /// A day is all that a fill ever has.
    @Test func moreHoursAreOfferedOnlyWhereTheyHelp() throws {
        let full = try Self.plan([
            .monthlyActiveUsers: 1e9, .hitRatio: 0.95, .deadlineHours: 24,
        ])
        let misses = try #require(full.problems.first { $0.contains("nightly fill") })
        #expect(misses.contains("on-demand fetches alone use all of their capacity"))
        #expect(
            !full.problems.contains { $0.contains("fill.deadlineHours") && $0.contains("(now") })
        let short = try Self.plan([
            .hitRatio: 1, .titles: 30_000, .coherency: 0.01, .contention: 0, .deadlineHours: 1,
        ])
        #expect(short.problems.contains { $0.contains("fill.deadlineHours ") })
    }

    /// A rate under an origin's limit is no reason; the wait at that use is, and a limit is enough that
    /// the plan then has a pool with.
    @Test func aLimitThatIsNearlyReachedReportsTheWait() throws {
        let given: [ScenarioInput: Double] = [
            .originRequests: 3, .peakShare: 0.33, .hitRatio: 0.95, .deadlineHours: 14.1,
        ]
        let plan = try Self.plan(given)
        let stop = try #require(plan.sizing.workers.stops.first { $0.goal == .onDemand })
        #expect(stop.limit == "origin.requestsPerSecond")
        let problem = try #require(plan.problems.first { $0.contains("on-demand") })
        #expect(problem.contains("would be used to 9") && problem.contains("start within"))
        let limit = try #require(
            plan.remedies.first { $0.changes.map(\.input) == ["origin.requestsPerSecond"] }?
                .changes[0].value)
        #expect(limit > 3)
        var higher = given
        higher[.originRequests] = limit
        let stops = try Self.plan(higher).sizing.workers.stops
        #expect(!stops.contains { $0.goal == .onDemand })
    }

    /// Every transfer is the fill's while it runs, and they last: the target is broken then, which the
    /// peak's figures do not show.
    @Test func aTargetThatTheFillBreaksIsReported() throws {
        var given: [ScenarioInput: Double] = [
            .connections: 1, .segmentSeconds: 60, .kilobitsPerSecond: 20_000,
        ]
        let plan = try Self.plan(given)
        let planned = try #require(
            plan.outcomes.first { $0.workers == plan.sizing.workers.total })
        #expect(try #require(planned.waitP95) < 1)
        #expect(try #require(planned.waitP95BesideFill) > 1)
        #expect(plan.problems.contains { $0.hasPrefix("While the fill runs, 95 % of on-demand") })
        given[.changePerDay] = 0
        let without = try Self.plan(given)
        #expect(!without.problems.contains { $0.hasPrefix("While the fill runs") })
        #expect(without.outcomes.allSatisfy { $0.waitP95BesideFill == nil })
        #expect(try Self.plan([:]).problems.isEmpty)
    }

    /// Connections to origins are no more than those allow.
    @Test func connectionsAreNoMoreThanTheOriginAllows() throws {
        #expect(try Self.plan([.originConnections: 1]).sizing.connections.originMost == 1)
        let free = try Self.plan([:]).sizing
        let workers = try #require(free.workers.total)
        let most = try #require(free.connections.originMost)
        #expect(most > workers && most % workers == 0)
        // Neither workers nor a limit: there is nothing to report.
        let unknown = try Self.plan([.coherency: 0.1, .segmentsPerSecond: 1])
        #expect(unknown.sizing.connections.originMost == nil)
    }

    /// A drawn time to boot may exceed a drawn deadline: no pool suffices then, and the fill has no rate.
    @Test func aDrawWithoutTimeHasNoPool() throws {
        var scenario = Scenario()
        scenario.given = [.deadlineHours: Estimate(0.02)]
        let found = try #require(try Plan(scenario).uncertainty)
        #expect(found.noPoolSuffices > 0.02)
        var values = ScenarioValues(scenario)
        values[.bootSeconds] = 100
        let stops = Sizing(values).workers.stops
        #expect(stops.map(\.limit) == ["worker.bootSeconds"])
        let fill = try #require(found.ranges.first { $0.figure == "fill" })
        #expect(fill.p90 < 1e12)
    }

    /// Each row is judged by the goals.
    @Test func everyInsufficientRowIsReported() throws {
        let plan = try Self.plan([.originRequests: 1])
        #expect(plan.sizing.workers.total == nil)
        #expect(!plan.outcomes.isEmpty && plan.outcomes.allSatisfy { !$0.isEnough })
        let enough = try Self.plan([:])
        for outcome in enough.outcomes where outcome.workers >= enough.sizing.workers.needed ?? 0 {
            #expect(outcome.isEnough)
        }
    }

    /// Notes speak of what there is.
    @Test func notesThatDoNotApplyAreLeftOut() throws {
        #expect(!(try Self.plan([.hitRatio: 1]).notes.contains { $0.hasPrefix("Square-root") }))
        #expect(
            !(try Self.plan([.minutesPerDay: 0]).notes.contains {
                $0.contains("viewers at the peak")
            }))
        let one = try Self.plan([.monthlyActiveUsers: 1]).notes
        #expect(!one.contains { $0.contains("Little's law 0 watch") })
        // The range of the formulas is that of `dray plan queue`.
        for (input, value, isOutside) in [
            (ScenarioInput.serviceCV2, 20.0, true), (.serviceCV2, 1.6, true),
            (.serviceCV2, 1.5, false), (.arrivalCV2, 1.2, true), (.arrivalCV2, 1.1, false),
        ] {
            let notes = try Self.plan([input: value]).notes.filter {
                $0.contains("outside the formulas' range")
            }
            #expect(notes.isEmpty != isOutside, "\(input.row.path) \(value): \(notes)")
        }
    }
}
