import API
import Model
import TestSupport
import Testing

@testable import Worker

/// A shard that no coordinator can stop any more stops by itself.
@Suite(.timeLimit(.minutes(1))) struct LoadPartTests {
    private let part = LoadPart()
    private let clock = SteppedClock()

    private func answer(at time: ContinuousClock.Instant) {
        part.acknowledge(
            LoadTestReport(worker: .random(), progress: .preparing), now: time)
    }

    @Test func eachAnswerPostponesTheEnd() async {
        let start = clock.now
        answer(at: start)
        async let isSilent = part.waitForSilence(of: .seconds(10), clock: clock)
        await clock.waitForSleep(until: start + .seconds(10))
        answer(at: start + .seconds(7))
        clock.set(start + .seconds(10))
        await clock.waitForSleep(until: start + .seconds(17))
        clock.set(start + .seconds(17))
        #expect(await isSilent)
    }

    @Test func aWaitEndsWithItsTask() async {
        let task = Task { [part, clock] in
            await part.waitForSilence(of: .seconds(10), clock: clock)
        }
        await clock.waitForSleep()
        task.cancel()
        #expect(await !task.value)
    }
}
