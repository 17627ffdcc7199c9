import Foundation
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Random histories of assets at an edge: stored, refreshed, paused, removed, evicted, expired, lost and
/// fetched again, with workers that die at any moment. Catalogs share keys.
@Suite struct LifeTests {
    private static let environment = ProcessInfo.processInfo.environment

    /// `DRAY_SEED` for one seed, or the first of `DRAY_SEEDS`; from 1 otherwise.
    private static var seeds: ClosedRange<UInt64> {
        let first = environment["DRAY_SEED"].flatMap { UInt64($0) }
        let count = environment["DRAY_SEEDS"].flatMap { UInt64($0) } ?? (first == nil ? 20 : 1)
        return (first ?? 1)...((first ?? 1) + max(count, 1) - 1)
    }

    private static let steps = 120

    @Test func filesAndCountsAgreeWithRecords() async throws {
        let seeds = Self.seeds
        try await QueueFixture.with("lives") { fixture in
            let database = HistoryDatabase(pool: fixture.pool)
            let edges = TransitionLog.edges(AssetState.machine, "asset")
            var seen: Set<TransitionLog.Edge> = []
            for seed in seeds {
                try await database.reset()
                try await fixture.pool.query("DELETE FROM transition")
                var history = LifeHistory(
                    fixture: fixture, seed: seed, unseen: edges.subtracting(seen))
                for _ in 0..<Self.steps {
                    try await history.step()
                    guard try await history.agrees() else { return }
                }
                guard try await history.end() else { return }
                seen.formUnion(try await fixture.transitions.seen())
                for missing in try await fixture.transitions.withoutEvents() {
                    Issue.record("seed \(seed): \(missing)")
                }
            }
            for edge in seen.subtracting(TransitionLog.allowed).sorted() {
                Issue.record("not listed: \(edge)")
            }
            guard seeds == 1...20 else { return }
            let ends: [(AssetState, AssetState)] = [
                (.completed, .removing), (.removing, .removed), (.completed, .expiring),
                (.expiring, .expired),
            ]
            for (old, new) in ends {
                #expect(
                    seen.contains(.init(table: "asset", old: old.rawValue, new: new.rawValue)))
            }
        }
    }

    /// A file that goes although another catalog has recorded it.
    @Test func aFileThatIsGoneTooEarlyIsCaught() async throws {
        try await QueueFixture.with("lives_caught") { fixture in
            var history = LifeHistory(fixture: fixture, seed: 1)
            var findings: [String] = []
            for _ in 0..<200 where findings.isEmpty {
                try await history.step()
                history.loseSilently()
                findings = try await history.findings()
            }
            #expect(findings.contains { $0.hasPrefix("recorded and not stored") }, "\(findings)")
        }
    }
}
