internal import EventLoop
internal import Foundation
internal import Glibc
internal import Synchronization

/// A loopback port that forwards HTTP/1.1 requests to a server, except those that a test answers.
///
/// Each request has a connection of its own. Bodies of requests have a length.
package final class RequestProxy: Sendable {
    /// Returns the answer to a request; nil to forward it.
    package typealias Handler = @Sendable (FaultOrigin.Request) -> FaultOrigin.Response?

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
}

private final class ProxyCore: Sendable {
    let listener: Int32
    let requests = Mutex<[FaultOrigin.Request]>([])
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
        if let answer = handler(request)?.with("Connection", "close") {
            _ = (answer.head() + answer.body).withUnsafeBytes { Socket.send($0, to: client) }
        } else {
            forward(lines, input, to: client)
        }
    }

    private func forward(_ lines: [String], _ body: [UInt8], to client: Int32) {
        guard let server = try? Socket.connect(port: server) else { return }
        defer { close(server) }
        let kept = lines.filter { line in
            !["connection:", "expect:"].contains { line.lowercased().hasPrefix($0) }
        }
        let head = (kept + ["Connection: close", "", ""]).joined(separator: "\r\n")
        guard send(head, to: server), body.withUnsafeBytes({ Socket.send($0, to: server) })
        else { return }
        while true {
            let answer = Socket.receive(from: server)
            guard !answer.isEmpty, answer.withUnsafeBytes({ Socket.send($0, to: client) })
            else { return }
        }
    }

    private func send(_ text: String, to descriptor: Int32) -> Bool {
        Array(text.utf8).withUnsafeBytes { Socket.send($0, to: descriptor) }
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
