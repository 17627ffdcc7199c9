import API
import CoordinatorClient
import HTTPServer
import Model
import Synchronization
import TestSupport
import Testing

@testable import Coordinator

/// Limits of requests per sender.
@Suite struct RateTests {
    /// A clock that tests move.
    private final class Clock: Sendable {
        private let time = Mutex(ContinuousClock.now)

        var now: ContinuousClock.Instant { time.withLock(\.self) }
        func advance(_ duration: Duration) { time.withLock { $0 += duration } }
    }

    @Test func aSenderMaySendABurstAndThenItsRate() {
        let clock = Clock()
        var buckets = RequestBuckets<String>(RequestRate(perSecond: 2), maxSenders: 10)
        /// Number of admitted requests.
        func admitted(_ sender: String, of count: Int) -> Int {
            (0..<count).count { _ in buckets.take(sender, now: clock.now) }
        }
        #expect(admitted("a", of: 12) == 10)
        #expect(admitted("b", of: 1) == 1)
        clock.advance(.milliseconds(500))
        #expect(admitted("a", of: 2) == 1)
        clock.advance(.seconds(60))
        #expect(admitted("a", of: 12) == 10)
    }

    @Test func theTableIsBounded() {
        let clock = Clock()
        var buckets = RequestBuckets<Int>(RequestRate(perSecond: 1), maxSenders: 100)
        let admitted = (0..<1_000).count { buckets.take($0, now: clock.now) }
        // Those that have no bucket of their own share one.
        #expect(admitted == 105 && buckets.count == 100)
        // A sender that is limited is not forgotten for others.
        for _ in 0..<5 { _ = buckets.take(7, now: clock.now) }
        clock.advance(.milliseconds(999))
        let isAdmittedEarly = buckets.take(1_000_000, now: clock.now)
        #expect(!isAdmittedEarly)
        clock.advance(.seconds(1))
        let isAdmittedLater = buckets.take(2_000_000, now: clock.now)
        #expect(isAdmittedLater && buckets.count == 2)
    }

    @Test func addressesWithoutATokenAreLimited() throws {
        let clock = Clock()
        let limiter = RateLimiter(RequestRates(token: nil, address: RequestRate(perSecond: 1))) {
            clock.now
        }
        func request(_ network: String) -> HTTPRequest {
            HTTPRequest(method: "GET", path: "/", segments: [], remoteNetwork: network)
        }
        for _ in 0..<5 { try limiter.admitStranger(request("4:1")) }
        let failure = #expect(throws: Failure.self) { try limiter.admitStranger(request("4:1")) }
        #expect(failure?.code == "cluster.rateLimited")
        try limiter.admitStranger(request("4:2"))
        for _ in 0..<100 { try limiter.admitStranger(request("")) }
        clock.advance(.seconds(1))
        try limiter.admitStranger(request("4:1"))
    }

    @Test func aTokenOverItsRateGets429() async throws {
        try await Fixture.with(configure: { $0.rates.token = RequestRate(perSecond: 1) }) {
            fixture in
            let token = try await fixture.token(.reader)
            var statuses: [Int] = []
            for _ in 0..<20 {
                let answer = try await fixture.send("GET", "/v1/queues", by: token)
                statuses.append(answer.status)
                guard answer.status == 429 else { continue }
                #expect(answer.code == "cluster.rateLimited")
                #expect(answer.headers["retry-after"] == "1")
            }
            #expect(statuses.prefix(5) == [200, 200, 200, 200, 200] && statuses.contains(429))
            // Another token has its own rate; workers are limited by their work.
            #expect(try await fixture.send("GET", "/v1/queues").status == 200)
            let worker = try await fixture.token(.worker)
            for _ in 0..<10 {
                #expect(try await fixture.send("GET", "/v1/cooldowns", by: worker).status == 200)
            }
        }
    }
}
