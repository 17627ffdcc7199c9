import API
import Model
import Testing

@testable import Client

/// The speed of runs that resume what earlier ones received.
@Suite struct ResumedProgressTests {
    /// - Parameter resumed: Bytes of `receiving` that an earlier run received.
    private static func status(
        stored: Int64 = 0, receiving: Int64, resumed: Int64?
    ) -> CatalogStatus {
        var asset = AssetStatus(
            id: AssetID(1), name: "film", url: "http://o/film", kind: .file, state: .inProgress,
            segments: 1, bytes: receiving, expectedBytes: 10_000)
        asset.resumedBytes = resumed
        var totals = CatalogTotals()
        (totals.assets, totals.segments, totals.bytes) = (2, 2, stored)
        (totals.receivingBytes, totals.resumedBytes) = (receiving, resumed)
        totals.expectedBytes = 20_000
        return CatalogStatus(
            id: CatalogID(1), name: "demo", queue: "edge", storageURL: "file:///srv/edge",
            state: .running, generation: 1, totals: totals, active: receiving > 0 ? [asset] : [])
    }

    /// Bytes per second of a catalog and its asset, once a second.
    private static func speeds(_ statuses: [CatalogStatus]) -> [[Double?]] {
        var meter = ProgressMeter()
        return statuses.enumerated().map { second, status in
            meter.update(status, atSeconds: Double(second))
            return [meter.catalog.bytesPerSecond, meter.active[AssetID(1)]?.bytesPerSecond]
        }
    }

    @Test func onlyBytesOfThisRunAreSpeed() {
        let speeds = Self.speeds([
            Self.status(receiving: 0, resumed: nil), Self.status(receiving: 9_100, resumed: 9_000),
            Self.status(receiving: 9_200, resumed: 9_000),
            // It is stored.
            Self.status(stored: 10_000, receiving: 0, resumed: nil),
        ])
        #expect(speeds[1][0] == 100 && speeds[2][0] == 100 && speeds[2][1] == 100, "\(speeds)")
        #expect(speeds[3][0].map { $0 > 100 && $0 < 800 } == true, "\(speeds)")
    }

    /// The second attempt resumes the bytes of the first one.
    @Test func aRetryReceivesNothingTwice() {
        let speeds = Self.speeds([
            Self.status(receiving: 100, resumed: nil), Self.status(receiving: 200, resumed: nil),
            Self.status(receiving: 0, resumed: nil), Self.status(receiving: 250, resumed: 200),
        ])
        #expect(speeds[3][0].map { $0 < 100 } == true, "\(speeds)")
    }

    @Test func theTimeLeftIsThatOfThisRun() {
        var meter = ProgressMeter()
        meter.update(Self.status(receiving: 0, resumed: nil), atSeconds: 0)
        for second in 1...4 {
            meter.update(
                Self.status(receiving: 9_000 + Int64(second) * 100, resumed: 9_000),
                atSeconds: Double(second))
        }
        // 10,600 bytes of the catalog and 600 of the file are left, at 100 a second.
        #expect(meter.catalog.secondsLeft.map { abs($0 - 106) < 1 } == true)
        #expect(meter.active[AssetID(1)]?.secondsLeft.map { abs($0 - 6) < 1 } == true)
    }
}
