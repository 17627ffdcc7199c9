internal import Foundation
internal import Glibc
internal import Synchronization

/// A forward proxy on a loopback port: SOCKS 5 and HTTP's CONNECT, distinguished by the client's
/// first bytes. It ends with the last reference: connections are cut.
package final class ForwardProxy: Sendable {
    /// The proxy's response to a request.
    package enum Answer: Sendable {
        /// Connects to this loopback port, whatever the requested target is.
        case forward(to: UInt16)
        /// Sends these bytes and closes the connection.
        case send([UInt8])
        /// Repeats these bytes.
        case sendForever([UInt8])
    }

    /// A request of a client.
    package struct Request: Sendable, Equatable {
        /// `HOST:PORT` as the client sent it.
        package var target: String
        /// `USER:PASSWORD`; nil for none.
        package var credentials: String?
        /// Lowercase header names of CONNECT.
        package var headers: [String] = []
    }

    package let port: UInt16
    private let core: Core

    /// Starts a proxy.
    ///
    /// - Parameter credentials: required `USER:PASSWORD`; nil for none.
    package init(_ answer: Answer, credentials: String? = nil) throws {
        let (listener, port) = try Socket.listen()
        self.port = port
        core = Core(listener: listener, answer: answer, credentials: credentials)
        let core = core
        Thread.detachNewThread { core.acceptAll() }
    }

    deinit { core.stop() }

    /// All requests in order, including rejected ones.
    package var requests: [Request] { core.state.withLock { $0.requests } }

    fileprivate final class Core: Sendable {
        struct State {
            var requests: [Request] = []
            var connections: Set<Int32> = []
            var isStopped = false
        }

        let state = Mutex(State())
        private let listener: Int32
        private let answer: Answer
        private let credentials: String?

        init(listener: Int32, answer: Answer, credentials: String?) {
            self.listener = listener
            self.answer = answer
            self.credentials = credentials
        }

        func acceptAll() {
            while let client = Socket.accept(listener) {
                let isWelcome = state.withLock { state in
                    if !state.isStopped { state.connections.insert(client) }
                    return !state.isStopped
                }
                guard isWelcome else {
                    close(client)
                    break
                }
                Thread.detachNewThread {
                    self.serve(client)
                    self.state.withLock { state in
                        state.connections.remove(client)
                        close(client)
                    }
                }
            }
            close(listener)
        }

        func stop() {
            state.withLock { state in
                state.isStopped = true
                for client in state.connections { shutdown(client, Int32(SHUT_RDWR)) }
            }
            shutdown(listener, Int32(SHUT_RDWR))
        }

        private func serve(_ client: Int32) {
            let input = ProxyInput(client)
            guard let first = input.peek() else { return }
            let isSOCKS = first == SOCKS.version
            guard let request = isSOCKS ? readSOCKS(input) : readConnect(input) else { return }
            state.withLock { $0.requests.append(request) }
            switch answer {
            case .send(let bytes): input.send(bytes)
            case .sendForever(let bytes): while input.send(bytes) {}
            case .forward(let port):
                guard isSOCKS || credentials == request.credentials else {
                    input.send(Array("HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n".utf8))
                    return
                }
                guard let server = try? Socket.connect(port: port) else { return }
                let yes = isSOCKS ? SOCKS.granted : Array("HTTP/1.1 200 Yes\r\n\r\n".utf8)
                if input.send(yes) { relay(input, server) }
                close(server)
            }
        }

        /// Forwards in both directions until both have ended.
        private func relay(_ client: ProxyInput, _ server: Int32) {
            let answers = DispatchSemaphore(value: 0)
            let descriptor = client.descriptor
            Thread.detachNewThread {
                Self.pump(from: server, to: descriptor)
                answers.signal()
            }
            let early = client.rest()
            if early.withUnsafeBytes({ Socket.send($0, to: server) }) {
                Self.pump(from: descriptor, to: server)
            }
            answers.wait()
        }

        private static func pump(from source: Int32, to destination: Int32) {
            while true {
                let bytes = Socket.receive(from: source)
                guard !bytes.isEmpty, bytes.withUnsafeBytes({ Socket.send($0, to: destination) })
                else { break }
            }
            shutdown(destination, Int32(SHUT_WR))
        }

        // MARK: - CONNECT (RFC 9110, 9.3.6)

        private func readConnect(_ input: ProxyInput) -> Request? {
            guard let head = input.readHead() else { return nil }
            let lines = head.split(separator: "\r\n")
            let words = lines.first?.split(separator: " ") ?? []
            guard words.count == 3, words[0] == "CONNECT" else { return nil }
            var request = Request(target: String(words[1]))
            for line in lines.dropFirst() {
                let name = line.prefix { $0 != ":" }.lowercased()
                request.headers.append(name)
                guard name == "proxy-authorization" else { continue }
                let data = line.split(separator: " ").last.flatMap {
                    Data(base64Encoded: String($0))
                }
                request.credentials = data.map { String(decoding: $0, as: UTF8.self) }
            }
            return request
        }

        // MARK: - SOCKS 5 (RFC 1928 and 1929)

        private func readSOCKS(_ input: ProxyInput) -> Request? {
            guard let greeting = input.read(2), let methods = input.read(Int(greeting[1])) else {
                return nil
            }
            var request = Request(target: "")
            let method = credentials == nil ? SOCKS.plain : SOCKS.password
            guard methods.contains(method) else {
                input.send([SOCKS.version, SOCKS.noMethod])
                return nil
            }
            input.send([SOCKS.version, method])
            if method == SOCKS.password {
                guard input.read(1) != nil, let user = input.readText(),
                    let password = input.readText()
                else { return nil }
                request.credentials = "\(user):\(password)"
                let isRight = request.credentials == credentials
                input.send([1, isRight ? 0 : 1])
                guard isRight else { return nil }
            }
            guard let command = input.read(4) else { return nil }
            let host: String?
            switch command[3] {
            case 1: host = input.read(4)?.map { String($0) }.joined(separator: ".")
            case 3: host = input.readText()
            default: host = nil
            }
            guard let host, let port = input.read(2) else { return nil }
            request.target = "\(host):\(UInt16(port[0]) << 8 | UInt16(port[1]))"
            return request
        }
    }
}

