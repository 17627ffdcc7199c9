import API
import Model
import Testing
import Transfer

@testable import Worker

@Suite struct QuotaTableTests {
    private let start = OriginQuotaTable.Instant.now

    private func after(_ seconds: Double) -> OriginQuotaTable.Instant { start + .seconds(seconds) }

    private func share(_ seconds: Double, connections: Int? = 2) -> OriginQuota {
        OriginQuota(origin: "http://h", connections: connections, seconds: seconds)
    }

    /// The time counts from before the request, and ends a little before the coordinator's.
    @Test func aShareHoldsFromWhenItWasAskedFor() {
        var table = OriginQuotaTable()
        let long = table.take([share(30)], askedAt: start, now: after(4))
        #expect(long.map(\.origin) == ["http://h"])
        #expect(abs((long.first?.seconds ?? 0) - 25.75) < 0.001)
        let short = table.take([share(1)], askedAt: start, now: start)
        #expect(abs((short.first?.seconds ?? 0) - 0.9) < 0.001)
        let late = table.take([share(1)], askedAt: start, now: after(3))
        #expect((late.first?.seconds ?? 0) < 0 && table.isEmpty)
    }

    @Test func aShareInUseIsRenewedInTime() {
        var table = OriginQuotaTable()
        _ = table.take([share(9)], askedAt: start, now: start)
        let early = table.needsRenewal(["http://h"], now: after(2.8))
        let due = table.needsRenewal(["http://h"], now: after(3))
        let unused = table.needsRenewal(["http://other"], now: after(3))
        #expect(!early && due && !unused)
        _ = table.take([share(9)], askedAt: after(3), now: after(3))
        let renewed = table.needsRenewal(["http://h"], now: after(5))
        #expect(!renewed)
        // One that is over is not renewed by asking: only new work brings another.
        let over = table.needsRenewal(["http://h"], now: after(12))
        #expect(!over && table.isEmpty)
    }

    @Test func limitsThatAreLiftedNeedNoRenewal() {
        var table = OriginQuotaTable()
        _ = table.take([share(9)], askedAt: start, now: start)
        let lifted = table.take([share(9, connections: nil)], askedAt: after(1), now: after(1))
        #expect(lifted.count == 1 && table.isEmpty)
    }

    @Test func nonsenseIsNoShare() {
        var table = OriginQuotaTable()
        let nonsense = [
            OriginQuota(origin: "not an origin", connections: 1, seconds: 9),
            OriginQuota(origin: "http://h", connections: 1, seconds: .nan),
        ]
        let grants = table.take(nonsense, askedAt: start, now: start)
        #expect(grants.map(\.seconds) == [0] && table.isEmpty)
    }

    /// Answers may overtake each other: only the latest share counts.
    @Test func anEarlierShareIsSkipped() {
        var table = OriginQuotaTable()
        var later = share(30, connections: 1)
        later.number = 7
        var earlier = share(30, connections: 4)
        earlier.number = 6
        let answer1 = table.take([later], askedAt: start, now: start)
        #expect(answer1.count == 1)
        let answer2 = table.take([earlier], askedAt: start, now: start)
        #expect(answer2.isEmpty)
        #expect(table.holds("http://h", number: 7))
    }

    @Test func aQuotaIsRequestedAgainWhenItsAnswerDemandsIt() {
        var table = OriginQuotaTable()
        var pending = share(30, connections: 0)
        pending.againSeconds = 0.1
        _ = table.take([pending], askedAt: start, now: start)
        let answer3 = table.needsRenewal(["http://h"], now: after(0.05))
        #expect(!answer3)
        let answer4 = table.needsRenewal(["http://h"], now: after(0.1))
        #expect(answer4)
        let answer5 = table.needsRenewal(["http://other"], now: after(0.1))
        #expect(!answer5)
    }

    @Test func aQuotaIsReturnedAfterAPause() {
        var table = OriginQuotaTable()
        var granted = share(30)
        granted.number = 3
        _ = table.take([granted], askedAt: start, now: start)
        let answer6 = table.isOver("http://h", isIdle: true, now: start)
        #expect(!answer6)
        let answer7 = table.isOver("http://h", isIdle: false, now: after(0.15))
        #expect(!answer7)
        let answer8 = table.isOver("http://h", isIdle: true, now: after(0.2))
        #expect(!answer8)
        let answer9 = table.isOver("http://h", isIdle: true, now: after(0.4))
        #expect(answer9)
        // One that came meanwhile stays.
        table.forget("http://h", number: 2)
        #expect(table.holds("http://h", number: 3))
        table.forget("http://h", number: 3)
        #expect(table.isEmpty)
    }

