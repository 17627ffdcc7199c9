import API
import CoordinatorClient
import Model
import Synchronization
import TestSupport
import Testing

@testable import Worker

/// Jobs that a worker holds and cannot begin move to one that is idle.
@Suite(.timeLimit(.minutes(2))) struct SurplusTests {
    /// The first worker leases all files, of which it begins eight. The origin answers none before
    /// the second worker, which comes later, holds some.
    @Test func aWorkerThatJoinsLateGetsJobsThatAreLeasedAlready() async throws {
        try await Cluster.with(workers: 0) { cluster in
            let isOpen = Gate()
            var assets: [AssetSubmission] = []
            for number in 0..<64 {
                cluster.origin.route("/d/\(number)") { request in
                    request.serve(sampleBytes(1_000)).held(at: isOpen)
                }
                assets.append(try cluster.file("/d/\(number)"))
            }
            defer { isOpen.open() }
            let first = try cluster.startWorker(connections: 64)
            let catalog = try await cluster.submit(assets)
            try await waitUntil(deadlineSeconds: 30, "the first worker holds all") {
                first.service.core.held.count == 64
            }
            let second = try cluster.startWorker(connections: 8)
            try await waitUntil(deadlineSeconds: 30, "the second worker holds some") {
                second.service.core.held.count >= 8
            }
            #expect(first.service.core.held.count <= 56)
            isOpen.open()
            let ended = try await cluster.end(of: catalog)
            #expect(ended.values.allSatisfy { $0.state == .completed })
            let totals = try await cluster.client.status(of: catalog).totals
            #expect(totals.segmentsDone == 64 && totals.retries == 0)
            // To be returned is no attempt.
            let attempts = try await cluster.execute("SELECT max(attempts) FROM result")
            #expect(attempts.split(whereSeparator: \.isWhitespace) == ["1"])
        }
    }
}
