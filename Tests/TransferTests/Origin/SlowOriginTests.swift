import Model
import Statistics
import TestSupport
import Testing

@testable import Transfer

/// Slow transfers and the slots of others, without a network.
@Suite("Slow origins", .computing)
struct SlowOriginTests {
    private static let fast = "http://fast.test"

    /// Keeps so many of the fast origin's files waiting, each of which takes so many seconds.
    private static func feed(_ simulation: SlowSimulation, seconds: Double) {
        let lacking = 64 - simulation.waiting(at: fast)
        guard lacking > 32 else { return }
        simulation.submit(fast, Array(repeating: .prompt(seconds: seconds), count: lacking))
    }

    /// Files of the fast origin within half a minute, when it has had some seconds to begin.
    private static func rate(
        _ simulation: SlowSimulation, seconds: Double, _ each: () -> Void = {}
    ) -> Int {
        simulation.run(5) {
            each()
            feed(simulation, seconds: seconds)
        }
        let before = simulation.ended[fast, default: 0]
        simulation.run(30) {
            each()
            feed(simulation, seconds: seconds)
        }
        return simulation.ended[fast, default: 0] - before
    }

    // MARK: Fairness

    /// A random mix of slow origins.
    private struct Mix: CustomStringConvertible {
        var random: SeededRandom
        let origins: Int
        let filesEach: Int
        let newOriginsPerSecond: Double
        let promptShare: Double
        let isBefore: Bool
        let connections: Int
        let seconds: Double
        private var owed = 0.0
        private var made = 0

        init(seed: UInt64) {
            random = SeededRandom(seed: seed)
            origins = Int.random(in: 1...40, using: &random)
            filesEach = Int.random(in: 1...40, using: &random)
            promptShare = [0, 0, 0.2, 0.5].randomElement(using: &random) ?? 0
            isBefore = Bool.random(using: &random)
            connections = [8, 16, 32, 64].randomElement(using: &random) ?? 32
            newOriginsPerSecond = Bool.random(using: &random) ? Double(connections) / 16 : 0
            seconds = Double.random(in: 0.02...0.2, using: &random)
        }

        var description: String {
            "\(origins) origins of \(filesEach) files, \(newOriginsPerSecond) more a second, "
                + "\(promptShare) prompt, before: \(isBefore), \(connections) connections, "
                + "\(seconds) s a fast file"
        }

        private mutating func behaviour() -> SlowSimulation.Behaviour {
            if Double.random(in: 0..<1, using: &random) < promptShare {
                return .prompt(seconds: Double.random(in: 0.01...0.1, using: &random))
            }
            if Int.random(in: 0..<4, using: &random) == 0 { return .silent(seconds: 30) }
            return .drip(
                bytesPerSecond: Double.random(in: 100...12_000, using: &random),
                bytes: Double.random(in: 50_000...2e6, using: &random),
                isResumable: Bool.random(using: &random))
        }

        mutating func submitOrigin(to simulation: SlowSimulation) {
            made += 1
            simulation.submit(
                "http://slow-\(made).test", (0..<filesEach).map { _ in behaviour() })
        }

        mutating func submitNew(to simulation: SlowSimulation) {
            owed += newOriginsPerSecond * 0.01
            while owed >= 1 {
                owed -= 1
                submitOrigin(to: simulation)
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func anyMixLeavesAFastOriginHalfOfItsRate(seed: UInt64) {
        var mix = Mix(seed: seed)
        let alone = Self.rate(
            SlowSimulation(connections: mix.connections), seconds: mix.seconds)
        let simulation = SlowSimulation(connections: mix.connections)
        if !mix.isBefore { Self.feed(simulation, seconds: mix.seconds) }
        for _ in 0..<mix.origins { mix.submitOrigin(to: simulation) }
        if mix.isBefore { simulation.run(3) }
        let beside = Self.rate(simulation, seconds: mix.seconds) {
            mix.submitNew(to: simulation)
        }
        #expect(
            Double(beside) >= 0.5 * Double(alone),
            "\(alone) alone, \(beside) beside \(mix); \(simulation.decision(at: Self.fast))")
        #expect(simulation.losses.values.allSatisfy { $0 <= 1 })
        #expect(
            mix.promptShare > 0 || simulation.bytes.values.reduce(0, +) > 0 || mix.filesEach < 3)
    }

    private static func drips(
        _ count: Int, isResumable: Bool = true
    ) -> [SlowSimulation.Behaviour] {
        Array(
            repeating: .drip(bytesPerSecond: 1_200, bytes: 60_000, isResumable: isResumable),
            count: count)
    }

    @Test func aFastOriginBeginsWithinASecondAlthoughAllSlotsAreTaken() {
        let simulation = SlowSimulation()
        for number in 0..<8 { simulation.submit("http://slow-\(number).test", Self.drips(8)) }
        simulation.run(10)
        #expect(simulation.active == 32)
        simulation.submit(
            Self.fast, Array(repeating: .prompt(seconds: 0.1), count: 64))
        simulation.run(1)
        #expect(simulation.ended[Self.fast, default: 0] >= 8)
        simulation.run(4)
        #expect(simulation.ended[Self.fast] == 64)
        // Stopped transfers get the slots again when no others need them.
        simulation.run(4)
        #expect(simulation.active == 32 && simulation.stops > 0)
    }

    // MARK: What is slow

