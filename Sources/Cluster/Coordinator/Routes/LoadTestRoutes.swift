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

    func change(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> Change {
        let id = try Self.test(path)
        let change: LoadTestChangeRequest = try RequestBody.read(request)
        try Validation.check(change)
        return Change("load test \(id), its load: \(change.level)") {
            try .wire(try await queue.loadTests.change(id, to: change.level))
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
        return try await hold(
            request, caller, milliseconds: asked.waitMilliseconds,
            pollMilliseconds: Self.followMilliseconds,
            isChanged: {
                !$0.intervals.isEmpty || $0.changes != nil || $0.test.state != asked.known
            },
            read: { _ in
                try await queue.loadTests.follow(
                    id, after: asked.after, changes: asked.changes)
            })
    }

    func report(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let id = try Self.test(path)
        let report: LoadTestReport = try RequestBody.read(request)
        try Validation.check(report)
        let shards = queue.loadTests.shards
        return try await hold(
            request, caller, milliseconds: report.waitMilliseconds,
            isChanged: { $0.kind != report.known || $0.changes != nil },
            read: { isFirst in
                isFirst
                    ? try await shards.report(report, of: id)
                    : try await shards.order(
                        of: id, worker: report.worker, changes: report.changes)
            })
    }

    /// Reads an answer, and again whenever a load test has changed, until the answer has changed or the time is over.
    ///
    /// - Parameter pollMilliseconds: also reads after this time without a change.
    private func hold<Answer: Encodable & Sendable>(
        _ request: HTTPRequest, _ caller: Caller, milliseconds: Int,
        pollMilliseconds: Int = WireLimits.loadWaitMilliseconds,
        isChanged: (Answer) -> Bool, read: (_ isFirst: Bool) async throws -> Answer
    ) async throws -> HTTPResponse {
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(milliseconds)
        var isFirst = true
        while true {
            let version = loadTests.changeSignal.version
            try caller.requireCurrent()
            let answer = try await read(isFirst)
            isFirst = false
            let rest = clock.now.duration(to: deadline)
            guard !isChanged(answer), rest > .zero, !loadTests.changeSignal.isClosed,
                request.isPeerConnected()
            else { return try .wire(answer) }
            await loadTests.changeSignal.wait(
                after: version, atMost: min(rest, .milliseconds(pollMilliseconds)))
        }
    }

    func join(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let join: LoadTestJoin = try RequestBody.read(request)
        try Validation.check(join)
        return try await answerLong(request, path, caller) {
            try await queue.loadTests.shards.join($0, join)
        }
    }

    func parts(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller
    ) async throws -> HTTPResponse {
        let asked: LoadTestPartsRequest = try RequestBody.read(request)
        try Validation.check(asked)
        return try await answerLong(request, path, caller) {
            try await queue.loadTests.shards.parts(asked, of: $0)
        }
    }

    /// Answers a worker of the test's queue in its turn, unless it does not wait any more. Throws
    /// `cluster.outOfScope` for a load test of another queue.
    private func answerLong<Answer: Encodable & Sendable>(
        _ request: HTTPRequest, _ path: PathParameters, _ caller: Caller,
        _ read: @Sendable (LoadTestID) async throws -> Answer
    ) async throws -> HTTPResponse {
        let id = try Self.test(path)
        if caller.isBoundToQueues {
            try caller.require(loadTestOf: try await queue.loadTests.status(of: id).queue)
        }
        return try await longAnswers.take {
            guard request.isPeerConnected() else { return .done }
            return try .wire(try await read(id))
        }
    }
}
