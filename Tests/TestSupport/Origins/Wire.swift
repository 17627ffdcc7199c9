internal import Foundation
internal import Glibc

/// HTTP/1.1 exchanges with a coordinator over a raw socket, with exact bytes.
package enum Wire {
    package struct Answer: Sendable {
        package var status: Int
        /// By lowercase name.
        package var headers: [String: String] = [:]
        package var body: String

        /// The failure code of every response other than 2xx.
        package var code: String? {
            let json = try? JSONSerialization.jsonObject(with: Data(body.utf8))
            return (json as? [String: Any])?["code"] as? String
        }
    }

    package struct Failure: Error {
        package let call: String
        package let code = errno
    }

    /// Sends a request and reads its response; given headers replace the usual ones.
    package static func exchange(
        port: Int, _ method: String, _ target: String, headers: [String: String] = [:],
        body: [UInt8]? = nil
    ) async throws -> Answer {
        var all = ["Host": "127.0.0.1:\(port)", "Connection": "close"]
        if let body {
            all["Content-Type"] = "application/json"
            all["Content-Length"] = "\(body.count)"
        }
        all.merge(headers) { _, given in given }
        var head = "\(method) \(target) HTTP/1.1\r\n"
        for (name, value) in all where !value.isEmpty { head += "\(name): \(value)\r\n" }
        let bytes = Array("\(head)\r\n".utf8) + (body ?? [])
        // On a separate thread: a blocked one must not delay the coordinator's tasks.
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try perform(port: port, bytes) })
            }
        }
    }

    private static func perform(port: Int, _ bytes: [UInt8]) throws -> Answer {
        let descriptor = try open(port: port, sending: bytes)
        defer { close(descriptor) }
        var timeout = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var received: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &block, block.count, 0)
            guard count > 0 else { break }
            received += block[..<count]
        }
        return try parse(String(decoding: received, as: UTF8.self))
    }

    /// Opens a connection and sends `bytes` on it; the caller closes it.
    package static func open(port: Int, sending bytes: [UInt8]) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw Failure(call: "socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else {
            let failure = Failure(call: "connect")
            close(descriptor)
            throw failure
        }
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // The coordinator may respond before it has read a body that is too long.
            guard count > 0 else { break }
            sent += count
        }
        return descriptor
    }

    private static func parse(_ text: String) throws -> Answer {
        // As bytes: a line break of two is one character.
        let parts = text.components(separatedBy: "\r\n\r\n")
        let words = text.prefix(20).split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { throw Failure(call: "answer") }
        var headers: [String: String] = [:]
        for line in parts[0].components(separatedBy: "\r\n").dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2 else { continue }
            headers[halves[0].lowercased()] = halves[1].trimmingCharacters(in: .whitespaces)
        }
        return Answer(
            status: status, headers: headers, body: parts.dropFirst().joined(separator: "\r\n\r\n"))
    }
}
