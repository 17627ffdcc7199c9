import Foundation
import Glibc
import Model
import TestSupport

/// A stream of events on a connection of its own, read when the test wants it.
final class RawStream: @unchecked Sendable {
    // Unchecked: a test reads it from one task at a time.
    private let descriptor: Int32
    private var isOpen = true
    /// Received bytes that are no whole chunk yet.
    private var rest: [UInt8] = []
    private(set) var head = ""
    private var body: [UInt8] = []
    /// True once the last chunk has come.
    private(set) var isComplete = false

    init(port: Int, _ target: String, headers: [String: String] = [:]) throws {
        var all = [
            "Host": "127.0.0.1:\(port)", "Accept": "text/event-stream",
            "Authorization": "Bearer \(AccessToken.test.text)",
        ]
        all.merge(headers) { $1 }
        var head = "GET \(target) HTTP/1.1\r\n"
        for (name, value) in all { head += "\(name): \(value)\r\n" }
        descriptor = try Wire.open(port: port, sending: Array("\(head)\r\n".utf8))
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { leave() }

    func leave() {
        guard isOpen else { return }
        isOpen = false
        close(descriptor)
    }

    /// Reads until the text was received; returns the body up to now. Throws when the stream ends, or
    /// is silent for 30 s, before.
    func read(until text: String) async throws -> String {
        // What comes at once is more than a text, and less than that.
        let recent = 256 << 10
        let all = try await read { body in
            String(decoding: body.suffix(recent), as: UTF8.self).contains(text)
        }
        guard all.contains(text) else { throw EndedEarly(bytes: all.utf8.count, missing: text) }
        return all
    }

    struct EndedEarly: Error {
        let bytes: Int
        let missing: String
    }

    /// Takes some of what was sent.
    func readBlock() async throws {
        let length = body.count + rest.count
        _ = try await read { [self] body in body.count + rest.count > length }
    }

    /// Reads until the server closes the connection.
    func readAll() async throws -> String { try await read { _ in false } }

    private func read(
        _ isEnough: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { [self] in
                var block = [UInt8](repeating: 0, count: 64 << 10)
                while !isEnough(body) {
                    let count = recv(descriptor, &block, block.count, 0)
                    guard count > 0 else { break }
                    rest += block[..<count]
                    takeHead()
                    takeChunks()
                }
                continuation.resume(returning: String(decoding: body, as: UTF8.self))
            }
        }
    }

    private func takeHead() {
        guard head.isEmpty, let end = Self.index(of: "\r\n\r\n", in: rest[...]) else { return }
        head = String(decoding: rest[..<end], as: UTF8.self)
        rest.removeFirst(end + 4)
    }

    private func takeChunks() {
        guard !head.isEmpty else { return }
        var from = 0
        while let line = Self.index(of: "\r\n", in: rest[from...]),
            let length = Int(String(decoding: rest[from..<line], as: UTF8.self), radix: 16)
        {
            isComplete = length == 0
            guard line + length + 4 <= rest.count else { break }
            body += rest[(line + 2)..<(line + 2 + length)]
            from = line + length + 4
        }
        rest.removeFirst(min(from, rest.count))
    }

    private static func index(of text: String, in bytes: ArraySlice<UInt8>) -> Int? {
        let wanted = Array(text.utf8)
        return bytes.indices.first { bytes[$0...].starts(with: wanted) }
    }
}
