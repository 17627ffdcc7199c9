import EventLoop
import LoadModel
import Model
import TestSupport
import Testing

@testable import LoadGenerator

/// One loop of the engine by itself.
@Suite(.timeLimit(.minutes(1))) struct LoadLoopTests {
    /// A loop may use up all that the caps allow before another one has begun: that one ends as well, and does
    /// not wait for its time to be over.
    @Test func aLoopThatBeginsAfterTheCapsAreSpentEndsAtOnce() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1, 2, 3])
        let plan = LoadPlan(files: [origin.url("/a")])
        var scenario = LoadScenario.closed(users: 2, seconds: 3_600)
        scenario.caps.requests = 3
        let budget = LoadBudget(scenario.caps, .whole)
        let (ends, ended) = AsyncStream.makeStream(of: LoadLoopEnd.self)
        let loops = try (0..<2).map { index in
            try LoadLoop(
                plan: plan, scenario: scenario, shard: LoadShard.whole.part(index, of: 2),
                of: LoadShard(index: index, count: 2), options: LoadEngine.Options(),
                budget: budget, routes: HTTP1Routes(plan, scenario.http), onInterval: { _ in },
                onEnd: { ended.yield($0) })
        }
        defer {
            for loop in loops {
                loop.stop(.interrupted)
                loop.loop.shutdown()
            }
        }
        budget.whenSpent { for loop in loops { loop.cap() } }
        let clock = LoadClock(startNanoseconds: MonotonicClock.nowNanoseconds)
        var iterator = ends.makeAsyncIterator()
        loops[0].start(clock)
        #expect(try #require(await iterator.next()).ending == .capped)
        #expect(origin.count("/a") == 3)
        // The other has been notified, and begins only now.
        loops[1].start(clock)
        #expect(try #require(await iterator.next()).ending == .capped)
        #expect(origin.count("/a") == 3)
    }
}
