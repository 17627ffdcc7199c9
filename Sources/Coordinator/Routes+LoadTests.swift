import HTTPServer
import JobQueue
import Model

/// Load tests on workers: what who wants one asks, and what the workers ask.
extension Routes {
    /// What the paths of load tests can be asked; nil for any other.
    func loadTestHandlers(of path: [String]) -> [String: Handler]? {
        switch (path.count, path.last ?? "") {
        case (2, _):
            return [
                "GET": { _ in try Self.json(try await queue.loadTests()) },
                "POST": createLoadTest,
            ]
        case (3, let id):
            return ["GET": { _ in try Self.json(try await queue.loadTest(try Self.test(id))) }]
        case (4, "follow"): return ["POST": { try await follow($0, try Self.test(path[2])) }]
        case (4, "stop"): return ["POST": { try await stop($0, try Self.test(path[2])) }]
        case (4, "breakdown"): return ["GET": { try await breakdown($0, try Self.test(path[2])) }]
        case (4, "shares"): return ["POST": { try await join($0, try Self.test(path[2])) }]
        case (4, "reports"): return ["POST": { try await reportShare($0, try Self.test(path[2])) }]
        default: return nil
        }
    }

    private static func test(_ id: String) throws(Failure) -> LoadTestID {
        try Validation.uuid(id, "load test")
        return id
    }

    private func createLoadTest(_ request: HTTPRequest) async throws -> HTTPResponse {
        let test: LoadTestSubmission = try Self.body(of: request)
        try Validation.check(test)
        return try Self.json(try await queue.create(test))
    }

    private func stop(_ request: HTTPRequest, _ id: LoadTestID) async throws -> HTTPResponse {
        let _: NoFields = try Self.body(of: request)
        return try Self.json(try await queue.stopLoadTest(id))
    }

    private func breakdown(_ request: HTTPRequest, _ id: LoadTestID) async throws -> HTTPResponse {
        let share = request.queryValue("share") ?? ""
        guard let number = Int(share), (0..<WireLimits.loadWorkers).contains(number) else {
            throw Validation.wrong("share", share, "0 to \(WireLimits.loadWorkers - 1)")
        }
        return try Self.json(try await queue.loadBreakdown(of: id, share: number))
    }

    /// Seconds of shares come all the time, from many workers: there is no signal for each, so they are
    /// looked for now and then while the question is held.
    private static let followMilliseconds = 250

    private func follow(_ request: HTTPRequest, _ id: LoadTestID) async throws -> HTTPResponse {
        let asked: LoadTestFollow = try Self.body(of: request)
        try Validation.check(asked)
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(asked.waitMilliseconds)
        while true {
            let version = loadTests.news.version
            let answer = try await queue.follow(id, after: asked.after)
            let isNews = !answer.intervals.isEmpty || answer.test.state != asked.known
            let rest = clock.now.duration(to: deadline)
            guard !isNews, rest > .zero, !loadTests.news.isClosed, request.isPeerConnected() else {
                return try Self.json(answer)
            }
            await loadTests.news.wait(
                after: version, atMost: min(rest, .milliseconds(Self.followMilliseconds)))
        }
    }

    private func join(_ request: HTTPRequest, _ id: LoadTestID) async throws -> HTTPResponse {
        let join: LoadTestJoin = try Self.body(of: request)
        try Validation.check(join)
        return try Self.json(try await queue.join(id, join))
    }

    private func reportShare(_ request: HTTPRequest, _ id: LoadTestID) async throws -> HTTPResponse
    {
        let report: LoadTestReport = try Self.body(of: request)
        try Validation.check(report)
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(report.waitMilliseconds)
        var version = loadTests.news.version
        var order = try await queue.report(report, of: id)
        while true {
            let rest = clock.now.duration(to: deadline)
            guard order.kind == report.known, rest > .zero, !loadTests.news.isClosed,
                request.isPeerConnected()
            else { return try Self.json(order) }
            await loadTests.news.wait(after: version, atMost: rest)
            version = loadTests.news.version
            order = try await queue.loadOrder(of: id, worker: report.worker)
        }
    }
}
