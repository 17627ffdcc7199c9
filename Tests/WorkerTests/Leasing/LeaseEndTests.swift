import API
import Model
import TestSupport
import Testing

@testable import Worker

/// Leases that end by the worker's clock: each is dropped at its time, without checks before.
@Suite(.timeLimit(.minutes(1))) struct LeaseEndTests {
    private let held = HeldWork()
    private let clock = SteppedClock()
    private let start: ContinuousClock.Instant

    init() { start = clock.now }

    private func add(_ lease: LeaseID, seconds: Double) {
        let job = Job.fetch(1, "http://origin.test/a", key: "h/a")
        held.add(lease, [job], at: SiteID(1), seconds: seconds, askedAt: clock.now)
    }

    @Test func aLeaseIsDroppedAtItsEnd() async {
        async let lost = held.nextLost(clock: clock)
        add("l", seconds: 30)
        // Two seconds are left for writes and reports.
        await clock.waitForSleep(until: start + .seconds(28))
        #expect(held.count == 1)
        clock.set(start + .seconds(28))
        #expect(await lost == ["l"])
        #expect(held.isEmpty)
    }

    @Test func aLeaseThatEndsEarlierIsDroppedFirst() async {
        add("long", seconds: 30)
        async let first = held.nextLost(clock: clock)
        await clock.waitForSleep(until: start + .seconds(28))
        add("short", seconds: 5)
        await clock.waitForSleep(until: start + .seconds(4))
        clock.set(start + .seconds(4))
        #expect(await first == ["short"])
        async let second = held.nextLost(clock: clock)
        await clock.waitForSleep(until: start + .seconds(28))
        clock.set(start + .seconds(28))
        #expect(await second == ["long"])
    }

    @Test func anExtendedLeaseIsKept() async {
        add("l", seconds: 30)
        async let lost = held.nextLost(clock: clock)
        await clock.waitForSleep(until: start + .seconds(28))
        held.extend(["l"], seconds: 30, askedAt: start + .seconds(10))
        await clock.waitForSleep(until: start + .seconds(38))
        clock.set(start + .seconds(37))
        #expect(held.count == 1)
        clock.set(start + .seconds(38))
        #expect(await lost == ["l"])
    }

    @Test func aWaitEndsWithItsTask() async {
        for holdsLease in [false, true] {
            if holdsLease { add("l", seconds: 30) }
            let task = Task { [held, clock] in await held.nextLost(clock: clock) }
            if holdsLease { await clock.waitForSleep(until: start + .seconds(28)) }
            task.cancel()
            #expect(await task.value.isEmpty)
        }
    }
}
