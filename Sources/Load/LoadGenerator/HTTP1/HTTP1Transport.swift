internal import Curl
internal import EventLoop
internal import Glibc
internal import LoadModel
internal import Model
internal import Transfer

/// Sends requests by HTTP/1.1 without TLS on its own sockets.
///
/// Sockets are watched from connecting to closing. The kernel discards bodies that are not checked.
/// A request on an open connection allocates nothing. `+Connecting` opens connections, `+Exchange`
/// receives responses.
final class HTTP1Transport: LoadTransport {
    /// An origin of the routes.
    struct Peer {
        let host: String
        let port: UInt16
        var idle = HTTP1IdleList()
        var addresses: [PeerAddress] = []
        /// Expiry of the addresses on the test's clock.
        var addressesEndSeconds = -Double.infinity
        var isLookingUp = false

        init(_ origin: HTTP1Routes.Origin) {
            host = origin.host
            port = origin.port
            guard let address = PeerAddress(origin.host) else { return }
            addresses = [address]
            addressesEndSeconds = .infinity
        }
    }

    struct Settings {
        var http: LoadHTTP
        var userAgent: String
        /// Maximum number of open connections, idle ones included.
        var connections: Int
        var lookup: any HostLookup
        /// True if the longest idle connection is used next, false for the last used one.
        var usesOldestFirst: Bool
    }

    unowned let loop: LoadLoop
    private(set) var settings: Settings
    private var writer: HTTP1RequestWriter
    var peers: [Peer]
    private(set) var connections: [HTTP1Connection] = []
    private var output: [UInt8] = []
    let input: UnsafeMutableRawBufferPointer
    var caches = CacheHeadReader()
    private var timer: LoopTimer?
    /// Time on the test's clock when the timer fires.
    private var nextLookSeconds = Double.infinity
    /// Ended connections that are not reported yet: an end must not be reported inside `send`.
    private var ended: [(HTTP1Connection, FailureCode)] = []
    private var endTimer: LoopTimer?

    init(_ loop: LoadLoop, _ routes: HTTP1Routes, _ settings: Settings) {
        self.loop = loop
        self.settings = settings
        writer = HTTP1RequestWriter(routes, settings.http, userAgent: settings.userAgent)
        peers = routes.origins.map { Peer($0) }
        input = .allocate(byteCount: Self.inputBytes, alignment: 16)
        timer = loop.loop.makeTimer { [weak self] in self?.lookForTimeouts() }
        endTimer = loop.loop.makeTimer { [weak self] in self?.tellEnds() }
    }

    deinit { input.deallocate() }

    /// Adds an origin to which a redirect or a manifest has led.
    func add(_ origin: HTTP1Routes.Origin) {
        peers.append(Peer(origin))
        writer.add(origin)
    }

    /// Leaves a part of the process's connections to another transport.
    func limit(connections: Int) { settings.connections = min(settings.connections, connections) }

    /// Buffer size for bodies that are checked.
    private static let inputBytes = 64 << 10

    // MARK: Requests

    func send(_ request: LoadRequest, opensConnection: Bool) throws(Failure) {
        guard let origin = request.origin else { return }
        if !opensConnection, let connection = takeIdle(origin) {
            connection.isReused = true
            write(request, by: connection)
        } else {
            open(for: request, origin: origin)
        }
    }

    private func takeIdle(_ origin: Int) -> HTTP1Connection? {
        guard settings.http.keepsAlive else { return nil }
        while true {
            let idle = peers[origin].idle
            guard let connection = settings.usesOldestFirst ? idle.oldest : idle.newest else {
                return nil
            }
            // Bytes or an end that arrived on an idle connection do not answer the new request.
            guard HTTP1Socket.isQuiet(connection.socket) else {
                close(connection)
                continue
            }
            peers[origin].idle.remove(connection)
            return connection
        }
    }

    /// Sends the request on an open connection.
    func write(_ request: LoadRequest, by connection: HTTP1Connection) {
        request.connection = connection
        connection.begin(request)
        connection.state = .receiving
        look(atSeconds: request.sentSeconds + settings.http.timeoutSeconds)
        let object = loop.object(request.object)
        writer.write(
            request.detour?.url ?? object.url, object.range, request.addition,
            origin: connection.origin, to: &output)
        switch HTTP1Socket.send(output, to: connection.socket) {
        case .all: break
        case .some(let count):
            connection.unsent = Array(output[count...])
            connection.state = .sending
            watch(connection, for: .writable)
        case .failed: lost(connection)
        }
    }

    /// Sends the rest of a request.
    func writeMore(_ connection: HTTP1Connection) {
        switch HTTP1Socket.send(connection.unsent, to: connection.socket) {
        case .all:
            connection.unsent = []
            connection.state = .receiving
            watch(connection, for: .readable)
        case .some(let count): connection.unsent.removeFirst(count)
        case .failed: lost(connection)
        }
    }

