import CoordinatorClient
import FoundationEssentials
import HTTPServer
import Model
import Synchronization
import Testing

/// A real HTTP server whose answers a test gives, and what it was asked.
struct TestCoordinator: ~Copyable {
    /// What the handler's thread and the test share.
    final class Log: Sendable {
        private let requests = Mutex<[HTTPRequest]>([])

        func append(_ request: HTTPRequest) { requests.withLock { $0.append(request) } }

        var all: [HTTPRequest] { requests.withLock { $0 } }
    }

    let server: HTTPServer
    let log = Log()

    init(
        port: UInt16 = 0, _ answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) throws {
        let log = log
        server = try HTTPServer.start(.init(port: port)) { request in
            log.append(request)
            return await answer(request)
        }
    }

    var url: String { "http://127.0.0.1:\(server.port)" }
}

/// Runs `body` with a coordinator with given answers and a client of it; ends both.
func withCoordinator(
    token: AccessToken? = nil, retrySeconds: Double = 0, timeoutSeconds: Double = 30,
    answer: @escaping @Sendable (HTTPRequest) async -> HTTPResponse,
    _ body: (CoordinatorClient, TestCoordinator.Log) async throws -> Void
) async throws {
    let coordinator = try TestCoordinator(answer)
    let client = try CoordinatorClient(
        endpoints: coordinator.url, token: token, retrySeconds: retrySeconds,
        timeoutSeconds: timeoutSeconds)
    let result: Result<Void, any Error>
    do {
        result = .success(try await body(client, coordinator.log))
    } catch {
        result = .failure(error)
    }
    client.shutdown()
    await coordinator.server.shutdown(graceSeconds: 0)
    try result.get()
}

/// The failure that `body` throws; records an issue when it throws none.
func failure(of body: () async throws -> Void) async -> Failure? {
    do {
        try await body()
        Issue.record("no failure")
        return nil
    } catch let failure as Failure {
        return failure
    } catch {
        Issue.record("another error: \(error)")
        return nil
    }
}

func json(status: Int = 200, _ value: some Encodable) -> HTTPResponse {
    (try? .json(status, value)) ?? .text(500, "not JSON")
}
