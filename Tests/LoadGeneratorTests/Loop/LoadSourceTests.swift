import LoadModel
import Testing

@testable import LoadGenerator

/// Where a loop's load comes from, by itself.
@Suite struct LoadSourceTests {
    private static let plan = LoadPlan(files: ["http://a.test/1"])

    private static func source(_ scenario: LoadScenario) -> LoadSource {
        LoadSource(plan, scenario, .whole)
    }

    @Test func arrivalsThatAreDueAndNotStartedAreTheBacklog() throws {
        let scenario = LoadScenario.open(rate: 10, seconds: 1)
        var source = Self.source(scenario)
        #expect(source.arrivals == nil && source.countDue(atSeconds: 1) == 0)
        source.begin(scenario)
        let first = try #require(source.arrivals?.next)
        #expect(source.countDue(atSeconds: 2) == 10 && source.backlog == 10)
        #expect(source.startArrival() == 0 && source.backlog == 9)
        #expect(try #require(source.arrivals?.next).seconds > first.seconds)
        #expect(source.dropBacklog() == 9 && source.backlog == 0)
    }

    /// So that an arrival which waited for a slot does not count as one that the loop was late with.
    @Test func aBlockedArrivalTellsUntilWhenSlotsWereFull() {
        let scenario = LoadScenario.open(rate: 10, seconds: 1)
        var source = Self.source(scenario)
        source.begin(scenario)
        source.block()
        #expect(source.isBlocked)
        source.unblock(atSeconds: 0.7)
        #expect(!source.isBlocked)
        #expect(source.startArrival() == 0.7)
    }

    @Test func theClosedModelHasUsersAndNoArrivals() {
        let scenario = LoadScenario.closed(users: 3, seconds: 10)
        var source = Self.source(scenario)
        source.begin(scenario)
        #expect(source.arrivals == nil && source.backlog == 0)
        #expect(source.users.wanted(atSeconds: 5) == 3)
        source.change(to: [LoadStage(seconds: 10, from: 1, to: 1)])
        #expect(source.users.wanted(atSeconds: 5) == 1)
    }

    @Test func theObjectsOfATargetComeInTurn() {
        var plan = LoadPlan(files: ["http://a.test/1", "http://a.test/2"])
        plan.targets = [LoadPlan.Target(name: "both", weight: 1, objects: 0..<2)]
        var source = LoadSource(plan, .closed(users: 1, seconds: 1), .whole)
        #expect(source.nextTarget() == 0)
        #expect((0..<3).map { _ in source.nextObject(of: 0, 0..<2) } == [0, 1, 0])
    }
}
