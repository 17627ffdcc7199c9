internal import Glibc

/// The wire format of a response (RFC 9112, 4 to 6).
extension HTTPResponse {
    /// False for a status or a header that HTTP does not allow.
    var canBeSent: Bool { hasValidHeaders && (200...599).contains(status) }

    /// Returns the bytes of the response.
    ///
    /// - Parameters:
    /// - date: Value of the header of that name.
    /// - closes: True for the last response of its connection.
    /// - isOld: True for a client of HTTP/1.0.
    /// - isHead: True for the response to HEAD, which has the body's length but no body.
    /// - requestID: Identity of the request.
    func bytes(
        date: String, closes: Bool, isOld: Bool, isHead: Bool, requestID: String
    ) -> [UInt8] {
        var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\nDate: \(date)\r\n"
        head += "\(RequestID.header): \(requestID)\r\n"
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        let isBodiless = status == 204 || status == 304
        if stream != nil {
            if !isOld { head += "Transfer-Encoding: chunked\r\n" }
        } else if !isBodiless {
            head += "Content-Length: \(body.count)\r\n"
        }
        if closes {
            head += "Connection: close\r\n"
        } else if isOld {
            head += "Connection: keep-alive\r\n"
        }
        head += "\r\n"
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head.utf8.count + body.count)
        bytes += head.utf8
        if !isBodiless, !isHead {
            if stream == nil || isOld {
                bytes += body
            } else {
                Self.append(body, asChunkTo: &bytes)
            }
        }
        return bytes
    }

    /// Appends a chunk (RFC 9112, 7.1); nothing without bytes, because an empty chunk ends the body.
    static func append(_ bytes: [UInt8], asChunkTo output: inout [UInt8]) {
        guard !bytes.isEmpty else { return }
        output += String(bytes.count, radix: 16).utf8
        output += Self.lineEnd
        output += bytes
        output += Self.lineEnd
    }

    private static let lineEnd = Array("\r\n".utf8)
    /// The end of a body of chunks.
    static let lastChunk = Array("0\r\n\r\n".utf8)

    /// Returns the reason phrase of RFC 9110; empty for a status that Dray does not use.
    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}

/// The time in HTTP's format (RFC 9110, 5.6.7), formatted once per second.
struct HTTPDate {
    private var second: time_t = -1
    private var text = ""

    mutating func now() -> String {
        let current = time(nil)
        guard current != second else { return text }
        second = current
        var parts = tm()
        var seconds = current
        gmtime_r(&seconds, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = Self.days[Int(parts.tm_wday) % 7]
        let month = Self.months[Int(parts.tm_mon) % 12]
        text =
            "\(day), \(two(parts.tm_mday)) \(month) \(1_900 + Int(parts.tm_year)) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
        return text
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
