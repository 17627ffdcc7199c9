internal import Glibc

/// A reason why a response cannot be read.
package enum MalformedResponse: Error, Sendable, Equatable {
    case malformed
    /// A transfer coding other than chunked.
    case unknownCoding
}

/// The properties of a response's body and connection from an HTTP/1 head (RFC 9112).
///
/// Stricter than most clients: a response that two readers could interpret differently is
/// malformed. Lines may end in LF alone.
package struct ResponseHead: Sendable, Equatable {
    /// 100 to 999.
    package var status: Int
    /// The end of its body; a 1xx has none, and another head follows.
    package var body: ResponseBody
    /// True if the connection can carry another request after the body.
    package var keepsConnection: Bool

    package var isInterim: Bool { status < 200 && status != 101 }

    /// Returns true if a response may begin with these bytes, even if there are only a few.
    package static func mayBegin(_ bytes: UnsafeRawBufferPointer) -> Bool {
        zip(bytes, "HTTP/1.".utf8).allSatisfy { $0 == $1 }
    }

    /// Returns the length of the head at the start of `bytes`, including its empty line; nil if
    /// that has not arrived.
    ///
    /// - Parameter start: Number of bytes searched before, 0 or more.
    package static func length(in bytes: UnsafeRawBufferPointer, from start: Int = 0) -> Int? {
        // The line end before the empty line may be among the searched bytes.
        var index = max(start - 2, 0)
        while let end = lineEnd(in: bytes, from: index) {
            index = end + 1
            if index < bytes.count, bytes[index] == lf { return index + 1 }
            if index + 1 < bytes.count, bytes[index] == cr, bytes[index + 1] == lf {
                return index + 2
            }
        }
        return nil
    }

    /// Parses a head whose `length` is that of `bytes`.
    package init(_ bytes: UnsafeRawBufferPointer) throws(MalformedResponse) {
        guard let base = bytes.baseAddress, memchr(base, 0, bytes.count) == nil else {
            throw .malformed
        }
        var lines = Lines(bytes)
        guard let first = lines.next() else { throw .malformed }
        let isOld = try Self.isOld(first)
        status = try Self.status(first)
        var fields = Fields()
        while let line = lines.next(), !line.isEmpty { try fields.add(line) }
        guard fields.length == nil || !fields.isChunked else { throw .malformed }
        if status < 200 || status == 204 || status == 304 {
            body = .none
        } else if fields.isChunked {
            body = .chunked
        } else if let length = fields.length {
            body = .length(length)
        } else {
            body = .untilClose
        }
        keepsConnection =
            !fields.closes && !body.endsByClose && status != 101
            && (!isOld || fields.keepsAlive && !fields.isChunked)
    }

    // MARK: The status line

    /// Returns true for HTTP/1.0, false for 1.1.
    private static func isOld(_ line: Slice<UnsafeRawBufferPointer>) throws(MalformedResponse)
        -> Bool
    {
        if line.starts(with: "HTTP/1.1 ".utf8) { return false }
        guard line.starts(with: "HTTP/1.0 ".utf8) else { throw .malformed }
        return true
    }

    private static func status(_ line: Slice<UnsafeRawBufferPointer>) throws(MalformedResponse)
        -> Int
    {
        let rest = line.dropFirst(9)
        let digits = rest.prefix(3)
        let status = digits.reduce(0) { $0 * 10 + Int($1) - Int(zero) }
        guard digits.count == 3, digits.allSatisfy(isDigit), status >= 100,
            rest.dropFirst(3).first.map({ $0 == space }) ?? true
        else { throw .malformed }
        return status
    }

    // MARK: Lines

    private static func lineEnd(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        index(of: lf, in: bytes[min(start, bytes.count)...])
    }

    /// The lines of a head, without their ends.
    private struct Lines {
        private let bytes: UnsafeRawBufferPointer
        private var position = 0

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        mutating func next() -> Slice<UnsafeRawBufferPointer>? {
            guard let end = lineEnd(in: bytes, from: position) else { return nil }
            defer { position = end + 1 }
            return bytes[position..<(end > position && bytes[end - 1] == cr ? end - 1 : end)]
        }
    }

    /// The relevant fields of a head.
    private struct Fields {
        var length: Int64?
        var isChunked = false
        var closes = false
        var keepsAlive = false

        /// A continued line begins with a blank, and has no name.
        mutating func add(_ line: Slice<UnsafeRawBufferPointer>) throws(MalformedResponse) {
            guard let colon = index(of: UInt8(ascii: ":"), in: line), colon > line.startIndex,
                line[..<colon].allSatisfy({ $0 > space && $0 < 0x7F }),
                index(of: cr, in: line) == nil
            else { throw .malformed }
            let value = trimmed(line[(colon + 1)...])
            switch colon - line.startIndex {
            case 14 where isSame(line[..<colon], "content-length"):
                let number = try Self.number(value)
                guard length == nil || length == number else { throw .malformed }
                length = number
            case 17 where isSame(line[..<colon], "transfer-encoding"):
                for coding in Self.parts(value) where !isSame(coding, "identity") {
                    guard isSame(coding, "chunked"), !isChunked else { throw .unknownCoding }
                    isChunked = true
                }
            case 10 where isSame(line[..<colon], "connection"):
                for option in Self.parts(value) {
                    if isSame(option, "close") { closes = true }
                    if isSame(option, "keep-alive") { keepsAlive = true }
                }
            default: break
            }
        }

        private static func number(
            _ digits: Slice<UnsafeRawBufferPointer>
        ) throws(MalformedResponse) -> Int64 {
            guard !digits.isEmpty, digits.allSatisfy(isDigit) else { throw .malformed }
            var number: Int64 = 0
            for digit in digits {
                let (tens, isOver) = number.multipliedReportingOverflow(by: 10)
                let (sum, isOverToo) = tens.addingReportingOverflow(Int64(digit - zero))
                guard !isOver, !isOverToo else { throw .malformed }
                number = sum
            }
            return number
        }

        private static func parts(
            _ value: Slice<UnsafeRawBufferPointer>
        ) -> some Sequence<Slice<UnsafeRawBufferPointer>> {
            value.split(separator: UInt8(ascii: ",")).lazy.map(trimmed)
        }
    }
}

let cr: UInt8 = 13
let lf: UInt8 = 10
let space: UInt8 = 32
let tab: UInt8 = 9
let zero: UInt8 = 48

private func index(of byte: UInt8, in bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
    guard let base = bytes.base.baseAddress,
        let found = memchr(base + bytes.startIndex, Int32(byte), bytes.count)
    else { return nil }
    return UnsafeRawPointer(found) - base
}

private func isDigit(_ byte: UInt8) -> Bool { (zero...zero + 9).contains(byte) }

/// Returns the bytes without blanks at the ends.
private func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var bytes = bytes
    while let first = bytes.first, first == space || first == tab { bytes.removeFirst() }
    while let last = bytes.last, last == space || last == tab { bytes.removeLast() }
    return bytes
}

/// Compares case-insensitively; `lower` is in lower case.
private func isSame(_ bytes: Slice<UnsafeRawBufferPointer>, _ lower: StaticString) -> Bool {
    guard bytes.count == lower.utf8CodeUnitCount else { return false }
    return lower.withUTF8Buffer { lower in
        zip(bytes, lower).allSatisfy { byte, wanted in
            byte == wanted
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) && byte + 32 == wanted
        }
    }
}
