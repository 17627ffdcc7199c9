import Model
import Synchronization
import TestSupport
import Testing

@testable import Coordinator

@Suite struct HousekeepingTests {
    @Test func eachChoreHasItsPeriod() {
        var turns = ChoreTurns(periods: [.seconds(1), .seconds(30)])
        let start = ContinuousClock.now
        #expect(turns.due(now: start) == [0, 1])
        #expect(turns.due(now: start + .milliseconds(999)).isEmpty)
        #expect(turns.due(now: start + .seconds(1)) == [0])
        #expect(turns.due(now: start + .seconds(30)) == [0, 1])
        // What was missed is not done twice.
        #expect(turns.due(now: start + .seconds(300)) == [0, 1])
        #expect(turns.due(now: start + .milliseconds(300_500)).isEmpty)
    }

    private static func round(_ failure: Failure?) async -> [String] {
        let done = Mutex<[String]>([])
        let housekeeping = Housekeeping([
            Chore("a", every: .seconds(1)) { done.withLock { $0.append("a") } },
            Chore("b", every: .seconds(1)) { if let failure { throw failure } },
            Chore("c", every: .seconds(1)) { done.withLock { $0.append("c") } },
        ])
        await housekeeping.run([0, 1, 2])
        return done.withLock { $0 }
    }

    @Test func aChoreThatFailsHoldsUpNoOther() async {
        #expect(await Self.round(nil) == ["a", "c"])
        #expect(await Self.round(Failure("worker.internal", "")) == ["a", "c"])
    }

    @Test func withoutADatabaseTheRoundEnds() async {
        #expect(await Self.round(Failure("cluster.databaseUnreachable", "")) == ["a"])
    }
}
