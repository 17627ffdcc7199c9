import API
import Model
import Testing

@testable import Client

@Suite struct ProgressWindowTests {
    /// Segments that have ended at these seconds, of so many; the estimates in between, asked four times a second.
    private func estimates(
        _ ends: [Double], of total: Int, until last: Double
    ) -> [(seconds: Double, left: Double?)] {
        var window = ProgressWindow()
        return stride(from: 0.0, through: last, by: 0.25).map { seconds in
            let ended = ends.count { $0 <= seconds }
            window.update(to: Double(ended), atSeconds: seconds)
            return (seconds, window.secondsLeft(Double(total - ended), atSeconds: seconds))
        }
    }

    /// Synthetic: 60 files, all but four within three seconds; these wait 38 s for the lease of a worker that was
    /// killed. The former estimate rose to 5:06:40 in that time.
    @Test func aRunThatStandsStillPromisesNothing() {
        let ends = (0..<56).map { 0.3 + Double($0) * 0.05 } + [41, 41.3, 41.6, 42]
        let seen = estimates(ends, of: 60, until: 42)
        for (seconds, left) in seen {
            if let left { #expect(left < 60, "\(left) after \(seconds)") }
            if (9..<41).contains(seconds) { #expect(left == nil, "\(seconds)") }
        }
        #expect(seen.contains { $0.left != nil && $0.seconds < 5 })
        #expect(seen.last?.left == 0)
    }

    /// Synthetic: a limit of one request in five seconds. The steps are far apart, and even.
    @Test func evenStepsThatAreFarApartAreProgress() {
        let seen = estimates((1...12).map { Double($0) * 5 }, of: 12, until: 60)
        for (seconds, left) in seen where seconds >= 10 && seconds < 60 {
            guard let left else {
                #expect(Bool(false), "unknown after \(seconds)")
                continue
            }
            #expect(abs(left - (60 - seconds)) <= 6, "\(left) after \(seconds)")
        }
    }

    /// Synthetic: the first bytes of a large file come slowly, then its rate doubles every half second.
    @Test func theFirstSecondsPromiseLittle() {
        var window = ProgressWindow()
        let total = 4e9
        var bytes = 0.0
        for tick in 0..<170 {
            let seconds = Double(tick) * 0.25
            bytes = min(total, bytes + 1e4 * min(1e4, 2.0.power(Int(seconds * 2))))
            window.update(to: bytes, atSeconds: seconds)
            if let left = window.secondsLeft(total - bytes, atSeconds: seconds) {
                #expect(left <= 60 * seconds, "\(left) after \(seconds)")
                if seconds > 25 {
                    #expect(abs(left - (total - bytes) / 4e8) < 5, "\(left) after \(seconds)")
                }
            }
        }
    }

    @Test func aSetbackIsNoProgress() {
        var window = ProgressWindow()
        for (seconds, value) in [(0.0, 0.0), (1, 10), (2, 20), (3, 5), (4, 20), (5, 30)] {
            window.update(to: value, atSeconds: seconds)
        }
        #expect(window.secondsLeft(60, atSeconds: 5) == 10)
    }

    /// The rate before a wait does not predict the one after it.
    @Test func aWaitEndsTheEstimate() {
        func status(
            _ done: Int, _ waits: [CatalogWait] = [], after seconds: Double = 0
        ) -> CatalogStatus {
            var totals = CatalogTotals()
            (totals.segments, totals.segmentsDone) = (100, done)
            totals.seconds = seconds
            var status = CatalogStatus(
                id: CatalogID(1), name: "demo", queue: "q", storageURL: "file:///edge",
                state: .running, generation: 1, totals: totals, active: [])
            status.waits = waits
            return status
        }
        var meter = ProgressMeter()
        for second in 0...5 { meter.update(status(second * 10), atSeconds: Double(second)) }
        #expect(meter.catalog.secondsLeft == 5)
        let wait = CatalogWait(.queuePaused(queue: "q"))
        meter.update(status(50, [wait], after: 5), atSeconds: 5.25)
        // For a moment nothing runs between two jobs.
        #expect(meter.catalog.secondsLeft != nil && meter.waits.current == [])
        meter.update(status(50, [wait], after: 6), atSeconds: 6.5)
        #expect(meter.catalog.secondsLeft == nil && meter.waits.current == [wait])
        // The run ended before its follower learned of that.
        meter.update(status(50, after: 7), atSeconds: 8)
        #expect(meter.catalog.secondsLeft == nil && meter.waits.current == [])
        #expect(meter.waits.totals == [WaitHistory.Total(reason: "queuePaused", seconds: 2)])
        for second in 9...12 {
            meter.update(status(50 + (second - 8)), atSeconds: Double(second))
        }
        #expect(abs((meter.catalog.secondsLeft ?? 0) - 46) < 1)
        // A limit slows work down; what comes is progress all the same.
        let limit = CatalogWait(.originLimit(origin: "http://o", origins: 1))
        for second in 13...16 {
            meter.update(status(50 + (second - 8), [limit]), atSeconds: Double(second))
        }
        #expect(meter.catalog.secondsLeft != nil && meter.waits.current == [limit])
    }
}

extension Double {
    fileprivate func power(_ exponent: Int) -> Double {
        (0..<max(0, exponent)).reduce(1) { value, _ in value * self }
    }
}
