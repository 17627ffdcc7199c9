internal import EventLoop
internal import Foundation
internal import Glibc
internal import Synchronization

/// An HTTP/1.1 origin over raw loopback sockets whose faults a test scripts.
///
/// It uses one thread per connection; a route maps a request to the exact bytes to send. An
/// unrouted path responds 404. It ends with the last reference: connections are cut.
package final class FaultOrigin: Sendable {
    package typealias Handler = @Sendable (Request) -> Response

    package let port: UInt16
    private let core: Core

    package init() throws {
        let (descriptor, port) = try Socket.listen()
        self.port = port
        core = Core(listener: descriptor)
        let core = core
        Thread.detachNewThread { core.acceptAll() }
    }

    deinit { core.stop() }

    // MARK: - Script

    /// Sets the response for `path` (without a query) from now on.
    package func route(_ path: String, _ handler: @escaping Handler) {
        core.state.withLock { $0.routes[path] = handler }
    }

    /// Sets a constant response for a path.
    package func route(_ path: String, _ response: Response) { route(path) { _ in response } }

    /// Sets a path's first responses, whatever the queries are; the last one stays.
    package func route(_ path: String, inTurn responses: [Response]) {
        let answered = Mutex(0)
        route(path) { _ in
            guard let last = responses.indices.last else { return Response(404) }
            let index = answered.withLock { answered in
                defer { answered += 1 }
                return min(answered, last)
            }
            return responses[index]
        }
    }

    /// Serves a correct object with range support.
    package func serve(_ path: String, _ body: [UInt8], etag: String? = nil) {
        route(path) { $0.serve(body, etag: etag) }
    }

    /// Returns `http://127.0.0.1:PORT` with the path.
    package func url(_ path: String = "") -> String { "http://127.0.0.1:\(port)\(path)" }

    // MARK: - Records

    /// All requests in the order of their arrival.
    package var requests: [Request] { core.state.withLock { $0.requests } }

    /// The requests for a path, with any query.
    package func requests(for path: String) -> [Request] { requests.filter { $0.path == path } }

    package func count(_ path: String) -> Int { requests(for: path).count }

    /// Returns the maximum number of requests within any `seconds`.
    package func maxRequests(inSeconds seconds: Double) -> Int {
        let times = requests.map(\.receivedAt).sorted()
        var first = 0
        var most = 0
        for (index, time) in times.enumerated() {
            while time - times[first] >= seconds { first += 1 }
            most = max(most, index - first + 1)
        }
        return most
    }

    /// Current number of open connections, and its peak. Connections that the client has closed do
    /// not count, even if their thread has not noticed yet.
    package var connections: (now: Int, peak: Int) {
        core.state.withLock {
            ($0.connections.count(where: Socket.isEstablished), $0.peakConnections)
        }
    }

    /// Current number of requests being answered, and its peak.
    package var activeRequests: (now: Int, peak: Int) {
        core.state.withLock { ($0.active, $0.peakActive) }
    }

    /// Connections accepted since the start.
    package var acceptedConnections: Int { core.state.withLock { $0.accepted } }

    /// Resets every open connection, as a crash of the origin does.
    package func cutConnections() { core.cutConnections() }
}

/// State shared by the origin's threads; it outlives the `FaultOrigin` until their last step.
private final class Core: Sendable {
    struct State {
        var routes: [String: FaultOrigin.Handler] = [:]
        var requests: [FaultOrigin.Request] = []
        var counts: [String: Int] = [:]
        var connections: Set<Int32> = []
        var peakConnections = 0
        var accepted = 0
        var active = 0
        var peakActive = 0
        var gates: [Gate] = []
        var isStopped = false
    }

    let listener: Int32
    let state = Mutex(State())

    init(listener: Int32) { self.listener = listener }

    func acceptAll() {
        while let descriptor = Socket.accept(listener) {
            let isWelcome = state.withLock { state in
                guard !state.isStopped else { return false }
                state.connections.insert(descriptor)
                state.accepted += 1
                let open = state.connections.count(where: Socket.isEstablished)
                state.peakConnections = max(state.peakConnections, open)
                return true
            }
            if isWelcome {
                Thread.detachNewThread { self.serve(descriptor) }
            } else {
                close(descriptor)
            }
        }
        close(listener)
    }

