internal import EventLoop

/// Transfers of one loop that wait for bytes a second, in turn within each origin and each site.
///
/// Confined to its loop.
final class PausedTransfers {
    private var lines: [(meter: ByteMeter, transfers: [ActiveTransfer])] = []

    /// Nil when a transfer may take `count` bytes now, of its origin's and its site's; else it was put
    /// at the end of the line for what it lacks, and that has something to do after so many seconds.
    func takes(_ count: Int, _ running: ActiveTransfer) -> Double? {
        let now = MonotonicClock.nowSeconds
        let meters = running.meters.filter(\.isBounded)
        let hasTurn = running.hasTurn
        running.hasTurn = false
        for meter in meters {
            let wait = meter.secondsUntilCredit(now: now)
            guard wait > 0 || (!hasTurn && isAnyoneWaiting(meter)) else { continue }
            append(running, meter)
            running.isPaused = true
            return max(wait, Self.leastWait)
        }
        for meter in meters { meter.spend(count, now: now) }
        return nil
    }

    /// Wakes less often than blocks of a fast origin come.
    private static let leastWait = 0.002

    private func isAnyoneWaiting(_ meter: ByteMeter) -> Bool {
        lines.contains { $0.meter === meter && !$0.transfers.isEmpty }
    }

    private func append(_ running: ActiveTransfer, _ meter: ByteMeter) {
        if let line = lines.firstIndex(where: { $0.meter === meter }) {
            lines[line].transfers.append(running)
        } else {
            lines.append((meter, [running]))
        }
    }

    /// Lets transfers go on for as long as there is something for them; answers after how many
    /// seconds there is more to do, nil for nothing.
    func resume() -> Double? {
        var next = Double.infinity
        // Those that pause again meanwhile stand at the ends.
        for meter in lines.map(\.meter) {
            while isAnyoneWaiting(meter) {
                let seconds = meter.secondsUntilCredit(now: MonotonicClock.nowSeconds)
                guard seconds <= 0 else {
                    next = min(next, max(seconds, Self.leastWait))
                    break
                }
                guard let index = lines.firstIndex(where: { $0.meter === meter }) else { break }
                let running = lines[index].transfers.removeFirst()
                running.resume()
            }
        }
        lines.removeAll { $0.transfers.isEmpty }
        return next.isFinite ? next : nil
    }

    /// Forgets a transfer that has ended.
    func remove(_ running: ActiveTransfer) {
        guard running.isPaused else { return }
        for index in lines.indices { lines[index].transfers.removeAll { $0 === running } }
    }
}
