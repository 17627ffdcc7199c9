import Testing

@testable import Client

@Suite struct PollPaceTests {
    /// A catalog at a steady rate, from its start to its end.
    @Test(arguments: [0.2, 4.5, 60, 3_600])
    func theEndIsNoticedSoonWithFewReadings(seconds: Double) {
        let pace = PollPace(longest: 1)
        let segments = 20_000
        var (now, readings) = (0.0, 0)
        while now < seconds {
            let done = Int(Double(segments) * now / seconds)
            now += pace.seconds(elapsed: now, done: done, of: segments)
            readings += 1
        }
        #expect(now - seconds <= 2 * PollPace.shortest)
        #expect(Double(readings) <= seconds + 24)
    }

    /// Connections are being set up at first.
    @Test(arguments: [0.3, 0.6, 3], [2.0, 4])
    func theEndOfACatalogThatSpeedsUpIsNoticedSoon(seconds: Double, power: Double) {
        var now = 0.0
        while now < seconds {
            var share = 1.0
            for _ in 0..<Int(power) { share *= now / seconds }
            now += PollPace(longest: 1).seconds(
                elapsed: now, done: Int(300 * share), of: 300)
        }
        #expect(now - seconds <= 0.2)
    }

    @Test func withoutARateTheIntervalGrows() {
        let pace = PollPace(longest: 0.25)
        #expect(pace.seconds(elapsed: 0, done: 0, of: 10) == PollPace.shortest)
        #expect(pace.seconds(elapsed: 2, done: 0, of: 0) > PollPace.shortest)
        #expect(pace.seconds(elapsed: 100, done: 0, of: 0) == 0.25)
    }

    @Test func anEndThatIsOverdueIsReadAtTheShortestInterval() {
        #expect(PollPace(longest: 1).seconds(elapsed: 9, done: 10, of: 10) == PollPace.shortest)
    }
}