    func stop() {
        let gates = state.withLock { state in
            state.isStopped = true
            // Only shut down: the connection's thread closes it, so that its descriptor is not
            // reused early.
            for descriptor in state.connections { shutdown(descriptor, Int32(SHUT_RDWR)) }
            return state.gates
        }
        for gate in gates { gate.open() }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    func cutConnections() {
        state.withLock { state in
            for descriptor in state.connections {
                Socket.resetOnClose(descriptor)
                shutdown(descriptor, Int32(SHUT_RDWR))
            }
        }
    }

    // MARK: - One connection

    private func serve(_ descriptor: Int32) {
        var input: [UInt8] = []
        var age = 0.0
        while let head = readHead(descriptor, &input, &age) {
            guard let (request, handler) = register(head, age: age),
                skipBody(of: request, descriptor, &input)
            else { break }
            let response = handler(request)
            let keeps = send(response, head: request.method == "HEAD", to: descriptor)
            state.withLock { $0.active -= 1 }
            if !keeps { break }
        }
        state.withLock { state in
            state.connections.remove(descriptor)
            close(descriptor)
        }
    }

    /// Reads the body of a request and drops it; returns false at the end of the connection.
    private func skipBody(
        of request: FaultOrigin.Request, _ descriptor: Int32, _ input: inout [UInt8]
    ) -> Bool {
        var rest = request.headers["content-length"].flatMap { Int($0) } ?? 0
        while true {
            let count = min(rest, input.count)
            input.removeFirst(count)
            rest -= count
            if rest == 0 { return true }
            input = Socket.receiveStamped(from: descriptor).0
            if input.isEmpty { return false }
        }
    }

    /// Returns the bytes before the empty line; nil at the end of the connection.
    private func readHead(
        _ descriptor: Int32, _ input: inout [UInt8], _ age: inout Double
    ) -> String? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = input.firstRange(of: end) {
                let head = String(decoding: input[..<range.lowerBound], as: UTF8.self)
                input.removeSubrange(..<range.upperBound)
                return head
            }
            guard input.count < 1 << 20 else { return nil }
            let (bytes, bytesAge) = Socket.receiveStamped(from: descriptor)
            if bytes.isEmpty { return nil }
            age = bytesAge
            input += bytes
        }
    }

    private func register(
        _ head: String, age: Double
    ) -> (FaultOrigin.Request, FaultOrigin.Handler)? {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            headers[line[..<colon].lowercased()] = String(value)
        }
        let target = String(words[1])
        return state.withLock { state in
            state.counts[target, default: 0] += 1
            let request = FaultOrigin.Request(
                method: String(words[0]), target: target, headers: headers,
                number: state.counts[target, default: 0],
                receivedAt: MonotonicClock.nowSeconds - age)
            state.requests.append(request)
            state.active += 1
            state.peakActive = max(state.peakActive, state.active)
            let handler = state.routes[request.path]
            return (request, handler ?? { _ in FaultOrigin.Response(404, text: "not routed\n") })
        }
    }

    /// Executes the response; returns true if the connection continues.
    private func send(
        _ response: FaultOrigin.Response, head isHead: Bool, to descriptor: Int32
    ) -> Bool {
        if let gate = response.gate { pass(gate) }
        let serviceSeconds = response.serviceSeconds
        if serviceSeconds > 0,
            Socket.waitForHangUp(of: descriptor, atMostSeconds: serviceSeconds)
        {
            return false
        }
        guard response.head().withUnsafeBytes({ Socket.send($0, to: descriptor) }) else {
            return false
        }
        if isHead { return response.keepsConnection }
        for step in response.steps {
            switch step {
            case .send(let bytes):
                guard bytes.withUnsafeBytes({ Socket.send($0, to: descriptor) }) else {
                    return false
                }
            case .wait(let gate): pass(gate)
            case .sendForever(let bytes):
                while bytes.withUnsafeBytes({ Socket.send($0, to: descriptor) }) {}
                return false
            case .drip(let bytes, let seconds):
                // At a pace that the test specifies, until the client hangs up.
                while bytes.withUnsafeBytes({ Socket.send($0, to: descriptor) }),
                    !Socket.waitForHangUp(of: descriptor, atMostSeconds: seconds)
                {}
                return false
            case .reset:
                Socket.resetOnClose(descriptor)
                return false
            case .close: return false
            case .killPeer: PeerProcess.kill(at: descriptor)
            }
        }
        return response.keepsConnection
    }

    /// Waits at a gate that `stop` opens.
    private func pass(_ gate: Gate) {
        let isStopped = state.withLock { state in
            state.gates.append(gate)
            return state.isStopped
        }
        if !isStopped { gate.pass() }
    }
}
