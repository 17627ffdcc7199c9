import Model
import Testing

@testable import Transfer

/// Who starts when, and what is closed: without a network, at times that the test makes.
@Suite("Which transfer is next")
struct OriginSchedulerTests {
    private let scheduler = OriginScheduler(loops: 2, connections: 8)
    private let a = "http://a.test"

    private func transfers(_ origin: String, _ ids: Range<UInt64>) -> [Transfer] {
        ids.map { id in
            Transfer(
                id: id,
                request: TransferRequest(
                    url: "\(origin)/\(id)", group: "g", destination: .memory, role: .data)
            ) { _, _ in }
        }
    }

    private func limit(_ limits: OriginAllowance, until deadline: Double = 100, now: Double = 0) {
        _ = scheduler.setLimits(limits, of: a, until: deadline, now: now)
    }

    /// All that a loop starts, which looks again as long as there is more.
    private func take(_ limit: Int, on loop: Int, now: Double = 1) -> [UInt64] {
        var taken: [UInt64] = []
        var isMore = true
        while isMore, taken.count < limit {
            let batch = scheduler.take(limit - taken.count, on: loop, now: now)
            taken += batch.starts.map(\.transfer.id)
            isMore = batch.isMore
        }
        return taken
    }

    private func open(_ socket: Int32, for transfer: UInt64, on loop: Int) {
        scheduler.opened(
            OriginSocket(descriptor: socket, loop: loop, transfer: transfer),
            scheduler.origin(ofURL: a, now: 1))
    }

    @Test func whatWaitsForASlotOnlyIsUnbegun() {
        #expect(scheduler.spareCount(now: 1) == 8)
        _ = scheduler.submit(transfers(a, 1..<12), now: 1)
        let started = Set(take(8, on: 0) + take(8, on: 1))
        #expect(Set(scheduler.unbegun(now: 1).map(\.id)) == Set(1..<12).subtracting(started))
        #expect(scheduler.spareCount(now: 1) == 0 && scheduler.freeSlotCount == 0)
        // Bytes per second keep none from starting elsewhere.
        limit(OriginAllowance(bytesPerSecond: 1_000))
        #expect(Set(scheduler.unbegun(now: 1).map(\.id)) == Set(1..<12).subtracting(started))
        // So it is with a quota that would let more start here.
        limit(OriginAllowance(connections: 12, requestsPerSecond: 12))
        #expect(Set(scheduler.unbegun(now: 1).map(\.id)) == Set(1..<12).subtracting(started))
        // With the origin's limits they could not start elsewhere either.
        limit(OriginAllowance(connections: 1))
        #expect(scheduler.unbegun(now: 1).isEmpty && scheduler.spareCount(now: 1) == 0)
    }

    @Test func anOriginInUseTakesAsManyMoreAsItsConcurrencyAllows() {
        let wide = OriginScheduler(loops: 1, connections: 32)
        #expect(wide.spareCount(now: 1) == 8)
        _ = wide.submit(transfers(a, 1..<4), now: 1)
        #expect(wide.spareCount(now: 1) == 5)
        _ = wide.take(32, on: 0, now: 1)
        #expect(wide.spareCount(now: 1) == 5 && wide.freeSlotCount == 29)
        _ = wide.submit(transfers("http://b.test", 4..<6), now: 1)
        #expect(wide.spareCount(now: 1) == 11)
        _ = wide.beginCooldowns([(origin: a, seconds: 60)], now: 1)
        #expect(wide.spareCount(now: 1) == 6)
    }

    @Test func blockedOriginsAreSkipped() {
        limit(OriginAllowance(connections: 1))
        _ = scheduler.submit(transfers(a, 1..<4) + transfers("http://b.test", 4..<6), now: 1)
        let origin = scheduler.origin(ofURL: a, now: 1)
        #expect(take(8, on: origin.slots.firstLoop) == [1, 4, 5])
        #expect(scheduler.heldBackCount(now: 1) == 2 && scheduler.waitingCount == 2)
        let release = OriginScheduler.Release(
            origin: origin, transfer: 1, ending: .ended(seconds: 0.1))
        let batch = scheduler.take(8, on: origin.slots.firstLoop, releasing: release, now: 2)
        #expect(batch.starts.map(\.transfer.id) == [2])
    }

    /// Otherwise a worker takes all jobs of a limited origin before its first quota.
    @Test func whatWaitsForAFirstQuotaIsNotHeldBack() {
        limit(OriginAllowance(connections: 0, requestsPerSecond: 0, bytesPerSecond: 0))
        _ = scheduler.submit(transfers(a, 1..<4), now: 1)
        let origin = scheduler.origin(ofURL: a, now: 1)
        #expect(take(8, on: origin.slots.firstLoop).isEmpty)
        #expect(scheduler.heldBackCount(now: 1) == 0 && scheduler.unbegun(now: 1).isEmpty)
        limit(OriginAllowance(connections: 1))
        #expect(take(8, on: origin.slots.firstLoop) == [1])
        #expect(scheduler.heldBackCount(now: 1) == 2)
    }

