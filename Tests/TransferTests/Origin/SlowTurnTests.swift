import Model
import TestSupport
import Testing

@testable import Transfer

/// How slow origins divide the slots that they have beside a fast one, without a network.
@Suite("Turns of slow origins", .computing)
struct SlowTurnTests {
    private static let fast = "http://fast.test"
    private static let drip = "http://drip.test"
    private static let honest = "http://honest.test"

    /// Keeps the fast origin's files waiting, so that slow ones have their quarter only.
    private static func feed(_ simulation: SlowSimulation) {
        let lacking = 64 - simulation.waiting(at: fast)
        guard lacking > 32 else { return }
        simulation.submit(fast, Array(repeating: .prompt(seconds: 0.1), count: lacking))
    }

    private static func files(
        _ count: Int, bytesPerSecond: Double, bytes: Double, isResumable: Bool = true
    ) -> [SlowSimulation.Behaviour] {
        Array(
            repeating: .drip(
                bytesPerSecond: bytesPerSecond, bytes: bytes, isResumable: isResumable),
            count: count)
    }

    // MARK: Parts

    @Test(arguments: [true, false], [true, false])
    func anHonestSlowOriginHasItsPartBesideADrippingOne(isResumable: Bool, isFastThere: Bool) {
        let simulation = SlowSimulation()
        simulation.submit(
            Self.drip,
            Self.files(64, bytesPerSecond: 1_200, bytes: 1e9, isResumable: isResumable))
        simulation.run(10)
        #expect(simulation.active == 32)
        simulation.submit(
            Self.honest,
            Self.files(400, bytesPerSecond: 10_000, bytes: 100_000, isResumable: isResumable))
        // What was stopped once and lost has twice the time of others then.
        simulation.run(100) { if isFastThere { Self.feed(simulation) } }
        let before = simulation.ended[Self.honest, default: 0]
        var most = 0
        simulation.run(100) {
            if isFastThere { Self.feed(simulation) }
            most = max(most, simulation.active(at: Self.drip))
        }
        // Ten seconds each, in half of a quarter of the slots, or of all.
        let files = simulation.ended[Self.honest, default: 0] - before
        let slots = isFastThere ? 8 : 32
        #expect(files >= slots / 2 * 10 * 8 / 10, "\(files) files in \(slots / 2) slots")
        #expect(most >= slots / 2 && most <= slots / 2 + 1, "\(most) drips")
    }

    @Test func whatOneOriginLeavesIsUsedByOthers() {
        let simulation = SlowSimulation()
        simulation.submit(Self.drip, Self.files(64, bytesPerSecond: 1_200, bytes: 1e9))
        simulation.submit(Self.honest, Self.files(2, bytesPerSecond: 1_200, bytes: 1e9))
        simulation.run(120)
        #expect(simulation.active(at: Self.honest) == 2)
        #expect(simulation.active(at: Self.drip) == 30)
    }