    /// No other origin needs slots: as many as there are connections run at any time.
    @Test(arguments: [3.0, 0.5])
    func anOriginAloneUsesAllConnections(seconds: Double) {
        let simulation = SlowSimulation(connections: 4)
        let origin = "http://alone.test"
        simulation.submit(
            origin,
            Array(
                repeating: .drip(
                    bytesPerSecond: 200_000 / seconds, bytes: 200_000, isResumable: true),
                count: 80))
        // The last bytes of each come a tenth of a second later.
        simulation.run(20 * (seconds + 0.11))
        #expect(simulation.ended[origin] == 80)
    }

    @Test func slowOriginsAloneHaveAllSlotsAndLoseNothing() {
        func end(_ policy: SlowPolicy?) -> (seconds: Double, losses: Int) {
            let simulation = SlowSimulation(policy: policy)
            for number in 0..<8 { simulation.submit("http://slow-\(number).test", Self.drips(16)) }
            let start = simulation.now
            while simulation.ended.values.reduce(0, +) < 128, simulation.now < 1_000 {
                simulation.run(1)
            }
            return (simulation.now - start, simulation.losses.count)
        }
        let (plain, fair) = (end(nil), end(SlowPolicy()))
        #expect(fair.seconds <= plain.seconds + 1 && fair.losses == 0, "\(fair), \(plain)")
    }

    @Test func slowTransfersFinishBesideAFastOriginThatNeverPauses() {
        for isResumable in [true, false] {
            let simulation = SlowSimulation()
            simulation.submit("http://slow.test", Self.drips(24, isResumable: isResumable))
            simulation.run(3)
            // A quarter of the slots, fifty seconds each: six rounds, and what was lost once.
            simulation.run(250) { Self.feed(simulation, seconds: 0.1) }
            #expect(simulation.ended["http://slow.test"] == 24)
            #expect(simulation.losses.values.allSatisfy { $0 == 1 })
            #expect(isResumable ? simulation.losses.isEmpty : !simulation.losses.isEmpty)
        }
    }

    @Test func aFewHangingTransfersDoNotMakeAnOriginSlow() {
        let simulation = SlowSimulation()
        Self.feed(simulation, seconds: 0.05)
        simulation.run(3) { Self.feed(simulation, seconds: 0.05) }
        simulation.submit(Self.fast, [.silent(seconds: 30)])
        simulation.run(10) { Self.feed(simulation, seconds: 0.05) }
        #expect(
            !simulation.scheduler.origin(ofURL: Self.fast, now: simulation.now).pace.isSlow)
        #expect(simulation.slowWork.origins.isEmpty)
        #expect(simulation.slowWork.count == 1)
    }

    /// All bytes of each file come at its end. Before, it counts as slow.
    @Test(arguments: [1, 2]) func anOriginThatAnswersLateHasAllSlotsWhileItIsAlone(loops: Int) {
        let simulation = SlowSimulation(connections: 4, loops: loops)
        simulation.submit("http://late.test", Array(repeating: .prompt(seconds: 3), count: 20))
        simulation.run(15.5)
        #expect(simulation.ended["http://late.test"] == 20)
    }

    /// Otherwise a worker requests them twice.
    @Test func transfersOfASlowOriginCountFromTheirSubmission() {
        let simulation = SlowSimulation()
        simulation.submit("http://slow.test", Self.drips(8))
        simulation.run(3)
        #expect(simulation.slowWork.count == 8)
        simulation.queue("http://slow.test", Self.drips(5))
        #expect(simulation.slowWork.count == 13)
    }

    @Test func anOriginThatHasRecoveredIsAsGoodAsOthers() {
        let simulation = SlowSimulation()
        simulation.submit("http://slow.test", Self.drips(8))
        simulation.run(3)
        #expect(simulation.slowWork.origins == ["http://slow.test"])
        simulation.submit(
            "http://slow.test", Array(repeating: .prompt(seconds: 0.1), count: 800))
        simulation.run(60) { Self.feed(simulation, seconds: 0.1) }
        #expect(simulation.slowWork.origins.isEmpty)
    }

    @Test func whatIsTooMuchToWaitIsReturned() {
        var policy = SlowPolicy()
        policy.maxWaiting = 10
        let simulation = SlowSimulation(policy: policy)
        simulation.submit("http://slow.test", Self.drips(100))
        simulation.run(4)
        // AdaptiveConcurrency lets a few more of them run meanwhile.
        let work = simulation.slowWork
        #expect(work.count == simulation.active + 10, "\(work), \(simulation.active)")
        #expect(simulation.waiting(at: "http://slow.test") == 10)
    }

    @Test func aSingleConnectionIsUsedInTurn() {
        let simulation = SlowSimulation(connections: 1, loops: 1)
        simulation.submit("http://slow.test", Self.drips(1))
        simulation.submit(Self.fast, [.prompt(seconds: 0.1)])
        simulation.run(60)
        #expect(simulation.ended == ["http://slow.test": 1, Self.fast: 1])
        #expect(simulation.stops == 0)
    }

    @Test(arguments: [true, false]) func anOriginInCooldownReturnsWaitingTransfers(isSlow: Bool) {
        let simulation = SlowSimulation()
        let origin = "http://slow.test"
        if isSlow {
            simulation.submit(origin, Self.drips(8))
            simulation.run(3)
        }
        _ = simulation.scheduler.beginCooldowns([(origin, 600)], now: simulation.now)
        simulation.submit(origin, Self.drips(4))
        simulation.run(1)
        #expect(simulation.returned == 4 && simulation.waiting(at: origin) == 0)
    }
}
