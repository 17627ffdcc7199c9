/// The progress of a response's body; separates its data from the framing (RFC 9112, 6 and 7.1).
package struct ResponseBody: Sendable, Equatable {
    private enum State: Sendable, Equatable {
        case done
        case length
        case untilClose
        // States of a chunked body.
        case size
        /// The rest of the size's line.
        case sizeEnd
        case data
        /// The line end after a chunk's data.
        case dataEnd
        case trailer
    }

    private var state: State
    /// Remaining bytes of the present data.
    private var remaining: Int64 = 0
    /// Digits of a chunk's size.
    private var digits = 0
    /// Bytes of the line of a chunk's size, or of all trailers.
    private var framingBytes = 0
    /// Bytes of a trailer.
    private var lineBytes = 0
    /// True if lines end in CR LF only. For requests, because a proxy before this reader may accept
    /// another end.
    private var isStrict = false
    /// Strict: the previous byte was CR, so that LF must follow.
    private var isLineEnding = false

    /// Maximum bytes of the line of a chunk's size, and of all trailers.
    package static let (longestLine, longestTrailers) = (4_096, 65_536)

    package static let none = ResponseBody(.done)
    package static let untilClose = ResponseBody(.untilClose)
    package static let chunked = ResponseBody(.size)
    /// Chunked, with lines that end in CR LF only, sizes followed by extensions or nothing, and no
    /// control characters.
    package static let strictlyChunked = {
        var body = chunked
        body.isStrict = true
        return body
    }()

    /// - Parameter count: 0 or more.
    package static func length(_ count: Int64) -> ResponseBody {
        var body = ResponseBody(count > 0 ? .length : .done)
        body.remaining = count
        return body
    }

    private init(_ state: State) { self.state = state }

    package var isDone: Bool { state == .done }

    /// True if it ends with its connection.
    package var endsByClose: Bool { state == .untilClose }

    /// True if its head states its length, and it has not ended.
    package var isOfLength: Bool { state == .length }

    /// Number of next bytes that are data only.
    package var plainBytes: Int64 {
        switch state {
        case .length, .data: remaining
        case .untilClose: .max
        case .done, .size, .sizeEnd, .dataEnd, .trailer: 0
        }
    }

    /// Advances past some of `plainBytes`.
    package mutating func skip(_ count: Int) {
        switch state {
        case .length:
            remaining -= Int64(count)
            if remaining == 0 { state = .done }
        case .data:
            remaining -= Int64(count)
            if remaining == 0 { state = .dataEnd }
        case .done, .untilClose, .size, .sizeEnd, .dataEnd, .trailer: break
        }
    }

    /// Removes framing and the next data from the start of `bytes`, and returns the data.
    ///
    /// Returns an empty buffer if there is none, at the end or because it has not arrived; bytes
    /// after the end stay in `bytes`.
    package mutating func next(
        _ bytes: inout UnsafeRawBufferPointer
    ) throws(MalformedResponse) -> UnsafeRawBufferPointer {
        var index = 0
        defer { bytes = UnsafeRawBufferPointer(rebasing: bytes[index...]) }
        while index < bytes.count, !isDone {
            let plain = plainBytes
            guard plain == 0 else {
                let count = Int(min(plain, Int64(bytes.count - index)))
                let data = UnsafeRawBufferPointer(rebasing: bytes[index..<(index + count)])
                skip(count)
                index += count
                return data
            }
            try frame(bytes[index])
            index += 1
        }
        return UnsafeRawBufferPointer(start: nil, count: 0)
    }

    // MARK: Chunks

    private mutating func frame(_ byte: UInt8) throws(MalformedResponse) {
        framingBytes += 1
        if isStrict { try checkLine(byte) }
        switch state {
        case .size: try size(byte)
        case .sizeEnd:
            guard framingBytes <= Self.longestLine else { throw .malformed }
            if byte == lf { sizeIsOver() }
        case .dataEnd:
            // CR LF, or LF alone.
            if byte == lf {
                begin(.size)
            } else {
                guard byte == cr, framingBytes == 1 else { throw .malformed }
            }
        case .trailer:
            guard framingBytes <= Self.longestTrailers else { throw .malformed }
            if byte == lf {
                if lineBytes == 0 { state = .done }
                lineBytes = 0
            } else if byte != cr {
                lineBytes += 1
            }
        case .done, .length, .untilClose, .data: break
        }
    }

    private mutating func checkLine(_ byte: UInt8) throws(MalformedResponse) {
        let isControl = byte < 0x20 && byte != tab && byte != cr && byte != lf || byte == 0x7F
        guard (byte == lf) == isLineEnding, !isControl else { throw .malformed }
        isLineEnding = byte == cr
    }

    private mutating func size(_ byte: UInt8) throws(MalformedResponse) {
        if let digit = Self.hexDigit(byte) {
            guard remaining <= .max >> 4, digits < 16 else { throw .malformed }
            digits += 1
            remaining = remaining << 4 | Int64(digit)
            return
        }
        guard digits > 0 else { throw .malformed }
        switch byte {
        case lf: sizeIsOver()
        case space, tab:
            guard !isStrict else { throw .malformed }
            state = .sizeEnd
        case cr, UInt8(ascii: ";"): state = .sizeEnd
        default: throw .malformed
        }
    }

    private mutating func sizeIsOver() { begin(remaining > 0 ? .data : .trailer) }

    private mutating func begin(_ next: State) {
        state = next
        digits = 0
        framingBytes = 0
        lineBytes = 0
        if next == .size { remaining = 0 }
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case zero...zero + 9: byte - zero
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
