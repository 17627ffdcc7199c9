internal import Glibc
package import HTTP1

/// The head of an HTTP/1 request (RFC 9112, 2 to 6).
///
/// Strict: it rejects requests that two readers could interpret differently. Examples are lines
/// that end in LF alone or are continued, blanks before a colon, or two lengths.
package struct RequestHead {
    package private(set) var method: String
    /// The target as sent.
    package private(set) var target: String
    package private(set) var headers: [(name: String, value: String)] = []
    /// The end of its body.
    package private(set) var body = ResponseBody.none
    /// Length of the body, if the head states it.
    var length: Int64?
    /// True for HTTP/1.0.
    var isOld: Bool
    /// True if another request may follow on the connection.
    var keepsConnection = true
    /// True if the sender waits for a `100 Continue` before it sends the body.
    var expectsContinue = false
    /// The sender's identity for it, or a random one.
    let id: String

    /// Maxima of a head, its request line and the number of its fields.
    static let maximumBytes = 32 << 10
    static let maximumLineBytes = 16 << 10
    static let maximumFields = 100

    /// Returns the length of the head at the start of `bytes`; nil while its end has not arrived.
    ///
    /// - Parameter start: Number of bytes searched before.
    package static func length(
        in bytes: UnsafeRawBufferPointer, from start: Int
    ) throws(HTTPServer.Rejection) -> Int? {
        // A client of another protocol, such as TLS, gets a response before it waits for one.
        if let first = bytes.first, !isTokenByte(first) { throw .malformedRequest }
        let length = ResponseHead.length(in: bytes, from: start)
        let known = length ?? bytes.count
        if known > maximumLineBytes, let base = bytes.baseAddress,
            memchr(base, Int32(lineFeed), maximumLineBytes) == nil
        {
            throw .targetTooLong
        }
        guard known <= maximumBytes else { throw .headersTooLarge }
        return length
    }

    /// Parses a head whose `length` is that of `bytes`.
    package init(_ bytes: UnsafeRawBufferPointer) throws(HTTPServer.Rejection) {
        var lines = Lines(bytes)
        (method, target, isOld) = try Self.requestLine(try lines.next())
        var fields = Fields()
        while true {
            let line = try lines.next()
            if line.isEmpty { break }
            guard headers.count < Self.maximumFields else { throw .headersTooLarge }
            headers.append(try fields.add(line))
        }
        guard isOld ? fields.hosts <= 1 : fields.hosts == 1 else { throw .malformedRequest }
        id = RequestID.of(fields.requestID)
        if fields.isChunked {
            // With a length as well, or in HTTP/1.0, it is an attempt at request smuggling.
            guard fields.length == nil, !isOld else { throw .malformedRequest }
            body = .strictlyChunked
        } else if let length = fields.length {
            self.length = length
            body = .length(length)
        }
        keepsConnection = isOld ? fields.keepsAlive && !fields.closes : !fields.closes
        expectsContinue = fields.expectsContinue && !isOld && !body.isDone
    }

    private static func requestLine(
        _ line: Slice<UnsafeRawBufferPointer>
    ) throws(HTTPServer.Rejection) -> (method: String, target: String, isOld: Bool) {
        let parts = line.split(
            separator: UInt8(ascii: " "), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(isTokenByte),
            !parts[1].isEmpty, parts[1].allSatisfy({ $0 > 0x20 && $0 != 0x7F }),
            let target = String(validating: parts[1], as: UTF8.self)
        else { throw .malformedRequest }
        let version = Array(parts[2])
        guard version.count == 8, version.starts(with: "HTTP/".utf8), isDigit(version[5]),
            version[6] == UInt8(ascii: "."), isDigit(version[7])
        else { throw .malformedRequest }
        guard version[5] == UInt8(ascii: "1") else { throw .versionNotSupported }
        return (
            String(decoding: parts[0], as: UTF8.self), target, version[7] == UInt8(ascii: "0")
        )
    }

    /// The lines of a head, without their ends.
    private struct Lines {
        private let bytes: UnsafeRawBufferPointer
        private var start = 0

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        mutating func next() throws(HTTPServer.Rejection) -> Slice<UnsafeRawBufferPointer> {
            let rest = bytes[start...]
            guard let end = rest.firstIndex(of: lineFeed), end > start,
                bytes[end - 1] == UInt8(ascii: "\r")
            else { throw .malformedRequest }
            start = end + 1
            return bytes[rest.startIndex..<(end - 1)]
        }
    }

    /// The fields that the server itself needs.
    private struct Fields {
        var hosts = 0
        var length: Int64?
        var isChunked = false
        var closes = false
        var keepsAlive = false
        var expectsContinue = false
        var requestID: String?

        mutating func add(
            _ line: Slice<UnsafeRawBufferPointer>
        ) throws(HTTPServer.Rejection) -> (name: String, value: String) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy(isTokenByte),
                line[(colon + 1)...].allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == tab })
            else { throw .malformedRequest }
            let name = String(decoding: line[..<colon], as: UTF8.self)
            let value = String(decoding: trimmed(line[(colon + 1)...]), as: UTF8.self)
            switch name.lowercased() {
            case "host": hosts += 1
            case "content-length":
                guard length == nil else { throw .malformedRequest }
                length = try Self.number(value)
            case "transfer-encoding":
                guard !isChunked else { throw .malformedRequest }
                guard value.lowercased() == "chunked" else { throw .unknownCoding }
                isChunked = true
            case "connection":
                for option in value.lowercased().split(separator: ",") {
                    let option = option.drop { $0 == " " || $0 == "\t" }
                    if option.hasPrefix("close") { closes = true }
                    if option.hasPrefix("keep-alive") { keepsAlive = true }
                }
            case "x-request-id": requestID = requestID ?? value
            case "expect": expectsContinue = value.lowercased() == "100-continue"
            default: break
            }
            return (name, value)
        }

        /// Parses digits only; a number that overflows exceeds any allowed length.
        private static func number(_ text: String) throws(HTTPServer.Rejection) -> Int64 {
            guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { throw .malformedRequest }
            return Int64(text) ?? .max
        }
    }
}

