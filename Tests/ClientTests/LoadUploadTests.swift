import API
import CoordinatorClient
import Foundation
import HTTPServer
import Model
import Synchronization
import TestSupport
import Testing

@testable import Client
@testable import LoadModel

/// The upload of a load test's data, to a coordinator that the test plays.
@Suite struct LoadUploadTests {
    /// A coordinator whose test waits for the first requests with data, and has ended then.
    private final class Script: Sendable {
        /// Number of requests with data that find the test waiting.
        let accepted: Int
        /// Failure of the test.
        let failure: Failure?
        private let state = Mutex((data: [[Int]](), isStopped: false))
        /// Called before a request with data is answered.
        let onData = Mutex<(@Sendable () -> Void)?>(nil)

        init(accepted: Int, failure: Failure? = nil) {
            self.accepted = accepted
            self.failure = failure
        }

        /// Numbers of the parts of each request.
        var data: [[Int]] { state.withLock { $0.data } }
        var isStopped: Bool { state.withLock { $0.isStopped } }

        func answer(_ request: HTTPRequest) -> HTTPResponse {
            switch request.segments.last {
            case "load-tests": return Self.json(Self.status(.waiting))
            case "data":
                guard
                    let data = try? JSONDecoder().decode(
                        LoadTestData.self, from: Data(request.body))
                else { break }
                onData.withLock(\.self)?()
                let count = state.withLock { state in
                    state.data.append(data.parts.map(\.number))
                    return state.data.count
                }
                return Self.json(LoadTestDataAnswer(state: count > accepted ? .ended : .waiting))
            case "stop":
                state.withLock { $0.isStopped = true }
                return Self.json(Self.status(.ended))
            case "follow":
                return Self.json(
                    LoadTestUpdate(
                        test: Self.status(.ended, failure), intervals: [], hasMore: false))
            default: break
            }
            return .text(404, "not played")
        }

        private static func status(
            _ state: LoadTestState, _ failure: Failure? = nil
        ) -> LoadTestStatus {
            LoadTestStatus(
                id: .random(), name: "t", queue: nil, state: state, workers: 1, atLeast: 1,
                created: 0, joinUntil: 0, started: nil, ended: nil, failure: failure, shards: [],
                now: 0)
        }

        private static func json(_ value: some Encodable) -> HTTPResponse {
            (try? .json(200, value)) ?? .text(500, "not JSON")
        }
    }

    /// Ten parts, two of which fit into a request.
    private static func run(
        _ script: Script, _ body: (ClusterLoadRunner, LoadScenario) async throws -> Void
    ) async throws {
        let server = try HTTPServer.start(.init(port: 0)) { script.answer($0) }
        let client = try CoordinatorClient(
            endpoints: "http://127.0.0.1:\(server.port)", token: .test)
        var scenario = LoadScenario()
        scenario.targets = [LoadTarget(name: "a", source: .url("http://h/a", .file))]
        scenario.stages = [LoadStage(seconds: 60, from: 1, to: 1)]
        let part = [UInt8](repeating: 97, count: 512 << 10)
        let runner = ClusterLoadRunner(
            client: client, ClusterLoadRunner.Options(),
            try LoadParts(texts: Array(repeating: part, count: 10))
        ) { _ in }
        let result: Result<Void, any Error>
        do { result = .success(try await body(runner, scenario)) } catch {
            result = .failure(error)
        }
        client.shutdown()
        await server.shutdown(graceSeconds: 0)
        try result.get()
    }

    /// It was stopped by somebody else, or nobody followed it for long.
    @Test func theEndOfTheTestEndsIt() async throws {
        let script = Script(
            accepted: 1, failure: Failure(.clusterAbandoned, "The test had no follower."))
        try await Self.run(script) { runner, scenario in
            await #expect {
                try await runner.run(scenario, workers: nil, onChange: { _ in }) { _ in }
            } throws: { ($0 as? Failure)?.code == .clusterAbandoned }
        }
        #expect(script.data == [[0, 1], [2, 3]])
    }

    @Test func aStopEndsItAndTheTest() async throws {
        let script = Script(accepted: .max)
        try await Self.run(script) { runner, scenario in
            script.onData.withLock { $0 = { runner.stop(.interrupted) } }
            let end = try await runner.run(scenario, workers: nil, onChange: { _ in }) { _ in }
            #expect(end.ending == .interrupted && end.shards.isEmpty)
            try await waitUntil(deadlineSeconds: 60, "the stop") { script.isStopped }
        }
        #expect(script.data == [[0, 1]])
    }
}
