import API
import Model
import TestSupport
import Testing
import Transfer

@testable import Worker

/// The limits that coordinators set, at the engine that keeps to them.
@Suite struct LimitsTests {
    private static let origin = "http://origin.test"

    private static func with(_ body: (TransferEngine, HeldWork) throws -> Void) throws {
        let engine = try TransferEngine()
        defer { engine.shutdown() }
        try body(engine, HeldWork())
    }

    private static func share(_ number: Int64, connections: Int) -> OriginQuota {
        var share = OriginQuota(origin: origin, seconds: 30)
        share.number = number
        share.connections = connections
        return share
    }

    @Test func anOriginsQuotaLimitsTheEngine() throws {
        try Self.with { engine, _ in
            let quotas = OriginQuotas(engine: engine)
            #expect(quotas.isEmpty && quotas.uses(engine.originUses) == nil)
            quotas.take([Self.share(1, connections: 2)], askedAt: .now)
            #expect(!quotas.isEmpty && engine.isAnyLimited)
            // Without limits there is no quota to renew.
            quotas.take([OriginQuota(origin: Self.origin, seconds: 30)], askedAt: .now)
            #expect(quotas.isEmpty)
        }
    }

    @Test func aSitesQuotaIsReturnedWithoutJobs() throws {
        try Self.with { engine, held in
            let quotas = SiteQuotas(engine: engine, held: held)
            #expect(quotas.uses() == nil && !quotas.needReport(nil))
            let share = SiteQuota(
                site: SiteID(1), number: 4, bytesPerSecond: 1_000, seconds: 30)
            quotas.take([share], askedAt: .now)
            let uses = try #require(quotas.uses())
            #expect(uses.map(\.number) == [4] && uses.map(\.isOver) == [nil])
            var over = uses
            over[0].isOver = true
            #expect(quotas.needReport(over))
            quotas.reported(over)
            #expect(quotas.isEmpty)
        }
    }

    @Test func originsInCooldownAreSuspectUntilTheyServe() throws {
        let suspects = SuspectOrigins()
        let plan = MirrorPlan([Self.origin + "/a"], main: Self.origin + "/a")
        let other = "http://edge.origin.test"
        #expect(suspects.served(by: other, plan) == nil)
        suspects.add([other])
        #expect(suspects.served(by: other, plan)?.map(\.origin) == [Self.origin, other])
        // Once is enough.
        #expect(suspects.served(by: other, plan) == nil)
    }
}