    @Test func skippedTransfersGoFirst() {
        limit(OriginAllowance(requestsPerSecond: 1))
        _ = scheduler.submit(transfers(a, 1..<3), now: 1)
        let first = take(8, on: 0) + take(8, on: 1)
        #expect(first == [1])
        let origin = scheduler.origin(ofURL: a, now: 1)
        let (maySend, _) = scheduler.maySend(origin, 1, now: 1)
        #expect(maySend)
        _ = scheduler.answered(origin, 1, now: 1.01)
        _ = scheduler.submit(transfers("http://b.test", 3..<4), now: 1)
        let effects = scheduler.tick(now: 2.2)
        #expect(!effects.wake.isEmpty)
        #expect(take(8, on: 0, now: 2.2) == [2, 3])
    }

    @Test func loopsShareTheConnections() {
        limit(OriginAllowance(connections: 8))
        _ = scheduler.submit(transfers(a, 0..<20), now: 1)
        let taken = [take(8, on: 0), take(8, on: 1)]
        #expect(taken.map(\.count) == [4, 4])
        #expect(take(8, on: 0).isEmpty && take(8, on: 1).isEmpty)
    }

    @Test func aConnectionThatWasClosedHereCountsForAMoment() {
        limit(OriginAllowance(connections: 2))
        let origin = scheduler.origin(ofURL: a, now: 1)
        let loop = origin.slots.firstLoop
        _ = scheduler.submit(transfers(a, 1..<4), now: 1)
        #expect(take(8, on: loop) == [1, 2])
        open(10, for: 1, on: loop)
        #expect(scheduler.mayOpen(origin, on: loop, now: 1).0)
        open(11, for: 2, on: loop)
        #expect(!scheduler.mayOpen(origin, on: loop, now: 1).0)
        // On the other loop there is no place at all.
        #expect(!scheduler.mayOpen(origin, on: 1 - loop, now: 1).0)
        _ = scheduler.closed(10, origin, counts: true, now: 1)
        _ = scheduler.release(
            .init(origin: origin, transfer: 1, ending: .ended(seconds: 0)), on: loop, now: 1)
        #expect(!scheduler.mayOpen(origin, on: loop, now: 1.04).0)
        #expect(take(8, on: loop, now: 1.04).isEmpty)
        #expect(scheduler.mayOpen(origin, on: loop, now: 1.06).0)
        _ = scheduler.tick(now: 1.06)
        #expect(take(8, on: loop, now: 1.06) == [3])
        // The other side knows already when it was the first to close.
        _ = scheduler.closed(11, origin, counts: false, now: 2)
        open(12, for: 3, on: loop)
        #expect(scheduler.mayOpen(origin, on: loop, now: 2).0)
    }

    @Test func anIdleConnectionIsClosedForAnother() {
        limit(OriginAllowance(connections: 2))
        let origin = scheduler.origin(ofURL: a, now: 1)
        let loop = origin.slots.firstLoop
        _ = scheduler.submit(transfers(a, 1..<3), now: 1)
        #expect(take(8, on: loop) == [1, 2])
        // Of two ended transfers, and of one that still runs.
        open(10, for: 90, on: loop)
        open(11, for: 1, on: loop)
        let (mayOpen, effects) = scheduler.mayOpen(origin, on: loop, now: 1)
        #expect(!mayOpen && effects.settle == [loop])
        let settlement = scheduler.settle(
            origin, on: loop, busy: [11], transfers: [1, 2], now: 1)
        #expect(settlement.closing == [10] && settlement.ending == 0)
        #expect(scheduler.mayOpen(origin, on: loop, now: 1.06).0)
    }

    @Test func idleConnectionsGoWithTheWorkAndWithTheShare() {
        limit(OriginAllowance(connections: 2, requestsPerSecond: 1), until: 10)
        let origin = scheduler.origin(ofURL: a, now: 1)
        let loop = origin.slots.firstLoop
        _ = scheduler.submit(transfers(a, 1..<3), now: 1)
        #expect(take(8, on: loop) == [1])
        open(10, for: 1, on: loop)
        let release = OriginScheduler.Release(origin: origin, transfer: 1, ending: .silent)
        _ = scheduler.release(release, on: loop, now: 1.1)
        // It is kept for the one that waits…
        let kept = scheduler.settle(origin, on: loop, busy: [], transfers: [], now: 1.1)
        #expect(kept.closing.isEmpty)
        // …as long as the share lasts.
        #expect(scheduler.tick(now: 10).settle == [loop])
        let over = scheduler.settle(origin, on: loop, busy: [], transfers: [], now: 10)
        #expect(over.closing == [10])
        #expect(scheduler.tick(now: 13.1).returned.map(\.id) == [2])
    }

    @Test func tooManyAreEndedOnceWhicheverLoopAsksFirst() {
        limit(OriginAllowance(connections: 8), until: 100)
        let origin = scheduler.origin(ofURL: a, now: 1)
        _ = scheduler.submit(transfers(a, 0..<8), now: 1)
        #expect(take(8, on: 0).count == 4 && take(8, on: 1).count == 4)
        limit(OriginAllowance(connections: 3), until: 200, now: 50)
        // While the first quota lasts they may continue.
        #expect(ending(origin, now: 99) == [0, 0])
        #expect(ending(origin, now: 100).reduce(0, +) == 5)
        #expect(take(8, on: 0, now: 99).isEmpty && take(8, on: 1, now: 99).isEmpty)
    }

