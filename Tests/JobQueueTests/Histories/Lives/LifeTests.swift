import Foundation
import JobQueue
import Model
import Postgres
import TestSupport
import Testing

/// Random histories of assets at an edge: stored, refreshed, paused, removed, evicted, expired, lost and
/// fetched again, with checks that fail and workers that die at any moment. Catalogs share keys.
@Suite struct LifeTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let usualSeeds: ClosedRange<UInt64> = 1...20

    /// `DRAY_SEED` for one seed, or the first of `DRAY_SEEDS`; 20 from 1 otherwise.
    private static var seeds: ClosedRange<UInt64> {
        let first = environment["DRAY_SEED"].flatMap { UInt64($0) }
        let count = environment["DRAY_SEEDS"].flatMap { UInt64($0) }
        guard first != nil || count != nil else { return usualSeeds }
        return (first ?? 1)...((first ?? 1) + max(count ?? 1, 1) - 1)
    }

    private static let steps = 120
    /// Maximum number of steps of the last history, which continues until each change has been seen.
    private static let mostSteps = 1_000

    @Test func filesAndCountsAgreeWithRecords() async throws {
        let seeds = Self.seeds
        let isUsual = seeds == Self.usualSeeds
        try await QueueFixture.with { fixture in
            let database = HistoryDatabase(pool: fixture.pool)
            let edges = TransitionLog.edges(AssetState.machine, "asset")
            var seen: Set<TransitionLog.Edge> = []
            var events: Set<String> = []
            for seed in seeds {
                try await database.reset()
                try await fixture.pool.query("DELETE FROM transition")
                var history = LifeHistory(fixture: fixture, seed: seed, unseen: edges)
                let seeks = isUsual && seed == seeds.upperBound
                for step in 0..<Self.mostSteps
                where step < Self.steps || seeks && !history.unseen.isEmpty {
                    if step == Self.steps { history.unseen.subtract(seen) }
                    try await history.step()
                    guard try await history.agrees() else { return }
                }
                do {
                    guard try await history.end() else { return }
                } catch {
                    Issue.record("seed \(seed): \(error); \(history.tail)")
                    return
                }
                seen.formUnion(try await fixture.transitions.seen())
                let raised = try await fixture.transitions.raised()
                events.formUnion(raised.events)
                for change in raised.unnamed { Issue.record("seed \(seed): \(change)") }
                for missing in try await fixture.transitions.withoutEvents() {
                    Issue.record("seed \(seed): \(missing)")
                }
            }
            for edge in seen.subtracting(TransitionLog.allowed).sorted() {
                Issue.record("not listed: \(edge)")
            }
            guard isUsual else { return }
            for edge in edges.subtracting(seen).sorted() { Issue.record("never seen: \(edge)") }
            #expect(events.isSuperset(of: AssetEvent.allCases.map { "asset.\($0.rawValue)" }))
        }
    }

    /// A file that goes although another catalog has recorded it.
    @Test func aFileThatIsGoneTooEarlyIsCaught() async throws {
        try await QueueFixture.with { fixture in
            let findings = try await Self.findings(fixture) { $0.loseSilently() }
            #expect(findings.contains { $0.hasPrefix("recorded and not stored") }, "\(findings)")
        }
    }

    /// A file that stays although no record has it.
    @Test func anUnrecordedFileIsCaught() async throws {
        try await QueueFixture.with { fixture in
            let findings = try await Self.findings(fixture) { try await $0.forgetSilently() }
            #expect(findings.contains { $0.hasPrefix("stored and not known") }, "\(findings)")
        }
    }

    /// The first findings of a history with a fault after each step.
    private static func findings(
        _ fixture: QueueFixture, _ fault: (inout LifeHistory) async throws -> Void
    ) async throws -> [String] {
        var history = LifeHistory(fixture: fixture, seed: 1)
        for _ in 0..<200 {
            try await history.step()
            try await fault(&history)
            let findings = try await history.findings()
            if !findings.isEmpty { return findings }
        }
        return []
    }
}
