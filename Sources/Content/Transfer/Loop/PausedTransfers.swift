internal import EventLoop

/// The transfers of one loop that wait for a byte rate, in turn within each origin and each site.
///
/// Confined to its loop. It runs for each block of a limited body and then allocates nothing.
final class PausedTransfers {
    private struct Line {
        var meter: ByteMeter
        /// In turn; an empty line may be reused for another meter.
        var transfers: [ActiveTransfer]
    }

    private var lines: [Line] = []

    /// Takes `count` bytes from the meters of a transfer's origin and site. Returns nil if it may
    /// take them now. Otherwise queues it and returns the seconds until the line can continue.
    func takes(_ count: Int, _ running: ActiveTransfer) -> Double? {
        let now = MonotonicClock.nowSeconds
        let hasTurn = running.turn == .next
        if hasTurn { running.turn = .open }
        let (own, site) = (running.origin.meter, running.transfer.siteMeter)
        if let wait = pause(running, for: own, hasTurn, now: now) { return wait }
        if let site, let wait = pause(running, for: site, hasTurn, now: now) { return wait }
        own.spend(count, now: now)
        site?.spend(count, now: now)
        return nil
    }

    /// Queues a transfer if a meter has no bytes, or has others waiting first.
    private func pause(
        _ running: ActiveTransfer, for meter: ByteMeter, _ hasTurn: Bool, now: Double
    ) -> Double? {
        guard meter.isBounded else { return nil }
        let wait = meter.secondsUntilCredit(now: now)
        guard wait > 0 || (!hasTurn && isAnyoneWaiting(meter)) else { return nil }
        append(running, meter)
        running.turn = .waiting
        return max(wait, Self.minWait)
    }

    /// Minimum wait in seconds, to wake less often than blocks arrive.
    private static let minWait = 0.002

    private func isAnyoneWaiting(_ meter: ByteMeter) -> Bool {
        lines.contains { $0.meter === meter && !$0.transfers.isEmpty }
    }

    private func append(_ running: ActiveTransfer, _ meter: ByteMeter) {
        if let line = lines.firstIndex(where: { $0.meter === meter }) {
            lines[line].transfers.append(running)
        } else if let line = lines.firstIndex(where: \.transfers.isEmpty) {
            lines[line].meter = meter
            lines[line].transfers.append(running)
        } else {
            lines.append(Line(meter: meter, transfers: [running]))
        }
    }

    /// Continues transfers while their meters have bytes. Returns the seconds until the next can
    /// continue, nil for none.
    func resume() -> Double? {
        var next = Double.infinity
        var line = 0
        // Transfers that pause again are appended; a line may move to another meter.
        while line < lines.count {
            guard !lines[line].transfers.isEmpty else {
                line += 1
                continue
            }
            let seconds = lines[line].meter.secondsUntilCredit(now: MonotonicClock.nowSeconds)
            guard seconds <= 0 else {
                next = min(next, max(seconds, Self.minWait))
                line += 1
                continue
            }
            lines[line].transfers.removeFirst().takeTurn()
        }
        return next.isFinite ? next : nil
    }

    /// Removes a transfer that has ended.
    func remove(_ running: ActiveTransfer) {
        guard running.turn == .waiting else { return }
        for index in lines.indices { lines[index].transfers.removeAll { $0 === running } }
    }
}
