import EventLoop
import Foundation
import LoadGenerator
import LoadModel
import Model
import Statistics
import Synchronization
import TestSupport
import Testing

/// What becomes of requests that are not over when the load is.
@Suite struct LoadEndTests {
    private static let body = [UInt8](repeating: 7, count: 1_000)

    /// Each tenth request hangs; who leaves out those that have not ended sees none of them.
    @Test func whatHangsAtTheEndFailsAfterItsTimeout() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/some") { request in
            let answer = FaultOrigin.Response(200, body: Self.body)
            return request.number % 10 == 0 ? answer.held(at: gate) : answer
        }
        var scenario = LoadScenario.open(rate: 50, seconds: 2)
        scenario.http.timeoutSeconds = 1
        let run = try await EngineRun(LoadPlan(files: [origin.url("/some")]), scenario)
        gate.open()
        #expect(run.counts.pacing.planned == 100)
        #expect(run.counts.requests.failed == 10)
        #expect(run.counts.requests.succeeded == 90)
        #expect(run.total.errors == ["origin.timeout": 10])
        for metric in [LoadMetric.total, .firstByte, .totalUncorrected] {
            #expect(run.total[metric]?.total == 90)
        }
        for metric in [LoadMetric.failed, .failedUncorrected] {
            let histogram = try #require(run.total[metric])
            #expect(histogram.total == 10)
            #expect((histogram.minimum ?? 0) >= 998_000)
        }
        #expect(run.outcome.ending == .finished)
        // The wait for them makes no rate less.
        #expect(run.outcome.elapsedSeconds > run.outcome.loadSeconds)
        let seconds = scenario.measuredSeconds(atSeconds: run.outcome.loadSeconds)
        #expect(seconds == 2)
        #expect(run.counts.afterEnd.failed > 0)
        let rate = LoadFigure.requestRate.value(in: run.total, measuredSeconds: seconds)
        #expect(rate == Double(90 - run.counts.afterEnd.succeeded) / 2)
        #expect(run.outcome.breakdown.urls[origin.url("/some")]?.failed == 10)
    }

    /// Twenty requests are sent within 0.2 s; the wait for the last answer is not a time of sending.
    @Test func ratesOfACappedTestReferToTheTimeOfSending() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a") { request in
            let answer = FaultOrigin.Response(200, body: Self.body)
            return request.number == 20 ? answer.held(at: gate) : answer
        }
        var scenario = LoadScenario.open(rate: 100, seconds: 600)
        scenario.caps.requests = 20
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), scenario, threads: 1
        ) {
            if $0.second == 3 { gate.open() }
            return false
        }
        #expect(run.outcome.ending == .capped && run.counts.requests.succeeded == 20)
        #expect(run.outcome.elapsedSeconds >= 4)
        // Until the 21st was due.
        #expect((0.2..<3.5).contains(run.outcome.loadSeconds), "\(run.outcome.loadSeconds)")
        #expect(run.counts.afterEnd.cpuSeconds > 0)
    }

    /// One that is sent as the load ends has its timeout as the wait has its end.
    @Test func theVeryLastRequestIsInTheFigures() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        var scenario = LoadScenario.open(rate: 1, seconds: 0.000_001)
        scenario.stages.insert(LoadStage(seconds: 0.499_999, from: 0, to: 0), at: 0)
        scenario.http.timeoutSeconds = 0.3
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), scenario, threads: 1)
        gate.open()
        #expect(run.counts.requests.sent == 1)
        #expect(run.total.errors == ["origin.timeout": 1])
        #expect(run.total[.failed]?.total == 1 && run.total[.total] == nil)
        #expect((run.total[.failed]?.minimum ?? 0) >= 299_000)
        #expect(run.counts.requests.unfinished == 0)
    }

    @Test func stoppedWhileItWaitsForTheLastItCountsThemAsUnfinished() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), .open(rate: 10, seconds: 0.5)
        ) { $0.second == 1 }
        gate.open()
        #expect(run.outcome.ending == .interrupted)
        #expect(run.counts.requests.sent == 5)
        #expect(run.counts.requests.unfinished == 5)
        // The first was due at once, and the second that ends it began at 1 s.
        #expect(run.counts.requests.longestUnfinishedSeconds >= 1.999)
        #expect(run.counts.requests.ended == 0)
        #expect(run.counts.pacing.missedSends == 0)
    }

    @Test func stoppedInTheMidstItCountsWhatWasDueAndNotSent() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        var scenario = LoadScenario.open(rate: 20, seconds: 60)
        scenario.http.concurrency = 3
        let run = try await EngineRun(LoadPlan(files: [origin.url("/a")]), scenario) {
            $0.second == 0
        }
        gate.open()
        #expect(run.counts.requests.unfinished == 3)
        #expect(run.counts.pacing.planned >= 20)
        #expect(run.counts.pacing.missedSends == run.counts.pacing.planned - 3)
    }

    /// The load falls to nothing in the past, as a worker may learn of it: more was sent than is due by the
    /// changed plan. No count is below zero, which a client would reject.
    @Test func aDecreaseThatComesLateLeavesNoNegativeCount() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", [1, 2, 3])
        var options = LoadEngine.Options()
        options.threads = 1
        let engine = try LoadEngine(
            plan: LoadPlan(files: [origin.url("/a")]),
            scenario: .open(rate: 500, seconds: 3_600), options: options)
        let intervals = Mutex<[LoadInterval]>([])
        async let running = engine.run(startNanoseconds: MonotonicClock.nowNanoseconds) {
            interval in
            intervals.withLock { $0.append(interval) }
        }
        try await waitUntil(deadlineSeconds: 30, "the requests of a second and a half") {
            origin.count("/a") >= 750
        }
        engine.change(LoadChange(seconds: 1, level: 0))
        engine.stop(.interrupted)
        #expect(try await running.ending == .interrupted)
        let all = intervals.withLock(\.self)
        #expect(all.reduce(0) { $0 + $1.counts.requests.sent } >= 750)
        for interval in all {
            #expect(interval.counts.pacing.missedSends >= 0 && interval.counts.levels.backlog >= 0)
            _ = try JSONDecoder().decode(
                LoadInterval.self, from: JSONEncoder().encode(interval))
        }
    }

    /// What is received and used while the last are waited for stands apart from the rest.
    @Test func whatComesAfterTheEndIsInNoRate() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), .closed(users: 4, seconds: 1.5)
        ) { interval in
            // Its second second is over half a second after the load.
            if interval.second == 1 { gate.open() }
            return false
        }
        #expect(run.counts.requests.succeeded == 4)
        #expect(run.counts.afterEnd.succeeded == 4)
        #expect(run.counts.afterEnd.bytes == 4_000)
        #expect(run.counts.succeededInTime == 0)
        #expect(run.counts.bytesInTime == 0)
        #expect(run.counts.afterEnd.cpuSeconds > 0)
        #expect(run.counts.cpuSecondsInTime > 0)
    }

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
        #expect(run.counts.requests.succeeded == 1)
        let least = Int64(blocked.withLock { $0 }) - 1
        #expect((run.total[.firstByte]?.maximum ?? 0) >= least)
        #expect((run.total[.firstByteUncorrected]?.maximum ?? 0) >= least)
        #expect((run.total[.total]?.maximum ?? 0) >= least)
    }
}
