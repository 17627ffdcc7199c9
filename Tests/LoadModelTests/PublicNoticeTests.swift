import LoadModel
import Testing

@Suite struct PublicNoticeTests {
    private let edge = [(host: "edge.example", address: "93.184.216.34")]

    private func scenario(_ model: LoadModel, _ stages: [LoadStage]) -> LoadScenario {
        var scenario = LoadScenario()
        scenario.model = model
        scenario.stages = stages
        return scenario
    }

    @Test func namesHostAddressRateAndDuration() throws {
        var scenario = scenario(.open(.poisson), [LoadStage(seconds: 300, from: 0, to: 500)])
        scenario.caps.requests = 5_000
        #expect(
            PublicNotice.text(edge, scenario, .once)
                == "this load goes to the public Internet: edge.example (93.184.216.34); up to 500 "
                + "requests per second for 5 min 00 s, at most 5,000 requests")
        #expect(
            PublicNotice.text(edge, scenario, .search(most: 2_000))?
                .contains(
                    "; raised until a threshold fails, up to 2000 requests per second, "
                        + "at most 5,000")
                == true)
    }

    @Test func namesUsersAndViewers() throws {
        var scenario = scenario(.closed, [LoadStage(seconds: 30, from: 64, to: 64)])
        scenario.user = .viewers(ViewerSettings())
        let text = try #require(PublicNotice.text(edge, scenario, .once))
        #expect(text.hasSuffix("; 64 concurrent users, viewers one after another, for 30.0 s"))
    }

    /// Each worker has all of the users.
    @Test func namesTheLargestStep() throws {
        let scenario = scenario(.closed, [LoadStage(seconds: 30, from: 100, to: 100)])
        let text = try #require(PublicNotice.text(edge, scenario, .scale([1, 8, 2])))
        #expect(
            text.hasSuffix(
                "; up to 800 concurrent users, requests one after another, for 30.0 s, 3 times, with up "
                    + "to 8 workers"))
    }

    @Test func manyHostsAreCountedAndNoneIsNothing() throws {
        let scenario = scenario(.closed, [LoadStage(seconds: 30, from: 1, to: 1)])
        let many = (0..<9).map { (host: "h\($0)", address: "93.184.216.\($0)") }
        let text = try #require(PublicNotice.text(many, scenario, .once))
        #expect(text.contains("h4 (93.184.216.4) and 4 more;"))
        #expect(PublicNotice.text([], scenario, .once) == nil)
    }
}