extension HTTPRequest {
    /// Creates the request of a head, without its body; nil if the path or the query cannot be
    /// decoded.
    init?(_ head: RequestHead, from peer: Peer) {
        guard let target = Self.originForm(of: head.target) else { return nil }
        // As bytes: a combining mark after a delimiter would hide it.
        let parts = target.utf8.split(
            separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        let path = String(Substring(parts[0]))
        guard let segments = PercentCoding.segments(of: path) else { return nil }
        var query: [(name: String, value: String)] = []
        for item in parts.count < 2 ? [] : parts[1].split(separator: UInt8(ascii: "&")) {
            let halves = item.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.form(halves[0]),
                let value = halves.count < 2 ? "" : Self.form(halves[1])
            else { return nil }
            query.append((name, value))
        }
        self.init(
            method: head.method, path: path, segments: segments, query: query,
            headers: head.headers, remoteAddress: peer.text, isLoopbackPeer: peer.isLoopback,
            remoteNetwork: peer.network.text, id: head.id)
        certificateSubject = peer.certificateSubject
    }

    /// Returns the path and query of a target, also of one that names its host, as in requests to
    /// proxies (RFC 9112, 3.2.2). The host is ignored, like the header Host. Nil if it names none.
    private static func originForm(of target: String) -> String? {
        let bytes = target.utf8
        let scheme = bytes.prefix { $0 != UInt8(ascii: ":") }
        guard ["http", "https"].contains(String(Substring(scheme)).lowercased()) else {
            return target
        }
        let rest = bytes.dropFirst(scheme.count)
        guard rest.starts(with: "://".utf8) else { return target }
        let authority = rest.dropFirst(3)
        let end = authority.firstIndex { "/?#".utf8.contains($0) } ?? authority.endIndex
        guard let first = authority[..<end].first, first != UInt8(ascii: ":"),
            !authority[..<end].contains(UInt8(ascii: "@"))
        else { return nil }
        let path = String(Substring(authority[end...]))
        return path.hasPrefix("/") ? path : "/" + path
    }

    /// Decodes a part of a query, in which a plus is a blank.
    private static func form(_ part: Substring.UTF8View) -> String? {
        let plus = UInt8(ascii: "+")
        return PercentCoding.decode(
            String(decoding: part.map { $0 == plus ? 0x20 : $0 }, as: UTF8.self))
    }
}

private let lineFeed = UInt8(ascii: "\n")
private let tab = UInt8(ascii: "\t")

private func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

/// Returns the bytes without blanks at the ends.
private func trimmed(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
    var bytes = bytes
    while let first = bytes.first, first == 0x20 || first == tab { bytes.removeFirst() }
    while let last = bytes.last, last == 0x20 || last == tab { bytes.removeLast() }
    return bytes
}
