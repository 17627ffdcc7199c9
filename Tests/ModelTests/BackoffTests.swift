import Model
import Statistics
import Testing

@Suite struct BackoffTests {
    private let backoff = Backoff()

    @Test func delaysAreSpreadOverTheWholeWindow() {
        var random = SeededRandom(seed: 1)
        for attempt in 1...12 {
            let ceiling = backoff.ceilingSeconds(attempt: attempt)
            let delays = (0..<2_000).map { _ in
                backoff.delaySeconds(attempt: attempt, using: &random)
            }
            #expect(delays.allSatisfy { (0...ceiling).contains($0) })
            let mean = delays.reduce(0, +) / Double(delays.count)
            #expect(abs(mean / ceiling - 0.5) < 0.05)
        }
    }

    @Test func theWindowDoublesUpToTheCap() {
        #expect(backoff.ceilingSeconds(attempt: 1) == 0.5)
        #expect(backoff.ceilingSeconds(attempt: 2) == 1)
        #expect(backoff.ceilingSeconds(attempt: 7) == 32)
        #expect(backoff.ceilingSeconds(attempt: 8) == 60)
        #expect(backoff.ceilingSeconds(attempt: .max) == 60)
        #expect(backoff.ceilingSeconds(attempt: 0) == 0.5)
    }

    @Test func retryAfterIsTheLeastDelayAndIsBounded() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<1_000 {
            let delay = backoff.delaySeconds(attempt: 3, retryAfter: 10, using: &random)
            #expect((10...12).contains(delay))
        }
        #expect(backoff.delaySeconds(attempt: 1, retryAfter: 1e9, using: &random) == 3_600)
        for junk in [-5, 0, Double.nan, .infinity] {
            let delay = backoff.delaySeconds(attempt: 1, retryAfter: junk, using: &random)
            #expect((0...0.5).contains(delay))
        }
    }

    @Test func theSameSeedGivesTheSameDelays() {
        var (first, second) = (SeededRandom(seed: 7), SeededRandom(seed: 7))
        for attempt in 1...20 {
            #expect(
                backoff.delaySeconds(attempt: attempt, using: &first)
                    == backoff.delaySeconds(attempt: attempt, using: &second))
        }
    }

    @Test func theBoundGrowsByTheFactorAndHalfOfItIsCertain() {
        let backoff = Backoff(firstSeconds: 0.1, maxSeconds: .infinity, factor: 3, jitter: 0.5...1)
        var random = SeededRandom(seed: 3)
        var bound = 0.1
        for attempt in 1...6 {
            #expect(backoff.ceilingSeconds(attempt: attempt) == bound)
            let delays = (0..<2_000).map { _ in
                backoff.delaySeconds(attempt: attempt, using: &random)
            }
            #expect(delays.allSatisfy { (bound / 2...bound).contains($0) })
            bound *= 3
        }
    }

    @Test func delaysWithoutJitterAreTheBounds() {
        let backoff = Backoff(firstSeconds: 60, maxSeconds: 3_600)
        let delays = (1...8).map { backoff.ceiling(attempt: $0) }
        #expect(delays == [60, 120, 240, 480, 960, 1_920, 3_600, 3_600].map { .seconds($0) })
    }
}
