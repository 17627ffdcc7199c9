import LoadGenerator
import LoadModel
import Model
import Statistics
import TestSupport
import Testing

/// What stands apart in the results of a load: successes and failures, and groups of requests.
@Suite struct LoadGroupTests {
    private static let body = [UInt8](repeating: 7, count: 10_000)

    /// A server that rejects at once what it cannot serve does not look fast.
    @Test func latenciesOfSuccessesAndFailuresStandApart() async throws {
        let origin = try FaultOrigin()
        let gate = Gate()
        origin.route("/busy", .init(503, text: "no"))
        origin.route("/slow", .init(200, body: Self.body).held(at: gate))
        var scenario = LoadScenario.open(rate: 20, seconds: 2)
        scenario.http.concurrency = 100
        let plan = LoadPlan(files: [origin.url("/busy"), origin.url("/slow")])
        let run = try await EngineRun(plan, scenario) { interval in
            if interval.second == 0 { gate.open() }
            return false
        }
        #expect(run.counts.requests.failed > 0 && run.counts.requests.succeeded > 0)
        for metric in [LoadMetric.total, .totalUncorrected, .firstByte, .firstByteUncorrected] {
            #expect(run.total[metric]?.total == run.counts.requests.succeeded)
        }
        for metric in [LoadMetric.failed, .failedUncorrected] {
            #expect(run.total[metric]?.total == run.counts.requests.failed)
        }
        #expect(run.total[.sendDelay]?.total == run.counts.requests.ended)
        let urls = run.outcome.breakdown.urls
        let busy = try #require(urls[origin.url("/busy")])
        #expect(busy.failed == busy.requests && busy.totalMicroseconds == 0)
        #expect(busy.failedMicroseconds > 0)
        #expect(busy.longestFailedMicroseconds == run.total[.failed]?.maximum)
        let slow = try #require(urls[origin.url("/slow")])
        #expect(slow.failedMicroseconds == 0)
        #expect(slow.longestMicroseconds == run.total[.total]?.maximum)
    }

    @Test func groupsArePartsOfTheWhole() async throws {
        let origin = try FaultOrigin()
        origin.route("/busy", .init(503, text: "no"))
        origin.serve("/a", Self.body)
        let urls = [origin.url("/busy"), origin.url("/a"), "http://127.0.0.1:1/"]
        var plan = LoadPlan(files: urls)
        plan.objects[0].role = .playlist
        plan.renditions = ["low", "high"]
        plan.objects[1].rendition = 1
        var scenario = LoadScenario.closed(users: 3, seconds: 30)
        scenario.caps.requests = 300
        let run = try await EngineRun(plan, scenario)
        let groups = run.outcome.breakdown.groups
        let statuses = try #require(groups[.status])
        #expect(Set(statuses.keys) == ["200", "503", "none"])
        for (name, count) in [
            ("200", run.counts.requests.succeeded),
            ("503", run.total.errors["origin.http.503"] ?? 0),
            ("none", run.total.errors["origin.connect"] ?? 0),
        ] {
            // The times of failures are those of their status.
            #expect(statuses[name]?.requests == count && statuses[name]?.total.total == count)
        }
        let targets = try #require(groups[.target])
        #expect(targets["file 0"]?.failed == targets["file 0"]?.requests)
        #expect(targets["file 0"]?.total.isEmpty == true)
        #expect(targets["file 1"]?.total.total == run.counts.requests.succeeded)
        #expect(targets.values.reduce(0) { $0 + $1.requests } == 300)
        #expect(groups[.kind]?["playlist"]?.requests == targets["file 0"]?.requests)
        #expect(groups[.rendition]?.keys.sorted() == ["high"])
        let total = try #require(run.total[.total])
        let whole = Histogram(try #require(targets["file 1"]).total)
        #expect(whole == total)
    }

    /// A threshold may name the only target, kind or rendition that there is.
    @Test func theOnlyValueOfADimensionIsAGroup() async throws {
        let origin = try FaultOrigin()
        origin.serve("/a", Self.body)
        var plan = LoadPlan(files: [origin.url("/a")])
        plan.renditions = ["only"]
        plan.objects[0].rendition = 0
        var scenario = LoadScenario.closed(users: 2, seconds: 30)
        scenario.caps.requests = 50
        let run = try await EngineRun(plan, scenario)
        let total = try #require(run.total[.total])
        for (dimension, name) in [
            ("target", "file 0"), ("kind", "file"), ("rendition", "only"), ("status", "200"),
        ] {
            let threshold = try LoadThreshold.parse("p99(total){\(dimension)=\(name)} < 50s")
            let verdict = threshold.judge(
                run.total, measuredSeconds: 1, breakdown: run.outcome.breakdown)
            #expect(verdict.measured == Double(total.value(quantile: 0.99)), "\(dimension)")
            #expect(verdict.holds)
        }
    }

    /// However many targets a plan has.
    @Test func groupsAreBounded() async throws {
        let origin = try FaultOrigin()
        let plan = LoadPlan(
            files: (0..<200).map { number in
                origin.serve("/\(number)", [1])
                return origin.url("/\(number)")
            })
        var scenario = LoadScenario.closed(users: 4, seconds: 30)
        scenario.caps.requests = 2_000
        let run = try await EngineRun(plan, scenario)
        let targets = try #require(run.outcome.breakdown.groups[.target])
        #expect(targets.count == LoadGroup.most + 1)
        #expect(targets["file 0"] != nil && targets["file 50"] == nil)
        #expect(targets.values.reduce(0) { $0 + $1.requests } == 2_000)
        #expect((targets[LoadBreakdown.others]?.requests ?? 0) > 1_000)
    }
}