    private func ending(_ origin: OriginState, now: Double) -> [Int] {
        [0, 1].map {
            scheduler.settle(origin, on: $0, busy: [], transfers: [], now: now).ending
        }
    }

    @Test func aRedirectCannotOutrunACancellation() {
        let running = transfers("http://b.test", 1..<2)[0]
        _ = scheduler.submit([running], now: 1)
        #expect(take(8, on: 0) == [1])
        _ = scheduler.remove(below: 2, now: 1) { $0.id == 1 }
        let from = OriginScheduler.Release(
            origin: scheduler.origin(ofURL: "http://b.test/", now: 1), transfer: 1, ending: .silent)
        let route = Route(url: "\(a)/x", redirects: 1, isAtOrigin: false, startedAt: 1)
        let waiting = Waiting(
            transfer: running, origin: scheduler.origin(ofURL: route.url, now: 1), route: route)
        #expect(scheduler.move(waiting, from: from, on: 0, later: false, now: 1).move == .cancelled)
    }

    @Test func whereARedirectFindsNoShareTheAttemptIsOver() {
        limit(OriginAllowance(connections: 1), until: 2)
        let running = transfers("http://b.test", 1..<2)[0]
        _ = scheduler.submit([running], now: 1)
        #expect(take(8, on: 0) == [1])
        let from = OriginScheduler.Release(
            origin: scheduler.origin(ofURL: "http://b.test/", now: 1), transfer: 1, ending: .silent)
        let route = Route(url: "\(a)/x", redirects: 1, isAtOrigin: false, startedAt: 1)
        let waiting = Waiting(
            transfer: running, origin: scheduler.origin(ofURL: route.url, now: 1), route: route)
        let (move, effects) = scheduler.move(waiting, from: from, on: 0, later: false, now: 3)
        #expect(move == .waits && effects.refused.isEmpty)
        #expect(scheduler.tick(now: 5.5).refused.isEmpty)
        #expect(scheduler.tick(now: 6.1).refused.map(\.id) == [1])
    }

    // MARK: Cooldowns

    @Test func anOriginCoolsDownForAsLongAsItRequests() {
        _ = scheduler.submit(transfers(a, 1..<4), now: 1)
        #expect(take(1, on: 0) == [1])
        let origin = scheduler.origin(ofURL: a, now: 1)
        var release = OriginScheduler.Release(
            origin: origin, transfer: 1, ending: .overload(.tooManyRequests, startedAt: 1))
        release.cooldownSeconds = 3
        let batch = scheduler.take(8, on: 0, releasing: release, now: 2)
        #expect(batch.starts.isEmpty)
        #expect(take(8, on: 1, now: 4.9).isEmpty)
        #expect(scheduler.tick(now: 5.01).wake == [0, 1])
        #expect(take(8, on: 0, now: 5.01) + take(8, on: 1, now: 5.01) == [2, 3])
        #expect(!scheduler.isAnyInCooldown)
    }

    @Test func aLongWaitBehindARedirectIsTheQueues() {
        let running = transfers("http://b.test", 1..<2)[0]
        _ = scheduler.submit([running], now: 1)
        #expect(take(8, on: 0) == [1])
        _ = scheduler.beginCooldowns([(a, 60)], now: 1)
        let from = OriginScheduler.Release(
            origin: scheduler.origin(ofURL: "http://b.test/", now: 1), transfer: 1, ending: .silent)
        let route = Route(url: "\(a)/x", redirects: 1, isAtOrigin: false, startedAt: 1)
        let waiting = Waiting(
            transfer: running, origin: scheduler.origin(ofURL: route.url, now: 1), route: route)
        let (move, effects) = scheduler.move(waiting, from: from, on: 0, later: false, now: 11)
        #expect(move == .waits && effects.returned.isEmpty)
        #expect(effects.postponed.map(\.transfer.id) == [1])
        #expect(effects.postponed.map(\.origin) == [a])
        #expect(effects.postponed.map(\.seconds) == [50])
    }

    @Test func aLongWaitReturnsTheTransfer() {
        _ = scheduler.submit(transfers(a, 1..<3), now: 1)
        _ = scheduler.beginCooldowns([(a, 60)], now: 1)
        let batch = scheduler.take(8, on: 0, now: 1)
        #expect(batch.starts.isEmpty && batch.effects.returned.map(\.id) == [1, 2])
        // Jobs leased after that report prove that it has ended.
        _ = scheduler.submit(transfers(a, 3..<4), now: 2)
        _ = scheduler.endCooldowns([a], reportedUntil: 0.5, now: 2)
        #expect(scheduler.isAnyInCooldown)
        _ = scheduler.endCooldowns([a], reportedUntil: 1.5, now: 2)
        #expect(take(8, on: 0, now: 2) == [3])
    }
}
