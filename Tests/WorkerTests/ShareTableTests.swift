import Model
import Testing

@testable import Worker

@Suite struct ShareTableTests {
    private let start = ShareTable.Instant.now

    private func after(_ seconds: Double) -> ShareTable.Instant { start + .seconds(seconds) }

    private func share(_ seconds: Double, connections: Int? = 2) -> OriginShare {
        OriginShare(origin: "http://h", connections: connections, seconds: seconds)
    }

    /// The time counts from before the request, and ends a little before the coordinator's.
    @Test func aShareHoldsFromWhenItWasAskedFor() {
        var table = ShareTable()
        let long = table.take([share(30)], askedAt: start, now: after(4))
        #expect(long.map(\.origin) == ["http://h"])
        #expect(abs((long.first?.seconds ?? 0) - 25.75) < 0.001)
        let short = table.take([share(1)], askedAt: start, now: start)
        #expect(abs((short.first?.seconds ?? 0) - 0.9) < 0.001)
        let late = table.take([share(1)], askedAt: start, now: after(3))
        #expect((late.first?.seconds ?? 0) < 0 && table.isEmpty)
    }

    @Test func aShareInUseIsRenewedInTime() {
        var table = ShareTable()
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
        var table = ShareTable()
        _ = table.take([share(9)], askedAt: start, now: start)
        let lifted = table.take([share(9, connections: nil)], askedAt: after(1), now: after(1))
        #expect(lifted.count == 1 && table.isEmpty)
    }

    @Test func nonsenseIsNoShare() {
        var table = ShareTable()
        let nonsense = [
            OriginShare(origin: "not an origin", connections: 1, seconds: 9),
            OriginShare(origin: "http://h", connections: 1, seconds: .nan),
        ]
        let grants = table.take(nonsense, askedAt: start, now: start)
        #expect(grants.map(\.seconds) == [0] && table.isEmpty)
    }
}
