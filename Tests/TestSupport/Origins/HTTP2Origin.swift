internal import Foundation
internal import Glibc
internal import Synchronization

/// An HTTP/2 origin over a raw loopback socket, without TLS, that responds to each stream with
/// scripted frames. Its listening socket closes with the last reference.
package final class HTTP2Origin: Sendable {
    /// A frame of the response to a stream.
    package enum Frame: Sendable {
        /// Status 200 with a length.
        case header(length: Int)
        case data(Int, isLast: Bool)
        case reset(errorCode: UInt32)
        /// Ends the connection after this stream.
        case goAway(errorCode: UInt32)
        /// Cuts the connection.
        case cut
        /// A raw frame (RFC 9113, 6) of the stream or of the connection.
        case frame(type: UInt8, flags: UInt8, ofConnection: Bool = false, [UInt8])
        /// Repeats a raw frame.
        case endless(type: UInt8, flags: UInt8, ofConnection: Bool = false, [UInt8])
    }

    package let port: UInt16
    private let listener: Int32

    /// Starts an origin.
    ///
    /// - Parameter answers: responses to the streams in the order of their opening; the last one
    ///   stays.
    package init(answers: [[Frame]]) throws {
        let (listener, port) = try Socket.listen()
        self.listener = listener
        self.port = port
        let opened = Opened()
        Thread.detachNewThread {
            while let descriptor = Socket.accept(listener) {
                Thread.detachNewThread {
                    Connection(descriptor).serve { answers[min(opened.next(), answers.count - 1)] }
                    close(descriptor)
                }
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}

/// Counts opened streams.
private final class Opened: Sendable {
    private let count = Atomic<Int>(0)
    func next() -> Int { count.add(1, ordering: .relaxed).oldValue }
}

/// One connection: the parts of RFC 9113 that a client's requests need.
private struct Connection {
    private static let prefaceBytes = 24
    private static let headers: UInt8 = 1

    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func serve(_ answer: () -> [HTTP2Origin.Frame]) {
        var input: [UInt8] = []
        guard send(4, 0, 0, []), fill(&input, Self.prefaceBytes) else { return }
        input.removeFirst(Self.prefaceBytes)
        while fill(&input, 9) {
            let length = Int(input[0]) << 16 | Int(input[1]) << 8 | Int(input[2])
            let stream = input[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
            let isRequest = input[3] == Self.headers
            guard fill(&input, 9 + length) else { return }
            input.removeFirst(9 + length)
            guard isRequest else { continue }
            for frame in answer() where !send(frame, stream) { return }
        }
    }

    private func fill(_ input: inout [UInt8], _ count: Int) -> Bool {
        while input.count < count {
            let bytes = Socket.receive(from: descriptor)
            if bytes.isEmpty { return false }
            input += bytes
        }
        return true
    }

    /// Sends a frame; returns false at the connection's end.
    private func send(_ frame: HTTP2Origin.Frame, _ stream: UInt32) -> Bool {
        switch frame {
        case .header(let length):
            // HPACK: `:status 200` and content-length (28 of the static table) as a literal.
            let digits = Array(String(length).utf8)
            return send(
                Self.headers, 4, stream, [0x88, 0x0F, 0x0D, UInt8(digits.count)] + digits)
        case .data(let count, let isLast):
            return send(0, isLast ? 1 : 0, stream, [UInt8](repeating: 7, count: count))
        case .reset(let code): return send(3, 0, stream, Self.word(code))
        case .goAway(let code): return send(7, 0, 0, Self.word(stream) + Self.word(code)) && false
        case .cut: return false
        case .frame(let type, let flags, let isOfConnection, let payload):
            return send(type, flags, isOfConnection ? 0 : stream, payload)
        case .endless(let type, let flags, let isOfConnection, let payload):
            while send(type, flags, isOfConnection ? 0 : stream, payload) {}
            return false
        }
    }

    private func send(
        _ type: UInt8, _ flags: UInt8, _ stream: UInt32, _ payload: [UInt8]
    ) -> Bool {
        var frame = Array(Self.word(UInt32(payload.count)).dropFirst())
        frame += [type, flags]
        frame += Self.word(stream)
        return send(frame + payload)
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { Socket.send($0, to: descriptor) }
    }

    private static func word(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
