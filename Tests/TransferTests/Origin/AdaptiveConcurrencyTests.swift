import Testing

@testable import Transfer

/// An origin as a curve: what comes of so many transfers at a time, and how many are too many.
private struct Curve {
    var bytesPerSecond: (Int) -> Double
    var maxBeforeOverload = Int.max
    var noise: (Int) -> Double = { _ in 1 }
}

@Suite("How many transfers at a time")
struct AdaptiveConcurrencyTests {
    /// Runs for a while, 0.1 s a step; answers the decisions and what was held each step.
    private func run(
        _ adaptive: inout AdaptiveConcurrency, _ curve: Curve, from start: Double = 0,
        seconds: Double
    ) -> (decisions: [AdaptiveConcurrency.Decision], held: [Int]) {
        var decisions: [AdaptiveConcurrency.Decision] = []
        var held: [Int] = []
        for step in 0..<Int(seconds * 10) {
            let now = start + Double(step) / 10
            let concurrency = adaptive.concurrency
            held.append(concurrency)
            for number in 0..<concurrency {
                let event: AdaptiveConcurrency.Event =
                    number < curve.maxBeforeOverload
                    ? .ended(nil) : .overload(.unavailable, startedAt: now - 0.05)
                if let decision = adaptive.handle(event, now: now) { decisions.append(decision) }
            }
            let rate = curve.bytesPerSecond(concurrency) * curve.noise(step)
            let sample = AdaptiveConcurrency.Sample(
                bytes: Int64(rate * 0.1), seconds: 0.1, isFull: true, transferSeconds: 0.05)
            if let decision = adaptive.handle(.sample(sample), now: now + 0.1) {
                decisions.append(decision)
            }
        }
        return (decisions, held)
    }

    /// Each transfer brings 1 MB/s, until the link is full.
    private func link(_ full: Int) -> Curve { Curve { Double(min($0, full)) * 1e6 } }

    @Test func itDoublesWhileMoreComes() {
        var adaptive = AdaptiveConcurrency(ceiling: 64)
        let (decisions, held) = run(&adaptive, link(1_000), seconds: 3)
        #expect(adaptive.concurrency == 64)
        #expect(decisions.prefix(3).map(\.concurrency) == [16, 32, 64])
        #expect(decisions.prefix(3).allSatisfy { $0.kind == .raised })
        #expect(decisions[1].reason == "16.0 MB/s with 16 at a time, 8.0 MB/s with 8")
        #expect(held.max() == 64)
        #expect(adaptive.last.reason.contains("limited to 64"))
    }

    /// An origin that answers each request after 50 ms, `full` at a time: when so many are reached.
    private func ramp(_ adaptive: inout AdaptiveConcurrency, full: Int, rounds: Int) {
        let bytes: Int64 = 256 << 10
        var (now, received) = (0.0, Int64(0))
        for _ in 0..<rounds {
            let count = adaptive.concurrency
            // What is more than the origin does at a time waits there.
            let seconds = 0.05 * max(1, Double(count) / Double(full))
            now += seconds
            received += Int64(count) * bytes
            for _ in 0..<count {
                let progress = AdaptiveConcurrency.Progress(
                    receivedBytes: received, isFull: true, seconds: seconds)
                _ = adaptive.handle(.ended(progress), now: now)
            }
        }
    }

    @Test func itDoublesWithEveryRoundToBeginWith() {
        var adaptive = AdaptiveConcurrency(ceiling: 64)
        ramp(&adaptive, full: 1_000, rounds: 2)
        #expect(adaptive.concurrency == 32)
        #expect(adaptive.last.kind == .raised)
        adaptive = AdaptiveConcurrency(ceiling: 64)
        ramp(&adaptive, full: 1_000, rounds: 4)
        #expect(adaptive.concurrency == 64)
        #expect(adaptive.last.reason.contains("limited to 64"))
    }

    @Test func theRoundsEndWhereNothingMoreComes() {
        var adaptive = AdaptiveConcurrency(ceiling: 512)
        ramp(&adaptive, full: 20, rounds: 50)
        // 32 still brought more than 16, 64 no more than 32.
        #expect(adaptive.concurrency == 64)
    }

    @Test func itHoldsWhenNothingMoreComes() {
        var adaptive = AdaptiveConcurrency(ceiling: 256)
        let (decisions, _) = run(&adaptive, link(20), seconds: 4)
        // 32 still brought more than 16, 64 no more than 32.
        #expect(adaptive.concurrency <= 64)
        #expect(decisions.last?.kind == .held)
        #expect(decisions.last?.reason.contains("20.0 MB/s with") == true)
        // It tries a few more now and then, and goes back each time.
        let (later, held) = run(&adaptive, link(20), from: 4, seconds: 200)
        #expect((held.max() ?? 0) <= 72)
        #expect(later.count { $0.kind == .raised } <= 8)
        #expect(abs(adaptive.bytesPerSecond - 20e6) < 1)
    }

    @Test func itFindsWhatHasGrownSince() {
        var adaptive = AdaptiveConcurrency(ceiling: 64)
        _ = run(&adaptive, link(8), seconds: 10)
        let before = adaptive.concurrency
        #expect(before <= 16)
        _ = run(&adaptive, link(64), from: 10, seconds: 120)
        #expect(adaptive.concurrency > 2 * before)
    }