    @Test func whatIsReturnedIsOfTheOriginWithTheMost() {
        var policy = SlowPolicy()
        policy.maxWaiting = 10
        let simulation = SlowSimulation(policy: policy)
        simulation.submit(Self.drip, Self.files(100, bytesPerSecond: 1_200, bytes: 1e9))
        simulation.run(10)
        simulation.submit(Self.honest, Self.files(2, bytesPerSecond: 10_000, bytes: 1e9))
        simulation.run(10) { Self.feed(simulation) }
        #expect(
            simulation.active(at: Self.honest) + simulation.waiting(at: Self.honest) == 2)
        #expect(simulation.slowWork.origins.count == 2)
        #expect(simulation.slowWork.underserved == [Self.honest])
    }

    // MARK: Slices

    @Test func moreOriginsThanSlotsHaveThemInTurnAndLoseNothing() {
        let simulation = SlowSimulation()
        let drips = (1...8).map { "http://drip-\($0).test" }
        for origin in drips {
            simulation.submit(origin, Self.files(4, bytesPerSecond: 1_200, bytes: 1e9))
        }
        simulation.run(60) { Self.feed(simulation) }
        simulation.submit(Self.honest, Self.files(1, bytesPerSecond: 10_000, bytes: 600_000))
        simulation.run(40) { Self.feed(simulation) }
        #expect(simulation.bytes[Self.honest, default: 0] > 20_000)
        let before = simulation.bytes
        simulation.run(120) { Self.feed(simulation) }
        #expect(simulation.ended[Self.honest] == 1)
        for origin in drips {
            // Eight slots in nine, and what the turns of a whole slice leave of that.
            let bytes = simulation.bytes[origin, default: 0] - before[origin, default: 0]
            #expect(bytes >= 1_200 * 60, "\(origin): \(bytes)")
        }
        #expect(simulation.losses.isEmpty)
    }

    @Test func aTransferKeepsItsSlotForItsSlice() {
        let simulation = SlowSimulation(connections: 2, loops: 1)
        simulation.submit(Self.drip, Self.files(2, bytesPerSecond: 1_200, bytes: 1e9))
        simulation.run(25)
        simulation.submit(Self.honest, Self.files(1, bytesPerSecond: 10_000, bytes: 50_000))
        simulation.run(3)
        let stops = simulation.stops
        simulation.run(600)
        #expect(simulation.ended[Self.honest] == 1)
        // The honest one is done, and the drips do not take turns with each other.
        #expect(stops <= 1 && simulation.stops <= 3, "\(stops), \(simulation.stops)")
    }

    @Test func unresumableTransfersEndAlthoughSlicesAlternate() {
        let simulation = SlowSimulation()
        let origins = (1...24).map { "http://slow-\($0).test" }
        for origin in origins {
            simulation.submit(
                origin,
                Self.files(1, bytesPerSecond: 1_200, bytes: 60_000, isResumable: false))
        }
        simulation.run(600) { Self.feed(simulation) }
        #expect(origins.allSatisfy { simulation.ended[$0] == 1 })
        // Fifty seconds are more than the first slice and less than the second.
        #expect(simulation.losses.values.allSatisfy { $0 <= 1 })
    }

    @Test func dripsThatCannotBeResumedLeaveAnHonestOriginItsPart() {
        let step = 0.1
        // One slot is for all that are slow.
        let simulation = SlowSimulation(connections: 4, loops: 1, stepSeconds: step)
        let feed = {
            guard simulation.waiting(at: Self.fast) < 16 else { return }
            simulation.submit(Self.fast, Array(repeating: .prompt(seconds: 1), count: 16))
        }
        for number in 1...8 {
            simulation.submit(
                "http://drip-\(number).test",
                Self.files(4, bytesPerSecond: 1_200, bytes: 1e12, isResumable: false))
        }
        simulation.run(30, feed)
        simulation.submit(Self.honest, Self.files(4, bytesPerSecond: 10_000, bytes: 1e12))
        var held = 0.0
        simulation.run(7_200) {
            feed()
            held += Double(simulation.active(at: Self.honest)) * step
        }
        // A ninth of the time are 800 seconds.
        #expect(held >= 480, "\(held) seconds of a slot")
    }

    @Test func aLongSliceIsPaidForByALongerWait() throws {
        let origins = (1...3).map { number in
            OriginState(
                name: "http://slow-\(number).test", firstLoop: 0, loops: 1, ceiling: 8, now: 0)
        }
        var classes = SlotClasses(policy: SlowPolicy(), capacities: [8])
        for (number, origin) in origins.enumerated() {
            let transfer = Transfer(
                id: UInt64(number),
                request: TransferRequest(
                    url: origin.name + "/", group: "g", destination: .memory, role: .data)
            ) { _, _ in }
            origin.lines.stopped.append(Waiting(transfer: transfer, origin: origin))
        }
        // The first had eight slices, the second one, and the third none.
        for (index, seconds) in [(0, 10_000.0), (1, 30)] {
            var entry = SlotClasses.Slow(origin: origins[index], home: origins[index], loop: 0)
            entry.slowSeconds = seconds
            classes.book(entry)
        }
        #expect(origins.map(\.slow.seconds) == [240, 30, 0])
        for origin in origins { classes.waitForSlow(origin) }
        var order: [String] = []
        for _ in origins {
            let tried = Set(origins.filter { order.contains($0.name) }.map(ObjectIdentifier.init))
            let next = classes.nextSlow(on: 0, guaranteed: false, but: tried)
            order.append(try #require(next).name)
        }
        #expect(order == [origins[2], origins[1], origins[0]].map(\.name))
    }

    // MARK: Stops

    @Test func whatHasLeftItsSlotIsNotStopped() {
        let origin = OriginState(name: Self.drip, firstLoop: 0, loops: 1, ceiling: 8, now: 0)
        let entry = SlotClasses.Slow(origin: origin, home: origin, loop: 0)
        var classes = SlotClasses(policy: SlowPolicy(), capacities: [8])
        for id in UInt64(1)...5 { classes.set(id, entry) }
        let isAny = classes.stop(3, on: 0)
        #expect(isAny)
        // One is prompt by now, another has a later slot, and the third is to be stopped.
        classes.remove(5)
        classes.remove(4)
        classes.set(4, entry)
        #expect(classes.takeStops(on: 0) == [3])
        #expect(classes.takeStops(on: 0).isEmpty)
    }

    // MARK: What waits

    @Test(arguments: [(10, 12), (40, 8)])
    func anOriginWithoutWorkIsUnderservedHoweverManyThereAre(maxWaiting: Int, others: Int) {
        var policy = SlowPolicy()
        policy.maxWaiting = maxWaiting
        let simulation = SlowSimulation(policy: policy)
        // These were slow and have nothing to do now.
        let idle = (1...8).map { "http://idle-\($0).test" }
        for origin in idle {
            simulation.submit(origin, Self.files(1, bytesPerSecond: 1_200, bytes: 6_000))
        }
        simulation.run(10)
        for number in 1...others {
            simulation.submit(
                "http://drip-\(number).test", Self.files(1, bytesPerSecond: 1_200, bytes: 1e9))
        }
        simulation.run(10)
        let underserved = simulation.slowWork.underserved
        #expect(underserved.isSuperset(of: idle), "\(underserved.count)")
        // A part of five is more than twice what these have; one of none is not.
        #expect(underserved.count == (maxWaiting > others ? 8 + others : 8))
    }

    // MARK: Ageing

    @Test func anOriginIsUnknownAgainWhenItWasSlowLongAgo() {
        let simulation = SlowSimulation()
        simulation.submit(Self.drip, Self.files(8, bytesPerSecond: 1_200, bytes: 12_000))
        simulation.run(20) { Self.feed(simulation) }
        #expect(simulation.ended[Self.drip] == 8)
        #expect(simulation.slowWork.origins == [Self.drip])
        simulation.run(60) { Self.feed(simulation) }
        #expect(simulation.slowWork.origins.isEmpty)
        // Prompt by now, it has the slots of others within seconds.
        simulation.submit(Self.drip, Array(repeating: .prompt(seconds: 0.1), count: 400))
        simulation.run(10) { Self.feed(simulation) }
        #expect(simulation.ended[Self.drip, default: 0] > 8 + 200)
    }

    @Test func slownessExpiresLaterEachTimeThatItIsSeenAgain() {
        let policy = SlowPolicy()
        var pace = OriginPace()
        var now = 1_000.0
        for doublings in [0, 1, 2, 3, 4, 4] {
            _ = pace.add(.slow(seconds: 1.5), now: now)
            #expect(pace.isSlow)
            let seconds = policy.expirySeconds * Double(1 << doublings)
            #expect(!pace.hasExpired(policy, now: now + seconds - 1))
            now += seconds
            let hasExpired = pace.expire(policy, now: now)
            #expect(hasExpired)
            #expect(!pace.isSlow)
        }
        _ = pace.add(.prompt(seconds: 1.5), now: now)
        _ = pace.add(.slow(seconds: 3), now: now)
        #expect(pace.isSlow && pace.hasExpired(policy, now: now + policy.expirySeconds))
    }
}
