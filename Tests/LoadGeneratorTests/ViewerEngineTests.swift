import LoadGenerator
import LoadModel
import Model
import Statistics
import TestSupport
import Testing

/// Viewers that the engine plays titles to.
@Suite struct ViewerEngineTests {
    /// A title of `count` segments of `seconds` each: manifest, init section, segments.
    static func plan(
        _ origin: FaultOrigin, count: Int = 3, seconds: Double = 0.2
    ) -> LoadPlan {
        origin.serve("/title.m3u8", Array("#EXTM3U".utf8))
        origin.serve("/init.mp4", [1, 2, 3])
        for index in 0..<count {
            origin.serve("/\(index).m4s", [UInt8](repeating: 1, count: 1_000))
        }
        var plan = LoadPlan(
            files: ["/title.m3u8", "/init.mp4"].map { origin.url($0) }
                + (0..<count).map { origin.url("/\($0).m4s") })
        for index in plan.objects.indices { plan.objects[index].target = 0 }
        plan.targets = [LoadPlan.Target(name: "title", weight: 1, objects: plan.objects.indices)]
        plan.targets[0].title = MediaTitle(
            manifest: 0,
            video: [
                MediaTitle.Track(
                    name: "v", bitsPerSecond: 40_000, setup: [1],
                    segments: (0..<count).map {
                        MediaTitle.Segment(object: Int32(2 + $0), seconds: seconds)
                    })
            ])
        return plan
    }

    private static func scenario(users: Double, seconds: Double) -> LoadScenario {
        var scenario = LoadScenario.closed(users: users, seconds: seconds)
        var settings = ViewerSettings()
        settings.startupSeconds = 0.2
        scenario.user = .viewers(settings)
        return scenario
    }

    @Test func eachPlaysTheTitleToItsEnd() async throws {
        let origin = try FaultOrigin()
        let plan = Self.plan(origin)
        var scenario = LoadScenario.open(rate: 4, seconds: 1)
        scenario.user = Self.scenario(users: 1, seconds: 1).user
        scenario.stages.append(LoadStage(seconds: 2, from: 0, to: 0))
        let run = try await EngineRun(plan, scenario)
        #expect(run.counts.pacing.planned == 4)
        #expect(run.counts.viewers.started == 4)
        #expect(run.counts.viewers.ended == 4)
        #expect(run.counts.viewers.failed == 0)
        #expect(run.counts.playback.segments == 12)
        #expect(abs(run.counts.playback.playedSeconds - 4 * 0.6) < 1e-6)
        #expect(origin.count("/title.m3u8") == 4)
        #expect(origin.count("/init.mp4") == 4)
        #expect(origin.count("/2.m4s") == 4)
        #expect(run.total[.startup]?.total == 4)
        #expect(run.total[.viewerRebuffering]?.total == 4)
        // A player opens a connection of its own.
        #expect(origin.acceptedConnections == 4)
    }

    /// As many at a time as send requests, not as many as there are.
    @Test func viewersThatShareConnectionsOpenNoneOfTheirOwn() async throws {
        let origin = try FaultOrigin()
        let plan = Self.plan(origin)
        var scenario = LoadScenario.open(rate: 1, seconds: 3)
        var settings = ViewerSettings()
        settings.startupSeconds = 0.2
        settings.opensConnection = false
        scenario.user = .viewers(settings)
        let run = try await EngineRun(plan, scenario, threads: 1)
        #expect(run.counts.viewers.ended == 3)
        #expect(run.counts.playback.segments == 9)
        // The three come a second after one another, and each is done within it.
        #expect(origin.acceptedConnections == 1)
        #expect(run.counts.requests.connections == 1)
    }

