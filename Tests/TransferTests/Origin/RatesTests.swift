import TestSupport
import Testing

@testable import Transfer

@Suite("Requests and bytes a second")
struct RatesTests {
    /// Numbers that look random and are the same each time.
    private struct Random {
        var state: UInt64

        /// 0 up to 1.
        mutating func next() -> Double {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Double(state >> 11) / Double(1 << 53)
        }
    }

    /// The most of `times` within a second, wherever it begins.
    private func most(_ times: [Double], in seconds: Double = 1) -> Int {
        let times = times.sorted()
        return times.indices.map { first in
            times[first...].prefix { $0 - times[first] < seconds }.count
        }.max() ?? 0
    }

    /// Whatever connections and answers take, the origin never counts one too many.
    @Test(arguments: [0.4, 1, 2.5, 5, 40], [1, 2, 3, 4] as [UInt64])
    func noSecondHasOneTooMany(rate: Double, seed: UInt64) {
        var random = Random(state: seed &* 0x9E37_79B9_7F4A_7C15)
        var pacer = RequestPacer(requestsPerSecond: rate)
        var arrivals: [Double] = []
        var events: [(at: Double, id: UInt64, step: Int)] = []
        var now = 0.0
        for id in 0..<300 as Range<UInt64> {
            while !pacer.reserve(id, now: now) {
                // The next event, or the pacer's next time.
                let next = pacer.nextSlot(now: now) ?? .infinity
                events.sort { $0.at < $1.at }
                guard let event = events.first, event.at < next else {
                    #expect(next > now && next.isFinite)
                    now = next
                    continue
                }
                events.removeFirst()
                now = max(now, event.at)
                if event.step == 0 {
                    let isFirst = pacer.sent(event.id, now: now)
                    #expect(isFirst)
                    // On its way for up to 0.1 s; the answer comes a while after it.
                    let way = random.next() * 0.1
                    arrivals.append(now + way)
                    events.append((now + way + random.next(), event.id, 1))
                } else {
                    pacer.answered(event.id, now: now)
                    pacer.end(event.id, now: now)
                }
            }
            events.append((now + random.next() * (id % 3 == 0 ? 0.5 : 0), id, 0))
        }
        #expect(most(arrivals, in: rate < 1 ? 1 / rate : 1) <= max(1, Int(rate)))
        // And it does not dawdle: unsent ones and their ways cost a part of the rate.
        let length = (arrivals.max() ?? 0) - (arrivals.min() ?? 0)
        #expect(Double(arrivals.count) / length > 0.5 * min(rate, Double(max(1, Int(rate)))))
    }

    @Test func anUnsentRequestReturnsItsReservation() {
        var pacer = RequestPacer(requestsPerSecond: 1)
        let reserved = [pacer.reserve(1, now: 0), pacer.reserve(2, now: 0)]
        #expect(reserved == [true, false])
        let next = pacer.nextSlot(now: 0)
        #expect(next == nil)
        pacer.end(1, now: 0.5)
        let isIn = pacer.reserve(2, now: 0.5)
        #expect(isIn)
    }

    @Test func aRequestIsSentOncePerReservation() {
        var pacer = RequestPacer(requestsPerSecond: 5)
        let isKnown = pacer.sent(1, now: 0)
        #expect(!isKnown)
        let sent = [pacer.reserve(1, now: 0), pacer.sent(1, now: 0), pacer.sent(1, now: 0)]
        #expect(sent == [true, true, false])
    }

    @Test func anotherRateCountsWhatHasStarted() {
        var pacer = RequestPacer(requestsPerSecond: 10)
        for id in 0..<6 as Range<UInt64> {
            let isIn = [pacer.reserve(id, now: 0), pacer.sent(id, now: 0)]
            #expect(isIn == [true, true])
            pacer.answered(id, now: 0.01)
        }
        pacer.change(requestsPerSecond: 5)
        let isIn = [pacer.reserve(9, now: 0.5), pacer.reserve(9, now: 1.1)]
        #expect(isIn == [false, true])
        pacer.change(requestsPerSecond: 0)
        let isLate = pacer.reserve(10, now: 100)
        let next = pacer.nextSlot(now: 100)
        #expect(!isLate && next == nil)
    }

    @Test func noSecondHasMoreBytesThanAllowed() {
        let rate = 1_000_000
        var bucket = TokenBucket(bytesPerSecond: Int64(rate), now: 0)
        var taken: [(at: Double, bytes: Int)] = []
        var now = 0.0
        var idle = 0.0
        var random = Random(state: 7)
        while now < 20 {
            // Now and then nothing is wanted, so that it fills.
            if random.next() < 0.01 {
                let pause = random.next() * 2
                now += pause
                idle += pause
            }
            let block = 1 + Int(random.next() * 16_384)
            if bucket.take(block, now: now) {
                taken.append((now, block))
            } else {
                let wait = bucket.secondsUntilCredit(now: now)
                #expect(wait > 0)
                now += wait
            }
        }
        for first in taken.indices {
            let second = taken[first...].prefix { $0.at - taken[first].at < 1 }
            #expect(second.reduce(0) { $0 + $1.bytes } <= rate + 16_384)
        }
        #expect(Double(taken.reduce(0) { $0 + $1.bytes }) > 0.9 * Double(rate) * (now - idle))
    }

    @Test func noBytesAtAllIsADaysWait() {
        var bucket = TokenBucket(bytesPerSecond: 0, now: 0)
        let isIn = bucket.take(1, now: 5)
        let wait = bucket.secondsUntilCredit(now: 5)
        #expect(!isIn && wait == 86_400)
    }
}
