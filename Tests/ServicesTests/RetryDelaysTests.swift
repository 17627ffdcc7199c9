import Model
import Services
import Statistics
import Testing

@Suite struct RetryDelaysTests {
    @Test func theJitterIsThatOfTheGivenGenerator() {
        let backoff = Backoff()
        let delays = RetryDelays(backoff, SeededRandom(seed: 5))
        var random = SeededRandom(seed: 5)
        for attempt in 1...20 {
            #expect(
                delays.seconds(attempt: attempt, retryAfter: attempt.isMultiple(of: 2) ? 7 : nil)
                    == backoff.delaySeconds(
                        attempt: attempt, retryAfter: attempt.isMultiple(of: 2) ? 7 : nil,
                        using: &random))
        }
    }
}
