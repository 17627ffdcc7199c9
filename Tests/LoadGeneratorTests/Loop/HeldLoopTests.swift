import EventLoop
import LoadModel
import Statistics
import TestSupport
import Testing

/// What is measured by a loop that stands still for a while, as one without CPU does.
@Suite(.timeLimit(.minutes(1))) struct HeldLoopTests {
    private static func hold(seconds: Double) {
        let start = MonotonicClock.nowNanoseconds
        while Double(MonotonicClock.nowNanoseconds - start) < seconds * 1e9 {}
    }

    /// A viewer whose buffer is full asks again each fifth of a second, and a user rests as long: what falls due
    /// while the loop stands still was due then, and is late.
    @Test(arguments: [true, false]) func whatWasWaitedForIsDueWhenTheWaitIsOver(
        areViewers: Bool
    ) async throws {
        let origin = try FaultOrigin()
        var scenario = LoadScenario.closed(users: 1, seconds: 2)
        let plan: LoadPlan
        if areViewers {
            plan = ViewerEngineTests.plan(origin, count: 20)
            var settings = ViewerSettings()
            settings.startupSeconds = 0.2
            settings.bufferSeconds = 0.4
            scenario.user = .viewers(settings)
        } else {
            origin.serve("/a", [1, 2, 3])
            plan = LoadPlan(files: [origin.url("/a")])
            scenario.think = .constant(seconds: 0.2)
        }
        let run = try await EngineRun(plan, scenario, threads: 1) { interval in
            if interval.second == 0 { Self.hold(seconds: 0.5) }
            return false
        }
        #expect((run.total[.sendDelay]?.maximum ?? 0) > 250_000)
        #expect((run.total[.total]?.maximum ?? 0) > 250_000)
        #expect(run.counts.pacing.lateSends >= 1)
    }
}
