import Foundation
import TestSupport
import Testing
import Transfer

/// Random histories of objects that are fetched in several attempts.
@Suite("Histories of attempts") struct ResumeHistoryTests {
    private static let environment = ProcessInfo.processInfo.environment

    /// `DRAY_SEED` for one seed, or the first of `DRAY_SEEDS`; 1,000 from 1 otherwise.
    private static var seeds: ClosedRange<UInt64> {
        let first = environment["DRAY_SEED"].flatMap { UInt64($0) }
        let count = environment["DRAY_SEEDS"].flatMap { UInt64($0) } ?? (first == nil ? 1_000 : 1)
        return (first ?? 1)...((first ?? 1) + max(count, 1) - 1)
    }

    private static let lanes: UInt64 = 4

    @Test("every one ends in the right bytes or in a failure, never in wrong bytes")
    func neverWrongBytes() async throws {
        let seeds = Self.seeds
        let counts = try await withThrowingTaskGroup(of: ResumeHistory.Counts.self) { group in
            for lane in 0..<Self.lanes {
                group.addTask {
                    let origin = try FaultOrigin()
                    let fetcher = try Fetcher { $0.loops = 1 }
                    var counts = ResumeHistory.Counts()
                    for seed in seeds where seed % Self.lanes == lane {
                        do {
                            counts =
                                try await counts
                                + ResumeHistory.run(seed: seed, origin: origin, fetcher: fetcher)
                        } catch let failed as ResumeHistory.Failed {
                            Issue.record(Comment(rawValue: "\(failed)"))
                            break
                        }
                    }
                    return counts
                }
            }
            return try await group.reduce(ResumeHistory.Counts()) { $0 + $1 }
        }
        guard seeds.count >= 100 else { return }
        // They cover enough: of a hundred, many resume, and many complete.
        #expect(counts.resumed > seeds.count / 4, "\(counts)")
        #expect(counts.successes > seeds.count / 2, "\(counts)")
        #expect(counts.failures > seeds.count, "\(counts)")
        #expect(counts.mismatches > 0, "\(counts)")
    }
}
