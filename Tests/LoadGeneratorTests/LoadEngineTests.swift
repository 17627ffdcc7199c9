import Digest
import EventLoop
import LoadGenerator
import LoadModel
import Model
import Statistics
import Synchronization
import TestSupport
import Testing
import Titles

/// Requests of the engine, and their exact counts.
@Suite struct LoadEngineTests {
    private static let body = [UInt8](repeating: 7, count: 10_000)

    @Test func aClosedTestAsksForNoMoreThanItsUsersAtATimeAndCountsWhatTheServerDid() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), .closed(users: 5, seconds: 1.5))
        #expect(run.counts.requests.succeeded > 5)
        #expect(run.counts.requests.failed == 0)
        #expect(run.counts.requests.sent == run.counts.requests.succeeded)
        #expect(Int64(origin.count("/a")) == run.counts.requests.succeeded)
        #expect(run.counts.requests.bytes == run.counts.requests.succeeded * 10_000)
        #expect(origin.activeRequests.peak <= 5)
        #expect(run.counts.requests.connections == 5)
        #expect(Int64(origin.acceptedConnections) == 5)
        #expect(run.total[.total]?.total == run.counts.requests.succeeded)
        #expect(
            run.outcome.breakdown.urls[origin.url("/a")]?.requests == run.counts.requests.succeeded)
        #expect(run.intervals.map(\.second) == Array(0..<run.intervals.count))
        #expect(run.outcome.ending == .finished)
    }

    @Test func anOpenTestSendsEveryArrivalOfItsPlan() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), .open(rate: 150, seconds: 2))
        #expect(run.counts.pacing.planned == 300)
        #expect(run.counts.requests.sent == 300)
        #expect(run.counts.pacing.missedSends == 0)
        #expect(origin.count("/a") == 300)
    }

    @Test func shardsOfAnOpenTestAreTheWholeTogether() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        var sent: Int64 = 0
        for index in 0..<3 {
            let run = try await EngineRun(
                LoadPlan(files: [origin.url("/a")]), .open(rate: 101, seconds: 1),
                shard: LoadShard(index: index, count: 3))
            sent += run.counts.requests.sent
        }
        #expect(sent == 101)
    }

    /// A server that answers nothing holds back what is due; who counts from the sending alone sees nothing
    /// of it.
    @Test func latencyCountsFromTheDueTimeNotFromTheFreeSlot() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        var scenario = LoadScenario.open(rate: 100, seconds: 2)
        scenario.http.concurrency = 4
        let plan = LoadPlan(files: [origin.url("/a")])
        let run = try await EngineRun(plan, scenario) { interval in
            // What is due in the second in which nothing is answered waits behind four.
            if interval.second == 0 {
                #expect(interval.counts.pacing.planned >= 100)
                #expect(interval.counts.levels.inFlight == 4)
                #expect(interval.counts.levels.backlog >= 90)
                gate.open()
            }
            return false
        }
        #expect(run.counts.pacing.planned == 200)
        #expect(run.counts.requests.sent + run.counts.pacing.missedSends == 200)
        let fair = try #require(run.total[.total])
        let flattering = try #require(run.total[.totalUncorrected])
        #expect(fair.total == run.counts.requests.succeeded && flattering.total == fair.total)
        // Half of all was due in the second that was lost: evenly up to a second late.
        #expect(fair.value(quantile: 0.9) >= 500_000)
        #expect(flattering.value(quantile: 0.9) < fair.value(quantile: 0.9))
        // Waiting for the server is not the generator's fault.
        #expect(run.counts.pacing.lateSends < 100)
    }

    @Test func capsAreNeverExceeded() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        var scenario = LoadScenario.closed(users: 8, seconds: 30)
        scenario.caps.requests = 57
        let plan = LoadPlan(files: [origin.url("/a")])
        let requests = try await EngineRun(plan, scenario)
        #expect(requests.counts.requests.sent == 57)
        #expect(requests.counts.requests.succeeded == 57)
        #expect(origin.count("/a") == 57)
        #expect(requests.outcome.ending == .capped)

        scenario.caps = LoadCaps()
        scenario.caps.bytes = 123_456
        let bytes = try await EngineRun(plan, scenario)
        #expect(bytes.counts.requests.bytes <= 123_456)
        #expect(bytes.counts.requests.bytes > 100_000)
        #expect(bytes.outcome.ending == .capped)
        // Requests that the cap cut off are no failures, and are counted.
        #expect(bytes.counts.requests.failed == 0)
        #expect(bytes.counts.requests.unfinished > 0)
        #expect(
            bytes.counts.requests.sent == bytes.counts.requests.succeeded
                + bytes.counts.requests.unfinished)
    }

    @Test func itStopsAtOnceAndReportsWhatItHas() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), .closed(users: 2, seconds: 600)
        ) { $0.second == 0 }
        #expect(run.outcome.ending == .interrupted)
        #expect(run.counts.requests.succeeded > 0)
        #expect(run.intervals.count <= 3)
    }

    /// A worker lives through many tests, each of which has a plan of many objects.
    @Test func nothingOfARunIsKept() async throws {
        final class Mark: Sendable {}
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        weak var mark: Mark?
        func run() async throws {
            let held = Mark()
            mark = held
            let run = try await EngineRun(
                LoadPlan(files: [origin.url("/a")]), .closed(users: 2, seconds: 0.2)
            ) { _ in held === Mark() }
            #expect(run.counts.requests.succeeded > 0)
        }
        try await run()
        #expect(mark == nil)
    }

    /// A URL that libcurl rejects: the rest would be another load than the requested one.
    @Test func aLoopThatFailsEndsTheOthers() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        let plan = LoadPlan(
            files: [origin.url("/a"), origin.url("/" + String(repeating: "a", count: 9_000_000))])
        var scenario = LoadScenario.closed(users: 3, seconds: 600)
        scenario.popularity = .zipf(exponent: 5)
        var options = LoadEngine.Options()
        options.threads = 3
        let engine = try LoadEngine(plan: plan, scenario: scenario, options: options)
        let succeeded = Mutex<Int64>(0)
        await #expect {
            _ = try await engine.run(startNanoseconds: MonotonicClock.nowNanoseconds) { interval in
                succeeded.withLock { $0 += interval.counts.requests.succeeded }
            }
        } throws: {
            ($0 as? Failure)?.code == "worker.internal"
        }
        #expect(succeeded.withLock { $0 } == Int64(origin.count("/a")))
    }

    /// Else the origin would be blamed for connections that this process cannot open.
    @Test func noMoreIsBegunThanFilesMayBeOpenFor() throws {
        var options = LoadEngine.Options()
        options.maxRequests = 20
        let plan = LoadPlan(files: ["http://127.0.0.1:1/file"])
        #expect {
            try LoadEngine(
                plan: plan, scenario: .closed(users: 21, seconds: 1), options: options)
        } throws: { ($0 as? Failure)?.message.contains("given 21, allowed up to 20") == true }
        _ = try LoadEngine(
            plan: plan, scenario: .closed(users: 20, seconds: 1), options: options)
        // Of a shard it is what the shard sends.
        _ = try LoadEngine(
            plan: plan, scenario: .closed(users: 41, seconds: 1),
            shard: LoadShard(index: 2, count: 3), options: options)
    }

    /// What a core that has nothing to send does not use would hide that the others are the limit.
    @Test func noThreadIsWithoutAUser() throws {
        var options = LoadEngine.Options()
        options.threads = 4
        let plan = LoadPlan(files: ["http://127.0.0.1:1/file"])
        let one = try LoadEngine(
            plan: plan, scenario: .closed(users: 1, seconds: 1), options: options)
        #expect(one.threads == 1)
        let many = try LoadEngine(
            plan: plan, scenario: .closed(users: 5, seconds: 1), options: options)
        #expect(many.threads == 4)
    }

    @Test func failuresAreCountedByCode() async throws {
        let origin = try FaultOrigin()
        origin.route("/missing", .init(404, text: "no"))
        origin.route("/busy", .init(503, text: "no"))
        origin.route("/moved", .redirect(to: "/a"))
        origin.route("/cut", FaultOrigin.Response(200, body: Self.body).cut(after: 100))
        let urls =
            ["/missing", "/busy", "/moved", "/cut"].map { origin.url($0) }
            + ["http://127.0.0.1:1/"]
        var scenario = LoadScenario.closed(users: 3, seconds: 30)
        scenario.caps.requests = 200
        let run = try await EngineRun(LoadPlan(files: urls), scenario)
        #expect(run.counts.requests.failed == 200)
        #expect(
            Set(run.total.errors.keys) == [
                "origin.http.404", "origin.http.503", "origin.redirected", "origin.truncated",
                "origin.connect",
            ])
        #expect(run.total.errors.values.reduce(0, +) == 200)
        #expect(
            run.total.errors["origin.http.404"]
                == run.outcome.breakdown.urls[urls[0]]?.failed)
    }

    @Test func bodiesAreComparedWithTheirDigests() async throws {
        let origin = try FaultOrigin()
        origin.route(
            "/a",
            inTurn: [
                .init(200, body: Self.body), .init(200, body: Self.body).corrupted(at: 5_000),
                .init(200, body: Self.body),
            ])
        var scenario = LoadScenario.closed(users: 1, seconds: 30)
        scenario.caps.requests = 3
        scenario.bodies = .checked
        let plan = LoadPlan(
            files: [origin.url("/a")], sha256: SHA256Digest(hashing: Self.body).description)
        let run = try await EngineRun(plan, scenario, threads: 1)
        #expect(run.total.errors == ["integrity.digestMismatch": 1])
        #expect(run.counts.requests.succeeded == 2)
    }

    @Test func withoutKeepAliveEveryRequestHasAConnectionOfItsOwn() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        var scenario = LoadScenario.closed(users: 2, seconds: 30)
        scenario.caps.requests = 20
        scenario.http.keepsAlive = false
        let run = try await EngineRun(LoadPlan(files: [origin.url("/a")]), scenario)
        #expect(run.counts.requests.connections == 20)
        #expect(origin.acceptedConnections == 20)
        #expect(run.total[.connect]?.total == 20)
    }

    @Test func headersAndRangesAreThePlans() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        var plan = LoadPlan(files: [origin.url("/a")])
        plan.objects[0].range = SegmentRange(offset: 100, length: 50)
        var scenario = LoadScenario.closed(users: 1, seconds: 30)
        scenario.caps.requests = 2
        scenario.http.headers = [try RequestHeader(name: "X-Load", value: "yes")]
        let run = try await EngineRun(plan, scenario)
        #expect(run.counts.requests.succeeded == 2)
        #expect(run.counts.requests.bytes == 100)
        let request = try #require(origin.requests.first)
        #expect(request.headers["range"] == "bytes=100-149")
        #expect(request.headers["x-load"] == "yes")
    }

    @Test func usersFollowTheirStages() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        var scenario = LoadScenario.closed(users: 2, seconds: 1)
        scenario.stages.append(LoadStage(seconds: 2, from: 6, to: 6))
        let run = try await EngineRun(LoadPlan(files: [origin.url("/a")]), scenario) { interval in
            if interval.second == 0 { #expect(interval.counts.levels.inFlight == 2) }
            if interval.second == 1 {
                #expect(interval.counts.levels.inFlight == 6)
                gate.open()
            }
            return false
        }
        #expect(run.counts.requests.succeeded >= 6)
    }

    /// Running requests may end after the load; that time is counted apart, and is no second of load.
    @Test func theTestsEndIsPartOfASecond() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        let run = try await EngineRun(
            LoadPlan(files: [origin.url("/a")]), .closed(users: 2, seconds: 1.5)
        ) { interval in
            if interval.second == 1 { gate.open() }
            return false
        }
        #expect(run.counts.requests.succeeded == 2)
        #expect(run.intervals.map(\.second) == [0, 1, 2])
        #expect(run.intervals.prefix(2).map(\.lengthSeconds) == [1, 1])
        #expect(run.intervals[0].loadSeconds == 1)
        #expect((0.5..<1).contains(run.intervals[1].loadSeconds))
        #expect(run.intervals[2].loadSeconds == 0)
        let length = run.intervals.reduce(0) { $0 + $1.lengthSeconds }
        #expect(abs(length - run.outcome.elapsedSeconds) < 0.5)
    }

    /// Three users on two threads, with a place each: dealt in halves, one would wait for ever.
    @Test func eachUserHasASlotIfSlotsSuffice() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        var scenario = LoadScenario.closed(users: 3, seconds: 2)
        scenario.http.concurrency = 3
        let run = try await EngineRun(LoadPlan(files: [origin.url("/a")]), scenario) { interval in
            if interval.second == 0 {
                #expect(interval.counts.levels.inFlight == 3)
                #expect(interval.counts.levels.backlog == 0)
                gate.open()
            }
            return false
        }
        #expect(run.counts.pacing.queued == 0)
    }

    @Test func requestsThatWaitForASlotAreCounted() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/a", .init(200, body: Self.body).held(at: gate))
        var scenario = LoadScenario.open(rate: 10, seconds: 2)
        scenario.http.concurrency = 2
        let run = try await EngineRun(LoadPlan(files: [origin.url("/a")]), scenario) { interval in
            if interval.second == 0 { gate.open() }
            return false
        }
        // Of the first second's ten, two had a place.
        #expect(run.counts.pacing.queued >= 8)
        #expect(run.counts.pacing.queued <= run.counts.requests.sent - 2)
    }

    @Test func whatEndsInTheWarmUpIsMarked() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        var scenario = LoadScenario.closed(users: 1, seconds: 2)
        scenario.warmUpSeconds = 1
        let run = try await EngineRun(LoadPlan(files: [origin.url("/a")]), scenario)
        #expect(run.intervals.map(\.isMeasured).prefix(2) == [false, true])
        let measured = run.intervals.filter(\.isMeasured).reduce(0) {
            $0 + $1.counts.requests.succeeded
        }
        #expect(run.outcome.breakdown.urls[origin.url("/a")]?.requests == measured)
    }
}
