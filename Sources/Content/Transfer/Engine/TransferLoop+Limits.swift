internal import Curl
internal import EventLoop
internal import Model

/// What limits ask of a loop: its connections and the transfers that there is no share for.
extension TransferLoop {
    /// Does for a lane what its limits ask for now.
    func settle(_ lane: OriginLane) {
        guard lane.isLimited else { return meterTick() }
        let running = active.values.filter { $0.lane === lane }
        let byPort = sockets(of: lane)
        let settlement = scheduler.settle(
            lane, on: index,
            busy: Set(running.compactMap { $0.easy.localPort.flatMap { byPort[$0] } }),
            transfers: Set(running.map(\.transfer.id)), now: MonotonicClock.nowSeconds)
        for socket in settlement.closing { CurlSocket.shutdown(socket) }
        if settlement.ending > 0 {
            // Those that came last have the least to lose.
            let last = running.sorted { $0.transfer.id > $1.transfer.id }
            // The end of one settles the lane again, which may end others of them.
            for running in last.prefix(settlement.ending)
            where active[running.transfer.id] === running {
                running.end(.noShare)
            }
        }
        if lane.meter.isBounded { meterTick() }
    }

    /// A lane's connections by their ports at this end.
    private func sockets(of lane: OriginLane) -> [Int32: Int32] {
        var byPort: [Int32: Int32] = [:]
        for (socket, other) in sockets where other === lane {
            if let port = CurlSocket.localPort(socket) { byPort[port] = socket }
        }
        return byPort
    }

    // MARK: Connections that transfers share

    /// Something has come by the connection of `running`.
    func hear(_ running: ActiveTransfer, now: Double) {
        if let port = running.easy.localPort { heardAt[port] = now }
    }

    /// Ends the connection of a transfer that has waited in vain when nothing else has come by it since.
    ///
    /// libcurl keeps a connection of HTTP/2 when a stream is given up, and gives it to the next transfers:
    /// where the other end is gone and nobody has said so, they would wait in vain one after the other.
    func closeIfSilent(_ running: ActiveTransfer, since: Double) {
        guard let port = running.easy.localPort, heardAt[port, default: 0] <= since,
            let socket = sockets(of: running.lane)[port]
        else { return }
        CurlSocket.shutdown(socket)
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
        guard let rate = running.boundedRate else { return }
        // What the system receives ahead comes at the origin's speed.
        CurlSocket.limitReceiveBuffer(
            socket, bytes: Int(min(max(rate / 8, 16_384), 1_048_576)))
    }

    func closed(_ socket: Int32) {
        if !heardAt.isEmpty, let port = CurlSocket.localPort(socket) { heardAt[port] = nil }
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
