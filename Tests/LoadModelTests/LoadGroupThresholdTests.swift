import Foundation
import Model
import Statistics
import Testing

@testable import LoadModel

/// Thresholds of groups of requests, and the groups of several shards.
@Suite struct LoadGroupThresholdTests {
    @Test(arguments: [
        ("p99(total){kind=media} < 200ms", LoadFigure.quantile(.total, 0.99), "kind", "media"),
        ("max(first_byte){ status = 503 } <= 1s", .maximum(.firstByte), "status", "503"),
        ("error_rate{target=\"edge {1} <2>\"} <= 1%", .errorRate, "target", "edge {1} <2>"),
        ("rate{rendition=1080p}>=5/s", .requestRate, "rendition", "1080p"),
        ("error_rate{status=none} < 100%", .errorRate, "status", "none"),
    ])
    func readsTheGroup(text: String, figure: LoadFigure, dimension: String, name: String) throws {
        let threshold = try LoadThreshold.parse(text)
        #expect(threshold.figure == figure && threshold.text == text)
        #expect(threshold.group?.dimension.rawValue == dimension && threshold.group?.name == name)
    }

    @Test(arguments: [
        ("p99(total){kind=movie} < 5ms", "movie", "file, media"),
        ("p99(total){knd=media} < 5ms", "{knd=media}", "Did you mean kind?"),
        ("p99(total){media} < 5ms", "{media}", "{kind=…}"),
        ("p99(total){target=} < 5ms", "p99(total){target=} < 5ms", "the name of a target"),
        ("p99(total){status=20} < 5ms", "20", "100 to 999"),
        ("p99(total){status=200 < 5ms", "p99(total){status=200 < 5ms", "a group in braces"),
        ("throughput{kind=media} > 1MB/s", "throughput{kind=media}", "total and first_byte"),
        ("p99(connect){kind=media} < 5ms", "p99(connect){kind=media}", "total and first_byte"),
        ("p99(total){kind=media}x < 5ms", "p99(total){kind=media}x", "for a group"),
    ])
    func reportsWhatIsWrong(text: String, given: String, allowed: String) {
        let error = #expect(throws: LoadInputError.self) { try LoadThreshold.parse(text) }
        #expect(error?.given == given)
        #expect(error?.allowed.contains(allowed) == true, "\(error?.allowed ?? "")")
    }

    private static func group(_ values: ClosedRange<Int64>, failed: Int64 = 0) -> LoadGroup {
        var group = LoadGroup()
        for value in values {
            group.record(
                total: value * 1_000, firstByte: value, bytes: 0, isFailure: false,
                isAfterLoad: value % 2 == 0)
        }
        for _ in 0..<failed {
            group.record(total: 5, firstByte: nil, bytes: 0, isFailure: true, isAfterLoad: false)
        }
        return group
    }

    @Test func aGroupIsJudgedByItsOwnRequests() throws {
        var breakdown = LoadBreakdown()
        breakdown.add(Self.group(1...1_000, failed: 250), LoadGroupKey(.kind, "media"))
        func verdict(_ text: String) throws -> LoadVerdict {
            try LoadThreshold.parse(text).judge(
                LoadInterval(second: 0), measuredSeconds: 10, breakdown: breakdown)
        }
        #expect(try verdict("p50(total){kind=media} < 501ms").holds)
        #expect(try !verdict("p50(total){kind=media} < 499ms").holds)
        #expect(try verdict("mean(first_byte){kind=media} <= 501us").holds)
        #expect(try verdict("error_rate{kind=media} <= 20%").measured == 0.2)
        // Half of them ended after the load.
        #expect(try verdict("rate{kind=media} > 1/s").measured == 50)
        #expect(try verdict("rate{kind=key} > 1/s").measured == nil)
        // Nothing is known while the test runs.
        let early = try LoadThreshold.parse("rate{kind=media} > 1/s").judge(
            LoadInterval(second: 0), measuredSeconds: 10)
        #expect(early.measured == nil && !early.holds)
    }

    @Test func shardsAreOneWhole() throws {
        var sum = LoadBreakdown()
        for values in [Int64(1)...400, 401...1_000] {
            var part = LoadBreakdown()
            part.add(Self.group(values, failed: 1), LoadGroupKey(.target, "edge"))
            let wire = try JSONEncoder().encode(part)
            let read = try JSONDecoder().decode(LoadBreakdown.self, from: wire)
            #expect(read == part)
            sum.add(read)
        }
        #expect(sum.groups[.target]?["edge"] == Self.group(1...1_000, failed: 2))
        for number in 0..<100 {
            sum.add(Self.group(1...1), LoadGroupKey(.target, "t\(number)"))
        }
        #expect(sum.groups[.target]?.count == LoadGroup.most + 1)
        #expect(sum.groups[.target]?[LoadBreakdown.others]?.requests == 51)
    }

