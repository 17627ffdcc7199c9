import Foundation
import Glibc
import HTTPServer
import TestSupport

/// A blocking HTTP/1.1 client connection that can also misbehave. Its calls run on threads of their
/// own: one that waits must not hold a thread that a handler needs.
final class Client: Sendable {
    struct Answer: Equatable, Sendable {
        var status: Int
        var headers: [String: String]
        var body: String
    }

    struct Failure: Error {
        let call: String
        let code = errno
    }

    private let descriptor: Int32
    /// TLS over the socket; begins with the first call.
    private let secure: SecureSocket?

    /// Connects over TLS in a test of both transports, or with `secure`.
    init(port: UInt16, family: Int32 = AF_INET, secure: SecureSocket.Options? = nil) throws {
        // A child process of another test would keep the connection open.
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue
        descriptor = socket(family, Int32(kind), 0)
        self.secure = (secure ?? Transport.current.options).map { [descriptor] in
            SecureSocket(descriptor, $0)
        }
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var storage = sockaddr_storage()
        let size = withUnsafeMutablePointer(to: &storage) { pointer -> Int in
            if family == AF_INET6 {
                return pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    $0.pointee.sin6_family = sa_family_t(AF_INET6)
                    $0.pointee.sin6_port = port.bigEndian
                    $0.pointee.sin6_addr = in6addr_loopback
                    return MemoryLayout<sockaddr_in6>.size
                }
            }
            return pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                $0.pointee.sin_family = sa_family_t(AF_INET)
                $0.pointee.sin_port = port.bigEndian
                $0.pointee.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
                return MemoryLayout<sockaddr_in>.size
            }
        }
        let status = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(size))
            }
        }
        guard status == 0 else { throw Failure(call: "connect") }
    }

    deinit { close(descriptor) }

    /// Holds back what is sent, or sends it at once (tcp(7), TCP_CORK).
    func cork(_ holdsBack: Bool) {
        var flag: Int32 = holdsBack ? 1 : 0
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_CORK, &flag, socklen_t(MemoryLayout<Int32>.size))
    }

    /// True if the server ended the connection by close_notify.
    var isFinishedByPeer: Bool { secure?.isFinishedByPeer ?? false }

    /// Ends this side: with close_notify over TLS, and with FIN.
    func endSending() async throws {
        try await onThread { [descriptor, secure] in
            secure?.finish()
            shutdown(descriptor, Int32(SHUT_WR))
        }
    }

    /// Sends as it is.
    func send(_ text: String) async throws { try await send(bytes: Array(text.utf8)) }

    func send(bytes: [UInt8]) async throws {
        try await onThread { [descriptor, secure] in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    secure?.send($0)
                        ?? Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { throw Failure(call: "send") }
                rest = rest.dropFirst(count)
            }
        }
    }

    func send(
        _ method: String, _ target: String, headers: [String] = [], body: String? = nil
    ) async throws {
        var lines = ["\(method) \(target) HTTP/1.1", "Host: test"] + headers
        if let body { lines.append("Content-Length: \(body.utf8.count)") }
        try await send(lines.joined(separator: "\r\n") + "\r\n\r\n" + (body ?? ""))
    }

    /// Reads one answer; nil when the server closes the connection before one.
    func receive(isHead: Bool = false) async throws -> Answer? {
        try await onThread { [descriptor, secure] in
            func read(_ count: Int) throws -> [UInt8] {
                var bytes = [UInt8](repeating: 0, count: count)
                let got = bytes.withUnsafeMutableBytes {
                    secure?.receive($0) ?? Glibc.recv(descriptor, $0.baseAddress, count, 0)
                }
                if got < 0, errno != ECONNRESET { throw Failure(call: "recv") }
                return Array(bytes.prefix(max(got, 0)))
            }
            var head: [UInt8] = []
            while !head.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                let byte = try read(1)
                if byte.isEmpty { return nil }
                head += byte
            }
            let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
            let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            var headers: [String: String] = [:]
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                headers[parts[0].lowercased()] = parts.dropFirst().first.map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
            }
            let length = isHead ? 0 : headers["content-length"].flatMap { Int($0) } ?? 0
            var body: [UInt8] = []
            while body.count < length {
                let more = try read(length - body.count)
                if more.isEmpty { throw Failure(call: "recv") }
                body += more
            }
            return Answer(
                status: status ?? 0, headers: headers, body: String(decoding: body, as: UTF8.self))
        }
    }

    /// Reads exactly so many bytes of a body; fewer at its end.
    func read(_ count: Int) async throws -> [UInt8] { try await take(count) }

    /// Reads until the server closes the connection.
    func readAll() async throws -> [UInt8] { try await take(.max) }

    private func take(_ count: Int) async throws -> [UInt8] {
        try await onThread { [descriptor, secure] in
            var bytes: [UInt8] = []
            var block = [UInt8](repeating: 0, count: min(count, 64 << 10))
            while bytes.count < count {
                let wanted = min(block.count, count - bytes.count)
                let got = block.withUnsafeMutableBytes { buffer in
                    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                    return secure?.receive(room)
                        ?? Glibc.recv(descriptor, room.baseAddress, wanted, 0)
                }
                guard got > 0 else { break }
                bytes += block.prefix(got)
            }
            return bytes
        }
    }

    /// One request and its answer.
    func exchange(
        _ method: String, _ target: String, headers: [String] = [], body: String? = nil
    ) async throws -> Answer? {
        try await send(method, target, headers: headers, body: body)
        return try await receive(isHead: method == "HEAD")
    }

    private func onThread<T: Sendable>(
        _ work: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
        }
    }
}

/// Holds handlers until it is opened, and notifies when so many have arrived.
actor Gate {
    private var isOpen = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    func pass() async {
        if isOpen { return }
        await withCheckedContinuation { continuation in
            held.append(continuation)
            for watcher in watchers where watcher.count == held.count {
                watcher.continuation.resume()
            }
        }
    }

    func waitUntilHolding(_ count: Int) async {
        if held.count >= count { return }
        await withCheckedContinuation { watchers.append((count, $0)) }
    }

    func open() {
        isOpen = true
        for continuation in held { continuation.resume() }
        held = []
    }
}

/// A server on a free port, shut down after `body`.
func withServer(
    _ configuration: HTTPServer.Configuration = .init(), handler: @escaping HTTPServer.Handler,
    _ body: (HTTPServer) async throws -> Void
) async throws {
    let server = try Transport.start(configuration, handler: handler)
    do {
        try await body(server)
    } catch {
        await server.shutdown(graceSeconds: 0)
        throw error
    }
    await server.shutdown(graceSeconds: 0)
}