    /// Handles a broken connection. A reused one may have been closed before it received the
    /// request: if no byte of a response came, the request is sent again on a new one.
    func lost(_ connection: HTTP1Connection) {
        guard connection.isReused, !connection.answer.hasBegun, let request = connection.request
        else {
            return endLater(connection, .originReset)
        }
        close(connection)
        open(for: request, origin: connection.origin, isRepeat: true)
    }

    func drop(_ request: LoadRequest) {
        guard let connection = request.connection else { return }
        request.connection = nil
        close(connection)
    }

    func close() {
        for connection in Array(connections) { close(connection) }
        timer?.cancel()
        endTimer?.cancel()
    }

    // MARK: Ends

    /// Ends a request, and keeps its connection for reuse or closes it.
    func end(_ connection: HTTP1Connection, _ end: LoadRequestEnd, keeps: Bool = false) {
        guard let request = connection.request else { return }
        request.connection = nil
        connection.request = nil
        if keeps, settings.http.keepsAlive {
            connection.state = .idle
            connection.idleSinceSeconds = loop.clock.seconds
            peers[connection.origin].idle.append(connection)
        } else {
            close(connection)
        }
        request.ended(end)
    }

    /// Ends a request in the loop's next tick; its connection gets no more events until then.
    func endLater(_ connection: HTTP1Connection, _ code: FailureCode) {
        closeSocket(of: connection)
        ended.append((connection, code))
        endTimer?.schedule(afterSeconds: 0)
    }

    private func tellEnds() {
        let some = ended
        ended.removeAll(keepingCapacity: true)
        for (connection, code) in some { end(connection, .failed(code)) }
    }

    // MARK: Connections

    /// Adds a connection. At the limit it closes the one that has been idle longest.
    func add(_ connection: HTTP1Connection) {
        if connections.count >= settings.connections {
            let oldest = peers.lazy.compactMap(\.idle.oldest).min {
                $0.idleSinceSeconds < $1.idleSinceSeconds
            }
            if let oldest { close(oldest) }
        }
        connection.index = connections.count
        connections.append(connection)
    }

    func close(_ connection: HTTP1Connection) {
        guard connection.state != .closed else { return }
        if connection.state == .idle { peers[connection.origin].idle.remove(connection) }
        connection.state = .closed
        connection.request = nil
        closeSocket(of: connection)
        let last = connections.removeLast()
        if last !== connection {
            connections[connection.index] = last
            last.index = connection.index
        }
    }

    func closeSocket(of connection: HTTP1Connection) {
        connection.linkTimer?.cancel()
        guard connection.socket >= 0 else { return }
        loop.loop.deregister(connection.socket)
        Glibc.close(connection.socket)
        connection.socket = -1
    }

    /// Watches a connection. The registration keeps this transport alive until it is closed, as an
    /// end may come in the middle of a response.
    func watch(_ connection: HTTP1Connection, for interest: Interest) {
        do {
            if loop.loop.isRegistered(connection.socket) {
                try loop.loop.modify(connection.socket, for: interest)
            } else {
                try loop.loop.register(connection.socket, for: interest) {
                    [self, connection] _, _ in ready(connection)
                }
            }
        } catch {
            // Without it, the request ends by its timeout.
        }
    }

    private func ready(_ connection: HTTP1Connection) {
        switch connection.state {
        case .connecting: isConnected(connection)
        case .sending: writeMore(connection)
        case .receiving: receive(connection)
        // Closed by the peer.
        case .idle: close(connection)
        case .lookingUp, .closed: break
        }
    }

    // MARK: Time

    /// Maximum delay with which timeouts are detected.
    private var coarseness: Double { min(0.005, settings.http.timeoutSeconds / 10) }

    /// Checks timeouts at `seconds` or earlier.
    ///
    /// All requests have the same timeout, so the first one in flight expires first. While
    /// responses arrive, one check finds the next deadline, about one timeout later.
    func look(atSeconds seconds: Double) {
        guard seconds < nextLookSeconds else { return }
        nextLookSeconds = seconds
        timer?.schedule(afterSeconds: seconds - loop.clock.seconds)
    }

    private func requestEnd(_ connection: HTTP1Connection) -> Double {
        (connection.request?.sentSeconds ?? .infinity) + settings.http.timeoutSeconds
    }

    private func lookForTimeouts() {
        let now = loop.clock.seconds
        nextLookSeconds = .infinity
        var earliest = Double.infinity
        var late: [HTTP1Connection] = []
        for connection in connections {
            guard connection.request != nil else { continue }
            var end = requestEnd(connection)
            switch connection.state {
            case .lookingUp: end = min(end, connection.dial.connectEndSeconds)
            case .connecting: end = min(end, connection.dial.attemptEndSeconds)
            case .sending, .receiving, .idle, .closed: break
            }
            if end <= now { late.append(connection) } else { earliest = min(earliest, end) }
        }
        if earliest < .infinity { look(atSeconds: max(earliest, now + coarseness)) }
        for connection in late where connection.request != nil {
            if connection.state == .connecting, now < connection.dial.connectEndSeconds,
                !connection.dial.addresses.isEmpty, now < requestEnd(connection)
            {
                connect(connection)
            } else {
                end(connection, .failed(.originTimeout))
            }
        }
    }
}
