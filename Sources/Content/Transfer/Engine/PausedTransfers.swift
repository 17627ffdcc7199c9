internal import EventLoop

/// Transfers of one loop that wait for bytes a second, in turn within each origin and each site.
///
/// Confined to its loop. Asked for each block of a bounded body, it allocates nothing then.
final class PausedTransfers {
    private struct Line {
        var meter: ByteMeter
        /// In turn; empty for a line whose place another meter may have.
        var transfers: [ActiveTransfer]
    }

    private var lines: [Line] = []

    /// Nil when a transfer may take `count` bytes now, of its origin's and its site's; else it was put
    /// at the end of the line for what it lacks, and that has something to do after so many seconds.
    func takes(_ count: Int, _ running: ActiveTransfer) -> Double? {
        let now = MonotonicClock.nowSeconds
        let hasTurn = running.turn == .next
        if hasTurn { running.turn = .open }
        let (own, site) = (running.lane.meter, running.transfer.siteMeter)
        if let wait = pause(running, for: own, hasTurn, now: now) { return wait }
        if let site, let wait = pause(running, for: site, hasTurn, now: now) { return wait }
        own.spend(count, now: now)
        site?.spend(count, now: now)
        return nil
    }

    /// Puts a transfer in line where a meter has nothing for it, or something for others first.
    private func pause(
        _ running: ActiveTransfer, for meter: ByteMeter, _ hasTurn: Bool, now: Double
    ) -> Double? {
        guard meter.isBounded else { return nil }
        let wait = meter.secondsUntilCredit(now: now)
        guard wait > 0 || (!hasTurn && isAnyoneWaiting(meter)) else { return nil }
        append(running, meter)
        running.turn = .waiting
        return max(wait, Self.leastWait)
    }

    /// Wakes less often than blocks of a fast origin come.
    private static let leastWait = 0.002

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

    /// Lets transfers go on for as long as there is something for them; answers after how many
    /// seconds there is more to do, nil for nothing.
    func resume() -> Double? {
        var next = Double.infinity
        var line = 0
        // Those that pause again meanwhile stand at the ends; a line's place may change hands.
        while line < lines.count {
            guard !lines[line].transfers.isEmpty else {
                line += 1
                continue
            }
            let seconds = lines[line].meter.secondsUntilCredit(now: MonotonicClock.nowSeconds)
            guard seconds <= 0 else {
                next = min(next, max(seconds, Self.leastWait))
                line += 1
                continue
            }
            lines[line].transfers.removeFirst().takeTurn()
        }
        return next.isFinite ? next : nil
    }

    /// Forgets a transfer that has ended.
    func remove(_ running: ActiveTransfer) {
        guard running.turn == .waiting else { return }
        for index in lines.indices { lines[index].transfers.removeAll { $0 === running } }
    }
}