/// Numbers of SOCKS 5.
package enum SOCKS {
    static let version: UInt8 = 5
    static let plain: UInt8 = 0
    static let password: UInt8 = 2
    static let noMethod: UInt8 = 0xFF
    static let granted = answer(0)

    /// Returns a response with this code: 1 is a failure, 2 forbidden, 4 unreachable, 5 rejected.
    package static func answer(_ code: UInt8) -> [UInt8] {
        [version, code, 0, 1, 0, 0, 0, 0, 0, 0]
    }
}

/// Input from a client, confined to its connection's thread.
private final class ProxyInput {
    let descriptor: Int32
    private var bytes: [UInt8] = []

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { Socket.send($0, to: descriptor) }
    }

    func peek() -> UInt8? { fill(1) ? bytes[0] : nil }

    func read(_ count: Int) -> [UInt8]? {
        guard fill(count) else { return nil }
        defer { bytes.removeFirst(count) }
        return Array(bytes.prefix(count))
    }

    /// Reads a text after a byte with its length.
    func readText() -> String? {
        guard let length = read(1), let text = read(Int(length[0])) else { return nil }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads up to an empty line.
    func readHead() -> String? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = bytes.firstRange(of: end) {
                defer { bytes.removeSubrange(..<range.upperBound) }
                return String(decoding: bytes[..<range.lowerBound], as: UTF8.self)
            }
            guard bytes.count < 1 << 16, fill(bytes.count + 1) else { return nil }
        }
    }

    /// Returns received bytes that were not read.
    func rest() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    private func fill(_ count: Int) -> Bool {
        while bytes.count < count {
            let more = Socket.receive(from: descriptor)
            if more.isEmpty { return false }
            bytes += more
        }
        return true
    }
}
