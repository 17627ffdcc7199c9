import API
import CoordinatorClient
import Digest
import Foundation
import Model
import Statistics
import Synchronization
import TestSupport
import Testing

@testable import Worker

/// Random histories of files in parts: an origin that changes each, cuts its answers short, serves other
/// ranges than were asked for or none, and workers that come and go meanwhile.
@Suite("Histories of files in parts", .timeLimit(.minutes(10)))
struct MultipartHistoryTests {
    typealias C = Cluster

    private static let environment = ProcessInfo.processInfo.environment
    private static let partBytes: Int64 = 1 << 20

    /// `DRAY_SEED` for one, or the first of `DRAY_SEEDS`; 24 from 1 otherwise.
    private static var seeds: ClosedRange<UInt64> {
        let first = environment["DRAY_SEED"].flatMap { UInt64($0) }
        let count = environment["DRAY_SEEDS"].flatMap { UInt64($0) } ?? (first == nil ? 24 : 1)
        return (first ?? 1)...((first ?? 1) + max(count, 1) - 1)
    }

    /// Gentle enough that many complete within the attempts of a file.
    private static let shape: OriginScript.Shape = {
        var shape = OriginScript.Shape()
        shape.bytes = (9 << 18)...(17 << 18)
        (shape.changes, shape.statuses, shape.cuts) = (1, 2, 10)
        (shape.shifts, shape.ignoredRanges, shape.missingLabels) = (2, 2, 1)
        shape.promisesRanges = true
        // That the parts of a file come from two places is for a test of its own.
        shape.hasLocations = false
        return shape
    }()

    @Test("every one ends in the right bytes or in a failure, never in wrong bytes")
    func neverWrongBytes() async throws {
        let seeds = Self.seeds
        var (split, completed) = (0, 0)
        // So many at a time: what an origin script holds is in memory.
        for start in stride(from: seeds.lowerBound, through: seeds.upperBound, by: 24) {
            let batch = start...min(start + 23, seeds.upperBound)
            try await C.with(workers: 2, partBytes: Self.partBytes) { cluster in
                let counts = try await run(batch, cluster)
                (split, completed) = (split + counts.split, completed + counts.completed)
            }
        }
        guard seeds.count >= 24 else { return }
        // They are about something.
        #expect(split >= seeds.count / 4 && completed >= seeds.count / 4, "\(split) \(completed)")
    }

    private func run(
        _ seeds: ClosedRange<UInt64>, _ cluster: Cluster
    ) async throws -> (split: Int, completed: Int) {
        var scripts: [OriginScript] = []
        for seed in seeds {
            let script = OriginScript(
                seed: seed, path: "/parts/\(seed)", shape: Self.shape, listing: [.sha256])
            cluster.origin.route(script.path) { script.answer($0) }
            scripts.append(script)
        }
        let catalog = try await cluster.submit(
            try scripts.map { try cluster.file($0.path, sha256: $0.listed.first?.hex) })
        try await replaceWorkers(of: cluster, until: catalog)
        let ended = try await cluster.end(of: catalog, deadlineSeconds: 240)
        var completed = 0
        for (seed, script) in zip(seeds, scripts) {
            let asset = try #require(ended[script.path])
            let bytes = cluster.stored(script.path)
            let isRight =
                asset.state == .completed
                ? bytes.map(script.isRight) == true : asset.state == .failed && bytes == nil
            if asset.state == .completed { completed += 1 }
            #expect(
                isRight,
                """
                seed \(seed): \(asset), \(bytes?.count ?? -1) bytes
                \(script.events.joined(separator: "\n"))
                Run it again with DRAY_SEED=\(seed).
                """)
        }
        let split = scripts.count { script in
            cluster.origin.requests(for: script.path).contains { $0.headers["range"] != nil }
        }
        return (split, completed)
    }

    /// Each time so many requests have been made, one worker leaves and another comes.
    private func replaceWorkers(of cluster: Cluster, until catalog: CatalogID) async throws {
        var random = SeededRandom(seed: 7)
        var running = cluster.runningWorkers
        for requests in [20, 60, 110] {
            try await waitUntil(deadlineSeconds: 240, "\(requests) requests") {
                if cluster.origin.requests.count >= requests { return true }
                return try await cluster.client.status(of: catalog).state.isTerminal
            }
            let index = Int.random(in: running.indices, using: &random)
            try await running.remove(at: index).drain()
            running.append(try cluster.startWorker(partBytes: Self.partBytes))
        }
    }
}
