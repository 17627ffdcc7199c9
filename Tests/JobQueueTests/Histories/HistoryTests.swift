import Foundation
import JobQueue
import Model
import Testing

/// Random histories, run against PostgreSQL and against the model.
@Suite struct HistoryTests {
    private static let environment = ProcessInfo.processInfo.environment

    /// `DRAY_SEED` for one seed, or the first of `DRAY_SEEDS`; 60 from 1 otherwise.
    private static var seeds: ClosedRange<UInt64> {
        let first = environment["DRAY_SEED"].flatMap { UInt64($0) }
        let count = environment["DRAY_SEEDS"].flatMap { UInt64($0) } ?? (first == nil ? 60 : 1)
        return (first ?? 1)...((first ?? 1) + max(count, 1) - 1)
    }

    private static let lanes: UInt64 = 2

    @Test func everyHistoryAgreesWithTheModel() async throws {
        let seeds = Self.seeds
        var seen: Set<TransitionLog.Edge> = []
        try await withThrowingTaskGroup(of: Set<TransitionLog.Edge>.self) { group in
            for lane in 0..<min(Self.lanes, UInt64(seeds.count)) {
                group.addTask {
                    let cluster = try await HistoryCluster("histories")
                    for seed in seeds where seed % Self.lanes == lane || seeds.count == 1 {
                        guard try await Self.agrees(seed, cluster) else { break }
                    }
                    let seen = try await cluster.transitions.seen()
                    for change in try await cluster.transitions.raised().unnamed {
                        Issue.record("\(change)")
                    }
                    await cluster.close()
                    return seen
                }
            }
            for try await edges in group { seen.formUnion(edges) }
        }
        for edge in seen.subtracting(TransitionLog.allowed).sorted() {
            Issue.record("not listed: \(edge)")
        }
        guard seeds == 1...60 else { return }
        seen.formUnion(EdgeTests.ofEndedSubmissions)
        seen.formUnion(EdgeTests.ofAssets)
        seen.formUnion(EdgeTests.ofRemovals)
        seen.formUnion(EdgeTests.ofExpiry)
        for edge in TransitionLog.ofCatalogs.subtracting(seen).sorted() {
            Issue.record("never seen: \(edge)")
        }
    }

    /// Runs one history; false when it fails, with the failure recorded.
    private static func agrees(_ seed: UInt64, _ cluster: HistoryCluster) async throws -> Bool {
        do {
            try await History.run(seed: seed, on: cluster)
            return true
        } catch let failed as History.Failed {
            var shrinker = HistoryShrinker(cluster: cluster)
            let shortest = try await shrinker.shrink(failed)
            let text = "\(failed)\n\nShortened: \(shortest)"
            Issue.record(Comment(rawValue: text))
            return false
        }
    }

    @Test func aQueueWithoutTheFenceIsCaught() async throws {
        let cluster = try await HistoryCluster("unfenced", fence: .none)
        var caught: History.Failed?
        for seed in UInt64(1)...200 where caught == nil {
            do {
                try await History.run(seed: seed, on: cluster)
            } catch let failed as History.Failed {
                caught = failed
            }
        }
        await cluster.close()
        #expect(caught?.kind.contains("report") == true, "\(caught?.description ?? "not caught")")
    }
}
