import Services
import Statistics
import Testing

@Suite struct RetryPolicyTests {
    private let policy = RetryPolicy()

    @Test func delaysAreSpreadOverTheWholeWindow() {
        var random = SeededRandom(seed: 1)
        for attempt in 1...12 {
            let ceiling = policy.ceilingSeconds(attempt: attempt)
            let delays = (0..<2_000).map { _ in
                policy.delaySeconds(attempt: attempt, using: &random)
            }
            #expect(delays.allSatisfy { (0...ceiling).contains($0) })
            let mean = delays.reduce(0, +) / Double(delays.count)
            #expect(abs(mean / ceiling - 0.5) < 0.05)
        }
    }

    @Test func theWindowDoublesUpToTheCap() {
        #expect(policy.ceilingSeconds(attempt: 1) == 0.5)
        #expect(policy.ceilingSeconds(attempt: 2) == 1)
        #expect(policy.ceilingSeconds(attempt: 7) == 32)
        #expect(policy.ceilingSeconds(attempt: 8) == 60)
        #expect(policy.ceilingSeconds(attempt: .max) == 60)
        #expect(policy.ceilingSeconds(attempt: 0) == 0.5)
    }

    @Test func retryAfterIsTheLeastDelayAndIsBounded() {
        var random = SeededRandom(seed: 2)
        for _ in 0..<1_000 {
            let delay = policy.delaySeconds(attempt: 3, retryAfter: 10, using: &random)
            #expect((10...12).contains(delay))
        }
        #expect(policy.delaySeconds(attempt: 1, retryAfter: 1e9, using: &random) == 3_600)
        for junk in [-5, 0, Double.nan, .infinity] {
            let delay = policy.delaySeconds(attempt: 1, retryAfter: junk, using: &random)
            #expect((0...0.5).contains(delay))
        }
    }

    @Test func theSameSeedGivesTheSameDelays() {
        var (first, second) = (SeededRandom(seed: 7), SeededRandom(seed: 7))
        for attempt in 1...20 {
            #expect(
                policy.delaySeconds(attempt: attempt, using: &first)
                    == policy.delaySeconds(attempt: attempt, using: &second))
        }
    }

    /// The published first outputs of SplitMix64 with seed 1234567.
    @Test func splitMixMatchesItsReference() {
        var generator = SplitMix64(state: 1_234_567)
        #expect(generator.next() == 6_457_827_717_110_365_317)
        #expect(generator.next() == 3_203_168_211_198_807_973)
        #expect(generator.next() == 9_817_491_932_198_370_423)
    }
}
