import EventLoop
import LoadEngine
import LoadTest
import Model
import Synchronization
import TestSupport
import Testing

/// What becomes of requests that are not over when the load is.
@Suite struct LoadEndTests {
    private static let body = [UInt8](repeating: 7, count: 1_000)

    /// libcurl's own time to the first byte begins when libcurl turns to a request. Here its loop stands still
    /// between that and the sending, as it does with many requests at once.
    @Test func theFirstByteCountsFromTheSendingHoweverLongLibcurlTakesToBegin() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        let blocked = Mutex(0.0)
        // One request, due a microsecond before the second at whose end the loop is held up.
        var scenario = LoadScenario.open(rate: 1, seconds: 0.5)
        scenario.stages.insert(LoadStage(seconds: 0.999_999, from: 0, to: 0), at: 0)
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), scenario, threads: 1
        ) { interval in
            guard interval.second == 0 else { return false }
            let start = MonotonicClock.nowNanoseconds
            while MonotonicClock.nowNanoseconds - start < 200_000_000 {}
            blocked.withLock { $0 = Double(MonotonicClock.nowNanoseconds - start) / 1e3 }
            return false
        }
        #expect(run.counts.succeeded == 1)
        let least = Int64(blocked.withLock { $0 }) - 1
        #expect((run.total[.firstByte]?.maximum ?? 0) >= least)
        #expect((run.total[.firstByteUncorrected]?.maximum ?? 0) >= least)
        #expect((run.total[.total]?.maximum ?? 0) >= least)
    }
}
