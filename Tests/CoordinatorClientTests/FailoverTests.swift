import API
import CoordinatorClient
import HTTPServer
import Model
import Synchronization
import TestSupport
import Testing

@Suite("Coordinators that go away")
struct FailoverTests {
    private let leaseRequest = LeaseRequest(
        worker: "w", queues: [], maxJobs: 1, waitMilliseconds: 0)

    /// A port that nothing listens on.
    private func deadURL() throws -> String { try FaultOrigin().url() }

    @Test("no listener")
    func unreachable() async throws {
        let client = try CoordinatorClient(endpoints: try deadURL(), retrySeconds: 0)
        let failure = await failure { try await client.readiness() }
        #expect(failure?.code == "cluster.coordinatorUnreachable")
        client.shutdown()
    }

    @Test("the next endpoint is asked when one is down", .timeLimit(.minutes(1)))
    func nextEndpoint() async throws {
        let coordinator = try TestCoordinator { request in
            request.path == "/v1/leases"
                ? json(LeaseGrant(lease: nil, seconds: 0))
                : .text(200, "ok")
        }
        let endpoints = "\(try deadURL()), \(coordinator.url)/"
        let client = try CoordinatorClient(endpoints: endpoints, retrySeconds: 0)
        try await client.readiness()
        // Even what must not be sent twice: it has not been sent.
        _ = try await client.lease(leaseRequest)
        #expect(coordinator.log.all.count == 2)
        client.shutdown()
        await coordinator.server.shutdown(graceSeconds: 0)
    }

    @Test("a coordinator that is shutting down is left for the next", .timeLimit(.minutes(1)))
    func shuttingDown() async throws {
        let leaving = try TestCoordinator { _ in
            json(
                status: 503,
                ErrorAnswer(Failure("cluster.coordinatorUnreachable", "closing"), status: 503))
        }
        let staying = try TestCoordinator { request in
            request.path == "/v1/leases"
                ? json(LeaseGrant(lease: nil, seconds: 0))
                : .text(200, "ok")
        }
        let client = try CoordinatorClient(
            endpoints: "\(leaving.url),\(staying.url)", retrySeconds: 30)
        defer { client.shutdown() }
        // It may have granted one: this request is not repeated, and later ones go elsewhere.
        let refused = await failure { _ = try await client.lease(leaseRequest) }
        #expect(refused?.code == "cluster.coordinatorUnreachable")
        _ = try await client.lease(leaseRequest)
        try await client.readiness()
        #expect(leaving.log.all.count == 1)
        #expect(staying.log.all.count == 2)
        // Repeatable requests continue at once.
        let other = try CoordinatorClient(
            endpoints: "\(leaving.url),\(staying.url)", retrySeconds: 0.001)
        defer { other.shutdown() }
        try await other.readiness()
        #expect(leaving.log.all.count == 2)
        await leaving.server.shutdown(graceSeconds: 0)
        await staying.server.shutdown(graceSeconds: 0)
    }

    @Test("continues when a coordinator restarts", .timeLimit(.minutes(1)))
    func restart() async throws {
        let first = try TestCoordinator { _ in .text(200, "ok") }
        let port = first.server.port
        let client = try CoordinatorClient(endpoints: first.url, retrySeconds: 30)
        try await client.readiness()
        await first.server.shutdown(graceSeconds: 0)
        async let waiting: Void = client.readiness()
        let gone = await failure { try await client.readiness(retrySeconds: 0) }
        #expect(gone?.code == "cluster.coordinatorUnreachable")
        let second = try TestCoordinator(port: port) { _ in .text(200, "ok") }
        try await waiting
        #expect(second.log.all.count >= 1)
        client.shutdown()
        await second.server.shutdown(graceSeconds: 0)
    }