    /// Others wait for what is used beyond the last share, and for the report that it is no more.
    @Test func whatIsAboveAShareIsReportedUntilItIsNot() {
        func use(_ connections: Int, isAbove: Bool) -> OriginUse {
            OriginUse(
                origin: "http://h", number: 1, connections: connections, requests: 0, active: 0,
                isIdle: false, isAbove: isAbove)
        }
        var table = OriginQuotaTable()
        #expect(!table.isUnsettled([use(2, isAbove: false)]))
        #expect(table.isUnsettled([use(4, isAbove: true)]))
        table.report([use(4, isAbove: true)])
        // Nothing new, then less, then as little as is allowed.
        #expect(!table.isUnsettled([use(4, isAbove: true)]))
        #expect(table.isUnsettled([use(3, isAbove: true)]))
        table.report([use(3, isAbove: true)])
        #expect(table.isUnsettled([use(2, isAbove: false)]))
        table.report([use(2, isAbove: false)])
        #expect(!table.isUnsettled([use(1, isAbove: false)]))
    }

    /// With requests that count for minutes there would be twenty heartbeats a second.
    @Test func returnedQuotasAreReportedAgainOnlyWithLessUse() {
        func use(_ requests: Int, isOver: Bool = true) -> OriginQuotaUse {
            OriginQuotaUse(
                origin: "http://h", number: 1, requests: requests, isOver: isOver ? true : nil)
        }
        var table = OriginQuotaTable()
        #expect(!table.hasUnreported([use(2, isOver: false)]))
        #expect(table.hasUnreported([use(2)]))
        table.report([use(2)])
        #expect(!table.hasUnreported([use(2)]))
        #expect(table.hasUnreported([use(1)]))
        table.report([use(1, isOver: false)])
        #expect(table.hasUnreported([use(1)]))
    }

    @Test func everyUseHasItsTurnInAReport() {
        var table = OriginQuotaTable()
        let all = (0..<10).map { number in
            (
                use: OriginQuotaUse(
                    origin: "http://h\(number)", number: 1, isOver: number == 7 ? true : nil),
                isAbove: number == 8
            )
        }
        #expect(table.next(all, most: 10).count == 10)
        var seen: Set<String> = []
        for _ in 0..<4 {
            let report = table.next(all, most: 4).map(\.origin)
            #expect(report.prefix(2) == ["http://h7", "http://h8"])
            #expect(Set(report).count == 4)
            seen.formUnion(report)
        }
        #expect(seen.count == 10)
    }

    /// After a restore of the database.
    @Test func aLowerNumberCountsOnceTheShareBeforeIsOver() {
        var table = OriginQuotaTable()
        func share(_ number: Int64) -> OriginQuota {
            var share = OriginQuota(origin: "http://h", connections: 2, seconds: 30)
            share.number = number
            return share
        }
        let first = table.take([share(900)], askedAt: start, now: start)
        #expect(first.count == 1)
        let ignored = table.take([share(3)], askedAt: after(10), now: after(10))
        #expect(ignored.isEmpty)
        let taken = table.take([share(3)], askedAt: after(31), now: after(31))
        #expect(taken.count == 1)
    }

    @Test func aSitesQuotaIsReturnedAfterAPause() {
        let site = SiteID(1)
        var table = SiteQuotaTable()
        let given = SiteQuota(site: site, number: 4, bytesPerSecond: 100, seconds: 30)
        _ = table.take([given], askedAt: start, now: start)
        let answer10 = table.giveUp(held: [], now: start)
        #expect(answer10.isEmpty)
        let answer11 = table.giveUp(held: [site], now: after(0.1))
        #expect(answer11.isEmpty)
        let answer12 = table.giveUp(held: [], now: after(0.2))
        #expect(answer12.isEmpty)
        let answer13 = table.giveUp(held: [], now: after(0.4))
        #expect(answer13 == [site])
        let uses = [SiteQuotaUse(site: site, number: 4, isOver: true)]
        #expect(table.used == uses)
        // Work has come meanwhile, with a share of its own.
        let next = SiteQuota(site: site, number: 5, bytesPerSecond: 50, seconds: 30)
        _ = table.take([next], askedAt: after(0.4), now: after(0.4))
        let answer14 = table.forget(uses)
        #expect(answer14.isEmpty)
        #expect(table.used == [SiteQuotaUse(site: site, number: 5)])
    }
}
