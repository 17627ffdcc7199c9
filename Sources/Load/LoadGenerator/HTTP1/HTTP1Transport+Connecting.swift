internal import Curl
internal import EventLoop
internal import LoadModel
internal import Model
internal import Transfer

/// Opens connections: allowed addresses are tried in the resolver's order.
extension HTTP1Transport {
    /// Lifetime of looked-up addresses, the same as libcurl's.
    private static let addressSeconds = 60.0

    /// - Parameter isRepeat: true for a request that was sent before, on a lost connection.
    func open(for request: LoadRequest, origin: Int, isRepeat: Bool = false) {
        let connection = HTTP1Connection(origin: origin)
        connection.isForRepeat = isRepeat
        add(connection)
        request.connection = connection
        connection.begin(request)
        let now = loop.clock.seconds
        connection.dial.connectEndSeconds = now + settings.http.connectTimeoutSeconds
        look(
            atSeconds: min(
                connection.dial.connectEndSeconds,
                request.sentSeconds + settings.http.timeoutSeconds))
        if now < peers[origin].addressesEndSeconds {
            begin(connection)
        } else {
            lookUp(origin)
        }
    }

    // MARK: Addresses

    /// Looks up an origin's addresses, then connects all connections that wait for them.
    private func lookUp(_ origin: Int) {
        guard !peers[origin].isLookingUp else { return }
        peers[origin].isLookingUp = true
        let host = peers[origin].host
        let lookup = settings.lookup
        // On the loop's thread, because other tasks may block the shared threads. A resolver may
        // take longer than the test.
        let executor = EventLoopTaskExecutor(loop.loop)
        Task(executorPreference: executor) { [weak loop] in
            let found = await lookup.addresses(of: host)
            loop?.loop.execute { [weak loop] in loop?.transports.http1?.found(found, origin: origin)
            }
            withExtendedLifetime(executor) {}
        }
    }

    private func found(_ result: Result<[String], Failure>, origin: Int) {
        peers[origin].isLookingUp = false
        let waiting = connections.filter { $0.origin == origin && $0.state == .lookingUp }
        switch result {
        case .success(let literals):
            peers[origin].addresses = literals.compactMap { PeerAddress($0) }
            peers[origin].addressesEndSeconds = loop.clock.seconds + Self.addressSeconds
            for connection in waiting { begin(connection) }
        case .failure(let failure):
            for connection in waiting { endLater(connection, failure.code) }
        }
    }

    // MARK: Connecting

    private func begin(_ connection: HTTP1Connection) {
        connection.dial.addresses = peers[connection.origin].addresses.reversed()
        connect(connection)
    }

    /// Tries the next address.
    func connect(_ connection: HTTP1Connection) {
        guard let request = connection.request else { return }
        closeSocket(of: connection)
        while let address = connection.dial.addresses.popLast() {
            guard request.admits(address) else { continue }
            switch HTTP1Socket.connect(address, port: peers[connection.origin].port) {
            case .connected(let socket):
                connection.socket = socket
                watch(connection, for: .readable)
                return isReady(connection, request)
            case .underWay(let socket):
                connection.socket = socket
                connection.state = .connecting
                // An address that does not respond leaves half of the time to the others.
                let now = loop.clock.seconds
                connection.dial.attemptEndSeconds =
                    connection.dial.addresses.isEmpty
                    ? connection.dial.connectEndSeconds
                    : (now + connection.dial.connectEndSeconds) / 2
                look(atSeconds: connection.dial.attemptEndSeconds)
                return watch(connection, for: .writable)
            case .failed: continue
            }
        }
        endLater(connection, request.response.addressRejection ?? .originConnect)
    }

    /// Handles the result of a pending connection.
    func isConnected(_ connection: HTTP1Connection) {
        guard let request = connection.request else { return }
        guard HTTP1Socket.isConnected(connection.socket) else { return connect(connection) }
        watch(connection, for: .readable)
        isReady(connection, request)
    }

    private func isReady(_ connection: HTTP1Connection, _ request: LoadRequest) {
        request.response.openedConnection = true
        request.response.connectSeconds = max(loop.clock.seconds - request.sentSeconds, 1e-6)
        if connection.isForRepeat { request.isSentAgain() }
        write(request, by: connection)
    }
}
