import API
import HTTPServer
import JobQueue
import Model

/// Routes for load tests: those of clients, and those of workers.
struct LoadTestRoutes: Sendable {
    let queue: JobQueue
    let loadTests: CalledLoadTests
    /// For answers of up to some megabytes, which all workers of a test request at the same time.
    private let longAnswers = Turns(8)

    init(queue: JobQueue, loadTests: CalledLoadTests) {
        self.queue = queue
        self.loadTests = loadTests
    }

    /// Reads the load test's id in a path.
    private static func test(_ path: PathParameters) throws(Failure) -> LoadTestID {
        try Validation.id(path["test"], "load test")
    }

    func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        try .wire(try await queue.loadTests.list())
    }

    func status(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        try .wire(try await queue.loadTests.status(of: try Self.test(path)))
    }

    func create(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let test: LoadTestSubmission = try RequestBody.read(request)
        try Validation.check(test)
        let queues = test.queue.map { "queue \($0)" } ?? "all queues"
        return Change(detailed: "load test \(test.id): \(test.name), \(queues)") { key in
            Change.Made(try .wire(try await queue.loadTests.create(test, key: key)))
        }
    }

    func add(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let id = try Self.test(path)
        let data: LoadTestData = try RequestBody.read(request)
        try Validation.check(data)
        return Change("load test \(id), its data", isPart: true) {
            try .wire(try await queue.loadTests.add(data, to: id))
        }
    }

    func stop(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let id = try Self.test(path)
        let _: NoFields = try RequestBody.read(request)
        return Change("load test \(id)") { try .wire(try await queue.loadTests.stop(id)) }
    }

    func breakdown(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        let id = try Self.test(path)
        let shard = request.queryValue("shard") ?? ""
        guard let number = Int(shard), (0..<WireLimits.loadWorkers).contains(number) else {
            throw Validation.wrong("shard", shard, "0 to \(WireLimits.loadWorkers - 1)")
        }
        return try .wire(try await queue.loadTests.breakdown(of: id, shard: number))
    }

    /// Interval at which a held request polls for results: shards report all the time, from many
    /// workers, without a signal each.
    private static let followMilliseconds = 250

    func follow(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let id = try Self.test(path)
        let asked: LoadTestFollow = try RequestBody.read(request)
        try Validation.check(asked)
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(asked.waitMilliseconds)
        while true {
            let version = loadTests.news.version
            try caller.requireCurrent()
            let answer = try await queue.loadTests.follow(id, after: asked.after)
            let isNews = !answer.intervals.isEmpty || answer.test.state != asked.known
            let rest = clock.now.duration(to: deadline)
            guard !isNews, rest > .zero, !loadTests.news.isClosed, request.isPeerConnected() else {
                return try .wire(answer)
            }
            await loadTests.news.wait(
                after: version, atMost: min(rest, .milliseconds(Self.followMilliseconds)))
        }
    }

    func join(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let id = try Self.test(path)
        let join: LoadTestJoin = try RequestBody.read(request)
        try Validation.check(join)
        try await require(id, caller)
        return try await longAnswers.take {
            try .wire(try await queue.loadTests.shards.join(id, join))
        }
    }

    func parts(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let id = try Self.test(path)
        let asked: LoadTestPartsRequest = try RequestBody.read(request)
        try Validation.check(asked)
        try await require(id, caller)
        return try await longAnswers.take {
            guard request.isPeerConnected() else { return .done }
            return try .wire(try await queue.loadTests.shards.parts(asked, of: id))
        }
    }

    /// Throws `cluster.outOfScope` for a load test of another queue than those of a worker.
    private func require(_ id: LoadTestID, _ caller: Caller) async throws {
        guard caller.isBoundToQueues else { return }
        try caller.require(loadTestOf: try await queue.loadTests.status(of: id).queue)
    }

    func report(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let id = try Self.test(path)
        let report: LoadTestReport = try RequestBody.read(request)
        try Validation.check(report)
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(report.waitMilliseconds)
        var version = loadTests.news.version
        var order = try await queue.loadTests.shards.report(report, of: id)
        while true {
            let rest = clock.now.duration(to: deadline)
            guard order.kind == report.known, rest > .zero, !loadTests.news.isClosed,
                request.isPeerConnected()
            else { return try .wire(order) }
            await loadTests.news.wait(after: version, atMost: rest)
            try caller.requireCurrent()
            version = loadTests.news.version
            order = try await queue.loadTests.shards.order(of: id, worker: report.worker)
        }
    }
}
