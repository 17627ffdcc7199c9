import Model
import TestSupport
import Testing

@testable import JobQueue

/// How limits are divided among workers.
@Suite(.computing) struct QuotaTests {
    private static func pool(
        _ limit: QuotaAmounts, users: Int64, index: Int64 = 0, held: QuotaAmounts = QuotaAmounts()
    ) -> Quota.Pool {
        Quota.Pool(limit: limit, users: users, index: index, heldByOthers: held)
    }

    @Test(arguments: 1...13 as ClosedRange<Int64>)
    func partsAddUpToTheLimit(users: Int64) {
        let limit = QuotaAmounts(connections: 6, requests: 30, bytes: 60_001)
        let parts = (0..<users).map { Self.pool(limit, users: users, index: $0).part }
        #expect(parts.compactMap(\.connections).reduce(0, +) == 6)
        #expect(parts.compactMap(\.requests).reduce(0, +) == 30)
        #expect(parts.compactMap(\.bytes).reduce(0, +) == 60_001)
        let spread = parts.compactMap(\.requests)
        #expect((spread.max() ?? 0) - (spread.min() ?? 0) <= 1)
    }

    @Test func lessIsGrantedAtOnceAndMoreAsOthersGiveItUp() {
        let limit = QuotaAmounts(connections: 6)
        var first = Quota(first: 1)
        first.divide(Self.pool(limit, users: 1), number: 2)
        #expect(first.granted.connections == 6)
        var second = Quota(first: 3)
        second.divide(Self.pool(limit, users: 2, index: 1, held: first.held), number: 4)
        #expect(second.granted.connections == 0)
        first.divide(Self.pool(limit, users: 2, held: second.held), number: 5)
        #expect(first.granted.connections == 3 && first.held.connections == 6)
        // It has acknowledged the grant, and two transfers of the previous one still run.
        first.settle(number: 2, used: QuotaAmounts(connections: 3))
        #expect(first.held.connections == 6)
        first.settle(number: 5, used: QuotaAmounts(connections: 5))
        #expect(first.held.connections == 5)
        second.divide(Self.pool(limit, users: 2, index: 1, held: first.held), number: 6)
        #expect(second.granted.connections == 1)
        first.settle(number: 5, used: QuotaAmounts(connections: 2))
        second.divide(Self.pool(limit, users: 2, index: 1, held: first.held), number: 7)
        #expect(second.granted.connections == 3)
    }

    @Test func aWorkerThatComesSecondHasItsPartSoon() {
        let limit = QuotaAmounts(requests: 12)
        var quotas = [Quota(first: 1), Quota(first: 2)]
        quotas[0].divide(Self.pool(limit, users: 1), number: 3)
        var due = [quotas[0].askAgainSeconds(in: Self.pool(limit, users: 1)), 0.01]
        var (now, number) = (0.0, Int64(3))
        while quotas[1].granted.requests != 6, now < 2 {
            let index = due[0] <= due[1] ? 0 : 1
            now = due[index]
            number += 1
            let pool = Self.pool(limit, users: 2, index: Int64(index), held: quotas[1 - index].held)
            // The first worker has sent four requests of the first grant.
            quotas[index].settle(
                number: quotas[index].number, used: QuotaAmounts(requests: index == 0 ? 4 : 0))
            quotas[index].divide(pool, number: number)
            due[index] = now + quotas[index].askAgainSeconds(in: pool)
        }
        #expect(now < 0.25)
        // All is divided: from now on the workers report less often.
        for index in quotas.indices {
            let pool = Self.pool(limit, users: 2, index: Int64(index), held: quotas[1 - index].held)
            quotas[index].settle(number: quotas[index].number, used: QuotaAmounts(requests: 6))
            quotas[index].divide(pool, number: number + 1 + Int64(index))
            #expect(quotas[index].askAgainSeconds(in: pool) >= 0.25)
        }
    }

    @Test func aGrantWithoutAReportIsNotEnded() {
        var quota = Quota(first: 1)
        quota.divide(Self.pool(QuotaAmounts(requests: 4), users: 1), number: 2)
        quota.divide(Self.pool(QuotaAmounts(requests: 4), users: 1), number: 3)
        let isEndedByOld = quota.end(number: 2, used: QuotaAmounts())
        #expect(!isEndedByOld && quota.granted.requests == 4)
        let isEnded = quota.end(number: 3, used: QuotaAmounts(requests: 1))
        #expect(isEnded)
        #expect(quota.granted.requests == 0 && quota.held.requests == 1)
    }

    /// Claims, reports, deaths, new workers, other limits and lost answers as they come: what is granted is never
    /// more than the limit, and what is used is never more than what is granted; a second after a change nine
    /// tenths of the limit are used while there is work.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func aLimitIsKeptAndUsed(seed: UInt64) {
        var simulation = QuotaSimulation(seed: seed)
        simulation.run(milliseconds: 20_000)
        #expect(simulation.violations.isEmpty, "\(simulation.violations.prefix(3))")
        #expect(simulation.windows > 2)
        #expect(simulation.worstUse >= 0.9, "\(simulation.story)")
    }
}
