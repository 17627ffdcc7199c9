import LoadTest
import Testing

@testable import LoadReport

@Suite struct WarningTests {
    /// Ten seconds of a generator with two cores, of which each second has `change`.
    private static func result(_ change: (inout LoadCounts) -> Void) -> LoadResult {
        var recorder = LoadRecorder()
        for second in 0..<10 {
            var interval = LoadInterval(second: second)
            interval.counts.sent = 1_000
            interval.counts.succeeded = 1_000
            interval.counts.cpuSeconds = 1.6
            change(&interval.counts)
            _ = recorder.add(interval, of: 1)
        }
        recorder.update {
            $0.measuredSeconds = 10
            $0.cores = 2
            $0.scenario.http.concurrency = 64
        }
        return recorder.result
    }

    @Test("a test that went as planned has no warning")
    func none() {
        let result = Self.result { $0.lateSends = 1 }
        #expect(result.warnings.isEmpty)
        #expect(!result.generatorIsLimit)
    }

    @Test("a generator without CPU left, or that sends late, is said to be the limit")
    func generator() {
        let busy = Self.result { $0.cpuSeconds = 1.75 }
        #expect(busy.generatorIsLimit)
        #expect(busy.warnings.first?.contains("used 87.5 % of its 2 cores") == true)
        let late = Self.result { $0.lateSends = 2 }
        #expect(late.generatorIsLimit)
        #expect(
            late.warnings.first?.contains("0.20 % of the requests were sent over 10 ms late")
                == true)
    }

    @Test("requests that wait while there is room are on their way, those without room are told of")
    func places() {
        #expect(Self.result { ($0.backlog, $0.inFlight) = (1, 63) }.warnings.isEmpty)
        let full = Self.result { ($0.backlog, $0.inFlight) = (7, 64) }
        #expect(full.warnings.first?.contains("In 10 seconds requests waited") == true)
        #expect(!full.generatorIsLimit)
    }

    @Test("what never was sent, and a test without an answer, are told of")
    func missing() {
        let missed = Self.result { $0.missedSends = 3 }
        #expect(missed.warnings == ["30 requests that were due before the end were never sent."])
        let silent = Self.result { ($0.succeeded, $0.sent) = (0, 0) }
        #expect(silent.warnings.first?.contains("there is nothing to judge by") == true)
    }

    @Test("a share is not hidden when its worker is gone")
    func shares() {
        var result = Self.result { _ in }
        result.shares = [
            LoadShareReport(index: 0, worker: "edge-1", state: .finished),
            LoadShareReport(index: 1, worker: "edge-2", state: .lost),
            LoadShareReport(index: 2, worker: "edge-3", state: .failed),
        ]
        result.shares[1].missingFromSecond = 4
        result.shares[2].message = "no connection"
        #expect(result.warnings.count == 2)
        #expect(result.warnings[0].contains("edge-2") && result.warnings[0].contains("second 4"))
        #expect(
            result.warnings[1].contains("edge-3") && result.warnings[1].contains("no connection"))
    }
}
