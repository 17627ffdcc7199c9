import API
import Glibc
import Model

/// Computes speed and time left from a series of statuses. Pure: the time is passed in.
struct ProgressMeter {
    /// Seconds after which a change of speed shows by two thirds.
    private static let smoothingSeconds = 4.0

    /// A growing quantity and its smoothed growth per second.
    private struct Gauge {
        var value: Double
        var perSecond: Double?

        mutating func update(to new: Double, afterSeconds seconds: Double) {
            let sample = (new - value) / seconds
            let weight = 1 - exp(-seconds / ProgressMeter.smoothingSeconds)
            perSecond = perSecond.map { $0 + (sample - $0) * weight } ?? sample
            value = new
        }
    }

    /// The bytes received since the first status. What earlier runs received, and transfers resume, is
    /// none of them.
    private struct ReceivedBytes {
        private var held: Double?
        private var highest = 0.0
        private var resumed = 0.0
        /// All of them, those of transfers that failed too.
        private(set) var total = 0.0
        /// What earlier runs received of the progress.
        private(set) var earlier = 0.0

        /// - Parameters:
        ///   - new: Bytes that are stored or under way, without the reused ones.
        ///   - resumed: Bytes of these in transfers that resume them.
        mutating func update(to new: Int64, resumed now: Int64?) {
            let (new, now) = (Double(new), Double(now ?? 0))
            // It falls with the ends of such transfers, whose bytes are stored then.
            let begun = max(0, now - resumed)
            if let held {
                total += max(0, new - held - begun)
                earlier += min(begun, max(0, new - highest))
            }
            (held, highest, resumed) = (new, max(highest, new), now)
        }
    }

    /// The completed part of the expected total.
    private struct Fraction {
        var value: Double
        /// True for bytes; false for segments, which count until all sizes are known.
        var isOfBytes: Bool
        /// Fetched bytes or ended segments; `rest` has the remaining ones.
        var done = 0.0
        var rest = 0.0
    }

    /// The progress of one asset's bytes.
    private struct AssetMeter {
        var gauge: Gauge?
        var window = ProgressWindow()
        var received = ReceivedBytes()
    }

    /// The values of a line.
    struct Reading: Equatable {
        /// Completed part, 0 to 1; nil if the total is unknown.
        var fraction: Double?
        var bytes: Int64
        var expectedBytes: Int64?
        /// Speed; nil before the second status.
        var bytesPerSecond: Double?
        /// Estimated time left; nil if unknown.
        var secondsLeft: Double?
    }

    private var lastSeconds: Double?
    private var received = ReceivedBytes()
    private var fetched: Gauge?
    private var window = ProgressWindow()
    private var highest = Fraction(value: 0, isOfBytes: false)
    private var assets: [AssetID: AssetMeter] = [:]
    private(set) var catalog = Reading(bytes: 0)
    private(set) var active: [AssetID: Reading] = [:]
    /// The catalog's waits and their times.
    private(set) var waits = WaitHistory()

    /// Applies a status received at `seconds` of any steady clock.
    mutating func update(_ status: CatalogStatus, atSeconds seconds: Double) {
        let elapsed = lastSeconds.map { max(seconds - $0, 0.001) }
        lastSeconds = seconds
        let totals = status.totals
        let bytes = totals.bytes + totals.receivingBytes
        received.update(to: bytes - totals.adoptedBytes, resumed: totals.resumedBytes)
        advance(&fetched, to: received.total, elapsed)
        let known = Self.fraction(of: totals)
        if let known {
            if known.isOfBytes != highest.isOfBytes {
                // A fraction of segments and one of bytes have different values and speeds.
                highest = known
                window = ProgressWindow()
            }
            // A newly resolved manifest raises the total; the bar then stops rather than going
            // back.
            highest.value = max(highest.value, known.value)
            window.update(
                to: known.done - (known.isOfBytes ? received.earlier : 0), atSeconds: seconds)
        }
        waits.update(status.waits ?? [], atSeconds: seconds, ofRun: totals.seconds)
        // The speed before a wait does not predict the speed after it.
        if waits.current.contains(where: \.stopsWork) {
            window = ProgressWindow()
            fetched = Gauge(value: received.total, perSecond: 0)
        }
        catalog = Reading(
            fraction: known.map { _ in highest.value }, bytes: bytes,
            expectedBytes: totals.expectedBytes, bytesPerSecond: fetched?.perSecond,
            // What live titles will list is not known.
            secondsLeft: status.recording?.recording ?? 0 > 0
                ? nil : known.flatMap { window.secondsLeft($0.rest, atSeconds: seconds) })
        updateActive(status.active, elapsed, atSeconds: seconds)
    }

    private mutating func updateActive(
        _ statuses: [AssetStatus], _ elapsed: Double?, atSeconds seconds: Double
    ) {
        var meters: [AssetID: AssetMeter] = [:]
        active = [:]
        for asset in statuses {
            var meter = assets[asset.id] ?? AssetMeter()
            meter.received.update(to: asset.bytes, resumed: asset.resumedBytes)
            advance(&meter.gauge, to: meter.received.total, elapsed)
            meter.window.update(
                to: Double(asset.bytes) - meter.received.earlier, atSeconds: seconds)
            meters[asset.id] = meter
            var reading = Reading(
                bytes: asset.bytes, expectedBytes: asset.expectedBytes,
                bytesPerSecond: meter.gauge?.perSecond)
            if let expected = asset.expectedBytes, expected > 0 {
                reading.fraction = min(1, Double(asset.bytes) / Double(expected))
                reading.secondsLeft = meter.window.secondsLeft(
                    Double(max(0, expected - asset.bytes)), atSeconds: seconds)
            } else if asset.segments > 1 {
                reading.fraction = min(1, Double(asset.segmentsDone) / Double(asset.segments))
            }
            active[asset.id] = reading
        }
        assets = meters
    }

    private func advance(_ gauge: inout Gauge?, to value: Double, _ elapsed: Double?) {
        guard let elapsed, gauge != nil else {
            gauge = Gauge(value: value)
            return
        }
        gauge?.update(to: value, afterSeconds: elapsed)
    }

    /// Returns the fraction of bytes if all sizes are known, or else of segments.
    private static func fraction(of totals: CatalogTotals) -> Fraction? {
        if let expected = totals.expectedBytes, expected > 0 {
            let bytes = Double(totals.bytes + totals.receivingBytes)
            return Fraction(
                value: min(1, bytes / Double(expected)), isOfBytes: true,
                done: bytes - Double(totals.adoptedBytes), rest: max(0, Double(expected) - bytes))
        }
        guard totals.segments > 0 else { return nil }
        let ended = Double(totals.segmentsDone + totals.segmentsFailed)
        return Fraction(
            value: min(1, ended / Double(totals.segments)), isOfBytes: false, done: ended,
            rest: max(0, Double(totals.segments) - ended))
    }
}
