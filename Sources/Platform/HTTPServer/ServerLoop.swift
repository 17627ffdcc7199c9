internal import CLinux
internal import EventLoop
internal import Glibc
internal import Synchronization
internal import TLS

/// Accepts connections and owns them, on its own thread.
///
/// `answer` and `stop` may be called from any thread; everything else is confined to the loop.
final class ServerLoop: Sendable {
    let configuration: HTTPServer.Configuration
    let handler: HTTPServer.Handler
    let bodies: BodyBudget
    let active = ActiveRequests()
    let loop: EventLoop
    private let listener: Int32
    private let openCount = Atomic<Int>(0)

    // Unsafe: accessed by the loop's thread only, and freed after it has ended.
    nonisolated(unsafe) let scratch = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 64 << 10, alignment: 16)
    nonisolated(unsafe) var table: ConnectionTable
    nonisolated(unsafe) private var connections: [Int: Connection] = [:]
    nonisolated(unsafe) private var lastID = 0
    nonisolated(unsafe) private var httpDate = HTTPDate()
    nonisolated(unsafe) private var sweepTimer: LoopTimer?
    nonisolated(unsafe) private var acceptTimer: LoopTimer?

    /// Takes ownership of the listener, which `stop` closes.
    init(
        _ configuration: HTTPServer.Configuration, listener: Int32,
        handler: @escaping HTTPServer.Handler
    ) throws(HTTPServerError) {
        self.configuration = configuration
        self.handler = handler
        self.listener = listener
        bodies = BodyBudget(
            maximumBodyBytes: max(configuration.maximumBodyBytes, 0),
            maximumHeldBytes: max(configuration.maximumHeldBodyBytes, 0))
        table = ConnectionTable(Self.bounds(configuration))
        do {
            loop = try EventLoop(name: "http")
        } catch {
            throw .failed("\(error)")
        }
        loop.execute { self.open() }
    }

    deinit { scratch.deallocate() }

    /// Returns limits within half of the process's descriptors, because it needs the others.
    private static func bounds(_ configuration: HTTPServer.Configuration) -> ConnectionTable.Bounds
    {
        var limit = rlimit()
        let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
        let descriptors = isKnown ? Int(clamping: limit.rlim_cur) / 2 : Int.max
        let connections = max(min(configuration.maximumConnections, descriptors), 1)
        return ConnectionTable.Bounds(
            connections: connections,
            strangers: max(min(configuration.maximumStrangers, connections / 2), 1),
            strangersOfAddress: max(configuration.maximumStrangersOfAddress, 1))
    }

    // MARK: Any thread

    /// Number of open connections.
    var connectionCount: Int { openCount.load(ordering: .relaxed) }

    /// Sends a connection's response; dropped if the connection is closed.
    func answer(_ id: Int, _ response: HTTPResponse) {
        let isQueued = loop.execute {
            guard let connection = self.connections[id] else {
                response.stream?.close()
                return
            }
            connection.handled(response)
        }
        if !isQueued { response.stream?.close() }
    }

    /// Lets a connection send what its stream has.
    func notifyStream(_ id: Int) {
        loop.execute { self.connections[id]?.sendStream() }
    }

    /// Ends all streams; what waits is still sent.
    func endStreams() {
        loop.execute { for connection in Array(self.connections.values) { connection.endStream() } }
    }

    /// Closes everything and joins the thread. Must be called once, and not on the loop.
    func stop() {
        loop.execute {
            for connection in Array(self.connections.values) { connection.close() }
            self.loop.deregister(self.listener)
            self.sweepTimer = nil
            self.acceptTimer = nil
        }
        loop.shutdown()
        close(listener)
    }

    // MARK: The loop's thread

    var now: UInt64 { MonotonicClock.nowNanoseconds }
    var date: String { httpDate.now() }

    func deadline(_ seconds: Double) -> UInt64 {
        MonotonicClock.deadlineNanoseconds(afterSeconds: seconds)
    }

    private func open() {
        sweepTimer = loop.makeTimer { [unowned self] in sweep() }
        acceptTimer = loop.makeTimer { [unowned self] in listen() }
        listen()
    }

    /// Registers the listener, which can fail only for lack of memory.
    private func listen() {
        do {
            try loop.register(listener, for: .readable) { [unowned self] _, _ in accept() }
        } catch {
            acceptTimer?.schedule(afterSeconds: Self.pauseSeconds)
        }
    }

    /// Time without accepting when no descriptor is available.
    private static let pauseSeconds = 0.1
    /// Interval of checks for expired deadlines.
    private static let sweepSeconds = 0.25

    private func accept() {
        // Limited, because present connections need their turn.
        for _ in 0..<256 {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let kind = Int32(SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
            let descriptor = withUnsafeMutablePointer(to: &storage) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    accept4(listener, $0, &length, kind)
                }
            }
            if descriptor >= 0 {
                admit(descriptor, Peer(&storage))
                continue
            }
            switch errno {
            case EAGAIN: return
            case EMFILE, ENFILE, ENOBUFS, ENOMEM: return freeSpace()
            // A network error of one connection (accept(2)).
            default: continue
            }
        }
    }

    /// Frees a descriptor: closes the oldest connection, or pauses accepting.
    private func freeSpace() {
        if let oldest = table.oldest {
            connections[oldest]?.close()
        } else {
            loop.deregister(listener)
            acceptTimer?.schedule(afterSeconds: Self.pauseSeconds)
        }
    }

    private func admit(_ descriptor: Int32, _ peer: Peer) {
        lastID += 1
        let id = lastID
        switch table.admit(id, from: peer.network) {
        case .admitted: break
        case .inPlace(let other): connections[other]?.close()
        case .refused: return refuse(descriptor)
        }
        var yes: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
        var tls: TLSConnection?
        if let certificate = configuration.tls {
            tls = TLSConnection(certificate.context, descriptor: descriptor)
            guard tls != nil else {
                table.remove(id)
                close(descriptor)
                return
            }
        }
        let connection = Connection(id, Wire(descriptor, tls), peer: peer, of: self)
        connections[id] = connection
        openCount.store(connections.count, ordering: .relaxed)
        if sweepTimer?.isArmed == false { sweepTimer?.schedule(afterSeconds: Self.sweepSeconds) }
        connection.start()
    }

    /// Answers a connection for which there is no slot, and closes it. Over TLS, an answer would
    /// need a handshake first.
    private func refuse(_ descriptor: Int32) {
        if configuration.tls == nil {
            let answer = configuration.rejection(.tooManyConnections).bytes(
                date: date, closes: true, isOld: false, isHead: false,
                requestID: RequestID.random())
            _ = send(descriptor, answer, answer.count, Int32(MSG_NOSIGNAL))
        }
        close(descriptor)
    }

    /// Lets a connection continue with bytes that it holds, after others had their turn.
    func resume(_ id: Int) {
        loop.execute { self.connections[id]?.resume() }
    }

    func remove(_ connection: Connection) {
        table.remove(connection.id)
        connections[connection.id] = nil
        openCount.store(connections.count, ordering: .relaxed)
    }

    private func sweep() {
        let now = now
        for connection in Array(connections.values) {
            if connection.deadline <= now { connection.expire() } else { connection.rest() }
        }
        if !connections.isEmpty { sweepTimer?.schedule(afterSeconds: Self.sweepSeconds) }
    }
}
