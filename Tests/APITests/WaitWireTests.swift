import API
import Foundation
import Model
import TestSupport
import Testing

@Suite struct WaitWireTests {
    private static let reasons: [CatalogWait.Reason] = [
        .notBefore, .assetsNotBefore, .schedule, .queuePaused(queue: "q"),
        .noWorker(queue: "q", workers: 2),
        .retry("origin.http.503"), .retry(nil), .workerSilent(worker: "w", leases: 3),
        .workerSilent(worker: nil, leases: 1), .workerStoring,
        .originCooldown(origin: "http://o", code: "origin.http.429", origins: 2),
        .originCooldown(origin: "http://o", code: nil, origins: 1),
        .originLimit(origin: "http://o", origins: 1), .siteLimit, .otherCatalogs(4),
    ]

    @Test(arguments: reasons)
    func aReasonComesBackAsItWas(reason: CatalogWait.Reason) throws {
        for wait in [CatalogWait(reason), CatalogWait(reason, seconds: 1.5, until: 2e9)] {
            let text = try JSONEncoder().encode(wait)
            #expect(try JSONDecoder().decode(CatalogWait.self, from: text) == wait)
        }
    }

    @Test func aReasonOfANewerCoordinatorIsKept() throws {
        let text = #"{"reason":"moonPhase","seconds":3,"until":7,"moon":{"phase":1}}"#
        let wait = try JSONDecoder().decode(CatalogWait.self, from: Data(text.utf8))
        #expect(wait == CatalogWait(.other("moonPhase"), seconds: 3, until: 7))
    }

    private static let estimates: [CatalogFinish.Estimate] =
        [
            .workers(3), .originLimit(origin: "http://o", origins: 2), .siteBandwidth, .schedule,
            .notBefore, .otherCatalogs(1), .nothingLeft, .other("moonPhase"),
        ].map { .finishes(at: 2e9, seconds: 1.5, $0) }
        + [
            .noWorker(queue: "q"), .queuePaused(queue: "q"), .paused, .siteFailing("storage.full"),
            .noRoom(missingBytes: 7), .scheduleClosed, .noRate, .noSize, .other("moonPhase"),
        ].map { .unknown($0) }

    @Test(arguments: estimates)
    func anEstimateComesBackAsItWas(estimate: CatalogFinish.Estimate) throws {
        for deadline in CatalogFinish.Deadline.allCases {
            let finish = CatalogFinish(estimate, deadline: deadline)
            let text = try JSONEncoder().encode(finish)
            #expect(try JSONDecoder().decode(CatalogFinish.self, from: text) == finish)
        }
    }

    @Test func whatEndsLastComesFirst() {
        let waits = [
            CatalogWait(.notBefore, seconds: 5), CatalogWait(.siteLimit),
            CatalogWait(.schedule, seconds: 60), CatalogWait(.otherCatalogs(1)),
        ]
        #expect(
            CatalogWait.ordered(waits).map(\.reason)
                == [.siteLimit, .otherCatalogs(1), .schedule, .notBefore])
        #expect(
            CatalogWait.ordered(Array(repeating: CatalogWait(.siteLimit), count: 9)).count
                == CatalogWait.maxReported)
    }

    private func outlook(
        _ deadline: Double?, _ waits: [CatalogWait] = [], left: Double? = nil,
        state: CatalogState = .running
    ) -> DeadlineOutlook? {
        DeadlineOutlook.of(state, deadlineSeconds: deadline, waits: waits, secondsLeft: left)
    }

    @Test func anOutlookIsGivenOnlyWhereTheDeadlineIsNotMet() {
        #expect(outlook(nil, [CatalogWait(.schedule)], left: 1e9) == nil)
        #expect(outlook(100, left: 100) == nil)
        // Estimates are not exact.
        #expect(outlook(100, left: 114) == nil)
        #expect(outlook(100, left: 116) == DeadlineOutlook(.late, seconds: 16))
        #expect(outlook(100, [CatalogWait(.schedule, seconds: 99)]) == nil)
        #expect(
            outlook(100, [CatalogWait(.schedule, seconds: 130)])
                == DeadlineOutlook(.blocked, seconds: 30))
        #expect(outlook(100, [CatalogWait(.schedule)]) == DeadlineOutlook(.blocked))
        // Who knows how long a pause lasts.
        #expect(outlook(100, [CatalogWait(.queuePaused(queue: "q"))]) == nil)
        #expect(outlook(-3) == DeadlineOutlook(.missed, seconds: 3))
        #expect(outlook(-3, state: .completed) == DeadlineOutlook(.missed, seconds: 3))
        #expect(outlook(-3, state: .failed) == DeadlineOutlook(.missed, seconds: 3))
        #expect(outlook(3, left: 100, state: .completed) == nil)
        for state in [CatalogState.cancelled, .interrupted, .open] {
            #expect(outlook(-3, state: state) == nil)
        }
    }

    @Test func aDeadlineIsBlockedByWhatKeepsEveryJobFromBeginning() {
        func wait(_ reason: CatalogWait.Reason, _ seconds: Double? = nil) -> CatalogWait {
            CatalogWait(reason, seconds: seconds)
        }
        let cooldown = CatalogWait.Reason.originCooldown(origin: "http://o", code: nil, origins: 1)
        let limit = CatalogWait.Reason.originLimit(origin: "http://o", origins: 1)
        let blocked = DeadlineOutlook(.blocked, seconds: 30)
        // Of jobs that wait for different things the first one may begin.
        #expect(outlook(100, [wait(.retry(nil), 900), wait(cooldown, 50)]) == nil)
        #expect(outlook(100, [wait(.retry(nil), 900), wait(limit)]) == nil)
        #expect(outlook(100, [wait(.retry(nil), 900), wait(cooldown, 130)]) == blocked)
        // What holds the catalog has to end as well.
        #expect(outlook(100, [wait(.schedule, 130), wait(.notBefore, 50)]) == blocked)
        #expect(outlook(100, [wait(.schedule, 130), wait(cooldown, 20)]) == blocked)
        #expect(outlook(100, [wait(.schedule, 20), wait(cooldown, 130)]) == blocked)
        #expect(outlook(100, [wait(.queuePaused(queue: "q")), wait(.notBefore, 50)]) == nil)
        #expect(
            outlook(100, [wait(.schedule), wait(cooldown, 20)]) == DeadlineOutlook(.blocked))
    }
}