    @Test("what may pass is tried again", .timeLimit(.minutes(1)))
    func retries() async throws {
        let codes: [FailureCode] = [
            "cluster.busy", "cluster.databaseUnreachable", "cluster.rateLimited",
        ]
        let left = Mutex(codes)
        let next: @Sendable () -> FailureCode? = {
            left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
        try await withCoordinator(retrySeconds: 30) { _ in
            next().map { json(status: 503, ErrorAnswer(Failure($0, "later"), status: 503)) }
                ?? .text(200, "ok")
        } _: { client, log in
            try await client.readiness()
            #expect(log.all.count == 4)
        }
    }

    @Test("all attempts to open a catalog have one key", .timeLimit(.minutes(1)))
    func keysOfRequests() async throws {
        let left = Mutex<[FailureCode]>(["cluster.databaseUnreachable", "cluster.requestRunning"])
        let next: @Sendable () -> FailureCode? = {
            left.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
        try await withCoordinator(retrySeconds: 30) { _ in
            next().map { json(status: 503, ErrorAnswer(Failure($0, "later"), status: 503)) }
                ?? json(CatalogHandle(id: CatalogID(1), queue: "q", generation: 1))
        } _: { client, log in
            let catalog = CatalogSubmission(name: "a", storageURL: "file:///a")
            _ = try await client.openCatalog(catalog)
            let keys = log.all.compactMap { $0.header("idempotency-key") }
            #expect(keys.count == 3 && Set(keys).count == 1)
            _ = try await client.openCatalog(catalog)
            #expect(log.all.last?.header("idempotency-key") != keys[0])
            _ = try? await client.clusterStatus()
            #expect(log.all.last?.header("idempotency-key") == nil)
        }
    }

    /// A start that takes longer than a request may, and whose answers then are `statuses`; answers
    /// the number of its requests.
    private func start(answers statuses: [Int]) async throws -> Int {
        let (answers, answer) = AsyncStream<Int>.makeStream()
        var starts = 0
        try await withCoordinator(retrySeconds: 0.4, timeoutSeconds: 0.5) { request in
            if request.path == "/v1/catalogs/1/start" {
                for await status in answers { return .text(status, "") }
            }
            // Whatever else it is asked is not answered before it goes.
            await Self.cancellation()
            return .text(503, "")
        } _: { client, log in
            async let start = client.start(CatalogID(1), CatalogStartRequest(generation: 1))
            try await waitUntil(deadlineSeconds: 60) { !log.all.isEmpty }
            let other = await failure { _ = try await client.clusterStatus(retrySeconds: 0) }
            #expect(other?.code == "cluster.coordinatorUnreachable")
            for status in statuses { answer.yield(status) }
            _ = try await start
            starts = log.all.count { $0.path.hasSuffix("/start") }
        }
        return starts
    }

    private static func cancellation() async {
        let (stream, end) = AsyncStream<Void>.makeStream()
        for await _ in stream {}
        end.finish()
    }

    @Test("work on a whole catalog has its time", .timeLimit(.minutes(1)))
    func longStart() async throws {
        #expect(try await start(answers: [204]) == 1)
    }

    @Test("a request whose answer was lost after a long time is repeated", .timeLimit(.minutes(1)))
    func lostStart() async throws {
        // As a proxy reports it.
        #expect(try await start(answers: [504, 204]) == 2)
    }

    @Test("what does not pass is not tried again")
    func noRetry() async throws {
        try await withCoordinator(retrySeconds: 30) { _ in
            json(
                status: 404, ErrorAnswer(Failure("input.notFound", "no such catalog"), status: 404))
        } _: { client, log in
            let failure = await failure { _ = try await client.status(of: CatalogID(1)) }
            #expect(failure?.code == "input.notFound")
            #expect(log.all.count == 1)
        }
    }

    @Test("a lease is requested once", .timeLimit(.minutes(1)))
    func leaseOnce() async throws {
        let (origin, other) = (try FaultOrigin(), try FaultOrigin())
        let gate = Gate()
        origin.route("/v1/leases", FaultOrigin.Response().held(at: gate))
        let client = try CoordinatorClient(
            endpoints: "\(origin.url()),\(other.url())", retrySeconds: 30)
        async let failed = failure { _ = try await client.lease(leaseRequest) }
        try await gate.waitUntilReached()
        origin.cutConnections()
        #expect(await failed?.code == "cluster.coordinatorUnreachable")
        #expect(origin.count("/v1/leases") == 1)
        #expect(other.requests.isEmpty)
        gate.open()
        client.shutdown()
    }
}