    @Test func aSegmentThatDoesNotComeStallsItsViewer() async throws {
        let origin = try FaultOrigin()
        let plan = Self.plan(origin)
        let gate = Gate()
        origin.route(
            "/2.m4s", .init(200, body: [UInt8](repeating: 1, count: 1_000)).held(at: gate))
        let run = try await EngineRun(
            plan, Self.scenario(users: 1, seconds: 3), threads: 1
        ) { interval in
            if interval.second == 0 {
                #expect(interval.counts.playback.stalledSeconds > 0)
                gate.open()
            }
            return interval.counts.viewers.ended > 0
        }
        #expect(run.counts.playback.stalls >= 1)
        #expect(run.counts.playback.lateSegments >= 1)
        #expect((run.total[.stall]?.maximum ?? 0) > 200_000)
    }

    @Test func aTitleWhoseSegmentIsMissingFailsItsViewer() async throws {
        let origin = try FaultOrigin()
        let plan = Self.plan(origin)
        origin.route("/1.m4s", .init(404, text: "no"))
        let run = try await EngineRun(
            plan, Self.scenario(users: 1, seconds: 20), threads: 1
        ) { $0.counts.viewers.failed > 0 }
        #expect(run.counts.viewers.failed == 1)
        // Tried three times before the viewer failed.
        #expect(run.total.errors["origin.http.404"] ?? 0 >= 3)
    }

    /// Without a segment no viewer starts, and nothing has failed when the test is over.
    @Test func whoNeverBeganToPlayCountsWithTheWaitSoFar() async throws {
        let origin = try FaultOrigin()
        let plan = Self.plan(origin)
        let gate = Gate()
        origin.route("/0.m4s", .init(200, body: [1]).held(at: gate))
        var scenario = LoadScenario.open(rate: 4, seconds: 1)
        scenario.user = Self.scenario(users: 1, seconds: 1).user
        scenario.stages.append(LoadStage(seconds: 1, from: 0, to: 0))
        // Longer than the test, so that none of them fails before its end.
        scenario.http.timeoutSeconds = 2.5
        let run = try await EngineRun(plan, scenario)
        gate.open()
        #expect(run.counts.viewers.notStarted == 4)
        #expect(run.counts.viewers.ended == 4)
        #expect(run.counts.viewers.failed == 0)
        let startup = try #require(run.total[.startup])
        #expect(startup.total == 4)
        // Due at 0, 0.25, 0.5 and 0.75 s of 2.
        #expect((startup.maximum ?? 0) >= 1_999_000)
        #expect((startup.minimum ?? 0) >= 1_249_000)
        #expect(run.total.errors == ["origin.timeout": 4])
    }

    @Test func stagesThatFallHaveViewersLeaveInTheMidstOfTheirTitles() async throws {
        let origin = try FaultOrigin()
        let plan = Self.plan(origin, count: 50, seconds: 2)
        var scenario = Self.scenario(users: 6, seconds: 1)
        scenario.stages.append(LoadStage(seconds: 2, from: 2, to: 2))
        let run = try await EngineRun(plan, scenario)
        #expect(run.intervals.prefix(2).map(\.counts.levels.viewers) == [6, 2])
        #expect(run.counts.viewers.started == 6)
        #expect(run.counts.viewers.ended == 6)
        #expect(run.counts.viewers.failed == 0)
    }

    @Test func viewersOfTheOpenModelAreBounded() async throws {
        let origin = try FaultOrigin()
        let plan = Self.plan(origin, count: 50, seconds: 2)
        var scenario = LoadScenario.open(rate: 10, seconds: 1)
        scenario.user = Self.scenario(users: 1, seconds: 1).user
        let run = try await EngineRun(plan, scenario, adjust: { $0.maxViewers = 3 })
        #expect(run.counts.pacing.planned == 10)
        #expect(run.counts.viewers.started == 3)
        #expect(run.counts.viewers.rejected == 7)
        #expect(run.counts.pacing.missedSends == 7)
    }

    @Test func whoStillWatchesAtTheEndIsNotAFailure() async throws {
        let origin = try FaultOrigin()
        let plan = Self.plan(origin, count: 50, seconds: 2)
        let run = try await EngineRun(plan, Self.scenario(users: 3, seconds: 1))
        #expect(run.counts.viewers.started == 3)
        #expect(run.counts.viewers.ended == 3)
        #expect(run.counts.viewers.failed == 0)
        #expect(run.outcome.ending == .finished)
    }
}
