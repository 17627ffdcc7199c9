internal import Curl
internal import EventLoop
internal import Model

/// Applies limits on a loop: closes connections and ends transfers without a quota.
extension TransferLoop {
    /// Applies the limits of an origin.
    func settle(_ origin: OriginState) {
        guard origin.isLimited else { return meterTick() }
        let running = active.values.filter { $0.origin === origin }
        let byPort = connections.byPort(of: origin)
        let settlement = scheduler.settle(
            origin, on: index,
            busy: Set(running.compactMap { $0.easy.localPort.flatMap { byPort[$0] } }),
            transfers: Set(running.map(\.transfer.id)), now: MonotonicClock.nowSeconds)
        for socket in settlement.closing { CurlSocket.shutdown(socket) }
        if settlement.ending > 0 {
            // The newest transfers have the least to lose.
            let last = running.sorted { $0.transfer.id > $1.transfer.id }
            // The end of one settles the origin again, which may end others of them.
            for running in last.prefix(settlement.ending)
            where active[running.transfer.id] === running {
                running.end(.noShare)
            }
        }
        if origin.meter.isBounded { meterTick() }
    }

    // MARK: Shared connections

    /// Records that the connection of `running` has received something.
    func noteTraffic(_ running: ActiveTransfer, now: Double) {
        if let port = running.easy.localPort { connections.noteTraffic(at: port, now: now) }
    }

    /// Ends the connection of a transfer that timed out, if the connection received nothing else
    /// since then.
    ///
    /// libcurl keeps an HTTP/2 connection after a stream's timeout and gives it to the next
    /// transfers. If the peer disappeared silently, they would time out one after the other.
    func closeIfSilent(_ running: ActiveTransfer, since: Double) {
        guard let port = running.easy.localPort, connections.isSilent(port, since: since),
            let socket = connections.byPort(of: running.origin)[port]
        else { return }
        CurlSocket.shutdown(socket)
    }

    // MARK: Inside libcurl

    /// Returns whether a limited transfer may open another connection.
    func mayOpen(_ running: ActiveTransfer) -> Bool {
        let now = MonotonicClock.nowSeconds
        let (mayOpen, effects) = scheduler.mayOpen(running.origin, on: index, now: now)
        perform(effects)
        if mayOpen { return true }
        // If libcurl tries two addresses at a time, only one may continue.
        let own = scheduler.sockets(of: running.transfer.id, running.origin)
        guard let waiting = own.first(where: CurlSocket.isConnecting) else { return false }
        CurlSocket.shutdown(waiting)
        perform(scheduler.closed(waiting, running.origin, counts: false, now: now))
        connections.remove(waiting)
        return true
    }

    func opened(_ socket: Int32, _ running: ActiveTransfer) {
        let origin = running.origin
        connections.opened(socket, origin)
        scheduler.opened(
            OriginSocket(descriptor: socket, loop: index, transfer: running.transfer.id), origin)
        guard let rate = running.boundedRate else { return }
        // The system's receive buffer fills at the origin's own speed.
        CurlSocket.limitReceiveBuffer(
            socket, bytes: Int(min(max(rate / 8, 16_384), 1_048_576)))
    }

    func closed(_ socket: Int32) {
        guard let origin = connections.closed(socket) else { return }
        perform(
            scheduler.closed(
                socket, origin, counts: !CurlSocket.isClosedByPeer(socket),
                now: MonotonicClock.nowSeconds))
    }

    func maySend(_ running: ActiveTransfer) -> Bool {
        let (maySend, effects) = scheduler.maySend(
            running.origin, running.transfer.id, now: MonotonicClock.nowSeconds)
        perform(effects)
        return maySend
    }

    func answered(_ running: ActiveTransfer) {
        perform(
            scheduler.answered(
                running.origin, running.transfer.id, now: MonotonicClock.nowSeconds))
    }
}
