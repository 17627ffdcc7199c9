import LoadGenerator
import LoadModel
import Model
import Statistics
import TestSupport
import Testing

/// Viewers with links and data of their own, through both clients.
@Suite struct ViewerClassTests {
    private static func scenario(
        users: Double, seconds: Double, _ change: (inout ViewerClass) -> Void
    ) -> LoadScenario {
        var scenario = LoadScenario.closed(users: users, seconds: seconds)
        var settings = ViewerSettings()
        settings.startupSeconds = 0.2
        var type = ViewerClass()
        change(&type)
        settings.classes = [type]
        scenario.user = .viewers(settings)
        return scenario
    }

    @Test(arguments: [false, true])
    func aLinkCarriesNoMoreThanItsBandwidth(_ usesLibcurlAlone: Bool) async throws {
        let origin = try FaultOrigin()
        let plan = ViewerEngineTests.plan(origin, count: 1, seconds: 30)
        origin.serve("/0.m4s", [UInt8](repeating: 1, count: 400_000))
        // A segment of 3.2 Mbit over a link of 2 Mbit/s.
        let run = try await EngineRun(
            plan, Self.scenario(users: 1, seconds: 4) { $0.bitsPerSecond = 2_000_000 }, threads: 1,
            adjust: { $0.usesLibcurlAlone = usesLibcurlAlone })
        let startup = try #require(run.total[.startup]?.maximum)
        #expect(startup > 1_300_000 && startup < 2_600_000, "\(startup)")
        #expect(run.counts.requests.failed == 0)
    }

    @Test func roundTripsDelayViewersButNotLatencies() async throws {
        let origin = try FaultOrigin()
        let plan = ViewerEngineTests.plan(origin, count: 1, seconds: 30)
        let run = try await EngineRun(
            plan, Self.scenario(users: 1, seconds: 3) { $0.roundTripSeconds = 0.2 }, threads: 1)
        // A connection and a manifest, an initialization section, a segment.
        let startup = try #require(run.total[.startup]?.maximum)
        #expect(startup >= 800_000 && startup < 1_500_000, "\(startup)")
        #expect(run.total[.total]?.maximum ?? 0 < 200_000)
    }

    @Test func whoDoesNotGetAFirstFrameLeaves() async throws {
        let origin = try FaultOrigin()
        let plan = ViewerEngineTests.plan(origin)
        let gate = Gate()
        origin.route("/0.m4s", .init(200, body: [1]).held(at: gate))
        var scenario = Self.scenario(users: 1, seconds: 3) { $0.abandonStartupSeconds = 0.5 }
        scenario.model = .open(.constant)
        scenario.stages = [
            LoadStage(seconds: 1, from: 4, to: 4), LoadStage(seconds: 2, from: 0, to: 0),
        ]
        scenario.http.timeoutSeconds = 4
        let run = try await EngineRun(plan, scenario) { interval in
            if interval.second == 2 { gate.open() }
            return false
        }
        #expect(run.counts.viewers.abandoned == 4)
        #expect(run.counts.viewers.notStarted == 4)
        #expect(run.counts.viewers.failed == 0)
    }

    /// The second segment does not come: viewers play the first one, and leave in their stall.
    @Test func whoStallsTooLongLeaves() async throws {
        let origin = try FaultOrigin()
        let plan = ViewerEngineTests.plan(origin)
        let gate = Gate()
        origin.route("/1.m4s", .init(200, body: [1]).held(at: gate))
        var scenario = Self.scenario(users: 1, seconds: 3) { $0.abandonStallSeconds = 0.5 }
        scenario.model = .open(.constant)
        scenario.stages = [
            LoadStage(seconds: 1, from: 4, to: 4), LoadStage(seconds: 3, from: 0, to: 0),
        ]
        scenario.http.timeoutSeconds = 5
        let run = try await EngineRun(plan, scenario) { interval in
            if interval.second == 3 { gate.open() }
            return false
        }
        #expect(run.counts.viewers.abandoned == 4)
        #expect(run.counts.viewers.notStarted == 0)
        #expect(run.counts.viewers.failed == 0)
        #expect(run.counts.playback.stalls == 4)
        #expect(run.counts.playback.stalledSeconds >= 4 * 0.5 - 0.01)
        #expect(abs(run.counts.playback.playedSeconds - 4 * 0.2) < 1e-6)
        #expect(origin.count("/1.m4s") == 4 && origin.count("/2.m4s") == 0)
    }

