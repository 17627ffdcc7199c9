import API
import Model
import TestSupport
import Testing

@testable import Worker

/// Waits for what a worker holds: each ends by an event.
@Suite(.timeLimit(.minutes(1))) struct HeldWorkWaitTests {
    private static let job = Job.fetch(1, "http://origin.test/a", key: "h/a")

    @Test func eachConditionWakesWhoWaitsForIt() async {
        let held = HeldWork()
        await held.waitUntil(.isEmpty)
        async let begun: Void = held.waitUntil(.holdsWork)
        held.add("l", [Self.job], at: SiteID(1), seconds: 30, askedAt: .now)
        await begun
        async let downloaded: Void = held.waitUntil(.nothingPending)
        held.downloaded(Self.job.id, "l")
        await downloaded
        async let ended: Void = held.waitUntil(.isEmpty)
        held.remove([(job: Self.job.id, lease: LeaseID(stringLiteral: "l"))])
        await ended
    }

    @Test func aLostLeaseEndsTheWait() async {
        let held = HeldWork()
        held.add("l", [Self.job], at: SiteID(1), seconds: 30, askedAt: .now)
        async let ended: Void = held.waitUntil(.isEmpty)
        #expect(held.dropLost { $0 == "l" } == ["l"])
        await ended
    }

    @Test func aWaitEndsWithItsTask() async {
        let held = HeldWork()
        let task = Task { await held.waitUntil(.holdsWork) }
        task.cancel()
        await task.value
        await held.waitUntil(.holdsWork, atMost: .milliseconds(1))
        #expect(held.isEmpty)
    }
}
