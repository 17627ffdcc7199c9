import Testing

@testable import Worker

/// The moment a load test begins, as a worker finds it.
@Suite struct StartReadingTests {
    private static let second: UInt64 = 1_000_000_000

    /// Asks as a worker does, where each answer takes so long, of which half is the way back.
    private static func read(
        roundTripSeconds: Double, firstSeconds: Double = 2
    ) -> (reading: StartReading, asked: Int, now: UInt64, start: UInt64) {
        let roundTrip = UInt64(roundTripSeconds * 1e9)
        var now = 100 * second
        // By the database, and its reading when the answer is sent.
        let start = UInt64(Int64(now) + Int64(firstSeconds * 1e9))
        func left(at moment: UInt64) -> Double { (Double(start) - Double(moment)) / 1e9 }
        now += roundTrip / 2
        var reading = StartReading(answeredAt: now, seconds: left(at: now - roundTrip / 2))
        var asked = 0
        while reading.mayAsk(at: now) {
            asked += 1
            let askedAt = now
            now += roundTrip
            reading.add(
                askedAt: askedAt, answeredAt: now, seconds: left(at: askedAt + roundTrip / 2))
        }
        return (reading, asked, now, start)
    }

    @Test func onAQuickWayItAsksFiveTimesAndIsRight() {
        let found = Self.read(roundTripSeconds: 0.004)
        #expect(found.asked == 5 && found.now < found.start)
        #expect(found.reading.start == found.start)
    }

    @Test(arguments: [0.3, 0.5, 0.9, 1.3])
    func onASlowWayItIsThereBeforeTheStart(roundTripSeconds: Double) {
        let found = Self.read(roundTripSeconds: roundTripSeconds)
        #expect(found.asked >= 1 && found.now < found.start)
        #expect(found.reading.start == found.start)
    }

    @Test func whereItIsTooLateItAsksNoMore() {
        #expect(Self.read(roundTripSeconds: 0.2, firstSeconds: -1).asked == 0)
    }
}
