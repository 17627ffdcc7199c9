internal import EventLoop
internal import Foundation
internal import Glibc
internal import Synchronization

/// A loopback port that forwards HTTP/1.1 requests to a server, with the faults that a test scripts.
///
/// Each request has a connection of its own. Bodies of requests have a length.
package final class RequestProxy: Sendable {
    /// Returns what is done with a request whose body has arrived.
    package typealias Handler = @Sendable (FaultOrigin.Request) -> Treatment

    package enum Treatment: Sendable {
        case forward
        /// Answers instead of the server, which does not get the request.
        case answer(FaultOrigin.Response)
        /// Forwards, and resets the connection instead of passing on the server's reply.
        case loseReply
        /// Forwards the head and half of the body, waits for the test, and forwards the rest, even
        /// if the client is gone by then.
        case hold(Gate)
    }

    /// A reply of the server.
    package struct Reply: Sendable {
        package let request: FaultOrigin.Request
        package let status: Int
        /// Arrival of its first bytes on the monotonic clock, in seconds.
        package let receivedAt: Double
    }

    package let port: UInt16
    private let core: ProxyCore

    package init(to port: Int, _ handler: @escaping Handler) throws {
        let (listener, own) = try Socket.listen()
        self.port = own
        core = ProxyCore(server: UInt16(port), listener: listener, handler: handler)
        let core = core
        Thread.detachNewThread {
            while let client = Socket.accept(listener) {
                Thread.detachNewThread { core.serve(client) }
            }
            close(listener)
        }
    }

    deinit { shutdown(core.listener, Int32(SHUT_RDWR)) }

    /// All requests in the order of their arrival.
    package var requests: [FaultOrigin.Request] { core.requests.withLock { $0 } }

    /// The server's replies in the order of their arrival, with those that are lost. A client has
    /// its reply after it is among these.
    package var replies: [Reply] { core.replies.withLock { $0 } }
}

private final class ProxyCore: Sendable {
    let listener: Int32
    let requests = Mutex<[FaultOrigin.Request]>([])
    let replies = Mutex<[RequestProxy.Reply]>([])
    private let server: UInt16
    private let handler: RequestProxy.Handler

    init(server: UInt16, listener: Int32, handler: @escaping RequestProxy.Handler) {
        self.server = server
        self.listener = listener
        self.handler = handler
    }

    func serve(_ client: Int32) {
        defer { close(client) }
        var input: [UInt8] = []
        guard let head = readHead(client, &input),
            let (request, lines) = register(head)
        else { return }
        if request.headers["expect"] != nil {
            guard send("HTTP/1.1 100 Continue\r\n\r\n", to: client) else { return }
        }
        let length = request.headers["content-length"].flatMap { Int($0) } ?? 0
        while input.count < length {
            let more = Socket.receive(from: client)
            if more.isEmpty { return }
            input += more
        }
        switch handler(request) {
        case .forward: forward(request, lines, input, to: client)
        case .hold(let gate): forward(request, lines, input, to: client, at: gate)
        case .loseReply:
            forward(request, lines, input, to: nil)
            Socket.resetOnClose(client)
        case .answer(let response):
            let answer = response.with("Connection", "close")
            _ = send(answer.head() + answer.body, to: client)
        }
    }

    /// - Parameter client: nil to drop the reply.
    private func forward(
        _ request: FaultOrigin.Request, _ lines: [String], _ body: [UInt8], to client: Int32?,
        at gate: Gate? = nil
    ) {
        guard let server = try? Socket.connect(port: server) else { return }
        defer { close(server) }
        let kept = lines.filter { line in
            !["connection:", "expect:"].contains { line.lowercased().hasPrefix($0) }
        }
        let head = (kept + ["Connection: close", "", ""]).joined(separator: "\r\n")
        let first = gate == nil ? body.count : body.count / 2
        guard send(head, to: server), send(Array(body[..<first]), to: server) else { return }
        gate?.pass()
        guard send(Array(body[first...]), to: server) else { return }
        passReply(to: request, from: server, to: client)
    }

    /// Reads the whole reply, even if the client is gone.
    private func passReply(
        to request: FaultOrigin.Request, from server: Int32, to client: Int32?
    ) {
        var client = client
        var isFirst = true
        while true {
            let bytes = Socket.receive(from: server)
            guard !bytes.isEmpty else { return }
            if isFirst {
                let words = String(decoding: bytes.prefix(16), as: UTF8.self).split(separator: " ")
                let status = words.count > 1 ? Int(words[1]) ?? 0 : 0
                replies.withLock {
                    $0.append(
                        RequestProxy.Reply(
                            request: request, status: status,
                            receivedAt: MonotonicClock.nowSeconds))
                }
            }
            isFirst = false
            if let descriptor = client, !send(bytes, to: descriptor) { client = nil }
        }
    }

    private func send(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { Socket.send($0, to: descriptor) }
    }

    private func send(_ text: String, to descriptor: Int32) -> Bool {
        send(Array(text.utf8), to: descriptor)
    }

    /// Returns the lines before the empty one; nil at the end of the connection.
    private func readHead(_ client: Int32, _ input: inout [UInt8]) -> [String]? {
        while true {
            if let end = input.firstRange(of: Array("\r\n\r\n".utf8)) {
                let head = String(decoding: input[..<end.lowerBound], as: UTF8.self)
                input.removeSubrange(..<end.upperBound)
                return head.split(separator: "\r\n", omittingEmptySubsequences: false)
                    .map(String.init)
            }
            let more = Socket.receive(from: client)
            guard !more.isEmpty, input.count < 1 << 20 else { return nil }
            input += more
        }
    }

    private func register(_ lines: [String]) -> (FaultOrigin.Request, [String])? {
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3 else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            headers[line[..<colon].lowercased()] = String(
                line[line.index(after: colon)...].drop { $0 == " " })
        }
        let (method, target) = (String(words[0]), String(words[1]))
        let request = requests.withLock { requests in
            let request = FaultOrigin.Request(
                method: method, target: target, headers: headers,
                number: requests.count { $0.target == target } + 1,
                receivedAt: MonotonicClock.nowSeconds)
            requests.append(request)
            return request
        }
        return (request, lines)
    }
}
