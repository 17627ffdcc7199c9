import Testing

@testable import Coordinator

/// Waiters wake with a signal, those that watch for a waiter with the first one.
@Suite struct WorkSignalTests {
    @Test func aWaiterWakesThoseThatWatchForIt() async {
        let signal = WorkSignal()
        let version = signal.version
        let watching = Task { await signal.waitForWaiter(atMost: .seconds(600)) }
        let waiting = Task { await signal.wait(after: version, atMost: .seconds(600)) }
        await watching.value
        #expect(signal.waiterCount == 1)
        // At once while somebody waits.
        await signal.waitForWaiter(atMost: .seconds(600))
        signal.fire()
        await waiting.value
        #expect(signal.waiterCount == 0)
    }

    @Test func withoutAWaiterItEndsInTimeOrWithItsTask() async {
        let signal = WorkSignal()
        await signal.waitForWaiter(atMost: .milliseconds(1))
        let watching = Task { await signal.waitForWaiter(atMost: .seconds(600)) }
        watching.cancel()
        await watching.value
        #expect(signal.waiterCount == 0)
    }
}
