import Testing

@testable import Worker

/// The back-off of clocks that do not answer.
@Suite struct FailedClocksTests {
    @Test func eachFailureDoublesThePause() {
        var clocks = FailedClocks()
        var now = ContinuousClock.now
        #expect(clocks.paused(at: now).isEmpty)
        for seconds in [30, 60, 120, 240, 480, 600, 600] {
            clocks.fail("a", at: now)
            #expect(clocks.paused(at: now + .seconds(seconds - 1)) == ["a"])
            now += .seconds(seconds)
            #expect(clocks.paused(at: now).isEmpty)
        }
    }

    @Test func failuresOfOneOutageCountOnce() {
        var clocks = FailedClocks()
        let now = ContinuousClock.now
        for _ in 0..<8 { clocks.fail("a", at: now) }
        #expect(clocks.paused(at: now + .seconds(30)).isEmpty)
    }

    @Test func anAnswerEndsThePause() {
        var clocks = FailedClocks()
        let now = ContinuousClock.now
        for _ in 0..<3 { clocks.fail("a", at: now) }
        clocks.fail("b", at: now)
        clocks.succeed("a")
        #expect(clocks.paused(at: now) == ["b"])
        clocks.fail("a", at: now)
        #expect(clocks.paused(at: now + .seconds(30)).isEmpty)
    }

    @Test func theirNumberIsBounded() {
        var clocks = FailedClocks()
        let now = ContinuousClock.now
        for number in 0..<2_500 { clocks.fail("\(number)", at: now) }
        #expect(clocks.paused(at: now).count == 500)
    }
}