    @Test func groupsAreCheckedBeforeTheLoad() throws {
        var scenario = LoadScenario()
        scenario.targets = [LoadTarget(name: "edge", source: .url("http://h/a", .file))]
        scenario.stages = [LoadStage(seconds: 1, from: 1, to: 1)]
        scenario.thresholds = [try LoadThreshold.parse("p99(total){target=egde} < 1s")]
        #expect {
            try scenario.check()
        } throws: {
            ($0 as? Failure)?.message.contains("thresholds[0]: given target egde, allowed edge")
                == true
        }
        scenario.thresholds = [try LoadThreshold.parse("p99(total){target=edge} < 1s")]
        try scenario.check()
        // Neither does a group's bound on errors replace that of all requests.
        scenario.thresholds = [try LoadThreshold.parse("error_rate{target=edge} < 9%")]
        #expect(scenario.judgedThresholds.count == 2)
        scenario.thresholds[0].abortAfterSeconds = 5
        #expect {
            try scenario.check()
        } throws: {
            ($0 as? Failure)?.message.contains("thresholds[0].abortAfterSeconds") == true
        }
    }
    private static func scenario(_ threshold: String, _ kind: AssetKind) throws -> LoadScenario {
        var scenario = LoadScenario()
        scenario.targets = [LoadTarget(name: "edge", source: .url("http://h/a", kind))]
        scenario.stages = [LoadStage(seconds: 1, from: 1, to: 1)]
        scenario.thresholds = [try LoadThreshold.parse(threshold)]
        return scenario
    }

    private static func rejection(_ body: () throws -> Void) -> String? {
        do { try body() } catch let error as Failure {
            return error.code == .inputField ? error.message : nil
        } catch {}
        return nil
    }

    /// A plain file has one kind, and no renditions.
    @Test(
        arguments: [
            ("p99(total){kind=segment} < 1s", nil), ("p99(total){kind=media} < 1s", "file"),
            ("p99(total){kind=redirect} < 1s", "file"), ("p99(total){kind=file} < 1s", ""),
            ("p99(total){status=503} < 1s", ""),
            ("p99(total){rendition=720p} < 1s", "no rendition"),
            ("p99(total){pathway=a} < 1s", "no pathway"),
        ] as [(String, String?)])
    func groupsThatCannotOccurInFilesAreRefused(threshold: String, allowed: String?) throws {
        guard let allowed else {
            #expect(throws: (any Error).self) { try LoadThreshold.parse(threshold) }
            return
        }
        let scenario = try Self.scenario(threshold, .file)
        let message = Self.rejection { try scenario.check() }
        #expect((message == nil) == allowed.isEmpty, "\(message ?? "")")
        #expect(message?.contains("allowed \(allowed)") ?? true, "\(message ?? "")")
    }

    @Test func redirectsOccurWhereTheyAreFollowed() throws {
        var scenario = try Self.scenario("p99(total){kind=redirect} < 1s", .file)
        scenario.http.maxRedirects = 3
        try scenario.check()
    }

    /// Pathways are of steered targets, and steering requests of those with a server.
    @Test func pathwaysOccurWhereATargetIsSteered() throws {
        var scenario = try Self.scenario("rate{pathway=a} > 1/s", .hls)
        scenario.user = .viewers(ViewerSettings())
        var plan = LoadPlan()
        plan.objects = [LoadPlan.Object(url: "http://h/m", role: .playlist, target: 0)]
        plan.targets = [LoadPlan.Target(name: "edge", weight: 1, objects: 0..<1)]
        let message = Self.rejection { try scenario.checkGroups(of: plan) }
        #expect(message?.contains("no pathway") == true, "\(message ?? "")")
        plan.targets[0].steering = SteeringSource(
            form: .hls, pathways: [SteeringSource.Pathway(name: "a")])
        try scenario.checkGroups(of: plan)
        scenario.thresholds = [try LoadThreshold.parse("rate{kind=steering} > 1/s")]
        #expect(Self.rejection { try scenario.checkGroups(of: plan) } != nil)
        plan.objects[0].isSteering = true
        try scenario.checkGroups(of: plan)
    }

    /// What a title has is known once it was read, unless it is live.
    @Test(arguments: [
        ("rate{kind=media} > 1/s", true), ("rate{kind=key} > 1/s", false),
        ("rate{rendition=\"1280x720 1000 kbit/s\"} > 1/s", true),
        ("rate{rendition=4k} > 1/s", false), ("rate{target=edge} > 1/s", true),
    ])
    func groupsOfATitleAreCheckedAgainstItsPlan(threshold: String, occurs: Bool) throws {
        let scenario = try Self.scenario(threshold, .hls)
        try scenario.check()
        var plan = LoadPlan()
        plan.renditions = ["1280x720 1000 kbit/s"]
        plan.objects = [.playlist, .media].map { (role: SegmentRole) in
            LoadPlan.Object(url: "http://h/\(role)", role: role, target: 0)
        }
        plan.targets = [LoadPlan.Target(name: "edge", weight: 1, objects: 0..<2)]
        let message = Self.rejection { try scenario.checkGroups(of: plan) }
        #expect((message == nil) == occurs, "\(message ?? "")")
        plan.targets[0].live = livePlan(.dash).targets[0].live
        try scenario.checkGroups(of: plan)
    }
}
