internal import Curl
internal import EventLoop
internal import Model

/// What limits ask of a loop: its connections and the transfers that there is no share for.
extension TransferLoop {
    /// Does for a lane what its limits ask for now.
    func settle(_ lane: OriginLane) {
        guard lane.isLimited else { return meterTick() }
        let running = active.values.filter { $0.lane === lane }
        let settlement = scheduler.settle(
            lane, on: index, busy: Set(running.compactMap(\.easy.activeSocket)),
            transfers: Set(running.map(\.transfer.id)), now: MonotonicClock.nowSeconds)
        for socket in settlement.closing { CurlSocket.shutdown(socket) }
        if settlement.ending > 0 {
            // Those that came last have the least to lose.
            let last = running.sorted { $0.transfer.id > $1.transfer.id }
            for running in last.prefix(settlement.ending) { running.end(.noShare) }
        }
        if lane.isMetered { meterTick() }
    }

    // MARK: From inside libcurl

    /// Whether a limited transfer may open another connection.
    func mayOpen(_ running: ActiveTransfer) -> Bool {
        let now = MonotonicClock.nowSeconds
        let (mayOpen, effects) = scheduler.mayOpen(running.lane, on: index, now: now)
        perform(effects)
        if mayOpen { return true }
        // Of two addresses that are tried at a time one has to do.
        let own = scheduler.sockets(of: running.transfer.id, running.lane)
        guard let waiting = own.first(where: CurlSocket.isConnecting) else { return false }
        CurlSocket.shutdown(waiting)
        perform(scheduler.closed(waiting, running.lane, counts: false, now: now))
        sockets[waiting] = nil
        return true
    }

    func opened(_ socket: Int32, _ running: ActiveTransfer) {
        let lane = running.lane
        sockets[socket] = lane
        scheduler.opened(
            LaneSocket(descriptor: socket, loop: index, transfer: running.transfer.id), lane)
        guard let rate = lane.meteredRate else { return }
        // What the system receives ahead comes at the origin's speed.
        CurlSocket.limitReceiveBuffer(
            socket, bytes: Int(min(max(rate / 8, 16_384), 1_048_576)))
    }

    func closed(_ socket: Int32) {
        guard let lane = sockets.removeValue(forKey: socket) else { return }
        perform(
            scheduler.closed(
                socket, lane, counts: !CurlSocket.isClosedByPeer(socket),
                now: MonotonicClock.nowSeconds))
    }

    func maySend(_ running: ActiveTransfer) -> Bool {
        let (maySend, effects) = scheduler.maySend(
            running.lane, running.transfer.id, now: MonotonicClock.nowSeconds)
        perform(effects)
        return maySend
    }

    func answered(_ running: ActiveTransfer) {
        perform(
            scheduler.answered(
                running.lane, running.transfer.id, now: MonotonicClock.nowSeconds))
    }
}

/// Transfers of one loop that wait for bytes a second, in turn within each origin.
///
/// Confined to its loop.
final class PausedTransfers {
    private var lines: [(lane: OriginLane, transfers: [ActiveTransfer])] = []

    /// Nil when a transfer may take `count` bytes now; else it was put at its line's end, and the
    /// line has something to do after so many seconds.
    func takes(_ count: Int, _ running: ActiveTransfer) -> Double? {
        let now = MonotonicClock.nowSeconds
        let line = lines.firstIndex { $0.lane === running.lane }
        let isItsTurn = running.hasTurn || line.map { lines[$0].transfers.isEmpty } ?? true
        running.hasTurn = false
        let wait = running.lane.withMeter { meter -> Double? in
            if isItsTurn, meter.take(count, now: now) { return nil }
            return meter.secondsUntilCredit(now: now)
        }
        guard let wait, let wait else { return nil }
        if let line {
            lines[line].transfers.append(running)
        } else {
            lines.append((running.lane, [running]))
        }
        running.isPaused = true
        return max(wait, Self.leastWait)
    }

    /// Wakes less often than blocks of a fast origin come.
    private static let leastWait = 0.002

    /// Lets transfers go on for as long as there is something for them; answers after how many
    /// seconds there is more to do, nil for nothing.
    func resume() -> Double? {
        var next = Double.infinity
        // Those that pause again meanwhile stand at the ends.
        for lane in lines.map(\.lane) {
            while let seconds = secondsUntilTurn(lane) {
                guard seconds <= 0 else {
                    next = min(next, max(seconds, Self.leastWait))
                    break
                }
                guard let index = lines.firstIndex(where: { $0.lane === lane }) else { break }
                let running = lines[index].transfers.removeFirst()
                running.resume()
            }
        }
        lines.removeAll { $0.transfers.isEmpty }
        return next.isFinite ? next : nil
    }

    /// Nil when nobody waits.
    private func secondsUntilTurn(_ lane: OriginLane) -> Double? {
        guard lines.contains(where: { $0.lane === lane && !$0.transfers.isEmpty }) else {
            return nil
        }
        return lane.withMeter { $0.secondsUntilCredit(now: MonotonicClock.nowSeconds) } ?? 0
    }

    /// Forgets a transfer that has ended.
    func remove(_ running: ActiveTransfer) {
        guard running.isPaused else { return }
        for index in lines.indices { lines[index].transfers.removeAll { $0 === running } }
    }
}