    @Test func noiseDoesNotRunAwayWithIt() {
        var adaptive = AdaptiveConcurrency(ceiling: 1_000)
        var curve = link(16)
        curve.noise = { 1 + 0.03 * (Double($0 * 7_919 % 13) / 6 - 1) }
        let (_, held) = run(&adaptive, curve, seconds: 300)
        #expect((held.max() ?? 0) <= 80)
        #expect((held.min() ?? 0) >= 8)
    }

    @Test func itBacksOffByHalfAndComesBackByOne() {
        var adaptive = AdaptiveConcurrency(ceiling: 64)
        var curve = link(1_000)
        curve.maxBeforeOverload = 12
        let (decisions, held) = run(&adaptive, curve, seconds: 25)
        let lowered = decisions.filter { $0.kind == .lowered }
        #expect(lowered.first?.concurrency == 8)
        #expect(
            lowered.first?.reason.hasPrefix("503: ") == true
                && lowered.first?.reason.hasSuffix("with 16 at a time; fewer for 30 s")
                    == true
        )
        // Within seconds it is back near what the origin bears.
        #expect(held.suffix(50).allSatisfy { (6...13).contains($0) })
        // Over ten minutes hardly anything meets a 503.
        let (_, later) = run(&adaptive, curve, from: 25, seconds: 600)
        #expect(later.count { $0 > 12 } <= 40)
        #expect(later.reduce(0, +) / later.count >= 8)
    }

    @Test func oneFloorAndNoFurther() {
        var adaptive = AdaptiveConcurrency(ceiling: 32)
        let curve = Curve(bytesPerSecond: { _ in 0 }, maxBeforeOverload: 0)
        let (_, held) = run(&adaptive, curve, seconds: 60)
        #expect(adaptive.concurrency == 1 && held.suffix(300).allSatisfy { $0 == 1 })
        #expect(adaptive.last.reason.contains("503"))
    }

    @Test func whatWasBegunBeforeAStepBackIsNoReasonForAnother() {
        var adaptive = AdaptiveConcurrency(ceiling: 32, first: 16)
        for _ in 0..<16 {
            _ = adaptive.handle(.overload(.timeout, startedAt: 1), now: 2)
        }
        #expect(adaptive.concurrency == 8)
        _ = adaptive.handle(.overload(.timeout, startedAt: 2.5), now: 3)
        #expect(adaptive.concurrency == 4)
    }

    @Test func oneFailureInAThousandIsNoLoad() {
        var adaptive = AdaptiveConcurrency(ceiling: 32, first: 16)
        for _ in 0..<1_000 { _ = adaptive.handle(.ended(nil), now: 1) }
        let decision = adaptive.handle(.overload(.reset, startedAt: 0.9), now: 1)
        #expect(decision == nil)
        #expect(adaptive.concurrency == 16)
    }

    @Test func aFewRejectionsInAHundredAreAStepBack() {
        var adaptive = AdaptiveConcurrency(ceiling: 64, first: 32)
        for _ in 0..<97 { _ = adaptive.handle(.ended(nil), now: 1) }
        // So few that broke off may be bad luck.
        for _ in 0..<2 {
            let decision = adaptive.handle(.overload(.timeout, startedAt: 0.9), now: 1)
            #expect(decision == nil)
        }
        let decision = adaptive.handle(.overload(.unavailable, startedAt: 0.9), now: 1)
        #expect(decision?.kind == .lowered && adaptive.concurrency == 28)
        let few = "503: 3 of the last 100 transfers with 32 at a time; fewer for 30 s"
        #expect(decision?.reason == few)
    }

    @Test func theCeilingHolds() {
        var adaptive = AdaptiveConcurrency(ceiling: 32)
        _ = run(&adaptive, link(1_000), seconds: 2)
        #expect(adaptive.concurrency == 32)
        let decision = adaptive.handle(.ceiling(3), now: 2)
        #expect(decision?.kind == .lowered && adaptive.concurrency == 3)
        #expect(decision?.reason == "limited to 3")
        let (_, held) = run(&adaptive, link(1_000), from: 2, seconds: 20)
        #expect(held.allSatisfy { $0 == 3 })
        _ = adaptive.handle(.ceiling(32), now: 22)
        _ = run(&adaptive, link(1_000), from: 22, seconds: 3)
        #expect(adaptive.concurrency == 32)
    }

    @Test func withoutEnoughToDoNothingIsDecided() {
        var adaptive = AdaptiveConcurrency(ceiling: 32)
        for step in 0..<100 {
            let sample = AdaptiveConcurrency.Sample(bytes: 1_000, seconds: 0.1, isFull: false)
            let decision = adaptive.handle(.sample(sample), now: Double(step) / 10)
            #expect(decision == nil)
        }
        #expect(adaptive.concurrency == 8)
    }

    @Test(arguments: [
        (0.0, "0 B/s"), (999, "999 B/s"), (12_345, "12.3 kB/s"), (99_960, "100 kB/s"),
        (999_900, "1.0 MB/s"), (2.5e9, "2.5 GB/s"), (7e12, "7000 GB/s"),
    ])
    func figuresAreShort(rate: Double, text: String) {
        #expect(AdaptiveConcurrency.text(rate) == text)
    }
}
