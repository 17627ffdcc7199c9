import API
import Model
import TestSupport
import Testing

@testable import Worker

@Suite struct HeldWorkTests {
    typealias Instant = HeldWork.Instant

    private let start = Instant.now

    private func job(_ number: Int64, asset: Int64 = 1) -> Job {
        .fetch(
            number, asset: asset, "http://origin.test/\(number)", key: "origin.test/\(number)")
    }

    private func jobs(
        _ numbers: [Int64], of lease: LeaseID
    ) -> [(job: JobID, lease: LeaseID)] {
        numbers.map { (JobID($0), lease) }
    }

    private func after(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    @Test func aLeaseIsDroppedBeforeItExpires() {
        let held = HeldWork()
        held.add("l", [job(1), job(2)], at: SiteID(1), seconds: 30, askedAt: start)
        #expect(held.isHeld("l", now: after(27.9)))
        #expect(!held.isHeld("l", now: after(28)))
        #expect(held.dropLost(now: after(27.9)).isEmpty)
        #expect(held.dropLost(now: after(28)) == ["l"])
        #expect(held.isEmpty && held.pendingCount == 0 && held.leases.isEmpty)
        #expect(!held.isHeld("l", now: start))
    }

    @Test func theMarginOfAShortLeaseIsAPartOfIt() {
        let held = HeldWork()
        held.add("l", [job(1)], at: SiteID(1), seconds: 3, askedAt: start)
        #expect(held.isHeld("l", now: after(2.3)))
        #expect(!held.isHeld("l", now: after(2.5)))
        #expect(held.leasesToExtend(now: after(0.9)).isEmpty)
        #expect(held.leasesToExtend(now: after(1.1)) == ["l"])
    }

    @Test func aHeartbeatCountsFromBeforeItWasSent() {
        let held = HeldWork()
        held.add("l", [job(1)], at: SiteID(1), seconds: 30, askedAt: start)
        held.extend(["l", "unknown"], seconds: 30, askedAt: after(10))
        #expect(held.leases == ["l"])
        #expect(held.isHeld("l", now: after(37)))
        #expect(!held.isHeld("l", now: after(38)))
        #expect(held.leasesToExtend(now: after(19)).isEmpty)
    }

    @Test func jobsAreCountedUntilTheyAreReported() {
        let held = HeldWork()
        held.add("a", [job(1), job(2)], at: SiteID(1), seconds: 30, askedAt: start)
        held.add("b", [job(3)], at: SiteID(1), seconds: 30, askedAt: start)
        #expect(held.count == 3 && held.pendingCount == 3)
        held.downloaded(JobID(1), "a")
        held.downloaded(JobID(1), "a")
        #expect(held.count == 3 && held.pendingCount == 2)
        held.remove(jobs([1, 2], of: "a"))
        #expect(held.leases == ["b"])
        #expect(held.count == 1 && held.pendingCount == 1)
        // Once more, and for a lease that does not hold it: nothing.
        held.remove(jobs([1, 3], of: "a"))
        #expect(held.count == 1 && held.pendingCount == 1)
    }

    /// A job that is received, or is no fetch, needs no connection.
    @Test func jobsThatNeedAConnectionAreCounted() {
        let held = HeldWork()
        let list = Job(id: JobID(9), asset: AssetID(1), task: .checksums(directory: "d"))
        held.add("a", [job(1), job(2), list], at: SiteID(1), seconds: 30, askedAt: start)
        #expect(held.pendingCounts == (2, 1))
        held.received(JobID(1), "a")
        held.received(JobID(1), "a")
        #expect(held.pendingCounts == (1, 2) && held.pendingCount == 3)
        held.downloaded(JobID(1), "a")
        #expect(held.pendingCounts == (1, 1))
        held.remove(jobs([1, 2], of: "a"))
        #expect(held.pendingCounts == (0, 1))
        #expect(held.dropLost { $0 == "a" } == ["a"])
        #expect(held.pendingCounts == (0, 0))
    }

    @Test func aLostLeaseIsNamedByTheCoordinator() {
        let held = HeldWork()
        held.add("a", [job(1)], at: SiteID(1), seconds: 30, askedAt: start)
        held.add("b", [job(2)], at: SiteID(1), seconds: 30, askedAt: start)
        #expect(held.dropLost(now: start) { $0 == "a" } == ["a"])
        #expect(held.leases == ["b"] && held.count == 1)
    }

    @Test func aLostLeaseDoesNotAffectTheNextOne() {
        let held = HeldWork()
        held.add("old", [job(1)], at: SiteID(1), seconds: 30, askedAt: start)
        #expect(held.dropLost(now: after(30)) == ["old"])
        held.add("new", [job(1)], at: SiteID(1), seconds: 30, askedAt: after(30))
        held.downloaded(JobID(1), "old")
        held.remove(jobs([1], of: "old"))
        #expect(held.count == 1 && held.pendingCount == 1 && held.leases == ["new"])
    }

    @Test func aCancelledJobHasNoResult() {
        let held = HeldWork()
        held.add("a", [job(1), job(2)], at: SiteID(1), seconds: 30, askedAt: start)
        held.add("b", [job(3)], at: SiteID(1), seconds: 30, askedAt: start)
        #expect(held.cancel([JobID(1), JobID(3), JobID(9)]) == ["a": [JobID(1)], "b": [JobID(3)]])
        #expect(held.cancel([JobID(1)]).isEmpty)
        #expect(held.isCancelled(JobID(1), "a") && !held.isCancelled(JobID(2), "a"))
        #expect(!held.isCancelled(JobID(1), "b"))
        let results = [(1, "a"), (2, "a"), (3, "b")].map { number, lease in
            JobReport(job: JobID(Int64(number)), lease: lease, outcome: .returned())
        }
        #expect(held.withoutCancelled(results).map(\.job) == [JobID(2)])
        #expect(held.count == 1 && held.pendingCount == 1 && held.leases == ["a"])
        // The same job under another lease is another.
        held.add("c", [job(1)], at: SiteID(1), seconds: 30, askedAt: start)
        #expect(!held.isCancelled(JobID(1), "c"))
    }
}