    /// The access log of nginx has a jump for each seek, and consecutive segments otherwise.
    @Test func seeksAreJumpsInTheAccessLog() async throws {
        let count = 500
        let files = try TemporaryDirectory("title")
        for name in ["title.m3u8", "init.mp4"] + (0..<count).map({ "\($0).m4s" }) {
            try files.write([1, 2, 3], to: name)
        }
        let nginx = try await NginxServer(root: files.path)
        var plan = LoadPlan(
            files: ["title.m3u8", "init.mp4"].map { "\(nginx.url)/\($0)" }
                + (0..<count).map { "\(nginx.url)/\($0).m4s" })
        for index in plan.objects.indices { plan.objects[index].target = 0 }
        plan.targets = [LoadPlan.Target(name: "title", weight: 1, objects: plan.objects.indices)]
        let segments = (0..<count).map { MediaTitle.Segment(object: Int32(2 + $0), seconds: 0.2) }
        plan.targets[0].title = MediaTitle(
            manifest: 0,
            video: [
                MediaTitle.Track(name: "v", bitsPerSecond: 40_000, setup: [1], segments: segments)
            ])
        var scenario = Self.scenario(users: 1, seconds: 4) { $0.meanSeekSeconds = 0.5 }
        guard case .viewers(var settings) = scenario.user else { return }
        settings.bufferSeconds = 1
        scenario.user = .viewers(settings)
        let run = try await EngineRun(plan, scenario, threads: 1)
        func logged() -> [Int] {
            nginx.requests().compactMap { Int($0.target.dropFirst().prefix { $0 != "." }) }
        }
        try await waitUntil(deadlineSeconds: 10, "the whole log") {
            logged().count >= run.counts.playback.segments
        }
        let numbers = logged()
        let jumps = zip(numbers, numbers.dropFirst()).count { $1 != $0 + 1 }
        // A viewer who reaches the end begins again.
        let starts = nginx.requests().count { $0.target == "/title.m3u8" }
        let seeks = Int(run.counts.playback.seeks)
        #expect(seeks >= 2 && run.counts.requests.failed == 0 && run.counts.playback.stalls == 0)
        // The last seek may be cut off, and one may lead to the next segment anyway.
        #expect((seeks - 2...seeks).contains(jumps - (starts - 1)), "\(seeks), \(numbers)")
    }

    @Test(arguments: [false, true])
    func eachViewerAddsItsOwnQueryAndHeaders(_ usesLibcurlAlone: Bool) async throws {
        let origin = try FaultOrigin()
        var plan = ViewerEngineTests.plan(origin, count: 2)
        plan.viewerData = try ViewerData(Array("query,X-Who\nt=1,one\nt=2,two\n".utf8))
        var scenario = Self.scenario(users: 2, seconds: 1) { _ in }
        scenario.model = .open(.constant)
        scenario.stages = [
            LoadStage(seconds: 1, from: 2, to: 2), LoadStage(seconds: 1, from: 0, to: 0),
        ]
        let run = try await EngineRun(
            plan, scenario, threads: 1, adjust: { $0.usesLibcurlAlone = usesLibcurlAlone })
        #expect(run.counts.viewers.ended == 2)
        #expect(run.counts.requests.failed == 0)
        for (query, name) in [("?t=1", "one"), ("?t=2", "two")] {
            for path in ["/title.m3u8", "/init.mp4", "/0.m4s", "/1.m4s"] {
                let own = origin.requests(for: path).filter { $0.target == path + query }
                #expect(own.count == 1, "\(path)\(query)")
                #expect(own.first?.headers["x-who"] == name)
            }
        }
    }

    @Test func audioIsRequestedBesideTheVideo() async throws {
        let origin = try FaultOrigin()
        var plan = ViewerEngineTests.plan(origin, count: 4, seconds: 1)
        let video = try #require(plan.targets[0].title?.video[0])
        func half(_ segments: ArraySlice<MediaTitle.Segment>) -> MediaTitle.Track {
            MediaTitle.Track(
                name: "v", bitsPerSecond: 40_000, setup: [], segments: Array(segments))
        }
        plan.targets[0].title = MediaTitle(
            manifest: 0, video: [half(video.segments[..<2])], audio: half(video.segments[2...]))
        let gate = Gate()
        origin.route("/0.m4s", .init(200, body: [1]).held(at: gate))
        var scenario = Self.scenario(users: 1, seconds: 2) { _ in }
        guard case .viewers(var settings) = scenario.user else { return }
        settings.parallelRequests = true
        scenario.user = .viewers(settings)
        let run = try await EngineRun(plan, scenario, threads: 1) { interval in
            if interval.second == 0 {
                // All of the audio came while the first segment of the video was under way.
                #expect(origin.count("/2.m4s") == 1 && origin.count("/3.m4s") == 1)
                #expect(origin.count("/1.m4s") == 0)
                gate.open()
            }
            return false
        }
        #expect(run.counts.requests.failed == 0)
        #expect(run.counts.playback.segments >= 4)
    }

    @Test func resultsAreKeptByClass() async throws {
        let origin = try FaultOrigin()
        let plan = ViewerEngineTests.plan(origin)
        var scenario = LoadScenario.open(rate: 20, seconds: 1)
        scenario.stages.append(LoadStage(seconds: 2, from: 0, to: 0))
        var settings = ViewerSettings()
        settings.startupSeconds = 0.2
        var far = ViewerClass()
        far.name = "far"
        far.roundTripSeconds = 0.2
        settings.classes = [far, ViewerClass()]
        scenario.user = .viewers(settings)
        let run = try await EngineRun(plan, scenario)
        let classes = run.outcome.breakdown.classes
        #expect(Set(classes.keys) == ["far", "class 2"])
        let (slow, fast) = try (#require(classes["far"]), #require(classes["class 2"]))
        #expect(slow.viewers + fast.viewers == 20 && slow.viewers > 3 && fast.viewers > 3)
        #expect(slow.startups == slow.viewers && slow.failed == 0)
        // A connection and a manifest, an initialization section, a segment.
        #expect(slow.meanStartupSeconds ?? 0 >= 0.8)
        #expect(fast.meanStartupSeconds ?? 0 < slow.meanStartupSeconds ?? 0)
        #expect(abs(fast.playedSeconds - Double(fast.viewers) * 0.6) < 1e-6)
    }
}
