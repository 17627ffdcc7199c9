internal import Curl
internal import EventLoop
internal import Glibc
internal import LoadModel
internal import Model

/// Carries requests by HTTP/1.1 without TLS on sockets of its own.
///
/// Sockets are watched from their connecting to their closing, bodies that nobody looks at are dropped by the kernel, and
/// nothing is allocated for a request on a connection that is there. `+Connecting` has the way to a connection,
/// `+Exchange` that of an answer.
final class HTTP1Transport: LoadTransport {
    /// An origin of the routes.
    struct Peer {
        let host: String
        let port: UInt16
        var idle = HTTP1IdleList()
        var addresses: [PeerAddress] = []
        /// Until when these hold, on the test's clock.
        var addressesEndSeconds = -Double.infinity
        var isLookingUp = false
    }

    struct Settings {
        var http: LoadHTTP
        var userAgent: String
        /// Open at a time, idle ones included.
        var connections: Int
        var lookup: any HostLookup
        /// The idle connection that is used next is the one that has been so for longest, and not the last.
        var usesOldestFirst: Bool
    }

    unowned let loop: LoadLoop
    let settings: Settings
    private let routes: HTTP1Routes
    private let writer: HTTP1RequestWriter
    var peers: [Peer]
    private(set) var connections: [HTTP1Connection] = []
    private var output: [UInt8] = []
    let input: UnsafeMutableRawBufferPointer
    private var timer: LoopTimer?
    /// When the timer fires, on the test's clock.
    private var nextLookSeconds = Double.infinity
    /// Ended before it was told: nobody may hear of an end inside `send`.
    private var ended: [(HTTP1Connection, FailureCode)] = []
    private var endTimer: LoopTimer?

    init(_ loop: LoadLoop, _ routes: HTTP1Routes, _ settings: Settings) {
        self.loop = loop
        self.routes = routes
        self.settings = settings
        writer = HTTP1RequestWriter(routes, settings.http, userAgent: settings.userAgent)
        peers = routes.origins.map { origin in
            var peer = Peer(host: origin.host, port: origin.port)
            if let address = PeerAddress(origin.host) {
                peer.addresses = [address]
                peer.addressesEndSeconds = .infinity
            }
            return peer
        }
        input = .allocate(byteCount: Self.inputBytes, alignment: 16)
        timer = loop.loop.makeTimer { [weak self] in self?.lookForTimeouts() }
        endTimer = loop.loop.makeTimer { [weak self] in self?.tellEnds() }
    }

    deinit { input.deallocate() }

    /// How much is received at a time where bytes are looked at.
    private static let inputBytes = 64 << 10

    // MARK: Requests

    func send(_ request: LoadRequest, opensConnection: Bool) throws(Failure) {
        guard let origin = routes.origin(ofObject: request.object) else { return }
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
            // What has come on it, or its end, is no answer to what is asked for now.
            guard HTTP1Socket.isQuiet(connection.socket) else {
                close(connection)
                continue
            }
            peers[origin].idle.remove(connection)
            return connection
        }
    }

    /// Sends the request by a connection that is there.
    func write(_ request: LoadRequest, by connection: HTTP1Connection) {
        request.connection = connection
        connection.begin(request)
        connection.state = .receiving
        look(atSeconds: request.sentSeconds + settings.http.timeoutSeconds)
        writer.write(
            loop.plan.objects[request.object], origin: connection.origin, to: &output)
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

    /// The connection broke. One that was idle may have been closed before the request reached the other side: where
    /// nothing of an answer came, the request goes by a new one.
    func lost(_ connection: HTTP1Connection) {
        guard connection.isReused, !connection.hasAnswer, let request = connection.request else {
            return endLater(connection, "origin.reset")
        }
        close(connection)
        open(for: request, origin: connection.origin)
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

    /// Frees a request's connection, for another one if it can be, and tells it its end.
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

    /// The same in the loop's next tick; nothing more is heard of the connection until then.
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

    /// Keeps a new one, and closes the one that has been idle for longest where there would be too many.
    func add(_ connection: HTTP1Connection) {
        if connections.count >= settings.connections {
            let oldest = peers.lazy.compactMap(\.idle.oldest).min {
                $0.idleSinceSeconds < $1.idleSinceSeconds
            }
            if let oldest { close(oldest) }
        }
        connection.place = connections.count
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
            connections[connection.place] = last
            last.place = connection.place
        }
    }

    func closeSocket(of connection: HTTP1Connection) {
        guard connection.socket >= 0 else { return }
        loop.loop.deregister(connection.socket)
        Glibc.close(connection.socket)
        connection.socket = -1
    }

    /// What is registered keeps this alive, until it is closed: its end may come in the midst of an answer.
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
            // Left unwatched, its request ends by its timeout.
        }
    }

    private func ready(_ connection: HTTP1Connection) {
        switch connection.state {
        case .connecting: isConnected(connection)
        case .sending: writeMore(connection)
        case .receiving: receive(connection)
        // Closed by the other side, which has nothing else to say.
        case .idle: close(connection)
        case .lookingUp, .closed: break
        }
    }

    // MARK: Time

    /// What is late is found by this much at most after its time.
    private var coarseness: Double { min(0.005, settings.http.timeoutSeconds / 10) }

    /// Has timeouts looked for at `seconds` at the latest.
    ///
    /// All requests have the same time, so that the first of those under way is late first: while answers come, one
    /// look finds out when the next is due, and that is as far away as a timeout.
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
            case .lookingUp: end = min(end, connection.connectEndSeconds)
            case .connecting: end = min(end, connection.attemptEndSeconds)
            case .sending, .receiving, .idle, .closed: break
            }
            if end <= now { late.append(connection) } else { earliest = min(earliest, end) }
        }
        if earliest < .infinity { look(atSeconds: max(earliest, now + coarseness)) }
        for connection in late where connection.request != nil {
            if connection.state == .connecting, now < connection.connectEndSeconds,
                !connection.addresses.isEmpty, now < requestEnd(connection)
            {
                connect(connection)
            } else {
                end(connection, .failed("origin.timeout"))
            }
        }
    }
}
