import Synchronization
import TestSupport
import Testing

@testable import Worker

/// Periodic actions of a worker.
@Suite(.timeLimit(.minutes(1))) struct WorkerChoreTests {
    @Test func anActionRunsAfterEachPeriod() async {
        let clock = SteppedClock()
        let start = clock.now
        let count = Shared(0)
        let chore = WorkerChore(every: .seconds(60)) { count.withLock { $0 += 1 } }
        let task = Task { await chore.run(clock: clock) }
        for number in 1...3 {
            let due = start + .seconds(60 * number)
            await clock.waitForSleep(until: due)
            #expect(count.withLock(\.self) == number - 1)
            clock.set(due)
        }
        await clock.waitForSleep(until: start + .seconds(240))
        task.cancel()
        await task.value
        #expect(count.withLock(\.self) == 3)
    }
}
