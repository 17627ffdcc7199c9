import Foundation
import LoadGenerator
import LoadModel
import Model
import Rendering
import Services
import Synchronization
import TestSupport
import Testing
import Transfer

@testable import Client

/// The wait before a load goes to a public address. None of it leaves the machine: what is said to be public
/// is the origin on loopback, or there is no worker to send anything.
@Suite(.timeLimit(.minutes(2))) struct PublicLoadTests {
    /// `example.com` of long ago.
    private static let address = "93.184.216.34"

    /// Finds a public address beside the loopback one.
    private struct Lookup: HostLookup {
        func addresses(of host: String) async -> Result<[String], Failure> {
            .success([host, PublicLoadTests.address])
        }
    }

    /// A wait that lasts until it is let go, or cancelled.
    private final class Wait: Sendable {
        let seconds = Mutex<[Double]>([])
        private let gate = ShutdownSignal()

        func pause(_ seconds: Double) async throws {
            self.seconds.withLock { $0.append(seconds) }
            await gate.wait()
            try Task.checkCancellation()
        }

        func letGo() { gate.trigger() }
    }

    /// The service that the command runs, with signals of the test's own.
    private struct Run {
        let origin: FaultOrigin
        let wait = Wait()
        let service: LoadTestService
        private let signals: AsyncStream<Int32>.Continuation
        private let ending: Task<ServiceGroup.Ending, any Error>

        init(isConfirmed: Bool) throws {
            let origin = try FaultOrigin()
            self.origin = origin
            origin.serve("/a", [UInt8](repeating: 7, count: 100))
            var scenario = LoadScenario()
            scenario.targets = [
                LoadTarget(name: "a", source: .url(origin.url("/a"), .file))
            ]
            scenario.stages = [LoadStage(seconds: 600, from: 2, to: 2)]
            scenario.caps.requests = 25
            let backend = try LocalLoadBackend(
                LoadEngine.Options(), scenario.http, lookup: Lookup())
            let service = LoadTestService(
                scenario, .once, backend, isConfirmed: isConfirmed,
                LoadTestDisplay(mode: .quiet, style: TerminalStyle(environment: [:])),
                LoadMetrics(scenario) { backend.generators }, pause: wait.pause)
            self.service = service
            let (numbers, signals) = AsyncStream.makeStream(of: Int32.self)
            self.signals = signals
            ending = Task {
                try await ServiceGroup(stages: [[service]], graceSeconds: 30, signals: numbers)
                    .run()
            }
        }

        func interrupt() { signals.yield(SIGINT) }
        func end() async throws -> ServiceGroup.Ending { try await ending.value }

        func untilItWaits() async throws {
            try await waitUntil(deadlineSeconds: 30, "the wait") {
                wait.seconds.withLock { !$0.isEmpty }
            }
        }
    }

    @Test func interruptedInTheWaitItSendsNothing() async throws {
        let run = try Run(isConfirmed: false)
        try await run.untilItWaits()
        #expect(run.wait.seconds.withLock(\.self) == [PublicNotice.seconds])
        run.interrupt()
        #expect(try await run.end() == .signalled(SIGINT, isForced: false))
        #expect(run.service.outcome == nil)
        // It was asked whether it is there.
        #expect(run.origin.count("/a") == 1)
    }

    @Test func afterTheWaitItIsSent() async throws {
        let run = try Run(isConfirmed: false)
        try await run.untilItWaits()
        #expect(run.origin.count("/a") == 1)
        run.wait.letGo()
        #expect(try await run.end() == .finished)
        #expect(run.service.outcome?.result.ending == .capped)
        #expect(run.origin.count("/a") == 26)
    }

    @Test func notifiedTestsDoNotWait() async throws {
        let run = try Run(isConfirmed: true)
        #expect(try await run.end() == .finished)
        #expect(run.wait.seconds.withLock(\.isEmpty) && run.origin.count("/a") == 26)
    }
}

/// Workers may see another address than the command that reports it.
@Suite struct ClusterHostsTests {
    private func hosts(isConfirmed: Bool) async throws -> [String] {
        var scenario = LoadScenario()
        scenario.targets = ["http://LOCALHOST:1/a", "http://127.0.0.1:1/a", "http://[::1]:1/a"]
            .map { LoadTarget(name: "a", source: .url($0, .file)) }
        scenario.stages = [LoadStage(seconds: 1, from: 1, to: 1)]
        scenario.privateHosts = ["edge.test"]
        let backend = try ClusterLoadBackend(
            ClusterEndpoint(endpoints: "http://127.0.0.1:1"), .init(), isConfirmed: isConfirmed
        ) { _, _ in }
        defer { backend.close() }
        return try await backend.prepare(scenario).scenario.privateHosts
    }

    @Test func whatIsPrivateHereIsToBePrivateThere() async throws {
        #expect(try await hosts(isConfirmed: false) == ["edge.test", "localhost"])
        #expect(try await hosts(isConfirmed: true) == ["edge.test"])
    }
}

extension EndToEnd {
    /// The same as it is run, on a cluster without a worker that could send anything.
    @Suite(.timeLimit(.minutes(2))) struct PublicLoadCommandTests {
        @Test func interruptedInTheWaitNothingIsAskedFor() async throws {
            let cluster = try await ProcessCluster(
                coordinators: 1, workers: 0, connections: 1, leaseSeconds: 60)
            let folder = try TemporaryDirectory("public")
            let load = try cluster.start([
                "loadtest", "http://93.184.216.34/film.mp4", "--rate", "50", "--duration", "1m",
                "--requests", "1000", "--cluster", "--json", "--quiet", "--html",
                folder.path("page.html"),
            ])
            try await waitUntil(deadlineSeconds: 30, "the wait") {
                load.errors.contains("it starts in 5 s")
            }
            load.signal(SIGINT)
            #expect(try await load.wait() == .exited(130))
            #expect(
                load.errors == """
                    dray: this load goes to the public Internet: 93.184.216.34 (93.184.216.34); 50 \
                    requests per second for 1 min 00 s, at most 1,000 requests
                    dray: it starts in 5 s; press Ctrl-C to send no load, use --yes not to wait

                    """)
            // No report is made, and the cluster has no test.
            #expect(load.output.isEmpty)
            #expect(try folder.files().isEmpty)
            let asked = try await Wire.exchange(
                port: cluster.coordinators[0].port, "GET", "/v1/load-tests",
                headers: ProcessCluster.authorization)
            #expect(asked.status == 200 && asked.body.contains("\"tests\":[]"), "\(asked.body)")
            try await cluster.stop()
        }
    }
}
